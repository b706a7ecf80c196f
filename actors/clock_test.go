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

func TestSettingTheWallClockMovesNoDeadline(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := f.clock.Now()
				session := f.create(0, 30)
				f.advance(10 * time.Minute)
				f.clock.Step(step)
				f.advance(5 * time.Minute)
				require.Equal(t, 15*time.Minute, f.remaining(session), "set while the gateway runs")

				f.shutDown()
				f.clock.Step(step)
				f.advance(time.Minute)
				f.start()
				require.Equal(t, 14*time.Minute, f.remaining(session), "set while the gateway is down")

				f.advance(14*time.Minute - time.Millisecond)
				require.True(t, f.isOpen(0), "a millisecond before its end")
				f.advance(time.Millisecond)
				require.Equal(t, uuid.Nil, f.controller(0).Shown().Session, "at its end")
				ended := f.endedSession(session)
				require.Equal(t, lanes.Expired, ended.Reason)
				require.Equal(t, 30*time.Minute, ended.Used)
				require.Equal(t, begun.Wall.Add(30*time.Minute), ended.At)
			})
		})
	}
}

func TestASuspendCountsAsTime(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now()
		long, short, paused := f.create(0, 30), f.create(1, 3), f.create(2, 10)
		f.pause(paused)
		f.advance(time.Minute)
		f.clock.Suspend(5 * time.Minute)
		require.Equal(t, 24*time.Minute, f.remaining(long))
		require.Zero(t, f.remaining(short))

		f.advance(2 * time.Second)
		require.Equal(t, uuid.Nil, f.controller(1).Shown().Session,
			"a session that ended during the suspend is stopped as soon as it is noticed")
		require.Equal(t, lanes.Expired, f.endedSession(short).Reason)
		require.Equal(t, begun.Wall.Add(3*time.Minute), f.endedSession(short).At)
		require.Equal(t, 3*time.Minute, f.endedSession(short).Used)

		f.advance(24*time.Minute - 2*time.Second - time.Millisecond)
		require.True(t, f.isOpen(0), "a millisecond before its end")
		f.advance(time.Millisecond)
		require.Equal(t, uuid.Nil, f.controller(0).Shown().Session, "the timer is armed again")
		require.Equal(t, 10*time.Minute, f.remaining(paused), "a paused session kept its time")
	}, withLanes(3))
}

func TestAfterARebootTimeCountsByTheWallClock(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		running, paused := f.create(0, 30), f.create(1, 30)
		f.advance(5 * time.Minute)
		f.pause(paused)
		f.advance(5 * time.Minute)
		f.shutDown()
		f.clock.Reboot()
		f.advance(2 * time.Minute)
		f.start()
		require.Equal(t, 18*time.Minute, f.remaining(running))
		require.Equal(t, 25*time.Minute, f.remaining(paused))

		f.advance(time.Minute)
		f.clock.Step(time.Hour)
		f.restart()
		require.Equal(t, 17*time.Minute, f.remaining(running), "its time was converted to this boot's clock")
		f.resume(paused)
		f.advance(17 * time.Minute)
		require.Equal(t, lanes.Expired, f.endedSession(running).Reason)
		require.Equal(t, 30*time.Minute, f.endedSession(running).Used)
		f.stop(paused)
		require.Equal(t, 22*time.Minute, f.endedSession(paused).Used)
		require.Equal(t, 8*time.Minute, f.endedSession(paused).Paused)
	})
}

func TestAfterARebootWithAWrongClockTimeCountsUpToTheLastCheckpoint(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(10*time.Minute + 5*time.Second)
		f.kill()
		f.clock.Reboot()
		f.clock.Step(-time.Hour)
		f.advance(2 * time.Minute)
		f.start()
		require.Equal(t, 20*time.Minute, f.remaining(session))
		f.advance(20 * time.Minute)
		require.Equal(t, lanes.Expired, f.endedSession(session).Reason)
	})
}

func TestStoppingTheGatewaySavesACheckpoint(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(10*time.Minute + 5*time.Second)
		f.shutDown()
		f.clock.Reboot()
		f.clock.Step(-time.Hour)
		f.start()
		require.Equal(t, 20*time.Minute-5*time.Second, f.remaining(session), "and not only one every 10 s")
	})
}

// Steps of the wall clock by an hour and its slow drift, while the gateway runs and while it does not.

// driftClock lets d pass; the wall clock gains that much in each second.
func (f *fixture) driftClock(d, gains time.Duration) {
	for ; d > 0; d -= time.Second {
		f.clock.Step(gains)
		f.advance(min(d, time.Second))
	}
}

// Sessions in every phase keep their time, however often the wall clock is set.
func TestNoMillisecondIsLostWhateverTheWallClockDoes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	runFixture(t, func(t *testing.T, f *fixture) {
		running, paused, waiting := f.create(0, 480), f.create(1, 480), f.createWaiting(2, 480)
		left := map[uuid.UUID]time.Duration{running: 8 * time.Hour, paused: 8 * time.Hour, waiting: 8 * time.Hour}
		isPaused := false
		passes := func(pass func(time.Duration)) {
			d := time.Duration(random.Int64N(100_000)) * time.Millisecond
			pass(d)
			left[running] -= d
			if !isPaused {
				left[paused] -= d
			}
		}
		for range 200 {
			switch step := []time.Duration{time.Hour, -time.Hour}[random.IntN(2)]; random.IntN(6) {
			case 0:
				f.clock.Step(step)
			case 1:
				gains := time.Duration(random.IntN(7)-3) * time.Millisecond
				passes(func(d time.Duration) { f.driftClock(d, gains) })
			case 2: // same boot: the boot clock tells how long the gateway was down
				f.shutDown()
				f.clock.Step(step)
				passes(f.advance)
				f.start()
			case 3:
				if isPaused = !isPaused; isPaused {
					f.pause(paused)
				} else {
					f.resume(paused)
				}
			default:
				passes(f.advance)
			}
			for session, want := range left {
				require.Equal(t, want, f.remaining(session))
			}
			require.Equal(t, left[running], f.controller(0).Shown().Remaining)
		}
		f.stop(running)
		require.Equal(t, left[running], f.endedSession(running).Session.Left)
		require.Equal(t, 8*time.Hour-left[running], f.endedSession(running).Used)
	}, withLanes(3))
}

// A step before the shutdown does not count as time for which the machine was off.
func TestAStepBeforeARebootIsNotTimeThatPassed(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.advance(checkpointEvery + 457*time.Millisecond)
				f.clock.Step(step)
				// The new checkpoint is written when the step is noticed, not when one is due.
				f.advance(2 * clock.WatchEvery)
				f.shutDown()
				f.clock.Reboot()
				f.advance(2*time.Minute + 89*time.Millisecond)
				f.start()
				ran := checkpointEvery + 457*time.Millisecond + 2*clock.WatchEvery + 2*time.Minute + 89*time.Millisecond
				require.Equal(t, 30*time.Minute-ran, f.remaining(session))
			})
		})
	}
}

// Over a reboot only the wall clock tells what time passed. A step of it counts as time, but the result is
// never less than what ran up to the last checkpoint.
func TestAStepDuringAReboot(t *testing.T) {
	for step, want := range map[time.Duration]time.Duration{
		10 * time.Minute: 30*time.Minute - 20*time.Second - 12*time.Minute,
		-time.Minute:     30*time.Minute - 20*time.Second - time.Minute,
		-time.Hour:       30*time.Minute - 20*time.Second,
		time.Hour:        0,
	} {
		t.Run(step.String(), func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := f.clock.Now()
				session, paused := f.create(0, 30), f.create(1, 30)
				f.pause(paused)
				f.advance(2 * checkpointEvery)
				f.shutDown()
				f.clock.Reboot()
				f.clock.Step(step)
				f.advance(2 * time.Minute)
				f.start()
				require.Equal(t, 30*time.Minute, f.remaining(paused), "a paused session keeps its time in any case")
				if want == 0 {
					require.Equal(t, 30*time.Minute, f.endedSession(session).Used)
					require.Equal(t, begun.Wall.Add(30*time.Minute), f.endedSession(session).At)
					return
				}
				require.Equal(t, want, f.remaining(session))
				f.advance(want - time.Millisecond)
				require.True(t, f.isOpen(0), "a millisecond before its end")
				f.advance(time.Millisecond)
				require.False(t, f.isOpen(0))
			})
		})
	}
}

func TestTimestampsFollowTheWallClock(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		labelled := func() (at time.Time) {
			log, err := f.Events(f.Context(), 0, 1000)
			require.NoError(t, err)
			return log[len(log)-1].Event.At
		}
		session := f.create(0, 30)
		for _, step := range []time.Duration{time.Hour, -2 * time.Hour, 300 * time.Millisecond} {
			f.clock.Step(step)
			f.pause(session)
			require.Equal(t, f.clock.Now().Wall, labelled())
			f.advance(time.Minute)
			f.resume(session)
			require.Equal(t, f.clock.Now().Wall, labelled())
		}
		f.restart()
		f.stop(session)
		require.Equal(t, f.clock.Now().Wall, f.endedSession(session).At)
		require.Equal(t, 3*time.Minute, f.endedSession(session).Paused)
		next, err := f.Session(t.Context(), f.create(0, 30))
		require.NoError(t, err)
		require.Equal(t, f.clock.Now().Wall, next.Created)
		require.Len(t, webhook.kinds(), 11, "no event waits until the wall clock shows its time again")
	}, withWebhook(webhook))
}

func TestADriftIsCountedLoggedAndSavedInACheckpoint(t *testing.T) {
	var logs logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		var checkpoints []lanes.Checkpoint
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if batch.Checkpoint != nil {
				checkpoints = append(checkpoints, *batch.Checkpoint)
			}
			return flush()
		})
		f.advance(checkpointEvery + clock.WatchEvery/2)
		for _, step := range []func(){
			func() { f.clock.Step(time.Hour) },
			func() { f.clock.Step(-time.Hour) },
			func() { f.driftClock(500*time.Second, 2*time.Millisecond) },
		} {
			counted := f.counterValue("rangegate_wall_clock_steps_total")
			step()
			checkpoints = nil
			f.driftClock(clock.WatchEvery, 2*time.Millisecond)
			require.Equal(t, counted+1, f.counterValue("rangegate_wall_clock_steps_total"))
			require.NotEmpty(t, checkpoints)
			now, kept := f.clock.Now(), checkpoints[len(checkpoints)-1].At
			require.InDelta(t, now.Wall.Sub(kept.Wall), now.Since(kept), float64(3*time.Millisecond),
				"with the new relation of the clocks")
		}
		require.Equal(t, 3, strings.Count(logs.String(), "wall clock"))
	}, withLog(zerolog.New(&logs)))
}

// setClock sets the wall clock while the gateway is running, or down, or while the machine is rebooting.
func (f *fixture) setClock(while string, step time.Duration) {
	f.Helper()
	if while != "running" {
		f.shutDown()
		defer f.start()
	}
	if while == "rebooting" {
		f.clock.Reboot()
	}
	f.clock.Step(step)
}

// A key is kept for a day, whatever the wall clock shows.
func TestAKeyIsKeptForADayThroughClockSteps(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for _, step := range []time.Duration{time.Hour, -time.Hour, month, -month} {
		for _, while := range []string{"running", "down", "rebooting"} {
			runFixture(t, func(t *testing.T, f *fixture) {
				session, err := f.createOnce(keyed("a", "create"))
				require.NoError(t, err)
				requireActive := func() {
					t.Helper()
					f.advance(checkpointEvery)
					_, err = f.createOnce(keyed("a", "create"))
					requireRepeat(t, err, session)
				}
				f.clock.Suspend(idempotency.Term / 2)
				f.advance(checkpointEvery)
				f.setClock(while, step)
				requireActive()
				f.clock.Suspend(idempotency.Term/2 - 2*time.Minute)
				requireActive() // nearly a day old
				f.setClock(while, -step)
				requireActive()
				f.clock.Suspend(2*time.Minute + max(step, -step))
				f.advance(2 * checkpointEvery)
				require.Empty(t, f.keys.All(), "the key is a day old")
			})
		}
	}
}

// A wrong date that is corrected deletes no record. A date that stays is trusted after a day.
func TestRetentionSurvivesClockSteps(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		const years = 10 * 365 * 24 * time.Hour
		session := f.create(0, 30)
		f.stop(session)
		kept := func(why string) {
			t.Helper()
			for i := range 3 {
				f.stop(f.create(1, 30+i))
				f.advance(checkpointEvery)
			}
			require.Len(t, f.eventKinds(session), 3, why)
			require.Equal(t, "Jo Smith", f.endedSession(session).Session.Customer, why)
		}
		for _, step := range []time.Duration{time.Hour, -time.Hour, years, -years} {
			for _, while := range []string{"running", "down", "rebooting"} {
				f.setClock(while, step)
				kept("while it is wrong, since a step while " + while)
				f.clock.Step(-step)
				kept("when it is right again")
			}
		}

		for _, while := range []string{"running", "rebooting"} {
			f.setClock(while, years)
			kept("for a while")
			f.clock.Suspend(24 * time.Hour)
			f.advance(10 * checkpointEvery) // each flush removes a few
			require.Empty(t, f.eventKinds(session))
			_, err := f.store.Ended(t.Context(), store.InAnyEpoch(f.settings.Layout.Range), session)
			require.ErrorIs(t, err, store.ErrNotFound, "the date is trusted, and no record is kept for ten years")
			session = f.create(0, 30)
			f.stop(session)
		}
	})
}
