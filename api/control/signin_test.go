package control

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestSigningInAndOut(t *testing.T) {
	r := newRig(t)
	b := r.browser()
	require.False(t, b.in())
	answer := b.signIn(north, "sam", "1234")
	require.Equal(t, http.StatusNoContent, answer.Code)
	require.Empty(t, answer.Body.String())
	require.Equal(t, "/control", b.cookie.Path)
	require.True(t, b.cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, b.cookie.SameSite)
	require.True(t, b.in())

	kept := *b.cookie
	require.Equal(t, http.StatusNoContent, b.ask("POST", "/control/sign-out", "").Code)
	require.Nil(t, b.cookie, "the browser forgets it")
	b.cookie = &kept
	require.False(t, b.in(), "and a copy of it is worth nothing")
}

func TestTheCookieIsForTLSOnlyWhereThereIsTLS(t *testing.T) {
	r := newRig(t)
	require.False(t, r.signedIn().cookie.Secure)
	b := r.browser()
	b.ask("POST", "https://range.example/control/sign-in", `{"range_id":"`+north.String()+`","name":"sam","pin":"1234"}`)
	require.True(t, b.cookie.Secure)
}

// Whoever guesses learns nothing but that it was wrong: not which ranges there are, and not who works there.
func TestOneAnswerToAllThatIsWrong(t *testing.T) {
	var first string
	for _, wrong := range [][3]string{
		{north.String(), "sam", "1235"},
		{north.String(), "nobody", "1234"},
		{north.String(), "nobody", "there is nobody of that name"},
		{uuid.NewString(), "sam", "1234"},
		{south.String(), "alex", "5678"},
		{north.String(), "sam", "5678"},
		{north.String(), "Sam", "1234"},
	} {
		b := newRig(t).browser()
		answer := b.signIn(uuid.MustParse(wrong[0]), wrong[1], wrong[2])
		require.Equal(t, http.StatusUnauthorized, answer.Code, wrong)
		require.Nil(t, b.cookie)
		said, _, _ := strings.Cut(answer.Body.String(), "trace_id")
		if first == "" {
			first = said
		}
		require.Equal(t, first, said)
	}
}

func TestASignInThatIsMalformed(t *testing.T) {
	b := newRig(t).browser()
	for _, body := range []string{``, `{}`, `[]`, `{"range_id":"x","name":"sam","pin":"1234"}`, `{"range_id":"` + north.String() + `","name":"sam","pin":1234}`} {
		require.Equal(t, http.StatusBadRequest, b.ask("POST", "/control/sign-in", body).Code, body)
	}
	require.Equal(t, http.StatusUnsupportedMediaType, b.ask("POST", "/control/sign-in", `{}`, "Content-Type", "text/plain").Code)
}

func TestFiveWrongPINsAMinuteOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no attempt comes back while PINs are compared, however long that takes
		b := newRig(t).browser()
		for i := range 5 {
			require.Equal(t, http.StatusUnauthorized, b.signIn(north, "guess"+string(rune('a'+i)), "0000").Code)
		}
		answer := b.signIn(north, "sam", "1234")
		require.Equal(t, http.StatusTooManyRequests, answer.Code, "the right one too: it is not even compared")
		require.Equal(t, "12", answer.Header().Get("Retry-After"))
		b.from = "192.0.2.2:1234"
		require.Equal(t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code, "from elsewhere it opens")
	})
}

func TestFiveWrongPINsAMinuteForAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no attempt comes back while PINs are compared, however long that takes
		for _, name := range []string{"sam", "nobody"} {
			b := newRig(t).browser()
			for i := range 5 {
				b.from = "192.0.2." + string(rune('1'+i)) + ":1"
				require.Equal(t, http.StatusUnauthorized, b.signIn(north, name, "0000").Code)
			}
			b.from = "192.0.2.9:1"
			require.Equal(t, http.StatusTooManyRequests, b.signIn(north, name, "1234").Code, "%s: as of a name that there is not", name)
			require.Equal(t, http.StatusNoContent, b.signIn(north, "alex", "5678").Code, "others may")
		}
	})
}

// Somebody sends wrong PINs for a name all day. Whoever has signed in with a browser before gets in with that one, and with
// no other; and has five tries a minute too.
func TestWrongPINsOfOthersKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no attempt comes back while PINs are compared, however long that takes
		r := newRig(t)
		own := r.browser()
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)
		require.Equal(t, http.StatusNoContent, own.ask("POST", "/control/sign-out", "").Code)
		require.Equal(t, "/control/sign-in", own.device.Path)
		require.True(t, own.device.HttpOnly)
		for i := range 5 {
			stranger := r.browser()
			stranger.from = "192.0.2.1" + string(rune('0'+i)) + ":1"
			require.Equal(t, http.StatusUnauthorized, stranger.signIn(north, "sam", "0000").Code)
		}
		other := r.browser()
		other.from = "192.0.2.90:1"
		require.Equal(t, http.StatusTooManyRequests, other.signIn(north, "sam", "1234").Code)
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)

		forged := r.browser()
		forged.from, forged.device = "192.0.2.91:1", &http.Cookie{Name: deviceCookie, Value: own.device.Value[:20] + "A" + own.device.Value[21:]}
		require.Equal(t, http.StatusTooManyRequests, forged.signIn(north, "sam", "1234").Code)
		of := r.browser()
		of.from, of.device = "192.0.2.92:1", own.device
		for range 5 {
			require.Equal(t, http.StatusUnauthorized, of.signIn(north, "alex", "0000").Code, "of another name it is nothing")
		}
		for i := range 5 {
			own.from = "192.0.2.11" + string(rune('0'+i)) + ":1"
			require.Equal(t, http.StatusUnauthorized, own.signIn(north, "sam", "0000").Code)
		}
		own.from = "192.0.2.99:1"
		require.Equal(t, http.StatusTooManyRequests, own.signIn(north, "sam", "1234").Code)
	})
}

func TestManyGuessesAtOnceAreNoMoreThanOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var compared sync.Map
		var guesses sync.WaitGroup
		for i := range 64 {
			guesses.Go(func() {
				compared.Store(i, r.browser().signIn(north, "sam", "0000").Code == http.StatusUnauthorized)
			})
		}
		guesses.Wait()
		wrong := 0
		compared.Range(func(_, was any) bool {
			if was.(bool) {
				wrong++
			}
			return true
		})
		require.Equal(t, wrongAtMost, wrong)
	})
}

func TestSigningInRightIsNotLimited(t *testing.T) {
	b := newRig(t).browser()
	for range 20 {
		require.Equal(t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code)
	}
}

func TestSigningInAgainEndsTheSessionBefore(t *testing.T) {
	b := newRig(t).signedIn()
	before := *b.cookie
	require.Equal(t, http.StatusNoContent, b.signIn(north, "alex", "5678").Code)
	require.True(t, b.in())
	b.cookie = &before
	require.False(t, b.in())
}

// The cookie is all that a session is: a gateway that was started again knows it, also while no store answers.
func TestASessionOutlivesARestartAndEndsWithThePIN(t *testing.T) {
	r := newRig(t)
	b := r.signedIn()
	r.restart(map[uuid.UUID]map[string]string{north: hashes})
	require.True(t, b.in())

	another, err := HashPIN("1234")
	require.NoError(t, err)
	r.restart(map[uuid.UUID]map[string]string{north: {"sam": another, "alex": hashes["alex"]}})
	require.False(t, b.in(), "the PIN was set anew")
	r.restart(map[uuid.UUID]map[string]string{north: {"alex": hashes["alex"]}})
	require.False(t, b.in(), "sam is no longer staff")
}

func TestASessionEndsAfterTwelveHoursWithoutUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		b, unused := r.signedIn(), r.signedIn()
		for range 4 {
			time.Sleep(6 * time.Hour)
			require.Equal(t, http.StatusNoContent, b.ask("POST", "/control/api/lanes/"+theLane.String()+"/stray-hit", "").Code)
			if unused.in() { // which is asking, and no use
				time.Sleep(time.Second)
			}
		}
		time.Sleep(6 * time.Hour)
		b.ask("GET", "/control/"+north.String(), "") // the page is use
		time.Sleep(7 * time.Hour)
		require.True(t, b.in())
		require.False(t, unused.in())

		old := *b.cookie
		r.restart(map[uuid.UUID]map[string]string{north: hashes})
		require.True(t, b.in(), "what the gateway remembers of its use is in the cookie")
		time.Sleep(6 * time.Hour)
		r.restart(map[uuid.UUID]map[string]string{north: hashes})
		b.cookie = &old
		require.False(t, b.in())
	})
}

// Nothing that this gateway has not signed is a session, and a session of one range is none of another.
func TestCookiesOfSomewhereElse(t *testing.T) {
	r := newRig(t)
	b := r.signedIn()
	signed := b.cookie.Value
	for i := range signed {
		forged := []byte(signed)
		forged[i] = map[bool]byte{true: 'A', false: 'B'}[forged[i] != 'A']
		if i == len(signed)-1 {
			continue // of the last character only some bits count
		}
		b.cookie.Value = string(forged)
		require.False(t, b.in(), "character %d", i)
	}
	for _, value := range []string{"", "x", strings.Repeat("A", 200), signed + signed, signed[:20]} {
		b.cookie.Value = value
		require.False(t, b.in())
	}

	keys := newSessions(map[uuid.UUID]map[string]string{south: {"sam": hashes["alex"]}}, NewSeen())
	b.cookie.Value = keys.write(keys.begin(south, "sam"))
	require.False(t, b.in(), "signed with another PIN's hash")
	inSouth := r.browser()
	require.Equal(t, http.StatusNoContent, inSouth.signIn(south, "sam", "1234").Code)
	answer := inSouth.ask("PUT", "/control/api/holds", `{"scope":"range","on":true}`)
	require.Equal(t, http.StatusServiceUnavailable, answer.Code, "the south range, which does not run")
	require.Empty(t, r.done(), "and nothing was done in the north one")
}

func TestThePINOfNobodyCostsAsMuchAsAnyOther(t *testing.T) {
	params, _, _, err := argon2id.DecodeHash(nobody)
	require.NoError(t, err)
	require.Equal(t, production, *params)
}
