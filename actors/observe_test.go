package actors

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// observed returns the row of an actor of the i-th lane, or with -1 that of the range or its events.
func (f *fixture) observed(kind string, i int) lanes.Observed {
	for row := range f.Observed() {
		if row.Kind == kind && (i < 0 || row.Lane == f.laneID(i)) {
			return row
		}
	}
	require.Fail(f, "no row of a "+kind)
	return lanes.Observed{}
}

// why returns what holds that actor up and for how long, empty if nothing does.
func (f *fixture) why(kind string, i int) string {
	why := f.observed(kind, i).Why
	if why == nil {
		return ""
	}
	text := string(why.Code)
	if why.What != "" {
		text += " " + why.What
	}
	if why.Count > 0 {
		text += fmt.Sprintf(" ×%d", why.Count)
	}
	if !why.Since.IsZero() {
		text += fmt.Sprintf(" for %s", f.clock.Now().Wall.Sub(why.Since).Truncate(time.Second))
	}
	if why.Attempts > 0 {
		text += fmt.Sprintf(" failed ×%d", why.Attempts)
	}
	return text
}

func TestNothingHoldsUpARangeInOrder(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(time.Minute)
		f.stop(session)
		f.setHold(f.laneScope(1))
		f.advance(time.Minute)
		rows := slices.Collect(f.Observed())
		var kinds []string
		for _, row := range rows {
			kinds = append(kinds, row.Kind)
			require.Nil(t, row.Why, "%+v", row)
			require.Positive(t, row.Taken, "%+v", row)
			require.Equal(t, [2]int{}, [2]int{row.Mailbox, row.Waiting}, "%+v", row)
			require.Zero(t, row.AtHand, "%+v", row)
		}
		require.Equal(t, []string{rangeKind, eventsKind, laneKind, connectionKind, laneKind, connectionKind}, kinds)
		require.Equal(t, "Lane 1", rows[2].Name)
		require.Equal(t, []string{lanes.StateReady, "up"}, []string{rows[2].State, rows[3].State})
		require.Equal(t, rows[2:4], f.ObservedLane(f.laneID(0)))
		require.Equal(t, rows[4:6], f.ObservedLane(f.laneID(1)))
		require.Empty(t, f.ObservedLane(uuid.New()))
	})
}

// Each reason is produced by what it tells.
func TestWhatHoldsAnActorUp(t *testing.T) {
	for name, test := range map[string]struct {
		run func(t *testing.T, f *fixture)
	}{
		"a store that hangs": {run: func(t *testing.T, f *fixture) {
			first, second := f.create(0, 30), f.create(1, 30)
			f.store.setHook(hangFlush)
			modified := f.runAsync(func() error { return f.tryModify(first, 5) })
			f.advance(2 * time.Second)
			require.Equal(t, "saving modify for 2s", f.why(laneKind, 0))
			require.Equal(t, lanes.StateSaving, f.observed(laneKind, 0).State)
			require.Equal(t, "store_down ×1 for 1s", f.why(rangeKind, -1))
			stopped := f.runAsync(func() error { return f.tryStop(second) })
			f.advance(12 * time.Second)
			require.Equal(t, "saving modify for 14s failed ×2", f.why(laneKind, 0))
			require.Equal(t, "unsaved ×1 for 12s failed ×2", f.why(laneKind, 1))
			require.NotEmpty(t, f.observed(laneKind, 1).Why.Error)
			require.Equal(t, 2, f.observed(rangeKind, -1).Waiting)
			f.storeReturns()
			require.ErrorIs(t, <-modified, lanes.ErrTimeout)
			require.ErrorIs(t, <-stopped, lanes.ErrNotSaved)
			require.Empty(t, f.why(laneKind, 0)+f.why(laneKind, 1)+f.why(rangeKind, -1))
		}},
		"a link that is down": {run: func(t *testing.T, f *fixture) {
			restore := f.cutLink(0)
			f.advance(time.Minute)
			row := f.observed(connectionKind, 0)
			require.Equal(t, "down", row.State)
			require.Regexp(t, `^(dials|dialling) for 1m0s failed ×\d+$`, f.why(connectionKind, 0))
			require.Empty(t, f.why(connectionKind, 1))
			restore()
			require.Empty(t, f.why(connectionKind, 0))
		}},
		"a hold that the hardware has not confirmed": {run: func(t *testing.T, f *fixture) {
			restore := f.cutLink(0)
			f.startHold(f.laneScope(0))
			f.advance(8 * time.Second)
			require.Equal(t, "hold for 8s", f.why(laneKind, 0))
			restore()
			f.advance(time.Second)
			require.Empty(t, f.why(laneKind, 0))
		}},
		"a fault of the hardware": {run: func(t *testing.T, f *fixture) {
			f.reportFault(0, "the carrier is stuck")
			require.Equal(t, "fault", f.why(laneKind, 0))
			require.Equal(t, "the carrier is stuck", f.observed(laneKind, 0).Why.Error)
			f.clearFaults(0)
			require.Empty(t, f.why(laneKind, 0))
		}},
		"a panic": {run: func(t *testing.T, f *fixture) {
			f.create(0, 30)
			f.panicLane(0)
			f.advance(3 * time.Minute)
			require.Equal(t, "restarted saveResult ×1 for 3m0s", f.why(laneKind, 0))
			require.Contains(t, f.observed(laneKind, 0).Why.Error, "nil pointer")
			require.Equal(t, 1, f.observed(laneKind, 0).Panics.Count)
			require.Empty(t, f.why(connectionKind, 0), "it was not the connection")
			f.advance(8 * time.Minute)
			require.Empty(t, f.why(laneKind, 0))
		}},
		"a lane that is parked": {run: func(t *testing.T, f *fixture) {
			f.create(0, 30)
			for range maxPanics + 1 {
				f.panicLane(0)
			}
			f.advance(20 * time.Second)
			require.Equal(t, "parked saveResult ×6 for 20s", f.why(laneKind, 0))
			require.Equal(t, 40*time.Second, f.observed(laneKind, 0).Why.Next.Sub(f.clock.Now().Wall))
			f.advance(parkedFor)
			require.Equal(t, lanes.StateReady, f.observed(laneKind, 0).State)
		}},
		"a lane that waits for its last saved state": {run: func(t *testing.T, f *fixture) {
			session := f.create(0, 30)
			release := f.blockFlushes()
			modified := f.runAsync(func() error { return f.tryModify(session, 5) })
			f.panicLane(0) // what is on its way to the store is waited for
			f.advance(4 * time.Second)
			require.Equal(t, "unsaved ×1 for 4s", f.why(laneKind, 0))
			require.Contains(t, f.observed(laneKind, 0).Also,
				lanes.Why{Code: lanes.WhyStarting, Since: f.clock.Now().Wall.Add(-4 * time.Second)})
			require.Equal(t, lanes.StateStarting, f.observed(laneKind, 0).State)
			release()
			require.Error(t, <-modified)
			f.advance(time.Second)
			require.Equal(t, lanes.StateReady, f.observed(laneKind, 0).State)
		}},
		"a message that takes too long": {run: func(t *testing.T, f *fixture) {
			f.create(0, 30)
			release := f.blockFlushes()
			modified := f.runAsync(func() error { return f.tryModify(f.activeSessions()[0], 5) })
			endTurn := f.keepBusy(0)
			f.advance(900 * time.Millisecond)
			f.sendToLane(0, &rearm{})
			f.advance(2 * time.Second)
			require.Equal(t, "at_hand awaitMove for 2s", f.why(laneKind, 0))
			require.Positive(t, f.observed(laneKind, 0).Mailbox)
			endTurn()
			release()
			require.NoError(t, <-modified)
			f.advance(time.Second)
			require.Empty(t, f.why(laneKind, 0))
		}},
		"a lane that is kept for a session": {run: func(t *testing.T, f *fixture) {
			ctx, cancel := context.WithCancel(f.Context())
			_, err := f.askTicket(ctx, lanes.ByPOS, f.laneID(0))
			require.NoError(t, err)
			f.advance(4 * time.Second)
			require.Equal(t, "moving for 4s", f.why(laneKind, 0))
			cancel()
			synctest.Wait()
			require.Empty(t, f.why(laneKind, 0))
		}},
		"lanes that wait for one of theirs": {run: func(t *testing.T, f *fixture) {
			asked, busy := 0, 1 // they are asked in the order of their ids
			if slices.Compare(f.laneIDs(0)[0][:], f.laneIDs(1)[0][:]) > 0 {
				asked, busy = 1, 0
			}
			first, second := f.create(asked, 30), f.create(busy, 30)
			release := f.blockFlushes()
			modified := f.runAsync(func() error { return f.tryModify(second, 5) })
			endTurn := f.keepBusy(busy)
			release()
			batch := f.batchAsync(true, modifyOf(first, 5), modifyOf(second, 5))
			f.advance(2 * time.Second)
			require.Equal(t, "together for 2s", f.why(laneKind, asked))
			require.Equal(t, lanes.StateTogether, f.observed(laneKind, asked).State)
			waits := f.runAsync(func() error { return f.tryModify(first, 1) })
			f.advance(1200 * time.Millisecond)
			require.Equal(t, "backlog modify ×1 for 1s", f.why(laneKind, asked))
			endTurn()
			for _, answer := range []<-chan error{modified, batch, waits} {
				require.NoError(t, <-answer)
			}
			synctest.Wait()
			require.Empty(t, f.why(laneKind, 0)+f.why(laneKind, 1))
		}},
	} {
		t.Run(name, func(t *testing.T) { runFixture(t, test.run, withLanes(2)) })
	}
}

// A purchase that staff have to settle is told of its lane until they have.
func TestAPurchaseThatStaffHaveToSettleIsTold(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(1, 30)
		pos.setPurchaseReply(timeOutPurchase)
		purchase := f.buy(1, minutes(15))
		f.advance(webhookTimeout)
		f.advance(20 * time.Second)
		require.Equal(t, "purchases ×1 for 30s", f.why(laneKind, 1))
		require.Empty(t, f.why(laneKind, 0))
		require.NoError(t, f.clearPurchase("sam", purchase, true))
		f.advance(time.Second)
		require.Empty(t, f.why(laneKind, 1))
	}, withWebhook(pos))
}

// What a webhook does not take is told of its events.
func TestWhatHoldsEventsUp(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		session := f.create(0, 30)
		f.modify(session, 5)
		f.modify(session, 5)
		f.advance(13 * time.Second)
		require.Regexp(t, `^behind ×\d for 13s$`, f.why(eventsKind, -1))
		require.Equal(t, lanes.StateSending, f.observed(eventsKind, -1).State)
		release()
		f.advance(time.Second)
		require.Empty(t, f.why(eventsKind, -1))
		webhook.fails(500, nil)
		f.modify(session, 5)
		f.advance(time.Second)
		require.Equal(t, "retrying ×1", f.why(eventsKind, -1))
		require.True(t, f.observed(eventsKind, -1).Why.Next.After(f.clock.Now().Wall))
		webhook.fails(410, nil)
		f.modify(session, 5)
		f.advance(10 * time.Second)
		require.Equal(t, "gone", f.why(eventsKind, -1))
		require.Equal(t, lanes.StateGone, f.observed(eventsKind, -1).State)
	}, withWebhook(webhook), withRetries)
}

// A webhook that takes nothing, three times in a row, is told until it takes an event; what it decides about a purchase
// tells nothing of it.
func TestAWebhookThatTakesNothingIsTold(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		session := f.createWithPurchasing(0, 30) // two events
		f.advance(time.Second)
		f.buy(0, minutes(15))
		require.Empty(t, f.why(eventsKind, -1))
		f.advance(8 * time.Second)
		f.modify(session, 5)
		f.advance(time.Second)
		require.Equal(t, "failing for 10s failed ×3", f.why(eventsKind, -1))
		require.Contains(t, f.observed(eventsKind, -1).Why.Error, lanes.Refused)
		webhook.fails(500, func(lanes.Event) bool { return false })
		f.modify(session, 5)
		f.advance(time.Second)
		require.Empty(t, f.why(eventsKind, -1))
	}, withWebhook(webhook))
}

// What is less urgent is told beside what is most urgent: a lane that is parked may also be under a hold that its
// hardware has not confirmed.
func TestTheMostUrgentReasonHidesNoOther(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		restore := f.cutLink(0)
		f.startHold(f.laneScope(0))
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		f.advance(8 * time.Second)
		row := f.observed(laneKind, 0)
		var also []lanes.WhyCode
		for _, why := range row.Also {
			also = append(also, why.Code)
		}
		require.Equal(t, []lanes.WhyCode{lanes.WhyParked, lanes.WhyHold, lanes.WhyRestarted},
			append([]lanes.WhyCode{row.Why.Code}, also...))
		restore()
		f.advance(parkedFor)
		require.Empty(t, f.observed(laneKind, 0).Also)
	})
}

// A controller that dials is waited for, and a second one of the lane is told with both addresses.
func TestWhatHoldsUpAConnectionThatIsWaitedFor(t *testing.T) {
	runAwaiting(t, 1, func(t *testing.T, f *fixture, d *awaitingDriver) {
		f.advance(time.Minute)
		require.Equal(t, "awaits for 1m0s", f.why(connectionKind, 0))
		_, waiter := d.arrive(f.laneID(0), nil)
		f.advance(0)
		require.Empty(t, f.why(connectionKind, 0))
		waiter.Contested("192.0.2.7:41000", "192.0.2.1:40000")
		f.advance(9 * time.Second)
		require.Equal(t, "contested for 9s", f.why(connectionKind, 0))
		why := f.observed(connectionKind, 0).Why
		require.Equal(t, []string{"192.0.2.1:40000", "192.0.2.7:41000"}, []string{why.Address, why.Other})
	})
}

// How late the newest timer of a lane was outlives a panic of the lane.
func TestALanesLatenessIsTold(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		require.Nil(t, f.observed(laneKind, 0).Late)
		f.create(0, 1)
		f.advance(time.Minute)
		require.NotNil(t, f.observed(laneKind, 0).Late)
		f.panicLane(0)
		require.NotNil(t, f.observed(laneKind, 0).Late)
		require.Nil(t, f.observed(laneKind, 1).Late)
	})
}

// A lane that has left is not shown any more, and a new one is.
func TestAReloadChangesWhatIsObserved(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		gone := f.laneID(0)
		added := makePlaces(1)[0]
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Lanes = append(s.Layout.Lanes[1:], added) }))
		synctest.Wait()
		rows := slices.Collect(f.Observed())
		require.Len(t, rows, 6)
		for _, row := range rows {
			require.NotEqual(t, gone, row.Lane)
		}
		require.Equal(t, []any{added.ID, lanes.StateReady}, []any{rows[4].Lane, rows[4].State})
		require.Len(t, f.tree.Activities(), 6, "what has stopped is forgotten")
	})
}
