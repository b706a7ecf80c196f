package actors

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/actors/holds"
	"rangegate/lanes"
)

var laneGauges = []string{
	"lanes", "lanes_not_usable", "lanes_held", "lanes_hold_unconfirmed", "lanes_parked", "lanes_not_clear", "sessions",
	"links", "lanes_link_insecure", "purchases_pending",
	"purchases_unresolved",
}

func TestTheGaugesOfARange(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.create(1, 30)
		f.pause(f.create(2, 30))
		f.createWaiting(3, 30)
		restoreLink := f.cutLink(4)
		f.advance(f.settings.Grace)
		f.controller(5).Pose(true)
		f.controller(5).Cut(errNoAnswer)
		f.advance(time.Second)
		require.Equal(t, map[string]float64{
			"lanes": 7, "lanes_not_usable": 1, "lanes_held": 0, "lanes_hold_unconfirmed": 0, "lanes_parked": 0,
			"lanes_not_clear": 0, "lanes_link_insecure": 0,
			"sessions waiting": 1, "sessions running": 2, "sessions paused": 1,
			"links up": 5, "links down": 1, "links faulty": 1,
			"purchases_pending": 0, "purchases_unresolved": 0,
		}, f.gaugeValues(laneGauges...))

		f.controller(5).Pose(false)
		f.advance(lastFaultyBackoff)
		restoreLink()
		began := f.clock.Now().Wall
		f.setHold(f.laneScope(6))
		f.advance(time.Minute)
		restoreLink = f.cutLink(1)
		f.setHold(f.laneScope(1))
		f.setHold(rangeScope)
		// The answers to both holds waited for the lane whose link is down.
		everywhereSince := f.clock.Now().Wall.Add(-holds.Patience)
		values := f.gaugeValues(append(laneGauges, "hold_started_timestamp_seconds")...)
		require.Equal(t, 7.0, values["lanes_held"])
		require.Equal(t, 1.0, values["lanes_hold_unconfirmed"], "the one that nobody reaches")
		require.Equal(t, 3.0, values["sessions paused"])
		require.Equal(t, 0.0, values["sessions running"])
		require.InDelta(t, float64(began.UnixMilli())/1e3, values["hold_started_timestamp_seconds lane"], 1e-3,
			"the older of the two")
		require.InDelta(t, float64(everywhereSince.UnixMilli())/1e3, values["hold_started_timestamp_seconds range"],
			holds.Patience.Seconds())
		require.NotContains(t, values, "hold_started_timestamp_seconds bay")

		restoreLink()
		require.Equal(t, 0.0, f.gaugeValues("lanes_hold_unconfirmed")["lanes_hold_unconfirmed"])
		for _, scope := range []lanes.Scope{rangeScope, f.laneScope(1), f.laneScope(6)} {
			f.liftHold(scope)
		}
		require.Equal(t, map[string]float64{"lanes_held": 0, "lanes_hold_unconfirmed": 0},
			f.gaugeValues("lanes_held", "lanes_hold_unconfirmed", "hold_started_timestamp_seconds"))
	}, withLanes(7))
}

// The hold is in force from the moment that it was set, whether or not the lane's own record of it is saved.
func TestAHoldCountsWhileItsLanesAreNotSaved(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.runAsync(func() error { return f.tryModify(session, 1) })
		f.startHold(rangeScope)
		synctest.Wait()
		require.False(t, f.Lanes()[0].Lane.Held, "its change waits for the pending one")
		require.Equal(t, map[string]float64{"lanes_held": 2, "lanes_hold_unconfirmed": 0},
			f.gaugeValues("lanes_held", "lanes_hold_unconfirmed"))
		release()
	})
}

func TestParkedLanesAreCounted(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		for range maxPanics + 1 {
			require.ErrorIs(t, f.tryNilCommand(session), lanes.ErrInternal)
		}
		f.advance(firstBackoff)
		require.Equal(t, map[string]float64{"lanes_parked": 1, "lanes_not_usable": 1, "lanes_held": 0},
			f.gaugeValues("lanes_parked", "lanes_not_usable", "lanes_held"))
		f.advance(parkedFor)
		require.Equal(t, map[string]float64{"lanes_parked": 0, "lanes_not_usable": 0},
			f.gaugeValues("lanes_parked", "lanes_not_usable"))
	})
}

func TestUnsavedChangesAreCounted(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				names := []string{"lanes_unsaved", "store_writes_unsaved", "store_away"}
				first, second := f.create(0, 30), f.create(1, 30)
				f.create(2, 30)
				f.advance(time.Second)
				require.Equal(t, map[string]float64{"lanes_unsaved": 0, "store_writes_unsaved": 0, "store_away": 0},
					f.gaugeValues(names...))
				lastSaved := f.gaugeValues("store_last_flush_timestamp_seconds")["store_last_flush_timestamp_seconds"]
				require.InDelta(t, float64(f.clock.Now().Wall.UnixMilli())/1e3, lastSaved, checkpointEvery.Seconds())

				f.store.setHook(outage)
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryPause(first) }), time.Second),
					lanes.ErrNotSaved)
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryStop(first) }), time.Second),
					lanes.ErrNotSaved)
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryStop(second) }), time.Second),
					lanes.ErrNotSaved)
				f.advance(time.Minute)
				require.Equal(t, map[string]float64{"lanes_unsaved": 2, "store_writes_unsaved": 3, "store_away": 1},
					f.gaugeValues(names...),
					"three changes of two lanes")
				require.Equal(t, lastSaved,
					f.gaugeValues("store_last_flush_timestamp_seconds")["store_last_flush_timestamp_seconds"])

				f.storeReturns()
				require.Equal(t, map[string]float64{"lanes_unsaved": 0, "store_writes_unsaved": 0, "store_away": 0},
					f.gaugeValues(names...))
				require.Greater(t,
					f.gaugeValues("store_last_flush_timestamp_seconds")["store_last_flush_timestamp_seconds"],
					lastSaved+59)
			}, withLanes(3))
		})
	}
}

func TestTheAgeOfWaitingEventsIsMeasured(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		names := []string{"events_waiting", "events_oldest_timestamp_seconds"}
		require.Equal(t, map[string]float64{"events_waiting": 0}, f.gaugeValues(names...))
		release := webhook.block()
		session := f.create(0, 30) // one is under way, the other waits for it
		began := f.clock.Now().Wall
		f.advance(time.Minute)
		f.pause(session)
		require.Equal(t, map[string]float64{
			"events_waiting": 2, "events_oldest_timestamp_seconds": float64(began.UnixMilli()) / 1e3,
		}, f.gaugeValues(names...))
		release()
		synctest.Wait()
		require.Equal(t, map[string]float64{"events_waiting": 0}, f.gaugeValues(names...))
	}, withWebhook(webhook))
}

func TestOpenPurchasesAreCounted(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		f.buy(0, minutes(15))
		require.Equal(t, map[string]float64{"purchases_pending": 1, "purchases_unresolved": 0},
			f.gaugeValues("purchases_pending", "purchases_unresolved"))
		f.stop(session)
		require.Equal(t, map[string]float64{"purchases_pending": 1, "purchases_unresolved": 0},
			f.gaugeValues("purchases_pending", "purchases_unresolved"),
			"its session has ended")
		release()
		require.Equal(t, map[string]float64{"purchases_pending": 0, "purchases_unresolved": 1},
			f.gaugeValues("purchases_pending", "purchases_unresolved"))
	}, withWebhook(pos))
}

func TestOpenCallsForHelpAreCounted(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		call := func(i int) float64 {
			_, err := f.LaneOn(f.requestContext(), f.laneID(i), lanes.CallHelp{})
			require.NoError(t, err)
			synctest.Wait()
			return float64(f.clock.Now().Wall.UnixMilli()) / 1e3
		}
		gauges := func() map[string]float64 {
			return f.gaugeValues("help_calls", "help_calls_oldest_timestamp_seconds")
		}
		require.Equal(t, map[string]float64{"help_calls waiting": 0, "help_calls coming": 0}, gauges())
		first := call(0)
		f.advance(time.Minute)
		second := call(1)
		require.Equal(t, map[string]float64{
			"help_calls waiting": 2, "help_calls coming": 0,
			"help_calls_oldest_timestamp_seconds": first,
		}, gauges())
		f.staffLaneCommand(0, lanes.HelpComing{})
		require.Equal(t, map[string]float64{
			"help_calls waiting": 1, "help_calls coming": 1,
			"help_calls_oldest_timestamp_seconds": second,
		}, gauges())
		f.staffLaneCommand(0, lanes.HelpDone{})
		f.staffLaneCommand(1, lanes.HelpDone{})
		require.Equal(t, map[string]float64{"help_calls waiting": 0, "help_calls coming": 0}, gauges())
	})
}

// What this process knows of a range that it no longer owns is outdated.
func TestARangeThatEndedHasNoGauges(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		require.NotEmpty(t, f.gaugeValues(laneGauges...))
		f.endLife(lanes.ErrNotOwner)
		require.Empty(t, f.gaugeValues(laneGauges...))
	})
}

// The time of a hold's fan-out ends when the last reachable lane has confirmed; a lane whose link is down is
// counted as not reached.
func TestTheFanOutOfAHoldIsMeasured(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.cutLink(2)
		f.advance(f.settings.Grace)
		f.setHold(rangeScope)
		count, took := f.histogram("hold_fanout_seconds")
		require.EqualValues(t, 1, count)
		require.Less(t, took, time.Second)
		require.Equal(t, 2.0, f.metricValue("rangegate_hold_lanes_total", "confirmed"))
		require.Equal(t, 1.0, f.metricValue("rangegate_hold_lanes_total", "not_reached"))
		require.Zero(t, f.metricValue("rangegate_hold_lanes_total", "sent"))
		f.liftHold(rangeScope)
		f.setHold(f.laneScope(2))
		count, _ = f.histogram("hold_fanout_seconds")
		require.EqualValues(t, 1, count, "a hold that reaches no lane is not measured, and no lift is")
		require.Equal(t, 2.0, f.metricValue("rangegate_hold_lanes_total", "not_reached"))
	}, withLanes(3))
}

func TestAHoldThatOneLaneDoesNotConfirmIsNotMeasured(t *testing.T) {
	driver := &fakeDriver{}
	runFixture(t, func(t *testing.T, f *fixture) {
		answer := f.startHold(rangeScope)
		for i, connection := range driver.connections[:2] {
			f.advance(time.Second)
			states := connection.sentStates()
			connection.receiver.Applied(states[len(states)-1].Revision)
			synctest.Wait()
			count, took := f.histogram("hold_fanout_seconds")
			require.EqualValues(t, i, count)
			require.Equal(t, time.Duration(i)*2*time.Second, took)
		}
		require.Len(t, (<-answer).Sent, 1, "the answer did not wait for the second confirmation")
		require.Equal(t, 1.0, f.metricValue("rangegate_hold_lanes_total", "sent"))
		require.Equal(t, 1.0, f.metricValue("rangegate_hold_lanes_total", "confirmed"))
	}, withDriver(driver))
}

// From the arrival at the lane to the answer, once for each command.
func TestTheDurationOfCommandsIsMeasured(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		count, before := f.histogram("lane_command_seconds")
		release := f.blockFlushes()
		first := f.runAsync(func() error { return f.tryModify(session, 1) })
		f.advance(100 * time.Millisecond)
		second := f.runAsync(func() error { return f.tryModify(session, 1) })
		f.advance(100 * time.Millisecond)
		release()
		require.NoError(t, errors.Join(<-first, <-second))
		synctest.Wait()
		after, took := f.histogram("lane_command_seconds")
		require.EqualValues(t, 2, after-count)
		require.Equal(t, 300*time.Millisecond, took-before, "the second waited for the first")

		f.store.setHook(refuseFlush)
		require.ErrorIs(t, f.tryStop(session), lanes.ErrNotSaved)
		f.storeReturns()
		more, took := f.histogram("lane_command_seconds")
		require.EqualValues(t, 1, more-after, "answered once, though it was saved later")
		require.Less(t, took-before, time.Second)
	})
}

func TestSuccessfulDialsAreMeasured(t *testing.T) {
	driver := &fakeDriver{dialResult: failDial}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.advance(time.Second)
		count, _ := f.histogram("link_dial_seconds")
		require.Zero(t, count)
		require.Positive(t, f.metricValue("rangegate_link_failures_total", "other"))
		driver.setDialResult(nil)
		f.advance(lastBackoff)
		count, _ = f.histogram("link_dial_seconds")
		require.EqualValues(t, 2, count)
	}, withDriver(driver))
}

// BenchmarkScrape shows that a hundred thousand lanes and a thousand ranges cost a scrape some milliseconds
// (docs/operators.md).
func BenchmarkScrape(b *testing.B) {
	for _, size := range []struct{ ranges, lanes int }{{1, 100}, {1, 100_000}, {1000, 100}} {
		b.Run(fmt.Sprintf("ranges=%d/lanes=%d", size.ranges, size.lanes), func(b *testing.B) {
			benchmarkScrape(b, size.ranges, size.lanes)
		})
	}
}
