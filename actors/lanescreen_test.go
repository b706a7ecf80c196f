package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What a customer does at the screen of the lane.

func TestACustomerStartsAtTheScreen(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.book(0, 30)
		_, err := g.LaneOn(g.request(), g.lane(1), lanes.Enter{Session: session})
		require.ErrorIs(t, err, lanes.ErrSessionNotFound, "of another lane")
		_, err = g.LaneOn(g.request(), uuid.New(), lanes.Enter{Session: session})
		require.ErrorIs(t, err, lanes.ErrLaneNotFound)
		view, err := g.LaneOn(g.request(), g.lane(0), lanes.Enter{Session: session})
		require.NoError(t, err)
		require.Equal(t, lanes.Running, view.Phase)
		synctest.Wait()
		require.True(t, g.open(0))
		_, err = g.LaneOn(g.request(), g.lane(0), lanes.Enter{Session: session})
		require.ErrorIs(t, err, lanes.ErrNotWaiting)
		require.Empty(t, g.acts(), "no doing of staff")
	})
}

func TestHelpComes(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		help := func(i int) *lanes.HelpCall { return g.Lanes()[i].Lane.Help }
		call := func(i int) {
			_, err := g.LaneOn(g.request(), g.lane(i), lanes.CallHelp{})
			require.NoError(t, err)
		}
		session := g.create(0, 30)
		call(0)
		call(0)
		call(1)
		synctest.Wait()
		require.Equal(t, 1, len(pos.kinds())-2, "one call, however often; and none without a session")
		require.Equal(t, &lanes.HelpCall{At: g.clock.Now().Wall}, help(0))
		require.Equal(t, help(0), help(1))
		g.staffLane(0, lanes.HelpComing{})
		require.True(t, help(0).Coming)
		require.False(t, help(1).Coming)
		g.restart()
		require.True(t, help(0).Coming, "it is kept")
		g.staffLane(1, lanes.HelpDone{})
		require.Nil(t, help(1))
		g.stop(session)
		require.Nil(t, help(0))
		require.Equal(t, []string{"help_coming ", "help_done "}, g.did())
	}, withWebhook(pos))
}

func TestAHitWithoutASessionIsNotedByStaff(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		s.newest().to.Reported(lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportCarrierHit})
		synctest.Wait()
		require.Equal(t, g.clock.Now().Wall, *g.Lanes()[0].Lane.Stray)
		g.restart()
		require.NotNil(t, g.Lanes()[0].Lane.Stray)
		g.staffLane(0, lanes.HitNoted{})
		require.Nil(t, g.Lanes()[0].Lane.Stray)
		require.Equal(t, []string{"hit_noted "}, g.did())
		require.Empty(t, g.eventLog())
	})
}

// A purchase at the screen takes the same course as one that the controller reports.
func TestAPurchaseAtTheScreen(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		give := pos.thinks(accepts)
		purchase := uuid.New()
		buy := func(i int, purchase uuid.UUID) error {
			err := g.LaneBuy(g.request(), g.lane(i), session, purchase, []lanes.Item{minutes(15)})
			synctest.Wait()
			return err
		}
		latest := func() lanes.Purchase { return *g.Lanes()[0].Lane.Session.Purchase }
		require.ErrorIs(t, buy(1, purchase), lanes.ErrSessionNotFound)
		require.NoError(t, buy(0, purchase))
		require.NoError(t, buy(0, purchase), "the same one")
		require.Equal(t, lanes.Pending, latest().Phase)
		require.ErrorIs(t, buy(0, uuid.New()), lanes.ErrPurchasePending)
		require.Equal(t, purchase, latest().ID, "and the one that is under way is shown")
		give()
		require.NoError(t, buy(0, purchase), "the same one still")
		require.Equal(t, lanes.Accepted, latest().Phase)
		require.Equal(t, 45*time.Minute, g.left(session))
		require.Len(t, pos.purchases(), 1)
		require.ErrorIs(t, g.LaneBuy(g.request(), g.lane(0), session, uuid.New(), nil), lanes.ErrItems)

		pos.sells(declines("Your tab is full."))
		require.NoError(t, buy(0, uuid.New()))
		require.Equal(t, lanes.Declined, latest().Phase)
		require.Equal(t, "Your tab is full.", latest().UserMessage)
		require.Equal(t, g.shown(0), latest(), "the controller shows it too")
	}, withWebhook(pos))
}
