package lanes_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// machine reads the clocks of one machine. Its wall clock is off the true time, and it was booted at some time.
type machine struct {
	boot      string
	bootedAt  time.Time
	ahead     time.Duration // of the true time
	commonOff time.Duration // the common clock is ahead of the true time by so much
	measured  time.Duration // error of the measurement of the offset
	common    string        // name of the common clock, empty: none
}

func (m machine) read(now time.Time) lanes.Checkpoint {
	reading := lanes.Checkpoint{At: lanes.Instant{Wall: now.Add(m.ahead), Mono: now.Sub(m.bootedAt)}, Boot: m.boot}
	if m.common != "" {
		reading.Offset = &lanes.Offset{Ahead: m.ahead - m.commonOff + m.measured, Clock: m.common}
	}
	return reading
}

var trueStart = time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)

func skews() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "skew"))
	})
}

// takeOver lets a session of two hours run on one machine and restores it on another, which goes on with it.
// It returns how much longer the session has used its time than it truly ran.
func takeOver(t *rapid.T, first, second machine) (excess time.Duration) {
	span := func(name string) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(30*time.Minute)).Draw(t, name))
	}
	began := trueStart
	checkpointAt := began.Add(span("since the session began"))
	saved := began
	if rapid.Bool().Draw(t, "saved after the checkpoint") { // as in the write after it
		checkpointAt, saved = began.Add(-span("before the session began")), began
	}
	takenAt := checkpointAt.Add(span("until the take-over"))
	if takenAt.Before(saved) {
		takenAt = saved.Add(span("after it was saved"))
	}
	last := first.read(checkpointAt)
	session := &lanes.Session{
		ID: uuid.New(), Sold: 2 * time.Hour, Phase: lanes.Running, Left: 2 * time.Hour, Since: first.read(began).At,
		Created: first.read(began).At,
	}
	record, err := json.Marshal(last)
	require.NoError(t, err)
	var read lanes.Checkpoint
	require.NoError(t, json.Unmarshal(record, &read))
	snapshot := lanes.Snapshot{Lane: lanes.Lane{ID: uuid.New(), Session: session}, Boot: first.boot}
	lane := snapshot.Restore(second.read(takenAt), read)
	later := takenAt.Add(span("on the second machine"))
	return lane.Session.Used(second.read(later).At) - later.Sub(began)
}

// The wall clocks of two machines, and that of the store, may differ by an hour: a session used what it ran,
// as exactly as the offsets were measured.
func TestSkewBetweenMachinesIsNoSessionTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		common := skews().Draw(t, "common")
		draw := func(boot string) machine {
			return machine{
				boot: boot, bootedAt: trueStart.Add(-time.Duration(rapid.Int64Range(int64(time.Hour),
					int64(1000*time.Hour)).Draw(t, "up"))),
				ahead: skews().Draw(t, "ahead"), commonOff: common, common: "redis",
				measured: time.Duration(rapid.Int64Range(-int64(time.Second), int64(time.Second)).Draw(t, "measured")),
			}
		}
		first, second := draw("one"), draw("two")
		excess := takeOver(t, first, second)
		require.LessOrEqual(t, excess.Abs(), first.measured.Abs()+second.measured.Abs())
		first.measured, second.measured = 0, 0
		require.Zero(t, takeOver(t, first, second))
	})
}

// A range moves from machine to machine, each of which saves it and a checkpoint in its first flush, and may
// save the lane again after that. The common clock is restarted meanwhile, under another name: no skew
// becomes session time as long as each machine is at most 2 s off.
func TestARangeThatMovesOnAndOnKeepsItsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := trueStart
		pass := func() {
			now = now.Add(time.Duration(rapid.Int64Range(int64(4*time.Second), int64(time.Minute)).Draw(t, "passes")))
		}
		var owner machine
		var saved lanes.Snapshot
		var last lanes.Checkpoint
		lane := lanes.Lane{ID: uuid.New()}
		for move := range rapid.IntRange(2, 6).Draw(t, "moves") {
			owner = machine{
				boot: string(rune('a' + move)),
				bootedAt: trueStart.Add(-time.Duration(rapid.Int64Range(int64(time.Hour),
					int64(1000*time.Hour)).Draw(t, "up"))),
				ahead:  time.Duration(rapid.Int64Range(-int64(2*time.Second), int64(2*time.Second)).Draw(t, "ahead")),
				common: rapid.SampledFrom([]string{"first start", "second start"}).Draw(t, "server"),
			}
			reading := owner.read(now)
			if move == 0 {
				lane.Session = &lanes.Session{
					ID: uuid.New(), Sold: 2 * time.Hour, Phase: lanes.Running, Left: 2 * time.Hour, Since: reading.At,
					Created: reading.At,
				}
			} else {
				lane = saved.Restore(reading, last)
			}
			saved, last = lanes.Snapshot{Lane: lane, Boot: owner.boot}, reading
			pass()
			if rapid.Bool().Draw(t, "changed after the checkpoint") {
				change, err := lane.Decide(owner.read(now).At, lanes.Pause{Session: lane.Session.ID})
				require.NoError(t, err)
				change, err = change.Lane.Decide(owner.read(now).At, lanes.Resume{Session: lane.Session.ID})
				require.NoError(t, err)
				lane = change.Lane
				saved.Lane = lane
				pass()
			}
		}
		require.Equal(t, now.Sub(trueStart), lane.Session.Used(owner.read(now).At))
	})
}

// Without a common clock only the wall clocks tell: they are believed, as they always were.
func TestWithoutACommonClockTheWallClocksCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := machine{boot: "one", bootedAt: trueStart.Add(-time.Hour), common: "redis"}
		second := machine{
			boot: "two", bootedAt: trueStart.Add(-2 * time.Hour), ahead: 10 * time.Minute,
			common: "redis",
		}
		switch rapid.IntRange(0, 2).Draw(t, "what is missing") {
		case 0:
			first.common = ""
		case 1:
			second.common = ""
		case 2:
			second.common = "another server"
		}
		excess := takeOver(t, first, second)
		require.Equal(t, 10*time.Minute, excess)
	})
}

// Two clocks are taken for one as long as the machines differ by no more than two may that both own ranges.
func TestHowFarTwoCommonClocksAreTakenForOne(t *testing.T) {
	for _, c := range []struct {
		clock  string // of the later reading
		ahead  time.Duration
		passed time.Duration
	}{
		{"first start", time.Hour, 10 * time.Minute},
		{"second start", 4 * time.Second, 10 * time.Minute},
		{"second start", -4 * time.Second, 10 * time.Minute},
		{"second start", 4*time.Second + 1, 10*time.Minute + 4*time.Second + 1},
		{"second start", -4*time.Second - 1, 10*time.Minute - 4*time.Second - 1},
	} {
		first := machine{boot: "one", common: "first start"}.read(trueStart)
		second := machine{boot: "two", common: c.clock, ahead: c.ahead}.read(trueStart.Add(10 * time.Minute))
		require.Equal(t, c.passed, second.Since(first), "%+v", c)
	}
}
