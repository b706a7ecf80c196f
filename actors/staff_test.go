package actors

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// What a POS does whose token has a name is recorded by it, logged and counted; what another one does is not.
func TestWhatAPOSWithANameDoesIsRecorded(t *testing.T) {
	var logs logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		named := trace.WithWho(f.requestContext(), "till 1")
		sale := f.newSale(30)
		view, err := f.Create(named, f.laneID(0), sale, nil)
		require.NoError(t, err)
		for _, command := range []lanes.Command{
			lanes.SetDuration{Session: view.ID, Minutes: 45},
			lanes.Pause{Session: view.ID},
			lanes.Resume{Session: view.ID},
		} {
			_, err = f.On(named, view.ID, command, nil)
			require.NoError(t, err)
		}
		_, err = f.Move(named, view.ID, f.laneID(1), nil)
		require.NoError(t, err)
		_, err = f.On(named, view.ID, lanes.Modify{Session: view.ID, Minutes: -45}, nil)
		require.ErrorIs(t, err, lanes.ErrDurationOutOfRange)
		f.stop(view.ID)
		f.create(0, 30)
		synctest.Wait()

		require.Equal(t, []string{"create 30", "set_duration 45", "pause ", "resume ", "move Lane 2"}, f.actSummaries())
		for _, act := range f.acts() {
			require.Equal(t, "till 1", act.Who)
			require.Equal(t, view.ID, act.Session)
		}
		counted := map[string]float64{}
		for _, command := range []string{"create", "set_duration", "modify", "stop"} {
			counted[command] = f.metricValue("rangegate_token_commands_total", command)
		}
		require.Equal(t, map[string]float64{"create": 1, "set_duration": 1, "modify": 1, "stop": 0}, counted)
		require.Equal(t, 6, strings.Count(logs.String(), `"who":"till 1"`), logs.String())
	}, withLog(zerolog.New(&logs)))
}

// Commands of staff, and the record of what they changed.

func TestWhatStaffChangeIsRecorded(t *testing.T) {
	var logs logRecorder
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now().Wall
		session := f.staffCreateWaiting(0, 30)
		f.staffCommand(session, lanes.Enter{Session: session})
		f.advance(time.Minute)
		f.staffCommand(session, lanes.Pause{Session: session})
		f.staffCommand(session, lanes.Resume{Session: session})
		f.staffCommand(session, lanes.Modify{Session: session, Minutes: 15})
		f.staffLaneCommand(1, lanes.Offer{Sale: lanes.OffSale})
		f.staffLaneCommand(1, lanes.Offer{Sale: lanes.OffSale})
		_, err := f.StaffMove(f.requestContext(), "kim", session, f.laneID(1), false)
		require.NoError(t, err, "staff may move it to a closed lane")
		synctest.Wait()
		_, err = f.LaneOn(f.requestContext(), f.laneID(1), lanes.CallHelp{})
		require.NoError(t, err)
		f.staffLaneCommand(1, lanes.HelpComing{})
		f.staffCommand(session, lanes.Stop{Session: session, By: lanes.ByStaff})

		require.Equal(t, []string{
			"create 30", "start ", "pause ", "resume ", "modify +15", "offer closed", "move Lane 2",
			"help_coming ", "stop ",
		}, f.actSummaries())
		acts := f.acts()
		for i, act := range acts {
			require.Equal(t, uint64(i+1), act.Cursor)
			who, lane, about := "sam", f.laneID(0), session
			if act.What == "offer" {
				about = uuid.Nil
			}
			if act.What == "move" {
				who = "kim"
			}
			if act.What == "offer" || i > 6 {
				lane = f.laneID(1)
			}
			require.Equal(t, []any{who, lane, about}, []any{act.Who, act.Lane, act.Session}, act.What)
		}
		require.Equal(t, begun, acts[0].At)
		require.Equal(t, begun.Add(time.Minute), acts[2].At)
		require.Equal(t, lanes.EndReason(lanes.ByStaff), f.endedSession(session).Reason)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
			lanes.SessionModified,
			lanes.SessionModified, lanes.Help, lanes.SessionStopped,
		}, pos.kinds(), "the POS gets the usual events")
		require.Contains(t, logs.String(), `"command":"move","by":"staff","result":"ok","who":"kim"`)
		require.NotContains(t, logs.String(), `"by":"lane","result":"ok","who"`)
	}, withWebhook(pos), withLog(zerolog.New(&logs)))
}

func TestWhatChangesNothingAndWhatOthersChangeIsNotRecorded(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.pause(session)
		f.advance(2 * time.Second)
		refused := func(_ any, err error) { require.Error(t, err) }
		refused(f.StaffOn(f.requestContext(), "sam", session, lanes.Pause{Session: session}))
		refused(f.StaffOn(f.requestContext(), "sam", session, lanes.Modify{Session: session, Minutes: 481}))
		refused(f.StaffOn(f.requestContext(), "sam", uuid.New(), lanes.Stop{Session: session}))
		refused(f.StaffMove(f.requestContext(), "sam", session, f.laneID(0), false))
		refused(f.StaffCreate(f.requestContext(), "sam", f.laneID(0), f.newSale(30)))
		refused(f.StaffCreate(f.requestContext(), "sam", uuid.New(), f.newSale(30)))
		require.ErrorIs(t, f.StaffLane(f.requestContext(), "sam", uuid.New(), lanes.HelpDone{}), lanes.ErrLaneNotFound)
		f.staffLaneCommand(0, lanes.HelpDone{})
		f.staffLaneCommand(0, lanes.Offer{Sale: lanes.AsConfigured})
		f.staffCommand(session, lanes.MakeUp{Session: session, Give: true})
		f.stop(session)
		require.Empty(t, f.acts())
	})
}

func TestALaneThatStaffCloseForSale(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.staffLaneCommand(0, lanes.Offer{Sale: lanes.OffSale})
		f.staffLaneCommand(1, lanes.Offer{Sale: lanes.OffSale})
		f.staffLaneCommand(2, lanes.Offer{Sale: lanes.OnSale})
		f.restart()
		require.True(t, f.isOpen(0), "its session runs on")
		require.ErrorIs(t, f.tryCreate(1, 30), lanes.ErrLaneNotAccessible)
		require.ErrorIs(t, f.tryMove(session, 1), lanes.ErrLaneNotAccessible)
		f.move(session, 2)
		f.stop(session)
		f.staffCreateWaiting(1, 30)
		f.staffLaneCommand(2, lanes.Offer{Sale: lanes.AsConfigured})
		require.ErrorIs(t, f.tryCreate(2, 30), lanes.ErrLaneNotAccessible, "the configuration closes it")
		f.staffLaneCommand(0, lanes.Offer{Sale: lanes.AsConfigured})
		require.NoError(t, f.tryCreate(0, 30))
		var forSale []bool
		for _, lane := range f.Lanes() {
			forSale = append(forSale, lane.Lane.ForSale())
		}
		require.Equal(t, []bool{true, false, false}, forSale)
	}, withLanes(3), withClosedLane(2))
}

// The record of staff's acts through outages and restarts.

func TestAnActIsSavedWithWhatItChanged(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.store.setHook(refuseFlush)
		_, err := f.StaffOn(f.requestContext(), "sam", session, lanes.Modify{Session: session, Minutes: 5})
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		require.ErrorIs(t, f.StaffLane(f.requestContext(), "sam", f.laneID(1), lanes.Offer{Sale: lanes.OffSale}),
			lanes.ErrStoreUnavailable)
		f.storeReturns()
		require.Empty(t, f.acts())
		require.True(t, f.Lanes()[1].Lane.ForSale())
	})
}

// A stop or pause is in force before it is saved, and its act is saved with it, whatever happens in between.
func TestAStopOrPauseThatIsNotSavedYetKeepsItsAct(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				stopped, paused := f.create(0, 30), f.create(1, 30)
				f.store.setHook(outage)
				at := f.clock.Now().Wall
				stop := lanes.Stop{Session: stopped, By: lanes.ByStaff}
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error {
					_, err := f.StaffOn(t.Context(), "sam", stopped, stop)
					return err
				}), time.Second), lanes.ErrNotSaved)
				_, err := f.StaffOn(t.Context(), "sam", stopped, stop)
				require.ErrorIs(t, err, lanes.ErrNotSaved, "repeating is safe")
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error {
					_, err := f.StaffOn(t.Context(), "kim", paused, lanes.Pause{Session: paused})
					return err
				}), time.Second), lanes.ErrNotSaved)
				f.advance(time.Minute)
				f.panicLane(0)
				f.storeReturns()
				f.restart()
				require.Equal(t, []string{"stop ", "pause "}, f.actSummaries())
				require.Equal(t, at, f.acts()[0].At)
				require.Equal(t, stopped, f.acts()[0].Session)
				require.Equal(t, "kim", f.acts()[1].Who)
			})
		})
	}
}

func TestTheActsSayWhoSetAndWhoLiftedAHold(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.liftHold(rangeScope)
		f.setHold(rangeScope)
		f.setHold(rangeScope)
		f.setHold(f.bayScope(1))
		f.setHold(f.laneScope(2))
		f.liftHold(rangeScope)
		f.liftHold(f.laneScope(2))
		require.Equal(t, []string{"hold range", "hold bay Bay B", "hold lane", "lift range", "lift lane"},
			f.actSummaries())
		for _, act := range f.acts() {
			require.Equal(t, map[string]string{"hold": "sam", "lift": "kim"}[act.What], act.Who)
			if act.Detail == "lane" {
				require.Equal(t, f.laneID(2), act.Lane)
			} else {
				require.Equal(t, uuid.Nil, act.Lane)
			}
			require.Equal(t, uuid.Nil, act.Session)
		}
	}, withBays)
}

// A hold that is set during the lift of an earlier one wins, and is recorded.
func TestAHoldSetDuringItsLiftIsRecorded(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(rangeScope)
		release := f.blockFlushes()
		lifted := f.runAsync(func() error { return f.tryLiftHold(rangeScope) })
		again := f.startHold(rangeScope)
		release()
		require.ErrorIs(t, f.answerOf(lifted, 0), lanes.ErrCeasefire)
		f.awaitHold(again)
		require.Equal(t, []string{"hold range", "lift range", "hold range"}, f.actSummaries())
		f.liftHold(rangeScope)
		f.setHold(rangeScope)
		f.setHold(rangeScope)
		require.Len(t, f.acts(), 5, "no further act")
	})
}

func TestALiftThatIsNotSavedIsNotRecorded(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(rangeScope)
		f.store.setHook(refuseFlush)
		require.ErrorIs(t, f.tryLiftHold(rangeScope), lanes.ErrStoreUnavailable)
		f.setHold(f.laneScope(0))
		f.storeReturns()
		require.Equal(t, []string{"hold range", "hold lane"}, f.actSummaries(), "a hold is in force all the same")
		f.requireHeld(0, 1)
	})
}

// Nobody set the hold that a controller is found with. Who lifts it is recorded.
func TestAHoldFoundOnAControllerIsNoActOfStaff(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(rangeScope)
		f.shutDown()
		f.path += ".new" // an empty store
		f.start()
		f.advance(time.Second)
		require.Len(t, f.heldScopes(), 2)
		require.Empty(t, f.acts())
		f.liftHold(f.laneScope(0))
		require.Equal(t, []string{"lift lane"}, f.actSummaries())
	})
}

func TestTheActsSayWhoSettledAPurchase(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		pos.setPurchaseReply(timeOutPurchase)
		first := f.buy(0, minutes(15))
		f.advance(webhookTimeout)
		second := f.buy(0, targets(1))
		f.advance(webhookTimeout)
		require.NoError(t, f.clearPurchase("sam", first, true))
		f.stop(session)
		require.NoError(t, f.clearPurchase("kim", second, false))
		require.ErrorIs(t, f.clearPurchase("kim", second, false), lanes.ErrPurchaseNotFound)
		require.Equal(t, []string{"settle credit", "settle drop"}, f.actSummaries())
		for i, who := range []string{"sam", "kim"} {
			act := f.acts()[i]
			require.Equal(t, []any{who, f.laneID(0), session}, []any{act.Who, act.Lane, act.Session})
		}
	}, withWebhook(pos))
}

func TestTheCursorsOfActsContinueAfterARestartAndAStoreLoss(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.staffCreateWaiting(0, 30)
		f.restart()
		f.staffCommand(session, lanes.Enter{Session: session})
		f.advance(2 * time.Minute)
		f.staffCommand(session, lanes.Modify{Session: session, Minutes: 5})
		f.stop(session)
		before := f.acts()
		require.Len(t, before, 3)
		event, ended, act := f.Latest(t.Context())
		require.Equal(t, []uint64{uint64(len(f.eventLog())), 1, 3}, []uint64{event, ended, act})

		f.wipeStore()
		f.noticeLoss()
		require.Equal(t, before[2:], f.acts(), "recent acts are in the log again")
		f.staffCreateWaiting(1, 30)
		require.Equal(t, uint64(4), f.acts()[1].Cursor)
		last, err := f.Acts(t.Context(), 3, 10)
		require.NoError(t, err)
		require.Equal(t, f.acts()[1:], last)

		f.restart()
		f.wipeStore()
		f.noticeLoss()
		f.restart()
		f.staffLaneCommand(1, lanes.Offer{Sale: lanes.OffSale})
		acts := f.acts()
		require.Equal(t, uint64(5), acts[len(acts)-1].Cursor, "no cursor is given twice")
	})
}
