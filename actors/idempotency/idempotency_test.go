package idempotency

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// requests are those of a running range: each is answered with its number.
type requests struct {
	Once
	*testing.T
	end      context.CancelCauseFunc
	done     int              // so many were carried out
	err      error            // of carrying one out
	stored   map[string]error // of reading the answers that the store has
	finished chan struct{}    // nil, or a request is under way until it is closed
}

func newRequests(t *testing.T, saved ...lanes.KeptAnswer) *requests {
	r := &requests{T: t, stored: map[string]error{}}
	life, end := context.WithCancelCause(context.Background())
	r.end = end
	r.Once = Once{
		Keys: New(saved), Life: life, Now: func() lanes.Instant { return lanes.Instant{Wall: noon} },
		ForgetEvery: 10 * time.Second,
		Refused:     prometheus.NewCounter(prometheus.CounterOpts{Name: "refused"}),
		Read: func(_ context.Context, name string) (lanes.KeptAnswer, error) {
			err, found := r.stored[name]
			if !found {
				return lanes.KeptAnswer{}, lanes.ErrNotSaved
			}
			return lanes.KeptAnswer{Name: name, Body: "from the store"}, err
		},
	}
	return r
}

// patience is how long a request waits, as those of the API do. None of these waits in vain.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// send makes a request with the key; an empty one is none.
func (r *requests) send(name, fingerprint string) error {
	var key *lanes.Key
	if name != "" {
		key = &lanes.Key{
			Name: name, Fingerprint: fingerprint,
			Render: func(*lanes.SessionView) (int, []byte) { return 201, fmt.Appendf(nil, "%d", r.done) },
		}
	}
	return r.Do(patience(r.T), key, func(claim *Claim) error {
		if r.finished != nil {
			<-r.finished
		}
		if r.err != nil {
			claim.Settle(nil)
			return r.err
		}
		r.done++
		answer := claim.Answer(nil, r.Now())
		if claim != nil {
			r.Keys.Saved(answer)
		}
		claim.Settle(answer)
		return nil
	})
}

// requireRepeat requires that the request was answered as before.
func (r *requests) requireRepeat(err error, body string) {
	r.Helper()
	var repeat *lanes.Repeat
	require.ErrorAs(r, err, &repeat)
	require.Equal(r, body, repeat.Kept.Body)
}

func TestARequestIsCarriedOutOnceForItsKey(t *testing.T) {
	r := newRequests(t)
	require.NoError(t, r.send("a", "f"))
	r.requireRepeat(r.send("a", "f"), "1")
	require.NoError(t, r.send("b", "f"))
	r.requireRepeat(r.send("b", "f"), "2")
	r.requireRepeat(r.send("a", "f"), "1")
	require.ErrorIs(t, r.send("a", "another request"), lanes.ErrKeyReused)
	require.Equal(t, 2, r.done)
	require.True(t, r.Keys.Reused("a", "another request"))
	require.False(t, r.Keys.Reused("a", "f") || r.Keys.Reused("c", "f"))
}

func TestRequestsWithoutAKeyAreEachCarriedOut(t *testing.T) {
	r := newRequests(t)
	for range 3 {
		require.NoError(t, r.send("", "f"))
	}
	require.Equal(t, 3, r.done)
}

func TestARefusalFreesTheKey(t *testing.T) {
	r := newRequests(t)
	r.err = errors.New("the lane is occupied")
	require.ErrorIs(t, r.send("a", "f"), r.err)
	require.ErrorIs(t, r.send("a", "another request"), r.err, "the key is free")
	r.err = nil
	require.NoError(t, r.send("a", "f"))
}

// A request whose first try is under way waits for it: for its answer, or for its turn after a refusal.
func TestARepeatWaitsForTheFirstTry(t *testing.T) {
	for _, refused := range []error{nil, errors.New("the lane is occupied")} {
		synctest.Test(t, func(t *testing.T) {
			r := newRequests(t)
			r.finished, r.err = make(chan struct{}), refused
			first, second := make(chan error, 1), make(chan error, 1)
			go func() { first <- r.send("a", "f") }()
			synctest.Wait()
			go func() { second <- r.send("a", "f") }()
			synctest.Wait()
			close(r.finished)
			require.Equal(t, refused, <-first)
			if refused == nil {
				r.requireRepeat(<-second, "1")
			} else {
				require.Equal(t, refused, <-second, "it was decided anew")
			}
		})
	}
}

// The store has the bodies of the older answers.
func TestTheBodyOfAnOlderAnswerIsRead(t *testing.T) {
	saved := []lanes.KeptAnswer{{Name: "a", Fingerprint: "f", At: noon}, {Name: "lost", Fingerprint: "f", At: noon}}
	for i := range saved {
		saved[i] = saved[i].Shed()
	}
	r := newRequests(t, saved...)
	r.stored["a"] = nil
	r.requireRepeat(r.send("a", "f"), "from the store")
	r.stored["a"] = lanes.ErrStoreUnavailable
	require.ErrorIs(t, r.send("a", "f"), lanes.ErrStoreUnavailable)
	require.ErrorIs(t, r.send("lost", "f"), lanes.ErrNotSaved)
	require.Zero(t, r.done)
}

// Memory has the bodies of the newest answers: by their number, and by their age.
func TestBodiesAreShed(t *testing.T) {
	r := newRequests(t)
	for i := range store.RefillSize + 2 {
		require.NoError(t, r.send(fmt.Sprint(i), "f"))
	}
	inStore := func() (n int) {
		for _, answer := range r.Keys.All() {
			if answer.InStore {
				n++
			}
		}
		return n
	}
	require.Equal(t, 2, inStore(), "beyond %d", store.RefillSize)
	require.Empty(t, r.Keys.Forget(noon.Add(store.RefillTerm)))
	require.Equal(t, 2, inStore())
	require.Empty(t, r.Keys.Forget(noon.Add(store.RefillTerm+1)))
	require.Equal(t, store.RefillSize+2, inStore())
}

// The bodies of newer answers are shed in their turn, however many older answers have expired.
func TestBodiesAreShedAfterOthersHaveExpired(t *testing.T) {
	keys := New([]lanes.KeptAnswer{{Name: "a", At: noon, InStore: true}, {Name: "b", At: noon, InStore: true}})
	keys.Saved(&lanes.KeptAnswer{Name: "c", Body: "1", At: noon.Add(time.Hour)})
	keys.Forget(noon.Add(time.Hour))
	require.Equal(t, "1", keys.All()[2].Body)
	require.ElementsMatch(t, []string{"a", "b"}, keys.Forget(noon.Add(Term+time.Second)))
	require.Equal(t, []lanes.KeptAnswer{{Name: "c", At: noon.Add(time.Hour), InStore: true}}, keys.All())
}

// A refusal for too many keys says when there is room: when the oldest key expires and the next call of Forget
// drops it, an hour at most.
func TestTooManyKeys(t *testing.T) {
	saved := make([]lanes.KeptAnswer, MaxKeys)
	for i := range saved {
		saved[i] = lanes.KeptAnswer{Name: fmt.Sprint(i), Fingerprint: "f", At: noon.Add(-Term + time.Minute)}
	}
	r := newRequests(t, saved...)
	var full *FullError
	err := r.send("one more", "f")
	require.ErrorAs(t, err, &full)
	require.ErrorIs(t, err, lanes.ErrKeysFull)
	require.Equal(t, time.Minute+10*time.Second, full.RetryAfter())
	require.Equal(t, time.Hour, r.Keys.Full(noon.Add(-Term), 10*time.Second).RetryAfter())
	require.NoError(t, r.send("", "f"), "a request without a key takes none")
	require.Len(t, r.Keys.Forget(noon.Add(2*time.Minute)), MaxKeys)
	require.NoError(t, r.send("one more", "f"))
	require.Equal(t, time.Second, New(nil).Full(noon, time.Minute).RetryAfter(), "all are those of requests under way")
}

// Once the range has stopped, and while another process has it, nothing is carried out.
func TestRequestsAfterTheEnd(t *testing.T) {
	r := newRequests(t)
	require.NoError(t, r.send("a", "f"))
	r.Keys.Close()
	require.ErrorIs(t, r.send("b", "f"), lanes.ErrTimeout)
	r.end(lanes.ErrNotOwner)
	for _, name := range []string{"", "a", "c"} {
		require.ErrorIs(t, r.send(name, "f"), lanes.ErrNotOwner)
	}
	require.Equal(t, 1, r.done)
}

// A key is used again while the deletion of its expired record is still to come: it is not deleted.
func TestAKeyThatIsUsedAgainIsNotDeleted(t *testing.T) {
	keys := New([]lanes.KeptAnswer{{Name: "a", Fingerprint: "f", At: noon}, {Name: "b", Fingerprint: "f", At: noon}})
	require.Empty(t, keys.Forget(noon.Add(Term)), "a day is not over")
	later := noon.Add(Term + time.Second)
	require.ElementsMatch(t, []string{"a", "b"}, keys.Forget(later))
	claim, err := keys.Claim(patience(t), lanes.Key{Name: "a", Fingerprint: "f"})
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, keys.Forget(later), "refused, and tried again")
	kept := lanes.KeptAnswer{Name: "a", Fingerprint: "f", At: later}
	keys.Saved(&kept)
	claim.Settle(&kept)
	require.Equal(t, []string{"b"}, keys.Forget(later))
	keys.Deleted([]string{"b"})
	require.Empty(t, keys.Forget(later))
}

// A command that is in force and not durable is answered so, to its repeat too; later the answer that was saved.
func TestNotSavedYet(t *testing.T) {
	keys := New(nil)
	key := lanes.Key{Name: "a", Fingerprint: "f"}
	claim, err := keys.Claim(patience(t), key)
	require.NoError(t, err)
	claim.NotSaved()
	claim.NotSaved() // of a second outcome
	_, err = keys.Claim(patience(t), key)
	require.ErrorIs(t, err, lanes.ErrNotSaved)
	claim.Settle(&lanes.KeptAnswer{Name: "a", Fingerprint: "f", Body: "1"})
	claim.Settle(nil) // too late
	_, err = keys.Claim(patience(t), key)
	var repeat *lanes.Repeat
	require.ErrorAs(t, err, &repeat)
	require.Equal(t, "1", repeat.Kept.Body)
}
