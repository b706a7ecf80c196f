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
	f := newFixture(t)
	b := f.browser()
	require.False(t, b.isSignedIn())
	response := b.signIn(north, "sam", "1234")
	require.Equal(t, http.StatusNoContent, response.Code)
	require.Empty(t, response.Body.String())
	require.Equal(t, "/control", b.cookie.Path)
	require.True(t, b.cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, b.cookie.SameSite)
	require.True(t, b.isSignedIn())

	kept := *b.cookie
	require.Equal(t, http.StatusNoContent, b.send("POST", "/control/sign-out", "").Code)
	require.Nil(t, b.cookie, "the browser deletes it")
	b.cookie = &kept
	require.False(t, b.isSignedIn(), "and a copy of it is invalid")
}

func TestTheCookieIsSecureUnderTLS(t *testing.T) {
	f := newFixture(t)
	require.False(t, f.signedIn().cookie.Secure)
	b := f.browser()
	b.send("POST", "https://range.example/control/sign-in", `{"range_id":"`+north.String()+`","name":"sam","pin":"1234"}`)
	require.True(t, b.cookie.Secure)
}

// A wrong sign-in reveals neither which ranges exist nor who works there.
func TestEveryWrongSignInGetsTheSameRefusal(t *testing.T) {
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
		b := newFixture(t).browser()
		response := b.signIn(uuid.MustParse(wrong[0]), wrong[1], wrong[2])
		require.Equal(t, http.StatusUnauthorized, response.Code, wrong)
		require.Nil(t, b.cookie)
		body, _, _ := strings.Cut(response.Body.String(), "trace_id")
		if first == "" {
			first = body
		}
		require.Equal(t, first, body)
	}
}

func TestASignInThatIsMalformed(t *testing.T) {
	b := newFixture(t).browser()
	for _, body := range []string{``, `{}`, `[]`, `{"range_id":"x","name":"sam","pin":"1234"}`, `{"range_id":"` + north.String() + `","name":"sam","pin":1234}`} {
		require.Equal(t, http.StatusBadRequest, b.send("POST", "/control/sign-in", body).Code, body)
	}
	require.Equal(t, http.StatusUnsupportedMediaType, b.send("POST", "/control/sign-in", `{}`, "Content-Type", "text/plain").Code)
}

func TestFiveWrongPINsAMinuteOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock does not advance while PINs are compared
		b := newFixture(t).browser()
		for i := range 5 {
			require.Equal(t, http.StatusUnauthorized, b.signIn(north, "guess"+string(rune('a'+i)), "0000").Code)
		}
		response := b.signIn(north, "sam", "1234")
		require.Equal(t, http.StatusTooManyRequests, response.Code, "also the right one: it is not compared")
		require.Equal(t, "12", response.Header().Get("Retry-After"))
		b.from = "192.0.2.2:1234"
		require.Equal(t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code, "another address may sign in")
	})
}

func TestFiveWrongPINsAMinuteForAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock does not advance while PINs are compared
		for _, name := range []string{"sam", "nobody"} {
			b := newFixture(t).browser()
			for i := range 5 {
				b.from = "192.0.2." + string(rune('1'+i)) + ":1"
				require.Equal(t, http.StatusUnauthorized, b.signIn(north, name, "0000").Code)
			}
			b.from = "192.0.2.9:1"
			require.Equal(t, http.StatusTooManyRequests, b.signIn(north, name, "1234").Code, "%s: the same for an unknown name", name)
			require.Equal(t, http.StatusNoContent, b.signIn(north, "alex", "5678").Code, "other names may sign in")
		}
	})
}

// While others send wrong PINs for a name, its user can sign in with a browser that has signed in before, and with no other;
// that browser has five attempts a minute of its own.
func TestWrongPINsOfOthersDoNotLockAUserOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock does not advance while PINs are compared
		f := newFixture(t)
		own := f.browser()
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)
		require.Equal(t, http.StatusNoContent, own.send("POST", "/control/sign-out", "").Code)
		require.Equal(t, "/control/sign-in", own.device.Path)
		require.True(t, own.device.HttpOnly)
		for i := range 5 {
			attacker := f.browser()
			attacker.from = "192.0.2.1" + string(rune('0'+i)) + ":1"
			require.Equal(t, http.StatusUnauthorized, attacker.signIn(north, "sam", "0000").Code)
		}
		other := f.browser()
		other.from = "192.0.2.90:1"
		require.Equal(t, http.StatusTooManyRequests, other.signIn(north, "sam", "1234").Code)
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)

		forged := f.browser()
		forged.from, forged.device = "192.0.2.91:1", &http.Cookie{Name: deviceCookie, Value: own.device.Value[:20] + "A" + own.device.Value[21:]}
		require.Equal(t, http.StatusTooManyRequests, forged.signIn(north, "sam", "1234").Code)
		copied := f.browser()
		copied.from, copied.device = "192.0.2.92:1", own.device
		for range 5 {
			require.Equal(t, http.StatusUnauthorized, copied.signIn(north, "alex", "0000").Code, "for another name it is no device")
		}
		for i := range 5 {
			own.from = "192.0.2.11" + string(rune('0'+i)) + ":1"
			require.Equal(t, http.StatusUnauthorized, own.signIn(north, "sam", "0000").Code)
		}
		own.from = "192.0.2.99:1"
		require.Equal(t, http.StatusTooManyRequests, own.signIn(north, "sam", "1234").Code)
	})
}

func TestParallelGuessesAreLimitedLikeSequentialOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var compared sync.Map
		var guesses sync.WaitGroup
		for i := range 64 {
			guesses.Go(func() {
				compared.Store(i, f.browser().signIn(north, "sam", "0000").Code == http.StatusUnauthorized)
			})
		}
		guesses.Wait()
		wrong := 0
		compared.Range(func(_, refused any) bool {
			if refused.(bool) {
				wrong++
			}
			return true
		})
		require.Equal(t, maxWrongPINs, wrong)
	})
}

func TestSigningInRightIsNotLimited(t *testing.T) {
	b := newFixture(t).browser()
	for range 20 {
		require.Equal(t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code)
	}
}

func TestSigningInAgainEndsTheSessionBefore(t *testing.T) {
	b := newFixture(t).signedIn()
	before := *b.cookie
	require.Equal(t, http.StatusNoContent, b.signIn(north, "alex", "5678").Code)
	require.True(t, b.isSignedIn())
	b.cookie = &before
	require.False(t, b.isSignedIn())
}

// A session is only a cookie: it survives a restart of the gateway, also while the store is down.
func TestASessionOutlivesARestartAndEndsWithThePIN(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	f.restart(map[uuid.UUID]map[string]string{north: hashes})
	require.True(t, b.isSignedIn())

	another, err := HashPIN("1234")
	require.NoError(t, err)
	f.restart(map[uuid.UUID]map[string]string{north: {"sam": another, "alex": hashes["alex"]}})
	require.False(t, b.isSignedIn(), "the PIN has changed")
	f.restart(map[uuid.UUID]map[string]string{north: {"alex": hashes["alex"]}})
	require.False(t, b.isSignedIn(), "sam is no longer staff")
}

func TestASessionEndsAfterTwelveHoursWithoutUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		b, unused := f.signedIn(), f.signedIn()
		for range 4 {
			time.Sleep(6 * time.Hour)
			require.Equal(t, http.StatusNoContent, b.send("POST", "/control/api/lanes/"+theLane.String()+"/stray-hit", "").Code)
			if unused.isSignedIn() { // reading is no use
				time.Sleep(time.Second)
			}
		}
		time.Sleep(6 * time.Hour)
		b.send("GET", "/control/"+north.String(), "") // loading the page is use
		time.Sleep(7 * time.Hour)
		require.True(t, b.isSignedIn())
		require.False(t, unused.isSignedIn())

		old := *b.cookie
		f.restart(map[uuid.UUID]map[string]string{north: hashes})
		require.True(t, b.isSignedIn(), "the cookie has the last use")
		time.Sleep(6 * time.Hour)
		f.restart(map[uuid.UUID]map[string]string{north: hashes})
		b.cookie = &old
		require.False(t, b.isSignedIn())
	})
}

// A cookie that this gateway has not signed is no session, and a session of one range is none of another.
func TestForgedCookies(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	signed := b.cookie.Value
	for i := range signed {
		forged := []byte(signed)
		forged[i] = map[bool]byte{true: 'A', false: 'B'}[forged[i] != 'A']
		if i == len(signed)-1 {
			continue // only some bits of the last character count
		}
		b.cookie.Value = string(forged)
		require.False(t, b.isSignedIn(), "character %d", i)
	}
	for _, value := range []string{"", "x", strings.Repeat("A", 200), signed + signed, signed[:20]} {
		b.cookie.Value = value
		require.False(t, b.isSignedIn())
	}

	auth := newAuthenticator(map[member]string{{south, "sam"}: hashes["alex"]}, NewSessions())
	b.cookie.Value = auth.format(auth.begin(member{south, "sam"}))
	require.False(t, b.isSignedIn(), "signed with the hash of another PIN")
	inSouth := f.browser()
	require.Equal(t, http.StatusNoContent, inSouth.signIn(south, "sam", "1234").Code)
	response := inSouth.send("PUT", "/control/api/holds", `{"scope":"range","on":true}`)
	require.Equal(t, http.StatusServiceUnavailable, response.Code, "the south range, which does not run")
	require.Empty(t, f.lastCommand(), "and nothing happened in the north one")
}

func TestAnUnknownNameCostsAsMuchAsAKnownOne(t *testing.T) {
	params, _, _, err := argon2id.DecodeHash(dummyHash)
	require.NoError(t, err)
	require.Equal(t, productionHashing, *params)
}
