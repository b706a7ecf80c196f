package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What staff do, and what is kept of it.

// acts is what staff did, as it is on record.
func (g *rig) acts() []lanes.Act {
	g.Helper()
	acts, err := g.Acts(g.Context(), 0, 1_000_000)
	require.NoError(g, err)
	return acts
}

// did is the same in a few words each: what, and its detail.
func (g *rig) did() (words []string) {
	g.Helper()
	for _, act := range g.acts() {
		words = append(words, act.What+" "+act.Detail)
	}
	return words
}

// staffOn gives a command of sam's to the session, which must take it.
func (g *rig) staffOn(session uuid.UUID, command lanes.Command) {
	g.Helper()
	_, err := g.StaffOn(g.request(), "sam", session, command)
	require.NoError(g, err, command.Name())
	synctest.Wait()
}

func (g *rig) staffLane(i int, command lanes.Command) {
	g.Helper()
	require.NoError(g, g.StaffLane(g.request(), "sam", g.lane(i), command), command.Name())
	synctest.Wait()
}

// staffBook is sam selling minutes on the i-th lane, which run once the customer enters.
func (g *rig) staffBook(i, minutes int) uuid.UUID {
	g.Helper()
	sale := g.sale(minutes)
	sale.AutoStart = false
	_, err := g.StaffCreate(g.request(), "sam", g.lane(i), sale)
	require.NoError(g, err)
	return sale.Session
}

func TestWhatStaffDoIsOnRecord(t *testing.T) {
	var said journal
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		begun := g.clock.Now().Wall
		session := g.staffBook(0, 30)
		g.staffOn(session, lanes.Enter{Session: session})
		g.pass(time.Minute)
		g.staffOn(session, lanes.Pause{Session: session})
		g.staffOn(session, lanes.Resume{Session: session})
		g.staffOn(session, lanes.Modify{Session: session, Minutes: 15})
		g.staffLane(1, lanes.Offer{Sale: lanes.OffSale})
		g.staffLane(1, lanes.Offer{Sale: lanes.OffSale})
		_, err := g.StaffMove(g.request(), "kim", session, g.lane(1))
		require.NoError(t, err, "staff know why it is closed")
		synctest.Wait()
		_, err = g.LaneOn(g.request(), g.lane(1), lanes.CallHelp{})
		require.NoError(t, err)
		g.staffLane(1, lanes.HelpComing{})
		g.staffOn(session, lanes.Stop{Session: session, By: lanes.ByStaff})

		require.Equal(t, []string{
			"create 30", "start ", "pause ", "resume ", "modify +15", "offer closed", "move Lane 2", "help_coming ", "stop ",
		}, g.did())
		acts := g.acts()
		for i, act := range acts {
			require.Equal(t, uint64(i+1), act.Cursor)
			who, lane, about := "sam", g.lane(0), session
			if act.What == "offer" {
				about = uuid.Nil
			}
			if act.What == "move" {
				who = "kim"
			}
			if act.What == "offer" || i > 6 {
				lane = g.lane(1)
			}
			require.Equal(t, []any{who, lane, about}, []any{act.Who, act.Lane, act.Session}, act.What)
		}
		require.Equal(t, begun, acts[0].At)
		require.Equal(t, begun.Add(time.Minute), acts[2].At)
		require.Equal(t, lanes.EndReason(lanes.ByStaff), g.ended(session).Reason)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed, lanes.SessionModified,
			lanes.SessionModified, lanes.Help, lanes.SessionStopped,
		}, pos.kinds(), "the POS hears what it always hears")
		require.Contains(t, said.String(), `"command":"move","by":"staff","result":"ok","who":"kim"`)
		require.NotContains(t, said.String(), `"by":"lane","result":"ok","who"`)
	}, withWebhook(pos), withLog(zerolog.New(&said)))
}

func TestWhatChangesNothingAndWhatOthersDoIsNotOnRecord(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pause(session)
		g.pass(2 * time.Second)
		refused := func(_ any, err error) { require.Error(t, err) }
		refused(g.StaffOn(g.request(), "sam", session, lanes.Pause{Session: session}))
		refused(g.StaffOn(g.request(), "sam", session, lanes.Modify{Session: session, Minutes: 481}))
		refused(g.StaffOn(g.request(), "sam", uuid.New(), lanes.Stop{Session: session}))
		refused(g.StaffMove(g.request(), "sam", session, g.lane(0)))
		refused(g.StaffCreate(g.request(), "sam", g.lane(0), g.sale(30)))
		refused(g.StaffCreate(g.request(), "sam", uuid.New(), g.sale(30)))
		require.ErrorIs(t, g.StaffLane(g.request(), "sam", uuid.New(), lanes.HelpDone{}), lanes.ErrLaneNotFound)
		g.staffLane(0, lanes.HelpDone{})
		g.staffLane(0, lanes.Offer{Sale: lanes.AsConfigured})
		g.staffOn(session, lanes.MakeUp{Session: session, Give: true})
		g.stop(session)
		require.Empty(t, g.acts())
	})
}

func TestALaneThatStaffCloseForSale(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.staffLane(0, lanes.Offer{Sale: lanes.OffSale})
		g.staffLane(1, lanes.Offer{Sale: lanes.OffSale})
		g.staffLane(2, lanes.Offer{Sale: lanes.OnSale})
		g.restart()
		require.True(t, g.open(0), "what is on it goes on")
		require.ErrorIs(t, g.tryCreate(1, 30), lanes.ErrLaneNotAccessible)
		require.ErrorIs(t, g.tryMove(session, 1), lanes.ErrLaneNotAccessible)
		g.moves(session, 2)
		g.stop(session)
		g.staffBook(1, 30)
		g.staffLane(2, lanes.Offer{Sale: lanes.AsConfigured})
		require.ErrorIs(t, g.tryCreate(2, 30), lanes.ErrLaneNotAccessible, "as it is configured")
		g.staffLane(0, lanes.Offer{Sale: lanes.AsConfigured})
		require.NoError(t, g.tryCreate(0, 30))
		var forSale []bool
		for _, lane := range g.Lanes() {
			forSale = append(forSale, lane.Lane.ForSale())
		}
		require.Equal(t, []bool{true, false, false}, forSale)
	}, withLanes(3), withClosedLane(2))
}
