package actors

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Steps of the wall clock by an hour and its slow drift, while the gateway runs and while it does not.

// drift lets d of time pass, in which the wall clock gains so much in each second.
func (g *rig) drift(d, gains time.Duration) {
	for ; d > 0; d -= time.Second {
		g.clock.Step(gains)
		g.pass(min(d, time.Second))
	}
}

// Sessions in every phase, and whatever may happen to a wall clock.
func TestNoMillisecondIsLostWhateverTheWallClockDoes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	inFakeTime(t, func(t *testing.T, g *rig) {
		running, paused, waiting := g.create(0, 480), g.create(1, 480), g.book(2, 480)
		left := map[uuid.UUID]time.Duration{running: 8 * time.Hour, paused: 8 * time.Hour, waiting: 8 * time.Hour}
		resting := false
		passes := func(pass func(time.Duration)) {
			d := time.Duration(chance.Int64N(100_000)) * time.Millisecond
			pass(d)
			left[running] -= d
			if !resting {
				left[paused] -= d
			}
		}
		for range 200 {
			switch step := []time.Duration{time.Hour, -time.Hour}[chance.IntN(2)]; chance.IntN(6) {
			case 0:
				g.clock.Step(step)
			case 1:
				gains := time.Duration(chance.IntN(7)-3) * time.Millisecond
				passes(func(d time.Duration) { g.drift(d, gains) })
			case 2: // on this boot the boot clock tells how long it took
				g.shutDown()
				g.clock.Step(step)
				passes(g.pass)
				g.start()
			case 3:
				if resting = !resting; resting {
					g.pause(paused)
				} else {
					g.resume(paused)
				}
			default:
				passes(g.pass)
			}
			for session, want := range left {
				require.Equal(t, want, g.left(session))
			}
			require.Equal(t, left[running], g.controller(0).Shown().Remaining)
		}
		g.stop(running)
		require.Equal(t, left[running], g.ended(running).Session.Left)
		require.Equal(t, 8*time.Hour-left[running], g.ended(running).Used)
	}, withLanes(3))
}

// What the clocks were apart before is no part of how long the machine was off.
func TestAStepBeforeAnotherBootIsNotTimeThatPassed(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.pass(checkpointEvery + 457*time.Millisecond)
				g.clock.Step(step)
				g.pass(2 * clock.WatchEvery) // the new checkpoint is written when the step is noticed, not when one is due
				g.shutDown()
				g.clock.Reboot()
				g.pass(2*time.Minute + 89*time.Millisecond)
				g.start()
				ran := checkpointEvery + 457*time.Millisecond + 2*clock.WatchEvery + 2*time.Minute + 89*time.Millisecond
				require.Equal(t, 30*time.Minute-ran, g.left(session))
			})
		})
	}
}

// Between stop and start of another boot only the wall clock tells what passed: what it was set by counts, but not
// below what ran up to the last checkpoint.
func TestAStepDuringAnotherBoot(t *testing.T) {
	for step, want := range map[time.Duration]time.Duration{
		10 * time.Minute: 30*time.Minute - 20*time.Second - 12*time.Minute,
		-time.Minute:     30*time.Minute - 20*time.Second - time.Minute,
		-time.Hour:       30*time.Minute - 20*time.Second,
		time.Hour:        0,
	} {
		t.Run(step.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				begun := g.clock.Now()
				session, resting := g.create(0, 30), g.create(1, 30)
				g.pause(resting)
				g.pass(2 * checkpointEvery)
				g.shutDown()
				g.clock.Reboot()
				g.clock.Step(step)
				g.pass(2 * time.Minute)
				g.start()
				require.Equal(t, 30*time.Minute, g.left(resting), "a paused one keeps its time in any case")
				if want == 0 {
					require.Equal(t, 30*time.Minute, g.ended(session).Used)
					require.Equal(t, begun.Wall.Add(30*time.Minute), g.ended(session).At)
					return
				}
				require.Equal(t, want, g.left(session))
				g.pass(want - time.Millisecond)
				require.True(t, g.open(0), "a millisecond before its end")
				g.pass(time.Millisecond)
				require.False(t, g.open(0))
			})
		})
	}
}

func TestLabelsFollowTheWallClock(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		labelled := func() (at time.Time) {
			log, err := g.Events(g.Context(), 0, 1000)
			require.NoError(t, err)
			return log[len(log)-1].Event.At
		}
		session := g.create(0, 30)
		for _, step := range []time.Duration{time.Hour, -2 * time.Hour, 300 * time.Millisecond} {
			g.clock.Step(step)
			g.pause(session)
			require.Equal(t, g.clock.Now().Wall, labelled())
			g.pass(time.Minute)
			g.resume(session)
			require.Equal(t, g.clock.Now().Wall, labelled())
		}
		g.restart()
		g.stop(session)
		require.Equal(t, g.clock.Now().Wall, g.ended(session).At)
		require.Equal(t, 3*time.Minute, g.ended(session).Paused)
		next, err := g.Session(t.Context(), g.create(0, 30))
		require.NoError(t, err)
		require.Equal(t, g.clock.Now().Wall, next.Created)
		require.Len(t, received.kinds(), 11, "and nothing waits for the hour to come again")
	}, withWebhook(received))
}

func TestADriftIsCountedAndLoggedAndACheckpointKeepsIt(t *testing.T) {
	var said journal
	inFakeTime(t, func(t *testing.T, g *rig) {
		var checkpoints []lanes.Checkpoint
		g.store.hook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if batch.Checkpoint != nil {
				checkpoints = append(checkpoints, *batch.Checkpoint)
			}
			return flush()
		})
		g.pass(checkpointEvery + clock.WatchEvery/2)
		for _, drifts := range []func(){
			func() { g.clock.Step(time.Hour) },
			func() { g.clock.Step(-time.Hour) },
			func() { g.drift(500*time.Second, 2*time.Millisecond) },
		} {
			counted := g.counted("rangegate_wall_clock_steps_total")
			drifts()
			checkpoints = nil
			g.drift(clock.WatchEvery, 2*time.Millisecond)
			require.Equal(t, counted+1, g.counted("rangegate_wall_clock_steps_total"))
			require.NotEmpty(t, checkpoints)
			now, kept := g.clock.Now(), checkpoints[len(checkpoints)-1].At
			require.InDelta(t, now.Wall.Sub(kept.Wall), now.Since(kept), float64(3*time.Millisecond), "as the clocks are now")
		}
		require.Equal(t, 3, strings.Count(said.String(), "wall clock"))
	}, withLog(zerolog.New(&said)))
}

// A key stands for a day, whatever day the wall clock shows.
func TestAKeysTermSurvivesAStep(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for _, step := range []time.Duration{time.Hour, -time.Hour, month, -month} {
		for _, down := range []bool{false, true} {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session, err := g.createOnce(keyed("a", "create"))
				require.NoError(t, err)
				stands := func() {
					t.Helper()
					g.pass(checkpointEvery)
					_, err = g.createOnce(keyed("a", "create"))
					requireRepeat(t, err, session)
				}
				set := func(by time.Duration) {
					if down {
						g.shutDown()
					}
					g.clock.Step(by)
					if down {
						g.start()
					}
				}
				g.clock.Suspend(idempotency.Term / 2)
				g.pass(checkpointEvery)
				set(step)
				stands()
				g.clock.Suspend(idempotency.Term/2 - 2*time.Minute)
				stands() // nearly a day old
				set(-step)
				stands()
				g.clock.Suspend(2*time.Minute + max(step, -step))
				g.pass(2 * checkpointEvery)
				require.Empty(t, g.keys.All(), "its day is over")
			})
		}
	}
}

// A wrong date that is put right costs nothing of what is kept. One that stays is believed after a day.
func TestWhatIsKeptSurvivesAStep(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		const years = 10 * 365 * 24 * time.Hour
		session := g.create(0, 30)
		g.stop(session)
		kept := func(why string) {
			t.Helper()
			for i := range 3 {
				g.stop(g.create(1, 30+i))
				g.pass(checkpointEvery)
			}
			require.Len(t, g.happened(session), 3, why)
			require.Equal(t, "Jo Smith", g.ended(session).Session.Customer, why)
		}
		for _, step := range []time.Duration{time.Hour, -time.Hour, years, -years} {
			g.clock.Step(step)
			kept("while it is wrong")
			g.clock.Step(-step)
			kept("when it is right again")
			g.shutDown()
			g.clock.Step(step)
			g.start()
			kept("wrong since the gateway was down")
			g.clock.Step(-step)
			kept("and right again")
		}

		g.clock.Step(years)
		kept("for a while")
		g.clock.Suspend(24 * time.Hour)
		g.pass(checkpointEvery)
		require.Empty(t, g.happened(session))
		_, err := g.store.Ended(t.Context(), g.settings.Layout.Range, session)
		require.ErrorIs(t, err, store.ErrNotFound, "the date was right, and nothing is kept for ten years")
	})
}
