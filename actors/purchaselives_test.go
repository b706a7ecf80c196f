package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Purchases, and what happens to their session, their lane and their gateway meanwhile.

func TestASessionThatEndsWhileThePOSThinks(t *testing.T) {
	for name, end := range map[string]func(*rig, uuid.UUID){
		"stopped": func(g *rig, session uuid.UUID) { g.stop(session) },
		"expired": func(g *rig, _ uuid.UUID) { g.pass(5 * time.Minute) },
	} {
		for answer, as := range map[string]counter{"accepted": accepts, "refused": declines("No."), "no answer": silent} {
			t.Run(name+", "+answer, func(t *testing.T) {
				pos := &inbox{}
				inFakeTime(t, func(t *testing.T, g *rig) {
					session := g.shop(0, 5)
					give := pos.thinks(as)
					purchase := g.buys(0, minutes(15))
					end(g, session)
					next := g.shop(0, 30)
					give()
					g.pass(patience)
					require.Equal(t, 5*time.Minute, g.ended(session).Session.Sold)
					require.Equal(t, 30*time.Minute-patience, g.left(next), "it is nothing to the next customer")
					require.Nil(t, g.controller(0).Shown().Purchase)
					if answer == "refused" {
						require.Empty(t, g.Unresolved())
						return
					}
					require.Equal(t, []uuid.UUID{purchase}, g.unresolved())
					require.ErrorIs(t, g.Clear(g.request(), "sam", purchase, true), lanes.ErrSessionEnded)
					require.NoError(t, g.Clear(g.request(), "sam", purchase, false))
				}, withWebhook(pos))
			})
		}
	}
}

func TestASessionThatMovesWhileThePOSThinks(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		give := pos.thinks(accepts)
		purchase := g.buys(0, minutes(15))
		g.moves(session, 1)
		require.Equal(t, lanes.Pending, g.shown(1).Phase, "it goes along")
		give()
		require.Equal(t, purchase, g.shown(1).ID)
		require.Equal(t, lanes.Accepted, g.shown(1).Phase)
		require.Equal(t, 45*time.Minute, g.left(session))
		require.Len(t, pos.purchases(), 1)

		pos.sells(failing(lanes.Attempt{Error: lanes.TimedOut}))
		lost := g.buys(1, minutes(5))
		g.moves(session, 0)
		require.Equal(t, g.lane(0), g.Unresolved()[0].Lane, "and so does what staff have to see to")
		require.NoError(t, g.Clear(g.request(), "sam", lost, true))
		g.pass(0)
		require.Equal(t, 50*time.Minute, g.left(session))
	}, withWebhook(pos))
}

func TestAMoveBeforeThePurchaseIsSent(t *testing.T) {
	pos := &inbox{}
	checked := make(chan struct{})
	checks := catalogue(func(context.Context, uuid.UUID, []lanes.Item) string {
		<-checked
		return ""
	})
	synctest.Test(t, func(t *testing.T) {
		checked = make(chan struct{})
		g := startRig(t, withWebhook(pos), withCatalogue(checks))
		session := g.shop(0, 30)
		g.buys(0, minutes(15))
		g.moves(session, 1)
		close(checked)
		synctest.Wait()
		require.Equal(t, lanes.Accepted, g.shown(1).Phase)
		require.Equal(t, g.lane(1), pos.purchases()[0].Lane, "the POS hears where the customer is now")
		require.Equal(t, 45*time.Minute, g.left(session))
	})
}

func TestASessionThatEndsBeforeThePurchaseIsSent(t *testing.T) {
	pos := &inbox{}
	slow := catalogue(func(ctx context.Context, _ uuid.UUID, _ []lanes.Item) string {
		<-time.After(time.Second)
		return ""
	})
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		g.buys(0, minutes(15))
		g.stop(session)
		g.pass(time.Minute)
		require.Empty(t, pos.purchases(), "nobody is there to buy it")
		require.Empty(t, g.Unresolved())
	}, withWebhook(pos), withCatalogue(slow))
}

// The controller tells its report again until it is acked; it is one purchase.
func TestAPurchaseThatIsReportedAgain(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		release := g.holdFlushes()
		purchase := g.buys(0, minutes(15))
		for range 3 {
			g.controller(0).Cut(errNoAnswer)
			g.pass(200 * time.Millisecond)
		}
		release()
		g.pass(lastBackoff)
		require.Zero(t, g.controller(0).Unacked())
		require.Len(t, pos.purchases(), 1)

		g.controller(0).PowerCut(true) // it has forgotten what it reported
		g.pass(lastBackoff)
		g.buysAs(purchase, 0, minutes(15))
		require.Len(t, pos.purchases(), 1)
		require.Equal(t, lanes.Accepted, g.shown(0).Phase)
		require.Equal(t, 45, g.Sessions()[0].Minutes)
		require.Equal(t, 1, countKind(g.happened(session), lanes.SessionModified))
	}, withWebhook(pos))
}

func countKind(kinds []lanes.Kind, kind lanes.Kind) (n int) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}

// One purchase at a time: what is asked for meanwhile is taken in, and comes to nothing.
func TestAPurchaseWhileAnotherIsUnderWay(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		give := pos.thinks(accepts)
		first := g.buys(0, minutes(15))
		g.buys(0, minutes(5))
		require.Equal(t, first, g.shown(0).ID)
		require.ErrorIs(t, g.tryModify(session, 440), lanes.ErrDurationOutOfRange, "there is to be room for it")
		give()
		require.Equal(t, 45*time.Minute, g.left(session))
		require.Len(t, pos.purchases(), 1)
		g.buys(0, minutes(5))
		require.Equal(t, 50*time.Minute, g.left(session))
	}, withWebhook(pos))
}

// stage is a moment in the course of a purchase, where it waits until it is let go.
type stage struct {
	name string
	wait func(*rig, *inbox) (letGo func())
}

// stages is every moment that a purchase of a lane that panics can be in.
var stages = []stage{
	{"before it is saved", func(g *rig, _ *inbox) func() { return g.holdFlushes() }},
	{"before it is saved as sent", func(g *rig, _ *inbox) func() { return g.holdFlushesWith(asks) }},
	{"while the POS thinks", func(_ *rig, pos *inbox) func() { return pos.thinks(accepts) }},
	{"before its end is saved", func(g *rig, _ *inbox) func() { return g.holdFlushesWith(settles) }},
}

// holdFlushesWith lets such flushes, and those behind them, wait until release is called.
func (g *rig) holdFlushesWith(such func(store.Batch) bool) (release func()) {
	held := make(chan struct{})
	g.store.hook(onlyWith(such, func(_ context.Context, _ store.Batch, flush func() error) error {
		<-held
		return flush()
	}))
	return func() {
		g.store.hook(nil)
		close(held)
	}
}

func TestALaneThatPanicsWhileAPurchaseIsUnderWay(t *testing.T) {
	for _, stage := range stages {
		for _, panics := range []int{1, 3} {
			t.Run(stage.name, func(t *testing.T) {
				pos := &inbox{}
				inFakeTime(t, func(t *testing.T, g *rig) {
					g.shop(0, 30)
					letGo := stage.wait(g, pos)
					purchase := g.buys(0, minutes(15))
					for range panics {
						g.crash(0)
					}
					letGo()
					g.pass(lastBackoff)
					require.Equal(t, purchase, g.shown(0).ID)
					g.requireOnce(pos, 30)
					g.restart()
					g.requireOnce(pos, 30)
					g.buys(0, minutes(5))
					require.Equal(t, lanes.Accepted, g.shown(0).Phase, "the next one takes its course")
				}, withWebhook(pos))
			})
		}
	}
}

// requireOnce wants the one purchase of 15 minutes on lane 0 to have come to an end: the POS was asked once and the
// time is added, or it was not asked and nothing is.
func (g *rig) requireOnce(pos *inbox, before int) {
	g.Helper()
	sold := before
	if g.shown(0).Phase == lanes.Accepted {
		sold += 15
		require.Len(g, pos.purchases(), 1)
	} else {
		require.Equal(g, lanes.Declined, g.shown(0).Phase)
		require.Empty(g, pos.purchases())
	}
	require.Equal(g, sold, g.Sessions()[0].Minutes)
	require.Empty(g, g.Unresolved())
}

// A parked lane takes nothing for a minute. What it bought is settled afterwards.
func TestALaneThatIsParkedWhileThePOSThinks(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		give := pos.thinks(accepts)
		g.buys(0, minutes(15))
		for range maxPanics + 1 {
			g.crash(0)
		}
		give()
		g.pass(parkedFor / 2)
		require.NotEmpty(t, g.Lanes()[0].NotUsable)
		g.pass(parkedFor)
		g.requireOnce(pos, 30)
		require.Equal(t, lanes.Accepted, g.shown(0).Phase)
	}, withWebhook(pos))
}
