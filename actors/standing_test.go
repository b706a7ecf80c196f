package actors

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// gauges is what a scrape tells now of the rig's range by gauges with those names, each with its other label.
func (g *rig) gauges(names ...string) map[string]float64 {
	g.Helper()
	families, err := g.registry.Gather()
	require.NoError(g, err)
	told := map[string]float64{}
	for _, family := range families {
		name := strings.TrimPrefix(family.GetName(), "rangegate_")
		if !slices.Contains(names, name) {
			continue
		}
		for _, m := range family.GetMetric() {
			of, other := "", ""
			for _, label := range m.GetLabel() {
				if label.GetName() == "range" {
					of = label.GetValue()
				} else {
					other = " " + label.GetValue()
				}
			}
			require.Equal(g, g.id.String(), of)
			told[name+other] = m.GetGauge().GetValue()
		}
	}
	return told
}

// seconds is what a histogram has seen, of all its labels: how often, and the sum.
func (g *rig) seconds(name string) (often uint64, sum time.Duration) {
	g.Helper()
	families, err := g.registry.Gather()
	require.NoError(g, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "rangegate_"+name {
				often += m.GetHistogram().GetSampleCount()
				sum += time.Duration(m.GetHistogram().GetSampleSum() * 1e9).Round(time.Microsecond)
			}
		}
	}
	return often, sum
}

var aboutLanes = []string{
	"lanes", "lanes_not_usable", "lanes_held", "lanes_hold_unconfirmed", "lanes_parked", "sessions", "links", "purchases_pending",
	"purchases_unresolved",
}

func TestHowARangeStands(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.create(1, 30)
		g.pause(g.create(2, 30))
		g.book(3, 30)
		letBack := g.cutOff(4)
		g.pass(g.settings.Grace)
		g.controller(5).Pose(true)
		g.controller(5).Cut(errNoAnswer)
		g.pass(time.Second)
		require.Equal(t, map[string]float64{
			"lanes": 7, "lanes_not_usable": 1, "lanes_held": 0, "lanes_hold_unconfirmed": 0, "lanes_parked": 0,
			"sessions waiting": 1, "sessions running": 2, "sessions paused": 1,
			"links up": 5, "links down": 1, "links faulty": 1,
			"purchases_pending": 0, "purchases_unresolved": 0,
		}, g.gauges(aboutLanes...))

		g.controller(5).Pose(false)
		g.pass(lastFaultyBackoff)
		letBack()
		began := g.clock.Now().Wall
		g.hold(g.overLane(6))
		g.pass(time.Minute)
		letBack = g.cutOff(1)
		g.hold(g.overLane(1))
		g.hold(everywhere)
		everywhereSince := g.clock.Now().Wall.Add(-holdPatience) // its answer waited for the lane that is away, as did the one before
		told := g.gauges(append(aboutLanes, "hold_started_timestamp_seconds")...)
		require.Equal(t, 7.0, told["lanes_held"])
		require.Equal(t, 1.0, told["lanes_hold_unconfirmed"], "the one that nobody reaches")
		require.Equal(t, 3.0, told["sessions paused"])
		require.Equal(t, 0.0, told["sessions running"])
		require.InDelta(t, float64(began.UnixMilli())/1e3, told["hold_started_timestamp_seconds lane"], 1e-3, "the older of the two")
		require.InDelta(t, float64(everywhereSince.UnixMilli())/1e3, told["hold_started_timestamp_seconds range"], holdPatience.Seconds())
		require.NotContains(t, told, "hold_started_timestamp_seconds bay")

		letBack()
		require.Equal(t, 0.0, g.gauges("lanes_hold_unconfirmed")["lanes_hold_unconfirmed"])
		for _, over := range []lanes.Scope{everywhere, g.overLane(1), g.overLane(6)} {
			g.lift(over)
		}
		require.Equal(t, map[string]float64{"lanes_held": 0, "lanes_hold_unconfirmed": 0},
			g.gauges("lanes_held", "lanes_hold_unconfirmed", "hold_started_timestamp_seconds"))
	}, withLanes(7))
}

// The hold is in force from the moment that it was set, whatever the store does to the lane's own record of it.
func TestAHoldCountsWhileItsLanesAreNotSaved(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		g.begin(func() error { return g.tryModify(session, 1) })
		g.beginHold(everywhere)
		synctest.Wait()
		require.False(t, g.Lanes()[0].Lane.Held, "its change waits for the one under way")
		require.Equal(t, map[string]float64{"lanes_held": 2, "lanes_hold_unconfirmed": 0}, g.gauges("lanes_held", "lanes_hold_unconfirmed"))
		release()
	})
}

func TestParkedLanesAreCounted(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		for range maxPanics + 1 {
			require.ErrorIs(t, g.tryNothing(session), lanes.ErrInternal)
		}
		g.pass(firstBackoff)
		require.Equal(t, map[string]float64{"lanes_parked": 1, "lanes_not_usable": 1, "lanes_held": 0},
			g.gauges("lanes_parked", "lanes_not_usable", "lanes_held"))
		g.pass(parkedFor)
		require.Equal(t, map[string]float64{"lanes_parked": 0, "lanes_not_usable": 0}, g.gauges("lanes_parked", "lanes_not_usable"))
	})
}

func TestWhatIsNotSavedIsTold(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				names := []string{"lanes_unsaved", "store_writes_unsaved", "store_away"}
				first, second := g.create(0, 30), g.create(1, 30)
				g.create(2, 30)
				g.pass(time.Second)
				require.Equal(t, map[string]float64{"lanes_unsaved": 0, "store_writes_unsaved": 0, "store_away": 0}, g.gauges(names...))
				lastSaved := g.gauges("store_last_flush_timestamp_seconds")["store_last_flush_timestamp_seconds"]
				require.InDelta(t, float64(g.clock.Now().Wall.UnixMilli())/1e3, lastSaved, checkpointEvery.Seconds())

				g.store.hook(outage)
				require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryPause(first) }), time.Second), lanes.ErrNotSaved)
				require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(first) }), time.Second), lanes.ErrNotSaved)
				require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(second) }), time.Second), lanes.ErrNotSaved)
				g.pass(time.Minute)
				require.Equal(t, map[string]float64{"lanes_unsaved": 2, "store_writes_unsaved": 3, "store_away": 1}, g.gauges(names...),
					"three changes of two lanes")
				require.Equal(t, lastSaved, g.gauges("store_last_flush_timestamp_seconds")["store_last_flush_timestamp_seconds"])

				g.storeReturns()
				require.Equal(t, map[string]float64{"lanes_unsaved": 0, "store_writes_unsaved": 0, "store_away": 0}, g.gauges(names...))
				require.Greater(t, g.gauges("store_last_flush_timestamp_seconds")["store_last_flush_timestamp_seconds"], lastSaved+59)
			}, withLanes(3))
		})
	}
}

func TestTheAgeOfEventsThatWait(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		names := []string{"events_waiting", "events_oldest_timestamp_seconds"}
		require.Equal(t, map[string]float64{"events_waiting": 0}, g.gauges(names...))
		release := received.hold()
		session := g.create(0, 30) // one is under way, the other waits for it
		began := g.clock.Now().Wall
		g.pass(time.Minute)
		g.pause(session)
		require.Equal(t, map[string]float64{
			"events_waiting": 2, "events_oldest_timestamp_seconds": float64(began.UnixMilli()) / 1e3,
		}, g.gauges(names...))
		release()
		synctest.Wait()
		require.Equal(t, map[string]float64{"events_waiting": 0}, g.gauges(names...))
	}, withWebhook(received))
}

func TestPurchasesThatWaitAreCounted(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		give := pos.thinks(accepts)
		g.buys(0, minutes(15))
		require.Equal(t, map[string]float64{"purchases_pending": 1, "purchases_unresolved": 0}, g.gauges("purchases_pending", "purchases_unresolved"))
		g.stop(session)
		require.Equal(t, map[string]float64{"purchases_pending": 1, "purchases_unresolved": 0}, g.gauges("purchases_pending", "purchases_unresolved"),
			"its session has ended")
		give()
		require.Equal(t, map[string]float64{"purchases_pending": 0, "purchases_unresolved": 1}, g.gauges("purchases_pending", "purchases_unresolved"))
	}, withWebhook(pos))
}

// What this process knows of a range that it let go of is not true any more.
func TestARangeThatEndedTellsNothing(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		require.NotEmpty(t, g.gauges(aboutLanes...))
		g.endLife(lanes.ErrNotOwner)
		require.Empty(t, g.gauges(aboutLanes...))
	})
}

// A hold's time runs until the last lane that could be reached has confirmed; one that is away is counted as such.
func TestTheFanOutOfAHoldIsMeasured(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.cutOff(2)
		g.pass(g.settings.Grace)
		g.hold(everywhere)
		often, took := g.seconds("hold_fanout_seconds")
		require.EqualValues(t, 1, often)
		require.Less(t, took, time.Second)
		require.Equal(t, 2.0, g.metric("rangegate_hold_lanes_total", "confirmed"))
		require.Equal(t, 1.0, g.metric("rangegate_hold_lanes_total", "not_reached"))
		require.Zero(t, g.metric("rangegate_hold_lanes_total", "sent"))
		g.lift(everywhere)
		g.hold(g.overLane(2))
		often, _ = g.seconds("hold_fanout_seconds")
		require.EqualValues(t, 1, often, "nothing to measure where nobody is reached, and none of a hold's end")
		require.Equal(t, 2.0, g.metric("rangegate_hold_lanes_total", "not_reached"))
	}, withLanes(3))
}

func TestAHoldThatOneLaneDoesNotConfirmIsNotMeasured(t *testing.T) {
	s := &switchboard{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		answer := g.beginHold(everywhere)
		for i, line := range s.lines[:2] {
			g.pass(time.Second)
			states := line.told()
			line.to.Applied(states[len(states)-1].Revision)
			synctest.Wait()
			often, took := g.seconds("hold_fanout_seconds")
			require.EqualValues(t, i, often)
			require.Equal(t, time.Duration(i)*2*time.Second, took)
		}
		require.Len(t, (<-answer).Sent, 1, "who asked did not wait for that")
		require.Equal(t, 1.0, g.metric("rangegate_hold_lanes_total", "sent"))
		require.Equal(t, 1.0, g.metric("rangegate_hold_lanes_total", "confirmed"))
	}, withDriver(s))
}

// From the arrival at the lane to the answer, once for each command.
func TestTheTimeOfCommandsIsMeasured(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		often, before := g.seconds("lane_command_seconds")
		release := g.holdFlushes()
		first := g.begin(func() error { return g.tryModify(session, 1) })
		g.pass(100 * time.Millisecond)
		second := g.begin(func() error { return g.tryModify(session, 1) })
		g.pass(100 * time.Millisecond)
		release()
		require.NoError(t, errors.Join(<-first, <-second))
		synctest.Wait()
		after, took := g.seconds("lane_command_seconds")
		require.EqualValues(t, 2, after-often)
		require.Equal(t, 300*time.Millisecond, took-before, "the second waited for the first")

		g.store.hook(refuses)
		require.ErrorIs(t, g.tryStop(session), lanes.ErrNotSaved)
		g.storeReturns()
		more, took := g.seconds("lane_command_seconds")
		require.EqualValues(t, 1, more-after, "answered once, though it was saved later")
		require.Less(t, took-before, time.Second)
	})
}

func TestDialsThatSucceedAreMeasured(t *testing.T) {
	s := &switchboard{answer: fails}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.pass(time.Second)
		often, _ := g.seconds("link_dial_seconds")
		require.Zero(t, often)
		require.Positive(t, g.metric("rangegate_link_failures_total", "other"))
		s.answers(nil)
		g.pass(lastBackoff)
		often, _ = g.seconds("link_dial_seconds")
		require.EqualValues(t, 2, often)
	}, withDriver(s))
}

// A hundred thousand lanes and a thousand ranges cost a scrape some milliseconds (docs/operators.md).
func BenchmarkScrape(b *testing.B) {
	for _, size := range []struct{ ranges, lanes int }{{1, 100}, {1, 100_000}, {1000, 100}} {
		b.Run(fmt.Sprintf("ranges=%d/lanes=%d", size.ranges, size.lanes), func(b *testing.B) {
			scrapes(b, size.ranges, size.lanes)
		})
	}
}
