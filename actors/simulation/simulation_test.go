package simulation

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

// receiver is a webhook and a range with one session, without actors and store.
type receiver struct {
	*testing.T
	*Simulator
	end context.CancelCauseFunc // of the range

	mu      sync.Mutex
	session uuid.UUID
	lane    lanes.Lane
	why     string               // nothing is sent
	answer  func() lanes.Attempt // of the webhook
	saved   commit.Outcome       // of the next writes
	silent  bool                 // the store does not answer
	addFail []error              // of the next tries to add minutes

	began, sent, abandoned, recorded int
	added                            []int
}

func (r *receiver) Now() lanes.Instant { return lanes.Instant{Wall: time.Now()} }
func (r *receiver) Boot() string       { return "boot" }

func (r *receiver) Receives(lanes.Kind) (webhook, why string) { return "books", r.why }
func (r *receiver) Begin(lanes.Logged)                        { r.count(&r.began) }
func (r *receiver) Abandon(uuid.UUID)                         { r.count(&r.abandoned) }
func (r *receiver) Record(lanes.Logged)                       { r.count(&r.recorded) }

func (r *receiver) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

func (r *receiver) SendNow(event lanes.Logged) (lanes.Attempt, lanes.Answer) {
	require.NotZero(r, event.Cursor, "it is in the log")
	r.count(&r.sent)
	return r.answer(), lanes.Answer{}
}

func (r *receiver) find(session uuid.UUID) (lane lanes.Lane, found bool) {
	return r.lane, session == r.session
}

func (r *receiver) save(w *commit.Write) {
	require.Equal(r, lanes.Interrupted, w.Events[0].Attempt.Error, "a crash shows that it was attempted")
	w.Events[0].Cursor = 7
	if !r.silent {
		w.Done(r.saved)
	}
}

func (r *receiver) addMinutes(_ context.Context, event lanes.Logged, minutes int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(r, 200, event.Attempt.Status, "the outcome is saved with the minutes")
	if len(r.addFail) > 0 {
		err := r.addFail[0]
		r.addFail = r.addFail[1:]
		return err
	}
	r.added = append(r.added, minutes)
	return nil
}

// try runs a story of a receiver that accepts everything.
func try(t *testing.T, story func(r *receiver)) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{
			T: t, session: uuid.New(), saved: commit.Saved,
			answer: func() lanes.Attempt { return lanes.Attempt{Status: 200} },
		}
		session := &lanes.Session{
			ID: r.session, Sold: 460 * time.Minute, Phase: lanes.Running, Left: time.Hour,
			Since: r.Now(),
		}
		r.lane = lanes.Lane{ID: uuid.New(), Session: session}
		life, end := context.WithCancelCause(context.Background())
		r.end = end
		r.Simulator = New(Deps{
			Life: life, Clock: r, Log: zerolog.Nop(), Delivery: r, Save: r.save, Find: r.find, AddMinutes: r.addMinutes,
			Go: func(run func()) { go run() },
		})
		story(r)
		end(errors.New("the range stops"))
	})
}

// buy simulates that the customer of the session buys so many minutes.
func (r *receiver) buy(minutes int) (lanes.Logged, error) {
	return r.Simulate(context.Background(), lanes.PurchaseRequest, r.session,
		[]lanes.Item{{ID: lanes.TimeItem, Qty: minutes}})
}

func (r *receiver) help(ctx context.Context) (lanes.Logged, error) {
	return r.Simulate(ctx, lanes.Help, uuid.Nil, nil)
}

func TestASimulatedEventIsSentOnceAndSaysThatItIsOne(t *testing.T) {
	try(t, func(r *receiver) {
		event, err := r.help(context.Background())
		require.NoError(t, err)
		require.True(t, event.Simulated)
		require.Equal(t, "books", event.Webhook)
		require.NotEqual(t, uuid.Nil, event.Event.Session, "made up")
		require.Equal(t, []int{1, 1, 1, 0}, []int{r.began, r.sent, r.recorded, r.abandoned})
	})
}

// Minutes that the receiver lets the session buy are added, in one write with the outcome: it is not recorded besides.
func TestMinutesThatWereBoughtAreAdded(t *testing.T) {
	try(t, func(r *receiver) {
		event, err := r.buy(15)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{r.session, r.lane.ID}, []uuid.UUID{event.Event.Session, event.Event.Lane})
		require.Equal(t, []int{15}, r.added)
		require.Zero(t, r.recorded)
	})
}

func TestMinutesThatWereRefusedAreNotAdded(t *testing.T) {
	try(t, func(r *receiver) {
		r.answer = func() lanes.Attempt { return lanes.Attempt{Status: 409, Error: lanes.Refused} }
		_, err := r.buy(15)
		require.NoError(t, err)
		require.Empty(t, r.added)
		require.Equal(t, 1, r.recorded)
	})
}

// A session has 480 minutes at most: what simulated purchases may add yet takes of them until it is decided.
func TestMinutesUnderWayTakeTheRoomOfOthers(t *testing.T) {
	try(t, func(r *receiver) { // it has room for 20 more
		r.answer = func() lanes.Attempt {
			time.Sleep(time.Second)
			return lanes.Attempt{
				Status: 409,
				Error:  lanes.Refused,
			}
		}
		first := make(chan error, 1)
		go func() { _, err := r.buy(15); first <- err }()
		synctest.Wait()
		_, err := r.buy(6)
		require.ErrorIs(t, err, lanes.ErrDurationOutOfRange)
		require.Equal(t, 1, r.sent)
		require.NoError(t, <-first)
		_, err = r.buy(20)
		require.NoError(t, err, "the first one was refused")
	})
}

// What was bought while the store is down is added once it is back. Nobody waits for it.
func TestMinutesAreAddedOnceTheStoreIsBack(t *testing.T) {
	try(t, func(r *receiver) {
		r.addFail = []error{lanes.ErrStoreUnavailable, lanes.ErrOverloaded}
		began := time.Now()
		_, err := r.buy(15)
		require.NoError(t, err)
		require.Zero(t, time.Since(began))
		require.Empty(t, r.added)
		_, err = r.buy(20)
		require.ErrorIs(t, err, lanes.ErrDurationOutOfRange, "they are promised")
		time.Sleep(2 * addRetry)
		synctest.Wait()
		require.Equal(t, []int{15}, r.added)
	})
}

// For a session that cannot take the minutes any more the outcome alone is recorded.
func TestMinutesOfASessionThatHasEnded(t *testing.T) {
	try(t, func(r *receiver) {
		r.addFail = []error{lanes.ErrSessionEnded}
		_, err := r.buy(15)
		require.NoError(t, err)
		require.Empty(t, r.added)
		require.Equal(t, 1, r.recorded)
		_, err = r.buy(20)
		require.NoError(t, err, "they take nobody's room")
	})
}

func TestWhatIsNotSentAtAll(t *testing.T) {
	for why, want := range map[string]error{
		lanes.NoWebhook:   lanes.ErrWebhookNotConfigured,
		lanes.WebhookGone: lanes.ErrWebhookGone,
	} {
		try(t, func(r *receiver) {
			r.why = why
			_, err := r.help(context.Background())
			require.ErrorIs(t, err, want)
			require.Zero(t, r.began)
		})
	}
}

func TestAReceiverThatDoesNotAnswer(t *testing.T) {
	for word, want := range map[string]error{
		lanes.TimedOut:    lanes.ErrWebhookFailed,
		lanes.WebhookGone: lanes.ErrWebhookGone,
	} {
		try(t, func(r *receiver) {
			r.answer = func() lanes.Attempt { return lanes.Attempt{Error: word} }
			_, err := r.help(context.Background())
			require.ErrorIs(t, err, want)
			require.Equal(t, 1, r.recorded)
		})
	}
}

// An event that is not in the log is not sent.
func TestAnEventThatIsNotSaved(t *testing.T) {
	for outcome, want := range map[commit.Outcome]error{
		commit.Rejected: lanes.ErrStoreUnavailable, commit.Unresolved: lanes.ErrStoreUnavailable,
		commit.Fenced: lanes.ErrNotOwner, commit.Lost: lanes.ErrTimeout,
	} {
		try(t, func(r *receiver) {
			r.saved = outcome
			_, err := r.buy(15)
			require.ErrorIs(t, err, want)
			require.Equal(t, []int{0, 1}, []int{r.sent, r.abandoned})
			r.saved = commit.Saved
			_, err = r.buy(20)
			require.NoError(t, err, "its minutes take nobody's room")
		})
	}
}

// A store that does not answer costs the time of the request alone, and none once the range stops.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	try(t, func(r *receiver) {
		r.silent = true
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := r.help(ctx)
		require.ErrorIs(t, err, lanes.ErrTimeout)
		time.AfterFunc(time.Second, func() { r.end(lanes.ErrNotOwner) })
		_, err = r.help(context.Background())
		require.ErrorIs(t, err, lanes.ErrNotOwner)
		require.Equal(t, []int{0, 2}, []int{r.sent, r.abandoned})
	})
}

func TestSoManySimulationsAtOnce(t *testing.T) {
	try(t, func(r *receiver) {
		r.answer = func() lanes.Attempt { time.Sleep(time.Second); return lanes.Attempt{Status: 200} }
		var running sync.WaitGroup
		for range Slots {
			running.Go(func() { _, _ = r.help(context.Background()) })
		}
		synctest.Wait()
		_, err := r.help(context.Background())
		require.ErrorIs(t, err, lanes.ErrOverloaded)
		running.Wait()
		_, err = r.help(context.Background())
		require.NoError(t, err)
	})
}
