package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/actors/clock/clocktest"
	"rangegate/lanes"
)

// slowReference is a clock that is read over a network: each reading takes as long as the next of delays
// says, one way and the other.
type slowReference struct {
	ahead  time.Duration // of the machine's clock
	delays [][2]time.Duration
	name   string
	err    error
	// ignoring: an answer counts that came after its time.
	ignoring bool
}

func (r *slowReference) Time(ctx context.Context) (time.Time, string, error) {
	if r.err != nil {
		return time.Time{}, "", r.err
	}
	delay := r.delays[0]
	r.delays = append(r.delays[1:], delay)
	time.Sleep(delay[0])
	read := time.Now().Add(r.ahead)
	time.Sleep(delay[1])
	if r.ignoring {
		return read, r.name, nil
	}
	return read, r.name, ctx.Err()
}

func TestTheOffsetIsThatOfTheShortestExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := time.Millisecond
		reference := &slowReference{
			ahead: 3 * time.Second, name: "a",
			delays: [][2]time.Duration{{200 * ms, 0}, {2 * ms, 2 * ms}, {0, 90 * ms}},
		}
		machine := clocktest.New()
		c := clock.NewShared(machine, reference)
		require.Nil(t, clock.Read(c).Offset, "not measured")
		require.Contains(t, c.Refusing(), "could not be measured yet")
		require.NoError(t, c.Measure(t.Context()))
		offset := clock.Read(c).Offset
		require.Equal(t, -3*time.Second, offset.Ahead)
		require.Equal(t, "a", offset.Clock)
		require.Contains(t, c.Refusing(), "-3s")

		machine.Step(2 * time.Second)
		require.Equal(t, -time.Second, clock.Read(c).Offset.Ahead,
			"a wall clock that was set is off by so much less at once")
		machine.Suspend(time.Hour)
		require.Equal(t, time.Hour+2*time.Second, time.Until(clock.Read(c).At.Wall), "both clocks of the machine go on")
		require.Equal(t, -time.Second, clock.Read(c).Offset.Ahead)
		require.Empty(t, c.Refusing())
	})
}

func TestAFailedMeasurementKeepsTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reference := &slowReference{name: "a", delays: [][2]time.Duration{{}}}
		c := clock.NewShared(clocktest.New(), reference)
		require.NoError(t, c.Measure(t.Context()))
		reference.err = errors.New("no route")
		require.ErrorContains(t, c.Measure(t.Context()), "no route")
		require.Equal(t, "a", clock.Read(c).Offset.Clock)
	})
}

// A network that was slow for a moment makes a measurement useless; a reference that was set is believed at once.
func TestALongExchangeReplacesNoShortOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reference := &slowReference{
			ahead: time.Second, name: "a",
			delays: [][2]time.Duration{{time.Millisecond, time.Millisecond}},
		}
		c := clock.NewShared(clocktest.New(), reference)
		require.NoError(t, c.Measure(t.Context()))
		reference.delays = [][2]time.Duration{{200 * time.Millisecond, 0}}
		require.NoError(t, c.Measure(t.Context()))
		require.Equal(t, -time.Second, clock.Read(c).Offset.Ahead)
		reference.ahead = -time.Minute
		require.NoError(t, c.Measure(t.Context()))
		require.InDelta(t, time.Minute, clock.Read(c).Offset.Ahead, float64(100*time.Millisecond))
		time.Sleep(2 * time.Hour) // the clocks drift
		reference.ahead = -time.Minute - 150*time.Millisecond
		require.NoError(t, c.Measure(t.Context()))
		require.InDelta(t, time.Minute+150*time.Millisecond, clock.Read(c).Offset.Ahead, float64(100*time.Millisecond))
	})
}

// A process that was stopped in the middle of an exchange has a reading of long ago.
func TestAReadingThatTookTooLongSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reference := &slowReference{name: "a", delays: [][2]time.Duration{{0, time.Minute}}, ignoring: true}
		c := clock.NewShared(clocktest.New(), reference)
		require.ErrorContains(t, c.Measure(t.Context()), "too long")
		require.Nil(t, clock.Read(c).Offset)
		reference.delays = append(reference.delays, [2]time.Duration{})
		require.NoError(t, c.Measure(t.Context()))
		require.Zero(t, clock.Read(c).Offset.Ahead)
	})
}

// A server that has failed over to one with another clock is remembered for an hour, for ranges whose last
// checkpoint names it.
func TestAFormerReferenceIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reference := &slowReference{ahead: time.Second, name: "a", delays: [][2]time.Duration{{}}}
		c := clock.NewShared(clocktest.New(), reference)
		from := func(name string) lanes.Offset {
			return *clock.ReadAfter(t.Context(), c,
				lanes.Checkpoint{Boot: "another", Offset: &lanes.Offset{Clock: name}}).Offset
		}
		require.Equal(t, lanes.Offset{Ahead: -time.Second, Clock: "a"}, from("a"), "measured for the take-over")
		reference.ahead, reference.name = time.Minute, "b"
		require.Equal(t, lanes.Offset{Ahead: -time.Second, Clock: "a"}, from("a"))
		require.Equal(t, lanes.Offset{Ahead: -time.Minute, Clock: "b"}, from("b"), "measured for the take-over")
		require.Equal(t, lanes.Offset{Ahead: -time.Minute, Clock: "b"}, *clock.Read(c).Offset,
			"the present one is saved")
		require.Equal(t, lanes.Offset{Ahead: -time.Second, Clock: "a"}, from("a"))
		require.Equal(t, lanes.Offset{Ahead: -time.Minute, Clock: "b"}, from("never heard of"))
		time.Sleep(2 * time.Hour)
		require.NoError(t, c.Measure(t.Context()))
		require.Equal(t, lanes.Offset{Ahead: -time.Minute, Clock: "b"}, from("a"))
	})
}

// Machines whose wall clocks differ read the same time by the clock that they have in common.
func TestTheTimeByACommonClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reference := &slowReference{ahead: time.Second, name: "a", delays: [][2]time.Duration{{}}}
		c := clock.NewShared(clocktest.New(), reference)
		_, name := c.Time()
		require.Empty(t, name, "not measured")
		require.NoError(t, c.Measure(t.Context()))
		now, name := c.Time()
		require.Equal(t, "a", name)
		require.True(t, now.Equal(c.Now().Wall.Add(time.Second)))
		reference.ahead, reference.name = time.Minute, "b"
		require.NoError(t, c.Measure(t.Context()))
		now, name = c.Time()
		require.Equal(t, "b", name)
		require.True(t, now.Equal(c.Now().Wall.Add(time.Minute)))
		now, found := c.TimeBy("a")
		require.True(t, found)
		require.True(t, now.Equal(c.Now().Wall.Add(time.Second)))
		_, found = c.TimeBy("never heard of")
		require.False(t, found)
	})
}

func TestAClockWithoutReferenceHasNoOffset(t *testing.T) {
	require.Nil(t, clock.Read(clocktest.New()).Offset)
}
