package actors

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

// node is one of several gateways on the same Redis server, in real time.
type sharing struct {
	gateway *Gateway
	store   *redis.Store
}

func startSharing(t *testing.T, url string, clockOf func(reference clock.Reference) clock.Clock) *sharing {
	t.Helper()
	s, err := redis.Open(t.Context(), url, store.Retention{
		Events: 72 * time.Hour, History: 720 * time.Hour,
		Names: 240 * time.Hour, Cap: 10_000,
	})
	require.NoError(t, err)
	n := &sharing{NewGateway(clockOf(s), s, metrics.New(prometheus.NewRegistry()), zerolog.Nop()), s}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), nodePatience)
		defer cancel()
		require.NoError(t, n.gateway.Stop(ctx))
		require.NoError(t, s.Close())
	})
	return n
}

// take starts the range here, and waits until its lanes are loaded.
func (n *sharing) take(t *testing.T, settings Settings) *Range {
	t.Helper()
	require.NoError(t, n.gateway.StartRange(t.Context(), settings))
	require.Eventually(t, func() bool { return n.gateway.Ready(1) }, nodePatience, time.Millisecond)
	r, err := n.gateway.Range(settings.Layout.Range)
	require.NoError(t, err)
	return r
}

// A range is taken over while its receiver is slow, again and again: what was being sent stays interrupted,
// everything else is delivered once, in the order of each lane, whichever gateway sends it.
func TestEventsThatAnotherOwnerLeftAreDeliveredOnce(t *testing.T) {
	t.Parallel()
	const slots, takeOvers, sold = 4, 3, 20
	server, receiver := redistest.Start(t), &fakeWebhook{}
	group := uuid.New()
	settings := Settings{
		Grace: 30 * time.Second, Driver: sim.New(realClock(t).Now), Receivers: oneReceiver(receiver, slots, 10_000),
		Layout: lanes.Layout{
			Range: uuid.New(), Name: "Shared", Groups: []lanes.Group{{ID: group, Name: "Public"}},
			Lanes: makePlaces(sold),
		},
	}
	ofThisMachine := func(clock.Reference) clock.Clock { return realClock(t) }
	nodes := []*sharing{startSharing(t, server.URL(), ofThisMachine), startSharing(t, server.URL(), ofThisMachine)}
	answering := make(chan struct{})
	receiver.setReply(func(ctx context.Context, event lanes.Event) lanes.Attempt {
		select {
		case <-answering:
			return lanes.Attempt{At: event.At, Status: 200}
		case <-ctx.Done():
			return lanes.Attempt{At: event.At, Error: lanes.Interrupted}
		}
	})
	var r *Range
	for i := range takeOvers {
		owner := nodes[i%2]
		before := r
		r = owner.take(t, settings)
		if before != nil {
			// Nobody has told the node before: it learns from its next flush.
			_, err := before.StaffOn(t.Context(), "sam", before.Sessions()[0].ID,
				lanes.Modify{Session: before.Sessions()[0].ID, Minutes: 1})
			require.ErrorIs(t, err, lanes.ErrNotOwner)
			<-before.Ended()
		}
		for _, place := range settings.Layout.Lanes {
			for _, s := range r.Sessions() {
				if lane, _ := r.board.Find(s.ID); lane.ID == place.ID {
					_, err := r.On(t.Context(), s.ID, lanes.Stop{Session: s.ID, By: lanes.ByPOS}, nil)
					require.NoError(t, err)
				}
			}
			_, err := r.Create(t.Context(), place.ID, lanes.Create{
				Session: uuid.New(), Group: group, Customer: "Jo",
				Minutes: 30, AutoStart: true,
			}, nil)
			require.NoError(t, err)
		}
	}
	close(answering)
	require.Eventually(t, func() bool { return r.delivery.Waiting() == 0 && len(r.committer.Unattempted()) == 0 },
		nodePatience, 10*time.Millisecond)

	var log []lanes.Logged
	require.Eventually(t, func() bool {
		var err error
		log, err = r.Events(t.Context(), 0, 1000)
		return err == nil && !slices.ContainsFunc(log, func(e lanes.Logged) bool {
			return e.Attempt != nil && e.Attempt.Error == lanes.UnderWay
		})
	}, nodePatience, 10*time.Millisecond)
	require.Len(t, log, 2*sold*takeOvers+sold*(takeOvers-1), "created, started and, but for the last, stopped")
	sent := map[uuid.UUID]int{}
	for lane, ids := range receiver.idsByLane() {
		order := slices.DeleteFunc(slices.Clone(log), func(e lanes.Logged) bool {
			return e.Event.Lane != lane || !slices.Contains(ids, e.Event.ID)
		})
		for i, id := range ids {
			sent[id]++
			require.Equal(t, order[i].Event.ID, id, "in the order of the lane")
		}
	}
	interrupted := 0
	for _, event := range log {
		require.NotNil(t, event.Attempt)
		require.LessOrEqual(t, sent[event.Event.ID], 1)
		if event.Attempt.Error == lanes.Interrupted {
			interrupted++
			continue
		}
		require.Equal(t, 200, event.Attempt.Status)
		require.Equal(t, 1, sent[event.Event.ID])
	}
	require.LessOrEqual(t, interrupted, slots*takeOvers)
	require.Positive(t, interrupted, "some were being sent")
}

func realClock(t *testing.T) clock.Clock {
	t.Helper()
	machine, err := clock.NewSystem()
	require.NoError(t, err)
	return machine
}
