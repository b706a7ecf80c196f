package actors

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What becomes of a purchase, as customer, POS and staff see it.

func TestTimeThatIsBoughtIsAddedOnceThePOSTakesIt(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		g.pass(10 * time.Minute)
		give := pos.thinks(accepts)
		purchase := g.buys(0, minutes(15), targets(2))
		require.Equal(t, lanes.Pending, g.shown(0).Phase)
		require.Equal(t, 20*time.Minute, g.left(session), "nothing is added before")
		sent := pos.purchases()
		require.Len(t, sent, 1, "it went out at once")
		require.Equal(t, []lanes.Item{minutes(15), targets(2)}, sent[0].Items)
		require.Equal(t, []uuid.UUID{session, g.lane(0)}, []uuid.UUID{sent[0].Session, sent[0].Lane})
		require.Equal(t, g.clock.Now().Wall, sent[0].At)

		g.pass(3 * time.Second)
		give()
		require.Equal(t, purchase, g.shown(0).ID)
		require.Equal(t, lanes.Accepted, g.shown(0).Phase)
		require.Equal(t, 35*time.Minute-3*time.Second, g.left(session))
		require.Equal(t, g.left(session), g.controller(0).Shown().Remaining)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.PurchaseRequest, lanes.SessionModified,
		}, pos.kinds(), "and then the POS hears of the longer session")
		require.Empty(t, g.Unresolved())
		require.Equal(t, 1.0, g.metric("rangegate_purchases_total", string(lanes.ByLane)))
		require.Equal(t, 1.0, g.metric("rangegate_events_total", string(lanes.PurchaseRequest)))
		require.Equal(t, 200, g.requests()[0].Attempt.Status)
	}, withWebhook(pos))
}

func TestGoodsLeaveTheTimeAlone(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		g.buys(0, targets(2))
		require.Equal(t, lanes.Accepted, g.shown(0).Phase)
		require.Equal(t, 30*time.Minute, g.left(session))
		require.NotContains(t, pos.kinds(), lanes.SessionModified)
	}, withWebhook(pos))
}

func TestACustomerReadsWhyNot(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		for _, answer := range []struct {
			as       counter
			contains string
		}{
			{declines("Your tab is full."), "Your tab is full."},
			{declines(""), "not accepted"},
			{failing(lanes.Attempt{Error: lanes.Unreachable + ": no route"}), "cannot be reached"},
		} {
			pos.sells(answer.as)
			purchase := g.buys(0, minutes(15))
			require.Equal(t, purchase, g.shown(0).ID)
			require.Equal(t, lanes.Declined, g.shown(0).Phase)
			require.Contains(t, g.shown(0).UserMessage, answer.contains)
		}
		require.Equal(t, 30*time.Minute, g.left(session))
		require.Empty(t, g.Unresolved(), "nothing for staff to see to")
	}, withWebhook(pos))
}

func TestAPurchaseThatNobodyKnowsOfIsForStaff(t *testing.T) {
	for name, answer := range map[string]counter{
		"no answer in time": silent,
		"cut off":           failing(lanes.Attempt{Error: lanes.Interrupted}),
		"a webhook that panics": func(context.Context, lanes.Event) (lanes.Attempt, lanes.Answer) {
			panic(errDefect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			pos := &inbox{}
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.shop(1, 30)
				pos.sells(answer)
				purchase := g.buys(1, minutes(15))
				g.pass(patience)
				require.Equal(t, lanes.Unresolved, g.shown(1).Phase)
				require.Contains(t, g.shown(1).UserMessage, "ask the staff")
				require.Equal(t, 30*time.Minute-patience, g.left(session))
				open := g.Unresolved()
				require.Len(t, open, 1)
				require.Equal(t, []uuid.UUID{purchase, session, g.lane(1)}, []uuid.UUID{open[0].ID, open[0].Session, open[0].Lane})
				require.NotEmpty(t, open[0].Reason)

				require.NoError(t, g.Clear(g.request(), "sam", purchase, true))
				g.pass(0)
				require.Equal(t, 45*time.Minute-patience, g.left(session), "staff found that it was bought")
				require.Equal(t, lanes.Accepted, g.shown(1).Phase)
				require.Empty(t, g.Unresolved())
				require.ErrorIs(t, g.Clear(g.request(), "sam", purchase, true), lanes.ErrPurchaseNotFound, "once")
				require.Len(t, pos.purchases(), 1)
			}, withWebhook(pos))
		})
	}
}

func TestStaffClearWhatWasNotBought(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		pos.sells(silent)
		first := g.buys(0, minutes(15))
		require.ErrorIs(t, g.Clear(g.request(), "sam", first, false), lanes.ErrPurchaseNotFound, "it is still under way")
		g.pass(patience)
		second := g.buys(0, minutes(5))
		g.pass(patience)
		require.Equal(t, []uuid.UUID{first, second}, g.unresolved())
		g.restart()
		require.Equal(t, []uuid.UUID{first, second}, g.unresolved(), "they are kept")
		require.NoError(t, g.Clear(g.request(), "sam", second, false))
		require.Equal(t, []uuid.UUID{first}, g.unresolved())
		g.stop(session)
		require.Equal(t, []uuid.UUID{first}, g.unresolved(), "also when the customer has gone")
		require.ErrorIs(t, g.Clear(g.request(), "sam", first, true), lanes.ErrSessionEnded)
		require.NoError(t, g.Clear(g.request(), "sam", first, false))
		g.restart()
		require.Empty(t, g.Unresolved())
		require.Equal(t, 30*time.Minute, g.ended(session).Session.Sold)
	}, withWebhook(pos))
}

func TestAPurchaseIsRecordedBeforeItIsSent(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		pos.sells(func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
			saved, err := g.store.Load(ctx, g.settings.Layout.Range)
			require.NoError(t, err)
			p := saved.Lanes[0].Session.Purchase
			require.Equal(t, lanes.Pending, p.Phase)
			require.Equal(t, event.ID, p.Event, "saved as sent")
			logged := g.requests()[0]
			require.Equal(t, event, logged.Event)
			require.Equal(t, lanes.Interrupted, logged.Attempt.Error)
			require.Zero(t, g.controller(0).Unacked(), "and the lane's controller need not say it again")
			return accepts(ctx, event)
		})
		g.buys(0, minutes(15))
		require.Equal(t, lanes.Accepted, g.shown(0).Phase)
		require.Empty(t, g.requests()[0].Attempt.Error)
	}, withWebhook(pos), withLanes(1))
}

func TestWithoutAWebhookNothingIsBought(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		g.buys(0, minutes(15))
		require.Equal(t, lanes.Declined, g.shown(0).Phase)
		require.NotEmpty(t, g.shown(0).UserMessage)
		require.Equal(t, 30*time.Minute, g.left(session))
		require.Empty(t, g.Unresolved())
	})
}

func TestWhereNothingMayBeBoughtThePOSHearsNothing(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.buys(0, minutes(15))
		require.Contains(t, g.shown(0).UserMessage, "Nothing can be bought")
		session := g.shop(1, 470)
		g.buys(1, minutes(11))
		require.Contains(t, g.shown(1).UserMessage, "8 hours")
		g.buys(1)
		require.Equal(t, lanes.Declined, g.shown(1).Phase)
		require.Empty(t, pos.purchases())
		require.Equal(t, 470*time.Minute, g.left(session))
		require.Zero(t, g.controller(0).Unacked()+g.controller(1).Unacked(), "taken in all the same")
	}, withWebhook(pos))
}
