package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

// stopWithin stops the gateway, which must end by then whatever stands in its way.
func (g *rig) stopWithin(d time.Duration) error {
	g.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	begun := time.Now()
	err := g.gateway.Stop(ctx)
	require.LessOrEqual(g, time.Since(begun), d)
	synctest.Wait()
	return err
}

func TestTheGatewayStopsInTimeThoughTheStoreIsAway(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			var hardware witness
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.store.hook(outage)
				require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(session) }), time.Second), lanes.ErrNotSaved)
				require.ErrorIs(t, g.stopWithin(3*time.Second), context.DeadlineExceeded, "it could not save everything")
				made, closed := hardware.connections()
				require.Equal(t, made, closed, "every link is closed all the same")
				require.False(t, g.open(0))

				g.pass(commit.FlushTimeout)
				require.NoError(t, g.store.Close())
				g.store.hook(nil)
				g.start()
				require.Contains(t, g.onBoard(), session, "it was told that it is not saved, and it was not")
			}, watchedBy(&hardware))
		})
	}
}

func TestTheGatewayStopsInTimeThoughADriverHangs(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		deaf := make(chan struct{})
		s.newest().breaks()
		s.answers(func(context.Context) error {
			<-deaf
			return errNoAnswer
		})
		g.pass(lastBackoff)
		require.Error(t, g.stopWithin(3*time.Second))
		close(deaf)
		synctest.Wait()
		require.NoError(t, g.store.Close())
		s.answers(nil)
		g.start()
	})
}

func TestTheGatewayStopsInTimeThoughAReceiverIsDeaf(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		deaf := make(chan struct{})
		received.answers(func(_ context.Context, event lanes.Event) lanes.Attempt {
			<-deaf
			return lanes.Attempt{At: event.At, Status: 200}
		})
		g.create(0, 30)
		require.Error(t, g.stopWithin(3*time.Second))
		close(deaf)
		synctest.Wait()
		require.NoError(t, g.store.Close())
		g.start()
		require.Equal(t, lanes.Interrupted, g.eventLog()[0].Attempt.Error)
	}, withWebhook(received))
}
