package control

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/lanes"
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
	b.send("POST", "https://range.example/control/sign-in", `{"range_id":"`+north.String()+
		`","name":"sam","pin":"1234"}`)
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
	for _, body := range []string{``, `{}`, `[]`, `{"range_id":"x","name":"sam","pin":"1234"}`, `{"range_id":"` +
		north.String() + `","name":"sam","pin":1234}`} {
		require.Equal(t, http.StatusBadRequest, b.send("POST", "/control/sign-in", body).Code, body)
	}
	require.Equal(t, http.StatusUnsupportedMediaType, b.send("POST", "/control/sign-in", `{}`, "Content-Type",
		"text/plain").Code)
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

// After the first wrong PINs for a name, each has to wait twice as long as the one before, wherever it comes from.
func TestWrongPINsForANameWaitEverLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock does not advance while PINs are compared
		for _, name := range []string{"sam", "nobody"} {
			f := newFixture(t)
			guesses := 0
			guess := func(pin string) *httptest.ResponseRecorder {
				b := f.browser()
				b.from = fmt.Sprintf("192.0.%d.%d:1", 2+guesses/200, guesses%200)
				guesses++
				return b.signIn(north, name, pin)
			}
			for range freeAttempts {
				require.Equal(t, http.StatusUnauthorized, guess("0000").Code)
			}
			for _, wait := range []time.Duration{
				30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute,
				8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour,
			} {
				refused := guess("1234")
				require.Equal(t, http.StatusTooManyRequests, refused.Code,
					"%s: the same for an unknown name, and a right PIN is not compared", name)
				require.Equal(t, strconv.Itoa(int(wait.Seconds())), refused.Header().Get("Retry-After"))
				time.Sleep(wait - time.Second)
				require.Equal(t, http.StatusTooManyRequests, guess("1234").Code)
				time.Sleep(time.Second)
				require.Equal(t, http.StatusUnauthorized, guess("0000").Code, "%s after %v", name, wait)
			}
			other := f.browser()
			require.Equal(t, http.StatusNoContent, other.signIn(north, "alex", "5678").Code, "other names may sign in")
			f.reload(northStaff(hashes))
			require.Equal(t, http.StatusTooManyRequests, guess("0000").Code, "a reload forgets nothing")

			time.Sleep(forgetAfter + time.Second)
			for range freeAttempts {
				require.Equal(t, http.StatusUnauthorized, guess("0000").Code, "after a day without any it begins anew")
			}
			require.Equal(t, http.StatusTooManyRequests, guess("0000").Code)
		}
	})
}

func TestARightPINEndsTheWaitForTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		guess := func(i int, pin string) int {
			b := f.browser()
			b.from = fmt.Sprintf("192.0.2.%d:1", i)
			return b.signIn(north, "sam", pin).Code
		}
		for i := range freeAttempts - 1 {
			require.Equal(t, http.StatusUnauthorized, guess(i, "0000"))
		}
		require.Equal(t, http.StatusNoContent, guess(10, "1234"))
		for i := range freeAttempts {
			require.Equal(t, http.StatusUnauthorized, guess(20+i, "0000"))
		}
		require.Equal(t, http.StatusTooManyRequests, guess(30, "0000"))
	})
}

// However many names are invented, those of staff stay limited, also those that a reload adds.
func TestInventedNamesPushNoneOfTheStaffOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		members := northStaff(hashes)
		members[north].Members["lou"] = Member{PINHash: hashes["sam"]}
		names := f.attempts.names
		reserve := func(name string) bool {
			_, ok := names.Reserve(userBrowser{member: member{north, name}})
			return ok
		}
		for range freeAttempts {
			require.True(t, reserve("sam") && reserve("lou"))
		}
		f.reload(members)
		require.False(t, reserve("lou"), "a reload forgets nothing")
		for i := range 20_000 {
			require.True(t, reserve(strconv.Itoa(i)))
		}
		require.False(t, reserve("sam") || reserve("lou"))
	})
}

// A device of the user waits too, and never long: whoever fumbles at the counter's tablet guesses a dozen
// PINs an hour there.
func TestWrongPINsOnADeviceWaitLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock does not advance while PINs are compared
		f := newFixture(t)
		own := f.signedIn()
		for range freeAttempts {
			require.Equal(t, http.StatusUnauthorized, own.signIn(north, "sam", "0000").Code)
		}
		for _, wait := range []time.Duration{
			30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute,
			5 * time.Minute, 5 * time.Minute,
		} {
			refused := own.signIn(north, "sam", "1234")
			require.Equal(t, http.StatusTooManyRequests, refused.Code)
			require.Equal(t, strconv.Itoa(int(wait.Seconds())), refused.Header().Get("Retry-After"))
			time.Sleep(wait)
			require.Equal(t, http.StatusUnauthorized, own.signIn(north, "sam", "0000").Code)
		}
		time.Sleep(5 * time.Minute)
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)
		require.Equal(t, http.StatusUnauthorized, own.signIn(north, "sam", "0000").Code, "a right PIN ends it")
	})
}

// An operator lets somebody sign in again whose name strangers have locked, or who has fumbled on a device.
func TestAnOperatorUnlocksAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		own := f.signedIn()
		guess := func(i int, name, pin string) int {
			b := f.browser()
			b.from = fmt.Sprintf("192.0.2.%d:1", i)
			return b.signIn(north, name, pin).Code
		}
		for i := range freeAttempts {
			guess(i, "sam", "0000")
			guess(20+i, "alex", "0000")
			require.Equal(t, http.StatusUnauthorized, own.signIn(north, "sam", "0000").Code)
		}
		require.Equal(t, http.StatusTooManyRequests, guess(40, "sam", "1234"))
		require.Equal(t, http.StatusTooManyRequests, own.signIn(north, "sam", "1234").Code)

		waited, found := f.attempts.Unlock(north, "sam")
		require.True(t, waited && found)
		require.Equal(t, http.StatusNoContent, guess(41, "sam", "1234"))
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)
		require.Equal(t, http.StatusTooManyRequests, guess(42, "alex", "5678"), "nobody else is unlocked")

		waited, found = f.attempts.Unlock(north, "sam")
		require.True(t, found && !waited)
		_, found = f.attempts.Unlock(north, "nobody")
		require.False(t, found)
		_, found = f.attempts.Unlock(uuid.New(), "sam")
		require.False(t, found)
	})
}

// What an operator unlocks is a name: the wrong PINs of a network count on.
func TestUnlockingANameLeavesTheLimitOfTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t).browser()
		for range maxWrongPINs {
			require.Equal(t, http.StatusUnauthorized, b.signIn(north, "sam", "0000").Code)
		}
		waited, found := b.attempts.Unlock(north, "sam")
		require.True(t, waited && found)
		require.Equal(t, http.StatusTooManyRequests, b.signIn(north, "sam", "1234").Code)
		b.from = "192.0.2.2:1234"
		require.Equal(t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code)
	})
}

func TestARestartForgetsWrongPINs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		own, other := f.signedIn(), f.browser()
		for range freeAttempts {
			require.Equal(t, http.StatusUnauthorized, own.signIn(north, "sam", "0000").Code)
			require.Equal(t, http.StatusUnauthorized, other.signIn(north, "sam", "0000").Code)
		}
		require.Equal(t, http.StatusTooManyRequests, own.signIn(north, "sam", "1234").Code)
		require.Equal(t, http.StatusTooManyRequests, other.signIn(north, "sam", "1234").Code)
		f.restart(northStaff(hashes))
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)
		require.Equal(t, http.StatusNoContent, other.signIn(north, "sam", "1234").Code)
	})
}

// A known device shares nothing with others at its address: neither the limit of the network, nor that of the
// name, nor the queue for comparisons.
func TestAKnownDeviceBehindASharedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		own := f.signedIn()
		for i := range maxWrongPINs {
			require.Equal(t, http.StatusUnauthorized, f.browser().signIn(north, "guess"+strconv.Itoa(i), "0000").Code)
		}
		require.Equal(t, http.StatusTooManyRequests, f.browser().signIn(north, "sam", "1234").Code)
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)
	})
}

// The queue for comparisons is bounded, and a known device has a slot beside it.
func TestTheQueueForComparisonsIsBounded(t *testing.T) {
	f := newFixture(t)
	own := f.signedIn()
	l := newSignInLimiter(map[member]Member{{north, "sam"}: {PINHash: hashes["sam"]}},
		NewAttempts(prometheus.NewRegistry()))
	for range maxComparisons {
		l.queue.slots <- struct{}{} // they take very long
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for i := range maxWaiting {
		waiting.Go(func() {
			from := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 32)
			require.ErrorIs(t, l.check(ctx, userBrowser{member: member{north, strconv.Itoa(i)}}, "0000", from),
				context.Canceled)
		})
	}
	require.Eventually(t, func() bool { return l.queue.count(place{}) == maxWaiting }, 10*time.Second, time.Millisecond)
	err := l.check(ctx, userBrowser{member: member{north, "sam"}}, "1234", netip.Prefix{})
	require.ErrorContains(t, err, "too many sign-ins wait")
	device := f.handlerAuth(t).parseDevice(own.device.Value, member{north, "sam"})
	require.NotZero(t, device)
	require.NoError(t, l.check(ctx, userBrowser{member{north, "sam"}, device}, "1234", netip.Prefix{}),
		"a device of the user")

	l.queue.deviceSlots <- struct{}{}
	var one sync.WaitGroup
	one.Go(func() {
		require.ErrorIs(t, l.check(ctx, userBrowser{member{north, "sam"}, device}, "1234", netip.Prefix{}),
			context.Canceled)
	})
	require.Eventually(t, func() bool { return l.queue.count(place{rangeID: north}) == 1 }, 10*time.Second,
		time.Millisecond)
	err = l.check(ctx, userBrowser{member{north, "sam"}, device}, "1234", netip.Prefix{})
	require.ErrorContains(t, err, "wait a moment", "one device compares one PIN at a time")
	cancel()
	waiting.Wait()
	one.Wait()
	require.Empty(t, l.queue.taken)
	for range freeAttempts { // what was not compared does not count
		_, ok := l.names.Reserve(userBrowser{member: member{north, "7"}})
		require.True(t, ok)
	}
}

// count returns how many of such places are taken.
func (q *pinQueue) count(p place) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken[p]
}

// Of a range's devices four wait at most: those of one range that all sign in at once keep out none of another.
func TestTheDevicesOfARangeHavePlacesOfTheirOwn(t *testing.T) {
	inNorth, inSouth := member{north, "sam"}, member{south, "sam"}
	l := newSignInLimiter(map[member]Member{
		inNorth: {PINHash: hashes["sam"]}, inSouth: {PINHash: hashes["sam"]},
	}, NewAttempts(prometheus.NewRegistry()))
	l.queue.deviceSlots <- struct{}{} // it takes very long
	ctx, cancel := context.WithCancel(t.Context())
	var waiting, other sync.WaitGroup
	for i := range maxDeviceWaiting {
		waiting.Go(func() {
			require.ErrorIs(t, l.check(ctx, userBrowser{inNorth, device{1, byte(i)}}, "1234", netip.Prefix{}),
				context.Canceled)
		})
	}
	require.Eventually(t, func() bool { return l.queue.count(place{rangeID: north}) == maxDeviceWaiting },
		10*time.Second, time.Millisecond)
	err := l.check(ctx, userBrowser{inNorth, device{2}}, "1234", netip.Prefix{})
	require.ErrorContains(t, err, "too many sign-ins of this range wait")
	other.Go(func() {
		require.NoError(t, l.check(t.Context(), userBrowser{inSouth, device{3}}, "1234", netip.Prefix{}))
	})
	require.Eventually(t, func() bool { return l.queue.count(place{rangeID: south}) == 1 }, 10*time.Second,
		time.Millisecond)
	cancel()
	waiting.Wait()
	<-l.queue.deviceSlots
	other.Wait()
	require.NoError(t, l.check(t.Context(), userBrowser{inNorth, device{2}}, "1234", netip.Prefix{}),
		"the places are free again")
}

// handlerAuth is an authenticator with the secret of the running gateway.
func (f *fixture) handlerAuth(*testing.T) *authenticator {
	staff := map[member]Member{}
	for name, hash := range hashes {
		staff[member{north, name}] = Member{PINHash: hash}
	}
	return newAuthenticator(staff, f.sessions, func(uuid.UUID) (time.Time, bool) { return time.Time{}, false })
}

// While others send wrong PINs for a name, its user can sign in with a browser that has signed in before, and
// with no other; that browser has five attempts a minute of its own.
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
		value := []byte(own.device.Value)
		value[20] = map[bool]byte{true: 'B', false: 'A'}[value[20] == 'A'] // another one than it has
		forged.from, forged.device = "192.0.2.91:1", &http.Cookie{Name: deviceCookie, Value: string(value)}
		require.Equal(t, http.StatusTooManyRequests, forged.signIn(north, "sam", "1234").Code)
		copied := f.browser()
		copied.from, copied.device = "192.0.2.92:1", own.device
		for range 5 {
			require.Equal(t, http.StatusUnauthorized, copied.signIn(north, "alex", "0000").Code,
				"for another name it is no device")
		}
		for i := range 5 {
			own.from = "192.0.2.11" + string(rune('0'+i)) + ":1"
			require.Equal(t, http.StatusUnauthorized, own.signIn(north, "sam", "0000").Code)
		}
		own.from = "192.0.2.99:1"
		require.Equal(t, http.StatusTooManyRequests, own.signIn(north, "sam", "1234").Code)
	})
}

// Users who take turns at one screen each have it as a device of their own: wrong PINs of others lock none of
// them out. It stays one for the eight who signed in there last.
func TestUsersWhoTakeTurnsAtOneScreenAreNotLockedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		shared := f.browser()
		for _, name := range []string{"sam", "alex", "sam"} {
			require.Equal(t, http.StatusNoContent,
				shared.signIn(north, name, map[string]string{"sam": "1234", "alex": "5678"}[name]).Code)
		}
		require.Equal(t, 1, strings.Count(shared.device.Value, deviceSeparator), "one part for each of them")
		for _, name := range []string{"sam", "alex"} {
			for i := range 5 {
				attacker := f.browser()
				attacker.from = fmt.Sprintf("192.0.2.1%d:1", i)
				require.Contains(t, []int{http.StatusUnauthorized, http.StatusTooManyRequests},
					attacker.signIn(north, name, "0000").Code)
			}
		}
		require.Equal(t, http.StatusNoContent, shared.signIn(north, "alex", "5678").Code)
		require.Equal(t, http.StatusNoContent, shared.signIn(north, "sam", "1234").Code)

		members := map[string]Member{"sam": {PINHash: hashes["sam"]}}
		for n := range maxDeviceUsers {
			members[fmt.Sprintf("guest %d", n)] = Member{PINHash: hashes["sam"]}
		}
		f.reload(map[uuid.UUID]RangeStaff{north: {Name: "North range", Members: members}})
		for n := range maxDeviceUsers {
			require.Equal(t, http.StatusNoContent, shared.signIn(north, fmt.Sprintf("guest %d", n), "1234").Code)
		}
		require.Equal(t, maxDeviceUsers-1, strings.Count(shared.device.Value, deviceSeparator),
			"the cookie does not grow")
		shared.from = "192.0.2.99:1"
		require.Equal(t, http.StatusNoContent, shared.signIn(north, "guest 0", "1234").Code)
	})
}

// Whoever takes over at a screen signs the user before out: that session is over, and both are on record.
func TestWhoTakesOverAtAScreenSignsTheOtherOut(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	before := *b.cookie
	require.Equal(t, http.StatusUnauthorized, b.signIn(north, "alex", "0000").Code)
	require.True(t, b.isSignedIn(), "after a wrong PIN the user before is still signed in")
	require.Equal(t, http.StatusNoContent, b.signIn(north, "alex", "5678").Code)
	require.Equal(t, []string{"sam sign_in", "alex sign_in_failed", "sam sign_out", "alex sign_in"}, f.recorded)
	copied := f.browser()
	copied.cookie = &before
	require.False(t, copied.isSignedIn())
}

// What was asked for by the user before may be answered before the next one signs in, and reach the browser after that.
func TestALateResponseBringsBackNobody(t *testing.T) {
	for _, late := range []struct{ method, path, body string }{
		{"PUT", "/control/api/holds", `{"scope":"range","on":true}`},
		{"GET", "/control/" + north.String(), ""},
	} {
		f := newFixture(t)
		b := f.signedIn()
		response := b.sendOnly(late.method, late.path, late.body)
		require.Equal(t, http.StatusOK, response.Code)
		require.Equal(t, http.StatusNoContent, b.signIn(north, "alex", "5678").Code)
		b.keep(response)
		require.True(t, b.isSignedIn(), late.path)
		b.send("PUT", "/control/api/holds", `{"scope":"range","on":true}`)
		require.Equal(t, "alex holds range 00000000-0000-0000-0000-000000000000", f.lastCommand())

		response = b.sendOnly(late.method, late.path, late.body)
		require.Equal(t, http.StatusNoContent, b.send("POST", "/control/sign-out", "").Code)
		b.keep(response)
		f.restart(northStaff(hashes))
		require.False(t, b.isSignedIn(), late.path)
	}
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

func TestASessionEndsAfterTwelveHoursWithoutUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		b, unused := f.signedIn(), f.signedIn()
		for range 2 {
			time.Sleep(3 * time.Hour)
			require.Equal(t, http.StatusNoContent,
				b.send("POST", "/control/api/lanes/"+theLane.String()+"/stray-hit", "").Code)
			if unused.isSignedIn() { // reading is no use
				time.Sleep(time.Second)
			}
		}
		time.Sleep(5 * time.Hour)
		b.send("GET", "/control/"+north.String(), "") // loading the page is use
		time.Sleep(7 * time.Hour)
		require.True(t, b.isSignedIn())
		require.False(t, unused.isSignedIn())

		old := *b.cookie
		f.restart(northStaff(hashes))
		require.True(t, b.isSignedIn(), "the cookie has the last use")
		time.Sleep(5*time.Hour + 30*time.Minute)
		f.restart(northStaff(hashes))
		b.cookie = &old
		require.False(t, b.isSignedIn())
		another := f.signedIn()
		another.send("GET", "/control/"+north.String(), "")
		b.used = another.used
		require.False(t, b.isSignedIn(), "another session's last use is none of this one")
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

	inSouth := f.browser()
	require.Equal(t, http.StatusNoContent, inSouth.signIn(south, "sam", "1234").Code)
	response := inSouth.send("PUT", "/control/api/holds", `{"scope":"range","on":true}`)
	require.Equal(t, http.StatusServiceUnavailable, response.Code, "the south range, which does not run")
	require.Empty(t, f.lastCommand(), "and nothing happened in the north one")
}

// An unknown name is compared with a hash that costs what those of the range's staff cost, always the same for a name.
func TestAnUnknownNameCostsAsMuchAsAKnownOne(t *testing.T) {
	const cheap, dear, elsewhere = "$argon2id$v=19$m=19456,t=2,p=1$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu",
		"$argon2id$v=19$m=65536,t=3,p=4$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGluIG9mIDMyIGJ5dGVzIQ",
		"$argon2id$v=19$m=32768,t=2,p=1$c29tZSBzYWx0$c29tZSBoYXNoIG9mIGEgcGlu"
	l := newSignInLimiter(map[member]Member{
		{north, "sam"}: {PINHash: cheap}, {north, "kim"}: {PINHash: dear}, {south, "sam"}: {PINHash: elsewhere},
	}, NewAttempts(prometheus.NewRegistry()))
	costs := func(hash string) string {
		params, _, key, err := argon2id.DecodeHash(hash)
		require.NoError(t, err)
		return fmt.Sprint(params.Memory, params.Iterations, params.Parallelism, len(key))
	}
	seen := map[string]bool{}
	for i := range 100 {
		unknown := l.dummyHash(member{north, strconv.Itoa(i)})
		require.Equal(t, unknown, l.dummyHash(member{north, strconv.Itoa(i)}))
		seen[costs(unknown)] = true
		match, err := argon2id.ComparePasswordAndHash("", l.dummyHash(member{south, "nobody"}))
		require.False(t, match || err != nil)
	}
	require.Equal(t, map[string]bool{costs(cheap): true, costs(dear): true}, seen)
	require.Equal(t, costs(elsewhere), costs(l.dummyHash(member{south, "nobody"})))
	require.Contains(t, []string{costs(cheap), costs(dear), costs(elsewhere)},
		costs(l.dummyHash(member{uuid.New(), "sam"})))
	params, _, _, err := argon2id.DecodeHash(newSignInLimiter(nil,
		NewAttempts(prometheus.NewRegistry())).dummyHash(member{north, "sam"}))
	require.NoError(t, err)
	require.Equal(t, pinHashing, *params)
}

// Every attempt is counted; staff see the refused ones of the last day, and the acts have those of a known name.
func TestAttemptsAreCountedAndRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		own := f.signedIn()
		require.Contains(t, own.send("GET", "/control/api/health", "").Body.String(),
			`"refused_sign_ins":{"count":0,"last":null}`)
		at := time.Now()
		b := f.browser()
		require.Equal(t, http.StatusUnauthorized, b.signIn(north, "alex", "0000").Code)
		require.Equal(t, http.StatusUnauthorized, b.signIn(north, "5678", "0000").Code, "a PIN in the wrong field")
		require.Equal(t, http.StatusUnauthorized, b.signIn(south, "sam", "0000").Code)
		require.Equal(t, http.StatusUnauthorized, b.signIn(uuid.New(), "sam", "0000").Code)
		require.Equal(t, http.StatusUnauthorized, b.signIn(north, "alex", "0001").Code)
		require.Equal(t, http.StatusTooManyRequests, b.signIn(north, "alex", "5678").Code)
		require.Equal(t, http.StatusNoContent, own.send("POST", "/control/sign-out", "").Code)
		require.Equal(t, []string{"sam sign_in", "alex sign_in_failed", "alex sign_in_failed", "sam sign_out"},
			f.recorded)
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)
		for result, count := range map[string]float64{"ok": 2, "wrong": 5, "limited": 1, "failed": 0} {
			require.InDelta(t, count, f.signInsCounted(result), 0, result)
		}
		refused := func() string {
			_, after, _ := strings.Cut(own.send("GET", "/control/api/health", "").Body.String(), `"refused_sign_ins":`)
			return strings.TrimSpace(after)
		}
		require.Equal(t, `{"count":4,"last":"`+endpoint.Stamp(at)+`"}}`, refused())
		f.reload(northStaff(hashes), southStaff)
		require.Equal(t, `{"count":4,"last":"`+endpoint.Stamp(at)+`"}}`, refused(), "a reload forgets none")
		time.Sleep(23 * time.Hour)
		require.Equal(t, http.StatusNoContent, own.signIn(north, "sam", "1234").Code)
		require.Equal(t, `{"count":4,"last":"`+endpoint.Stamp(at)+`"}}`, refused())
		time.Sleep(time.Hour)
		require.Equal(t, `{"count":0,"last":"`+endpoint.Stamp(at)+`"}}`, refused())
	})
}

// signInsCounted is what the metric says of a result.
func (f *fixture) signInsCounted(result string) float64 {
	families, err := f.metrics.Gather()
	require.NoError(f.t, err)
	for _, metric := range families[0].GetMetric() {
		if metric.GetLabel()[0].GetValue() == result {
			return metric.GetCounter().GetValue()
		}
	}
	return -1
}

// Whoever signs in and out all day does not push the record of everything else out of the store.
func TestVeryManySignInsAreNotAllRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		b := f.browser()
		for range maxRecorded + 10 {
			require.Equal(t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code)
		}
		require.Len(t, f.recorded, maxRecorded)
		time.Sleep(time.Minute)
		b.signIn(north, "sam", "1234")
		require.Len(t, f.recorded, maxRecorded+1)
	})
}

func TestOnlyAnOfficerEndsACeasefireOverTheRange(t *testing.T) {
	f := newFixture(t)
	sam, alex := f.signedIn(), f.browser()
	require.Equal(t, http.StatusNoContent, alex.signIn(north, "alex", "5678").Code)
	const lift, set = `{"scope":"range","on":false}`, `{"scope":"range","on":true}`
	require.Equal(t, http.StatusOK, sam.send("PUT", "/control/api/holds", lift).Code,
		"everybody may, unless it is configured")

	staff := northStaff(hashes)
	staff[north] = RangeStaff{Members: staff[north].Members, OfficersRelease: true}
	f.reload(staff)
	require.Equal(t, http.StatusOK, sam.send("PUT", "/control/api/holds", set).Code)
	refused := sam.send("PUT", "/control/api/holds", lift)
	require.Equal(t, http.StatusForbidden, refused.Code)
	require.Contains(t, refused.Body.String(), `"code":"officer_required"`)
	require.Contains(t, f.lastCommand(), "sam holds")
	bay := `{"scope":"bay","id":"` + theBay.String() + `","on":false}`
	require.Equal(t, http.StatusOK, sam.send("PUT", "/control/api/holds", bay).Code,
		"a bay or a lane anybody may release")
	require.Equal(t, http.StatusOK, alex.send("PUT", "/control/api/holds", lift).Code)
	require.Contains(t, f.lastCommand(), "alex lifts range")
}

// Before anybody signs in, the page of a range says its name and whether a ceasefire is in force, and nothing
// else of it.
func TestTheSignInPageKnowsOfACeasefire(t *testing.T) {
	f := newFixture(t)
	state := func(rangeID uuid.UUID) string {
		response := f.browser().send("GET", ceasefirePath(rangeID), "")
		require.Equal(t, http.StatusOK, response.Code)
		return strings.TrimSpace(response.Body.String())
	}
	set := func(holds ...lanes.HoldRecord) { f.setHolds(lanes.Holds{InForce: holds}) }
	hold := func(kind string, id uuid.UUID, since time.Time) lanes.HoldRecord {
		return lanes.HoldRecord{Scope: lanes.Scope{Kind: kind, ID: id}, Who: "sam", Since: since}
	}
	none := `{"range_name":"North range","known":true,"over":"","since":null,"may_begin":false}`
	require.Equal(t, none, state(north))
	set(hold(lanes.OverLane, theLane, noon.Wall))
	require.Equal(t, none, state(north), "a lane that is locked is no ceasefire")
	later := noon.Wall.Add(time.Minute)
	set(hold(lanes.OverBay, uuid.New(), later), hold(lanes.OverBay, theBay, noon.Wall))
	require.Equal(t,
		`{"range_name":"North range","known":true,"over":"bay","since":"2026-05-01T12:00:00.250Z","may_begin":false}`,
		state(north), "the earliest one")
	set(hold(lanes.OverBay, theBay, noon.Wall), hold(lanes.OverRange, uuid.Nil, later))
	require.Equal(t,
		`{"range_name":"North range","known":true,"over":"range","since":"2026-05-01T12:01:00.250Z","may_begin":false}`,
		state(north))
	require.Equal(t, `{"range_name":"South range","known":false,"over":"","since":null,"may_begin":false}`,
		state(south), "it does not run")
	require.Equal(t, `{"range_name":"","known":false,"over":"","since":null,"may_begin":false}`, state(uuid.New()))
}

func ceasefirePath(rangeID uuid.UUID) string {
	return "/control/sign-in/" + rangeID.String() + "/ceasefire"
}

// A ceasefire must not wait for a PIN: where one of the range's staff has signed in before, it begins without
// one, and it is on record whose browser that is.
func TestADeviceOfStaffBeginsACeasefireWithoutASignIn(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	b.send("POST", "/control/sign-out", "")
	require.False(t, b.isSignedIn())
	require.Contains(t, b.send("GET", ceasefirePath(north), "").Body.String(), `"may_begin":true`)

	response := b.send("PUT", ceasefirePath(north), `{"scope":"range"}`)
	require.Equal(t, http.StatusOK, response.Code)
	require.Contains(t, response.Body.String(), `"confirmed":["`+theLane.String()+`"]`)
	require.Equal(t, "device of sam holds range "+uuid.Nil.String(), f.lastCommand())
	require.Equal(t, http.StatusOK, b.send("PUT", ceasefirePath(north), `{"scope":"bay","id":"`+theBay.String()+
		`"}`).Code, "one that the page had asked for before")
	require.Equal(t, "device of sam holds bay "+theBay.String(), f.lastCommand())

	require.Equal(t, http.StatusBadRequest, b.send("PUT", ceasefirePath(north), `{"scope":"bay","id":"`+
		uuid.NewString()+`"}`).Code)
	require.Equal(t, http.StatusOK, b.send("PUT", ceasefirePath(north), `{"scope":"range","on":false}`).Code)
	require.Equal(t, "device of sam holds range "+uuid.Nil.String(), f.lastCommand(), "it never ends one")
	require.False(t, b.isSignedIn(), "and signs nobody in")

	require.Equal(t, http.StatusNoContent, b.signIn(north, "alex", "5678").Code)
	b.send("PUT", ceasefirePath(north), `{"scope":"range"}`)
	require.Equal(t, "device of alex holds range "+uuid.Nil.String(), f.lastCommand(), "who signed in last")
}

// Nobody else does: no stranger, nobody of another range, nobody who has left or whose PIN was changed, and
// no page of another site.
func TestAStrangerBeginsNoCeasefire(t *testing.T) {
	f := newFixture(t)
	const body = `{"scope":"range"}`
	refused := func(b *browser, rangeID uuid.UUID) {
		t.Helper()
		response := b.send("PUT", ceasefirePath(rangeID), body)
		require.Equal(t, http.StatusUnauthorized, response.Code)
		require.Contains(t, response.Body.String(), `"code":"unauthorized"`)
		require.Contains(t, b.send("GET", ceasefirePath(rangeID), "").Body.String(), `"may_begin":false`)
	}
	refused(f.browser(), north)
	refused(f.browser(), uuid.New())
	sam := f.signedIn()
	refused(sam, south)
	forged := f.browser()
	forged.device = &http.Cookie{Name: deviceCookie, Value: sam.device.Value[:len(sam.device.Value)-2] + "AA"}
	refused(forged, north)
	session := f.browser()
	session.cookie = sam.cookie
	refused(session, north)
	crossSite := sam.send("PUT", ceasefirePath(north), body, "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, crossSite.Code)

	changed := northStaff(map[string]string{"sam": hashes["alex"], "alex": hashes["alex"]})
	f.reload(changed)
	refused(sam, north)
	f.reload(northStaff(map[string]string{"alex": hashes["alex"]}))
	refused(sam, north)
	require.Empty(t, f.lastCommand())
}

// A browser that was stolen cannot hold a range again and again faster than staff release it. What repeats
// one that is in force is no other one.
func TestTheCeasefiresOfADeviceAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		sam, alex := f.signedIn(), f.browser()
		require.Equal(t, http.StatusNoContent, alex.signIn(north, "alex", "5678").Code)
		begin := func(b *browser) *httptest.ResponseRecorder {
			return b.send("PUT", ceasefirePath(north), `{"scope":"range"}`)
		}
		for range maxCeasefires {
			require.Equal(t, http.StatusOK, begin(sam).Code)
		}
		response := begin(sam)
		require.Equal(t, http.StatusTooManyRequests, response.Code)
		require.Equal(t, "12", response.Header().Get("Retry-After"))
		require.Equal(t, http.StatusOK, begin(alex).Code, "each device has its own limit")
		f.setHolds(lanes.Holds{InForce: []lanes.HoldRecord{{
			Scope: lanes.Scope{Kind: lanes.OverRange}, Who: "sam",
			Since: noon.Wall,
		}}})
		for range 2 * maxCeasefires {
			require.Equal(t, http.StatusOK, begin(sam).Code)
		}
		f.setHolds(lanes.Holds{})
		time.Sleep(12 * time.Second)
		require.Equal(t, http.StatusOK, begin(sam).Code)
	})
}
