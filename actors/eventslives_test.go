package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// Events and the lives of who forwards them: restarts of the gateway, and panics.

// kill is the end of the gateway without a last word: nothing of it reaches the store any more.
func (g *rig) kill() {
	g.Helper()
	_, err := g.store.Claim(g.Context(), g.settings.Layout.Range, g.clock.Now().Wall)
	require.NoError(g, err)
	g.shutDown()
}

func TestAStopLetsAttemptsUnderWayFinish(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		received.answers(func(ctx context.Context, event lanes.Event) lanes.Attempt {
			select {
			case <-time.After(time.Second):
				return lanes.Attempt{At: event.At, Status: 202}
			case <-ctx.Done():
				return lanes.Attempt{At: event.At, Error: lanes.Interrupted}
			}
		})
		g.create(0, 30)
		g.restart()
		log := g.eventLog()
		require.Equal(t, 202, log[0].Attempt.Status)
		g.pass(time.Second)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, received.kinds())
	}, withWebhook(received))
}

func TestAStopDoesNotWaitLongForAReceiver(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		g.create(0, 30)
		begun := time.Now()
		g.shutDown()
		require.LessOrEqual(t, time.Since(begun), 3*time.Second)
		release()
		g.start()
		require.Equal(t, lanes.Interrupted, g.eventLog()[0].Attempt.Error)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, received.kinds(), "each once")
	}, withWebhook(received))
}

func TestACrashInAnAttemptLeavesItInterrupted(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		session := g.create(0, 30)
		g.pause(session)
		g.kill()
		release()
		g.start()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused,
		}, received.kinds(), "those that were not marked are attempted, in order; the marked one is not again")
		log := g.eventLog()
		require.Equal(t, lanes.Interrupted, log[0].Attempt.Error)
		require.Equal(t, 200, log[1].Attempt.Status)
		require.Equal(t, 200, log[2].Attempt.Status)
		g.restart()
		require.Len(t, received.kinds(), 3)
	}, withWebhook(received))
}

func TestEventsLeftOverWhenTheWebhookIsTakenAwayAreFinal(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		received.hold()
		g.create(0, 30)
		g.kill()
		g.settings.Webhook = nil
		g.start()
		require.Equal(t, lanes.Interrupted, g.eventLog()[0].Attempt.Error)
		require.Equal(t, lanes.NoWebhook, g.eventLog()[1].Attempt.Error)
		g.restart()
	}, withWebhook(received))
}

// panicEvents makes the actor that forwards events panic and start again.
func (g *rig) panicEvents() {
	g.sendEvents((*announced)(nil))
	synctest.Wait()
}

func TestAPanicWhileAnAttemptIsUnderWayLosesAndDoublesNothing(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		session := g.create(0, 30)
		g.panicEvents()
		g.pause(session)
		g.panicEvents()
		require.Len(t, received.kinds(), 1, "in order: the next waits for the one that hangs")
		release()
		g.stop(session)
		require.Equal(t, g.happened(session), received.kinds())
		for _, logged := range g.eventLog() {
			require.Equal(t, 200, logged.Attempt.Status)
		}
	}, withWebhook(received))
}

func TestAPanicWhileAMarkIsUnderWayLosesAndDoublesNothing(t *testing.T) {
	for name, fault := range map[string]flushHook{"slow": nil, "refused": refuses, "hanging": goesSilent} {
		t.Run(name, func(t *testing.T) {
			received := &inbox{}
			inFakeTime(t, func(t *testing.T, g *rig) {
				release := received.hold()
				session := g.create(0, 30)
				hold := g.holdFlushes()
				release() // the next event is on its way to its mark
				require.Len(t, received.kinds(), 1)
				for range 3 {
					g.panicEvents()
				}
				hold()
				if fault != nil {
					g.store.hook(fault)
					g.pass(7 * time.Second)
					g.panicEvents()
				}
				g.storeReturns()
				require.Equal(t, g.happened(session), received.kinds())
			}, withWebhook(received))
		})
	}
}
