package actors

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// Purchases and restarts of the gateway.

// checking is a catalogue that takes its time: so long a purchase waits, and is not sent yet.
func checking(took *time.Duration) catalogue {
	return func(ctx context.Context, _ uuid.UUID, _ []lanes.Item) string {
		select {
		case <-time.After(*took):
		case <-ctx.Done():
		}
		return ""
	}
}

func TestAPurchaseThatWasNotSentGoesOnAfterARestart(t *testing.T) {
	for name, restart := range map[string]func(*rig){
		"stopped": (*rig).shutDown, "killed": (*rig).kill,
		"killed, and the machine boots anew": func(g *rig) { g.kill(); g.clock.Reboot() },
	} {
		t.Run(name, func(t *testing.T) {
			pos := &inbox{}
			took := checkWithin - time.Millisecond
			inFakeTime(t, func(t *testing.T, g *rig) {
				g.shop(0, 30)
				purchase := g.buys(0, minutes(15))
				g.pass(time.Second)
				restart(g)
				took = 0
				g.pass(time.Second)
				g.start()
				g.pass(lastBackoff)
				require.Equal(t, purchase, g.shown(0).ID)
				require.Equal(t, lanes.Accepted, g.shown(0).Phase)
				g.requireOnce(pos, 30)
				g.restart()
				g.requireOnce(pos, 30)
			}, withWebhook(pos), withCatalogue(checking(&took)))
		})
	}
}

func TestAPurchaseThatWasNotSentInTimeIsNotSentAfterARestart(t *testing.T) {
	for name, restart := range map[string]func(*rig){
		"stopped": (*rig).shutDown, "killed": (*rig).kill,
		"killed, and the machine boots anew": func(g *rig) { g.kill(); g.clock.Reboot() },
	} {
		t.Run(name, func(t *testing.T) {
			pos := &inbox{}
			took := checkWithin - time.Millisecond
			inFakeTime(t, func(t *testing.T, g *rig) {
				g.shop(0, 30)
				g.buys(0, minutes(15))
				g.pass(time.Second)
				restart(g)
				took = 0
				g.pass(sendWithin)
				g.start()
				g.pass(lastBackoff)
				require.Empty(t, pos.purchases())
				require.Equal(t, lanes.Declined, g.shown(0).Phase)
				require.Contains(t, g.shown(0).UserMessage, "busy")
				g.requireOnce(pos, 30)
			}, withWebhook(pos), withCatalogue(checking(&took)))
		})
	}
}

// A stop lets the POS finish, if it does not take long.
func TestAStopWaitsAMomentForAPurchase(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		pos.sells(func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
			select {
			case <-time.After(lastAttempts - time.Millisecond):
				return accepts(ctx, event)
			case <-ctx.Done():
				return silent(ctx, event)
			}
		})
		g.buys(0, minutes(15))
		g.restart()
		g.pass(lastBackoff)
		require.Equal(t, lanes.Accepted, g.shown(0).Phase)
		g.requireOnce(pos, 30)
	}, withWebhook(pos))
}

func TestAPurchaseThatWasSentIsForStaffAfterARestart(t *testing.T) {
	for name, restart := range map[string]func(*rig){"stopped": (*rig).shutDown, "killed": (*rig).kill} {
		for during, wait := range map[string]func(*rig, *inbox) func(){
			"while the POS thinks": func(_ *rig, pos *inbox) func() { return pos.thinks(accepts) },
			"while a busy POS is silent": func(_ *rig, pos *inbox) func() {
				pos.sells(silent)
				return func() {}
			},
		} {
			t.Run(name+" "+during, func(t *testing.T) {
				pos := &inbox{}
				inFakeTime(t, func(t *testing.T, g *rig) {
					session := g.shop(0, 30)
					wait(g, pos)
					purchase := g.buys(0, minutes(15))
					g.pass(time.Second)
					restart(g)
					pos.sells(accepts)
					g.start()
					g.pass(lastBackoff)
					require.Equal(t, []uuid.UUID{purchase}, g.unresolved())
					require.Equal(t, lanes.Unresolved, g.shown(0).Phase)
					require.Len(t, pos.purchases(), 1, "it is not sent again")
					require.Equal(t, lanes.Interrupted, g.requests()[0].Attempt.Error)
					require.Equal(t, 30, g.Sessions()[0].Minutes)
					require.NoError(t, g.Clear(g.request(), "sam", purchase, true))
					g.pass(0)
					require.Equal(t, 45, g.Sessions()[0].Minutes)
					g.stop(session)
				}, withWebhook(pos))
			})
		}
	}
}

// The session was over by the time the gateway came back.
func TestAPurchaseOfASessionThatEndedWhileTheGatewayWasDown(t *testing.T) {
	for name, purchase := range map[string]struct {
		took time.Duration // of the catalogue: whether it was sent
		open int
	}{"sent": {0, 1}, "not sent": {checkWithin, 0}} {
		t.Run(name, func(t *testing.T) {
			pos := &inbox{}
			took := purchase.took
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.shop(0, 5)
				pos.thinks(accepts)
				g.buys(0, minutes(15))
				g.pass(time.Second)
				g.kill()
				g.pass(time.Hour)
				g.start()
				g.pass(lastBackoff)
				require.Equal(t, 5*time.Minute, g.ended(session).Used)
				require.Len(t, g.Unresolved(), purchase.open)
				require.Len(t, pos.purchases(), purchase.open)
			}, withWebhook(pos), withCatalogue(checking(&took)))
		})
	}
}

// What waits for staff keeps its lane in the layout, as paid time does.
func TestALaneWithAnUnresolvedPurchaseCannotLeaveTheLayout(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		pos.sells(failing(lanes.Attempt{Error: lanes.TimedOut}))
		g.buys(0, minutes(15))
		g.stop(session)
		all := g.settings.Layout.Lanes
		g.shutDown()
		g.settings.Layout.Lanes = all[1:]
		err := g.tryStart()
		require.ErrorIs(t, err, ErrLayout)
		require.ErrorContains(t, err, all[0].ID.String())
		require.ErrorContains(t, err, "1 purchases")
		g.settings.Retire = []uuid.UUID{all[0].ID}
		g.pass(time.Second)
		g.start()
		g.settings.Retire = nil
		g.restart()
		require.Empty(t, g.Unresolved())
	}, withWebhook(pos))
}

// It was asked for when a webhook was configured, and sent to none.
func TestAPurchaseWhoseWebhookIsTakenAway(t *testing.T) {
	pos := &inbox{}
	took := checkWithin - time.Millisecond
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		g.buys(0, minutes(15))
		g.kill()
		g.settings.Webhook = nil
		g.start()
		g.pass(lastBackoff)
		require.Equal(t, lanes.Declined, g.shown(0).Phase)
		g.requireOnce(pos, 30)
	}, withWebhook(pos), withCatalogue(checking(&took)))
}
