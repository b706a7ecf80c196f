package actors

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// tryStopOnce stops the session under the key.
func (g *rig) tryStopOnce(session uuid.UUID, key *lanes.Key) error {
	_, err := g.On(g.Context(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, key)
	return err
}

func TestARepeatOfAStopHearsThatItIsNotSavedUntilItIs(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session, key := g.create(0, 30), keyed("stop-1", "stop it")
				g.store.hook(outage)
				first := g.begin(func() error { return g.tryStopOnce(session, key) })
				second := g.begin(func() error { return g.tryStopOnce(session, key) })
				require.ErrorIs(t, g.answerOf(first, time.Second), lanes.ErrNotSaved)
				require.ErrorIs(t, g.answerOf(second, 0), lanes.ErrNotSaved, "it waited for the first")
				g.pass(30 * time.Second)
				asked := time.Now()
				require.ErrorIs(t, g.tryStopOnce(session, key), lanes.ErrNotSaved)
				require.ErrorIs(t, g.tryStopOnce(session, keyed("stop-1", "stop another")), lanes.ErrKeyReused)
				require.Equal(t, asked, time.Now(), "at once")

				g.storeReturns()
				for range 2 {
					requireRepeat(t, g.tryStopOnce(session, key), session)
					g.restart()
				}
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, g.happened(session))
			})
		})
	}
}

func TestARefusedCreateFreesItsKey(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		key := keyed("create-1", "create")
		g.store.hook(refuses)
		for range 2 {
			_, err := g.createOnce(key)
			require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		}
		g.storeReturns()
		session, err := g.createOnce(key)
		require.NoError(t, err)
		_, err = g.createOnce(key)
		requireRepeat(t, err, session)
	})
}

// Nobody knows whether the store has it: the key is kept until that is known, and a repeat gets the answer then.
func TestACreateThatTimedOutKeepsItsKey(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		key := keyed("create-1", "create")
		g.store.hook(goesSilent)
		for range 2 {
			ctx, cancel := withDeadline(t, 5*time.Second)
			_, err := g.Create(ctx, g.lane(0), g.sale(30), key)
			cancel()
			require.ErrorIs(t, err, lanes.ErrTimeout)
		}
		repeated := g.begin(func() error {
			_, err := g.createOnce(key)
			return err
		})
		g.store.hook(nil)
		err := g.answerOf(repeated, 5*time.Second)
		require.Len(t, g.onBoard(), 1)
		requireRepeat(t, err, g.onBoard()[0])
		require.True(t, g.open(0))
	})
}
