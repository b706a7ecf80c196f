package control

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A session is a cookie: it survives a restart of the gateway, and signing in needs no store.
func TestASessionOutlivesARestartAndEndsWithThePIN(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	f.restart(northStaff(hashes))
	require.True(t, b.isSignedIn())

	another, err := HashPIN("1234")
	require.NoError(t, err)
	f.restart(northStaff(map[string]string{"sam": another, "alex": hashes["alex"]}))
	require.False(t, b.isSignedIn(), "the PIN has changed")
	f.restart(northStaff(map[string]string{"alex": hashes["alex"]}))
	require.False(t, b.isSignedIn(), "sam is no longer staff")
	f.restart(northStaff(hashes))
	require.True(t, b.isSignedIn())
	f.reload(northStaff(map[string]string{"alex": hashes["alex"]}))
	require.False(t, b.isSignedIn(), "a reload counts like a restart")
}

// Whoever has read the configuration has the hashes of the PINs, and cannot sign a cookie with them.
func TestACookieFromThePINHashIsForged(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	signed := *b.cookie
	decoded, err := base64.RawURLEncoding.DecodeString(signed.Value)
	require.NoError(t, err)
	text := decoded[:len(decoded)-sha256.Size]
	keys := [][]byte{
		[]byte(hashes["sam"]), nil, make([]byte, 32),
		sign([]byte(hashes["sam"]), []byte("rangegate control session")),
		sign(nil, []byte("rangegate control session")),
	}
	for _, key := range keys {
		for _, label := range []string{"", "session of ", "device of "} {
			forged := append(slices.Clone(text), sign(key, append([]byte(label), text...))...)
			b.cookie = &http.Cookie{Name: sessionCookie, Value: base64.RawURLEncoding.EncodeToString(forged)}
			require.False(t, b.isSignedIn())
		}
	}
	auth := f.handlerAuth(t)
	auth.Sessions = &Sessions{secret: [32]byte{1}}
	id := [16]byte(text[16:32])
	b.cookie = &http.Cookie{
		Name:  sessionCookie,
		Value: auth.format(newSession(member{north, "sam"}, id, time.Now(), time.Now())),
	}
	require.False(t, b.isSignedIn(), "another gateway's secret")
	auth.Sessions = f.sessions
	b.cookie = &http.Cookie{
		Name:  sessionCookie,
		Value: auth.format(newSession(member{north, "sam"}, id, time.Now(), time.Now())),
	}
	require.True(t, b.isSignedIn(), "the same with this gateway's")
}

func TestASessionEndsAfterADayHoweverMuchItIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		b := f.signedIn()
		for range 3 {
			time.Sleep(8*time.Hour - time.Second)
			require.Equal(t, http.StatusOK, b.send("PUT", "/control/api/holds", `{"scope":"range","on":true}`).Code)
		}
		used := *b.cookie
		time.Sleep(4 * time.Second)
		require.False(t, b.isSignedIn())
		f.restart(northStaff(hashes))
		b.cookie = &used
		require.False(t, b.isSignedIn())
	})
}

// No signed-in board loses sight of a ceasefire, and whoever was signed out before it is not signed in by it.
func TestACeasefireExtendsASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		over := func(kind string) {
			f.setHolds(lanes.Holds{}.Set(lanes.Scope{Kind: kind}, "sam", time.Now()))
		}
		idle := f.signedIn()
		time.Sleep(13 * time.Hour)
		b := f.signedIn()
		over(lanes.OverRange)
		require.False(t, idle.isSignedIn(), "it was over before the ceasefire began")
		for range 3 {
			time.Sleep(18 * time.Hour)
			require.True(t, b.isSignedIn())
			f.restart(northStaff(hashes))
			require.True(t, b.isSignedIn())
			require.False(t, idle.isSignedIn())
		}
		over(lanes.OverLane)
		require.False(t, b.isSignedIn(), "a lane that is held is no ceasefire")

		f.setHolds(lanes.Holds{})
		b = f.signedIn()
		over(lanes.OverBay)
		time.Sleep(71 * time.Hour)
		require.True(t, b.isSignedIn())
		f.setHolds(lanes.Holds{})
		require.False(t, b.isSignedIn(), "the ceasefire has ended")
		b = f.signedIn()
		over(lanes.OverRange)
		time.Sleep(72*time.Hour + time.Second)
		require.False(t, b.isSignedIn(), "in the end even then")
	})
}

func TestASignOutOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		b, other := f.signedIn(), f.signedIn()
		kept := *b.cookie
		require.Equal(t, http.StatusNoContent, b.send("POST", "/control/sign-out", "").Code)
		before := *other.cookie
		require.Equal(t, http.StatusNoContent, other.signIn(north, "sam", "1234").Code)
		for range 2 {
			f.restart(northStaff(hashes))
			b.cookie = &kept
			require.False(t, b.isSignedIn())
			b.cookie = &before
			require.False(t, b.isSignedIn(), "signing in again has ended the session before")
			require.True(t, other.isSignedIn())
		}
		f.setHolds(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "sam", time.Now()))
		time.Sleep(71 * time.Hour)
		f.restart(northStaff(hashes))
		b.cookie = &kept
		require.False(t, b.isSignedIn(), "nor does a ceasefire bring it back")
	})
}

// While the store is down, a sign-out says that it is not saved, and is saved later.
func TestASignOutWhileTheStoreIsDown(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	kept := *b.cookie
	f.store.fail(errors.New("down"))
	response := b.send("POST", "/control/sign-out", "")
	require.Equal(t, http.StatusServiceUnavailable, response.Code)
	require.Contains(t, response.Body.String(), `"code":"not_saved"`)
	require.Nil(t, b.cookie, "the browser deletes it")
	b.cookie = &kept
	require.False(t, b.isSignedIn(), "it has ended all the same")
	require.Equal(t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code, "signing in needs no store")
	require.Error(t, f.sessions.Refresh(t.Context()))

	f.store.fail(nil)
	require.Len(t, f.store.signedOut, 0)
	require.NoError(t, f.sessions.Refresh(t.Context()))
	require.Len(t, f.store.signedOut, 1)
	f.restart(northStaff(hashes))
	require.True(t, b.isSignedIn())
	b.cookie = &kept
	require.False(t, b.isSignedIn())
}

// A new secret, and what another gateway signs out, count in a running gateway; a store that has lost either
// gets it back.
func TestRefresh(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	s, ok := f.handlerAuth(t).parse(b.cookie.Value)
	require.True(t, ok)
	require.NoError(t, f.sessions.Refresh(t.Context()))
	require.True(t, b.isSignedIn())

	stream := f.sessions.byID[s.id].live.Done()
	require.NoError(t, f.store.SignOut(t.Context(), map[[32]byte]time.Time{signedOutID(s.member, s.id): s.lastEnd()},
		nil))
	require.NoError(t, f.sessions.Refresh(t.Context()))
	<-stream // open screens end
	require.False(t, b.isSignedIn())
	require.Equal(t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code)

	secret := f.store.secret
	f.store.secret, f.store.signedOut = [32]byte{}, map[[32]byte]time.Time{}
	require.NoError(t, f.sessions.Refresh(t.Context()))
	require.Equal(t, secret, f.store.secret)
	require.Len(t, f.store.signedOut, 1)
	require.True(t, b.isSignedIn())

	f.store.secret = [32]byte{7}
	s, ok = f.handlerAuth(t).parse(b.cookie.Value)
	require.True(t, ok)
	stream = f.sessions.byID[s.id].live.Done()
	require.NoError(t, f.sessions.Refresh(t.Context()))
	<-stream
	require.False(t, b.isSignedIn())
	require.Zero(t, f.handlerAuth(t).parseDevice(b.device.Value, member{north, "sam"}), "devices are unknown too")
	require.Equal(t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code)
	require.True(t, b.isSignedIn())
}

// What is kept of signed-out sessions is bounded: many of a user become one record, which ends no later
// session and nobody else's.
func TestManySignOutsAreKeptAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		early := f.signedIn()
		alex := f.browser()
		require.Equal(t, http.StatusNoContent, alex.signIn(north, "alex", "5678").Code)
		var kept []*http.Cookie
		for range 3 * maxSignedOut {
			time.Sleep(time.Second)
			b := f.signedIn()
			kept = append(kept, b.cookie)
			require.Equal(t, http.StatusNoContent, b.send("POST", "/control/sign-out", "").Code)
			require.LessOrEqual(t, len(f.store.signedOut), maxSignedOut+1)
		}
		time.Sleep(time.Second)
		late := f.signedIn()
		for range 2 {
			b := f.browser()
			for _, b.cookie = range kept {
				require.False(t, b.isSignedIn())
			}
			require.True(t, alex.isSignedIn())
			require.True(t, late.isSignedIn())
			require.False(t, early.isSignedIn(), "older sessions of the user end with them")
			require.NoError(t, f.sessions.Refresh(t.Context()))
			require.LessOrEqual(t, len(f.store.signedOut), maxSignedOut+1)
			f.restart(northStaff(hashes))
		}
	})
}

func TestAStoreThatCannotBeReadIsAnError(t *testing.T) {
	_, err := NewSessions(context.Background(), &fakeStore{err: errors.New("down")})
	require.ErrorContains(t, err, "down")
}

// FuzzCookies decodes what browsers send: no text ends in a panic, and none but those that the gateway has signed is a
// session or a device.
func FuzzCookies(f *testing.F) {
	sessions, err := NewSessions(context.Background(),
		&fakeStore{secret: [32]byte{1}, signedOut: map[[32]byte]time.Time{}})
	require.NoError(f, err)
	sam := member{north, "sam"}
	auth := &authenticator{Sessions: sessions, staff: map[member]Member{sam: {PINHash: "hash"}}}
	signed := auth.format(newSession(sam, [16]byte{1}, time.UnixMilli(1e12), time.UnixMilli(2e12)))
	key, _ := auth.key(sam)
	aDevice := base64.RawURLEncoding.EncodeToString(append(make([]byte, 16),
		sign(key, append([]byte("device of "), make([]byte, 16)...))...))
	future := binary.BigEndian.AppendUint64(slices.Concat(north[:], make([]byte, 24)), 1<<63)
	for _, seed := range []string{
		"", "=", signed, aDevice, signed[1:], strings.Repeat("A", 200), signed + signed,
		base64.RawURLEncoding.EncodeToString(append(future, make([]byte, 40)...)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if s, ok := auth.parse(value); ok {
			require.Equal(t, sam, s.member)
			require.Equal(t, strings.NewReplacer("\r", "", "\n", "").Replace(value), auth.format(s),
				"one session has one text")
			require.Equal(t, signed, auth.format(s), "nobody else has signed one")
		}
		if id := auth.parseDevice(value, sam); id != (device{}) {
			t.Fatalf("a device that nobody has signed: %q", value)
		}
		_, ok := auth.parse(value)
		require.False(t, ok && value == aDevice)
		require.Zero(t, auth.parseDevice(value, member{north, "nobody"}))
	})
}
