package actors

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// keyed is an idempotency key of that name, for the request with that fingerprint. Its answer is the session's id and
// minutes.
func keyed(name, fingerprint string) *lanes.Key {
	return &lanes.Key{Name: name, Fingerprint: fingerprint, Render: func(view *lanes.SessionView) (int, []byte) {
		return 201, fmt.Appendf(nil, "%s %d", view.ID, view.Minutes)
	}}
}

// createOnce sells 30 minutes on the first lane under the key.
func (g *rig) createOnce(key *lanes.Key) (uuid.UUID, error) {
	view, err := g.Create(g.request(), g.lane(0), g.sale(30), key)
	if err != nil {
		return uuid.Nil, err
	}
	return view.ID, nil
}

// requireRepeat wants the answer kept for the sale of 30 minutes.
func requireRepeat(t *testing.T, err error, session uuid.UUID) {
	t.Helper()
	var repeat *lanes.Repeat
	require.ErrorAs(t, err, &repeat)
	status, body := repeat.Replay()
	require.Equal(t, 201, status)
	require.Equal(t, fmt.Sprintf("%s 30", session), string(body))
}

func TestARepeatIsAnsweredAsTheFirst(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, err := g.createOnce(keyed("a", "create"))
		require.NoError(t, err)
		g.pass(time.Minute)
		g.modify(session, 5)
		_, err = g.createOnce(keyed("a", "create"))
		requireRepeat(t, err, session)

		stop := func() error {
			_, err := g.On(g.request(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, keyed("b", "stop"))
			return err
		}
		require.NoError(t, stop())
		require.ErrorAs(t, stop(), new(*lanes.Repeat), "though the session is gone")
		_, err = g.createOnce(keyed("a", "create"))
		requireRepeat(t, err, session)
		require.Empty(t, g.onBoard(), "a repeat has no effect")

		g.restart()
		_, err = g.createOnce(keyed("a", "create"))
		requireRepeat(t, err, session)
	})
}

func TestAKeyIsForOneRequest(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := g.holdFlushes()
		first := g.begin(func() error { _, err := g.createOnce(keyed("a", "create")); return err })
		_, err := g.createOnce(keyed("a", "another"))
		require.ErrorIs(t, err, lanes.ErrKeyReused, "while the first is under way")
		release()
		require.NoError(t, <-first)
		_, err = g.createOnce(keyed("a", "another"))
		require.ErrorIs(t, err, lanes.ErrKeyReused)
		g.restart()
		_, err = g.createOnce(keyed("a", "another"))
		require.ErrorIs(t, err, lanes.ErrKeyReused)
	})
}

func TestConcurrentRepeatsWaitAndHaveOneEffect(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := g.holdFlushes()
		var answers []<-chan error
		for range 20 {
			answers = append(answers, g.begin(func() error { _, err := g.createOnce(keyed("a", "create")); return err }))
		}
		for _, answer := range answers {
			require.Empty(t, answer, "none is answered before the first is saved")
		}
		release()
		require.NoError(t, <-answers[0])
		session := g.onBoard()[0]
		for _, answer := range answers[1:] {
			requireRepeat(t, <-answer, session)
		}
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, g.happened(session))
	})
}

func TestARefusalFreesTheKey(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		blocking := g.create(0, 30)
		_, err := g.createOnce(keyed("a", "create"))
		require.ErrorIs(t, err, lanes.ErrLaneOccupied, "by a rule")
		_, err = g.Create(g.request(), uuid.New(), g.sale(30), keyed("a", "elsewhere"))
		require.ErrorIs(t, err, lanes.ErrLaneNotFound, "before any lane")
		g.stop(blocking)

		g.store.hook(refuseAll)
		_, err = g.createOnce(keyed("a", "create"))
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable, "by the store")
		g.store.hook(nil)
		g.pass(time.Second)

		_, err = g.createOnce(keyed("a", "create"))
		require.NoError(t, err)
	})
}

// Of those that wait for a request that is refused, one is next.
func TestARefusalLetsTheNextRepeatTry(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		var answers []<-chan error
		session := g.create(0, 30)
		release := g.holdFlushes()
		g.begin(func() error { return g.tryModify(session, 1) })
		for range 3 {
			answers = append(answers, g.begin(func() error { _, err := g.createOnce(keyed("a", "create")); return err }))
		}
		stopped := g.begin(func() error {
			_, err := g.On(g.request(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		})
		release()
		require.NoError(t, <-stopped)
		made := 0
		for _, answer := range answers {
			if err := <-answer; err == nil {
				made++
			} else {
				require.ErrorAs(t, err, new(*lanes.Repeat))
			}
		}
		require.Equal(t, 1, made)
	})
}

func TestAKeyIsForgottenAfterADay(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		first, err := g.createOnce(keyed("a", "create"))
		require.NoError(t, err)
		g.stop(first)
		g.clock.Suspend(idempotency.Term - time.Minute)
		g.pass(30 * time.Second)
		_, err = g.createOnce(keyed("a", "create"))
		requireRepeat(t, err, first)

		g.clock.Suspend(time.Minute)
		g.pass(checkpointEvery)
		second, err := g.createOnce(keyed("a", "another"))
		require.NoError(t, err)
		g.restart()
		_, err = g.createOnce(keyed("a", "another"))
		requireRepeat(t, err, second)
		g.stop(second)
		g.clock.Suspend(idempotency.Term)
		g.pass(checkpointEvery)
		g.restart()
		require.Empty(t, g.keys.All(), "the store has forgotten them too")
	})
}

func TestARangeKeepsSoManyKeys(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		var claims []*idempotency.Claim
		for i := range idempotency.MaxKeys {
			claim, err := g.keys.Claim(t.Context(), *keyed(fmt.Sprint(i), "f"))
			require.NoError(t, err)
			claims = append(claims, claim)
		}
		_, err := g.createOnce(keyed("one more", "create"))
		require.ErrorIs(t, err, lanes.ErrKeysFull)
		require.Equal(t, "overloaded", lanes.ErrKeysFull.Code())
		claims[0].Settle(nil)
		_, err = g.createOnce(keyed("one more", "create"))
		require.NoError(t, err)
		require.ErrorIs(t, g.tryCreate(0, 30), lanes.ErrLaneOccupied, "without a key there is no cap")
	})
}

func refuseAll(context.Context, store.Batch, func() error) error { return store.ErrRefused }
