package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/delivery"
	"rangegate/actors/loglevel"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// An operator who has a link made anew changes nothing of the lane, opens nothing, and is on record.
func TestAnOperatorHasALinkMadeAnew(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.setHold(f.laneScope(1))
		since := f.observed(connectionKind, 0).Since
		f.advance(time.Minute)
		for _, lane := range f.laneIDs(0, 1) {
			require.NoError(t, f.Reconnect(f.requestContext(), "root", lane))
		}
		f.advance(firstBackoff)
		row := f.observed(connectionKind, 0)
		require.Equal(t, "up", row.State)
		require.True(t, row.Since.After(since))
		f.requireOpen(0)
		f.requireHeld(1)
		require.Equal(t, 30*time.Minute-time.Minute-firstBackoff, f.remaining(session))
		require.Equal(t, []string{"hold lane", "reconnect ", "reconnect "}, f.actSummaries())
		require.Equal(t, []any{"root", f.laneID(0)}, []any{f.acts()[1].Who, f.acts()[1].Lane})
		require.ErrorIs(t, f.Reconnect(f.requestContext(), "root", uuid.New()), lanes.ErrLaneNotFound)
	}, withLanes(2))
}

// parkLane has the i-th lane panic until it is parked.
func (f *fixture) parkLane(i int) {
	for range maxPanics + 1 {
		f.panicLane(i)
	}
	f.advance(firstBackoff)
	require.Equal(f, lanes.StateParked, f.observed(laneKind, i).State)
	require.True(f, f.controller(i).Shown().Hold)
}

// Whoever has removed what made a lane panic does not wait for the minute. The session goes on as it is saved.
func TestAParkedLaneIsTriedAgainWhenAnOperatorWantsIt(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.parkLane(0)
		require.NoError(t, f.UnparkLane(f.requestContext(), "root", f.laneID(0)))
		synctest.Wait()
		f.requireOpen(0)
		require.Equal(t, lanes.StateReady, f.observed(laneKind, 0).State)
		require.Equal(t, []string{"unpark "}, f.actSummaries())
		require.Equal(t, []any{"root", f.laneID(0)}, []any{f.acts()[0].Who, f.acts()[0].Lane})

		f.modify(session, 5)
		f.advance(parkedFor)
		require.Equal(t, 35*time.Minute-parkedFor-firstBackoff, f.remaining(session),
			"its timer, which it had then, changes nothing")
		require.ErrorIs(t, f.UnparkLane(f.requestContext(), "root", f.laneID(0)), lanes.ErrNotParked)
		require.ErrorIs(t, f.UnparkLane(f.requestContext(), "root", uuid.New()), lanes.ErrLaneNotFound)
		require.Len(t, f.acts(), 1, "a refusal is not on record")
	})
}

// A lane that panics again is parked again, for a whole minute.
func TestALaneThatWasTriedAgainInVainIsParkedAgain(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.parkLane(0)
		f.advance(parkedFor / 2)
		require.NoError(t, f.UnparkLane(f.requestContext(), "root", f.laneID(0)))
		f.panicLane(0)
		require.Equal(t, lanes.StateParked, f.observed(laneKind, 0).State)
		f.advance(parkedFor - time.Millisecond)
		require.True(t, f.controller(0).Shown().Hold)
		f.advance(time.Millisecond)
		f.requireOpen(0)
	})
}

// What the store has not saved is not in force, so its hardware stays held, however often it is tried. A save that is
// under way meanwhile is neither lost nor made twice.
func TestALaneThatIsTriedAgainStaysHeldUntilItIsLoaded(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		modified := f.runAsync(func() error { return f.tryModify(session, 5) })
		f.parkLane(0)
		require.ErrorIs(t, <-modified, lanes.ErrTimeout)
		for range 2 {
			require.NoError(t, f.UnparkLane(f.requestContext(), "root", f.laneID(0)))
			synctest.Wait()
			require.True(t, f.controller(0).Shown().Hold)
			require.ErrorIs(t, f.tryModify(session, 1), lanes.ErrLaneNotUsable)
		}
		release()
		synctest.Wait()
		f.requireOpen(0)
		require.Equal(t, 35*time.Minute-firstBackoff, f.remaining(session))
	})
}

// A hold outlives it: only its release ends it.
func TestAHeldLaneThatIsTriedAgainStaysHeld(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.setHold(f.laneScope(0))
		f.parkLane(0)
		require.NoError(t, f.UnparkLane(f.requestContext(), "root", f.laneID(0)))
		synctest.Wait()
		f.requireHeld(0)
		require.Equal(t, []lanes.Scope{f.laneScope(0)}, f.heldScopes())
		f.liftHold(f.laneScope(0))
		f.requireOpen(0)
	})
}

// A restart is a new life from what is saved. It is no panic: however often an operator wants it, no lane is parked.
func TestAnOperatorRestartsALane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.setHold(f.laneScope(1))
		for range 2 * maxPanics {
			for _, lane := range f.laneIDs(0, 1) {
				require.NoError(t, f.RestartLane(f.requestContext(), "root", lane))
			}
			f.advance(time.Second)
			f.requireOpen(0)
			f.requireHeld(1)
		}
		require.Equal(t, 30*time.Minute-2*maxPanics*time.Second, f.remaining(session))
		require.Zero(t, f.metricValue("rangegate_actor_restarts_total", "lane"))
		require.Zero(t, f.observed(laneKind, 0).Panics)
		require.Nil(t, f.observed(laneKind, 0).Why)
		f.requireWholeTree(2)
		require.Len(t, f.acts(), 1+4*maxPanics)
		require.Equal(t, []any{"root", lanes.DidRestart, f.laneID(0)},
			[]any{f.acts()[1].Who, f.acts()[1].What, f.acts()[1].Lane})
		require.ErrorIs(t, f.RestartLane(f.requestContext(), "root", uuid.New()), lanes.ErrLaneNotFound)
		f.modify(session, 5)
	}, withLanes(2))
}

// A change on its way to the store is neither lost nor in force before it is saved, as after a panic.
func TestALaneIsRestartedDuringASave(t *testing.T) {
	for which, saving := range map[string]error{"saved": nil, "refused": store.ErrRefused} {
		t.Run(which, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				resolve := f.blockNextFlush(func(flush func() error) error {
					if saving != nil {
						return saving
					}
					return flush()
				})
				modified := f.runAsync(func() error { return f.tryModify(session, 5) })
				waited := f.runAsync(func() error { return f.tryModify(session, 7) })
				require.NoError(t, f.RestartLane(f.requestContext(), "root", f.laneID(0)))
				require.ErrorIs(t, <-modified, lanes.ErrTimeout, "the outcome is unknown")
				require.ErrorIs(t, <-waited, lanes.ErrStarting, "it was not decided")
				synctest.Wait()
				require.Equal(t, 30*time.Minute, f.remaining(session))
				resolve() // takes a second
				want := 30*time.Minute - time.Second
				if saving == nil {
					want += 5 * time.Minute
				}
				require.Equal(t, want, f.remaining(session))
				f.requireOpen(0)
			})
		})
	}
}

// The hardware has a stop, and a pause, before they are decided: they wait for a save. The restart opens the line for
// neither, and the client that waits gets its answer; that of a store which is down has got it before.
func TestWhatClosesALaneOutlivesItsRestart(t *testing.T) {
	for which, closing := range map[string]lanes.Command{"stop": lanes.Stop{By: lanes.ByPOS}, "pause": lanes.Pause{}} {
		for waits, answer := range map[time.Duration]error{
			100 * time.Millisecond: nil,
			2 * time.Second:        lanes.ErrNotSaved,
		} {
			t.Run(which+" after "+waits.String(), func(t *testing.T) {
				var recorder driverRecorder
				runFixture(t, func(t *testing.T, f *fixture) {
					session := f.create(0, 30)
					f.advance(time.Minute)
					release := f.blockFlushes()
					f.runAsync(func() error { return f.tryModify(session, 5) })
					closed := f.runAsync(func() error {
						_, err := f.On(f.requestContext(), session, onSession(closing, session), nil)
						return err
					})
					require.False(t, f.isOpen(0))
					since := time.Now()
					f.advance(waits)
					require.NoError(t, f.RestartLane(f.requestContext(), "root", f.laneID(0)))
					f.advance(waits)
					require.False(t, f.isOpen(0))
					release()
					require.ErrorIs(t, <-closed, answer)
					f.advance(time.Second)
					require.False(t, f.isOpen(0))
					require.False(t, recorder.everOpened(f.laneID(0), since))
					if which == "stop" {
						require.Equal(t, time.Minute, f.endedSession(session).Used, "it counts from when it came")
					} else {
						require.Equal(t, 34*time.Minute, f.remaining(session))
					}
				}, withRecorder(&recorder))
			})
		}
	}
}

// A stop or a pause of a session whose move hangs is in force although the lane that it leaves begins anew meanwhile:
// it follows the session, whose line opens nowhere.
func TestWhatClosesAMovingSessionOutlivesARestart(t *testing.T) {
	for which, closing := range map[string]lanes.Command{"stop": lanes.Stop{By: lanes.ByPOS}, "pause": lanes.Pause{}} {
		for waits, answer := range map[time.Duration]error{
			100 * time.Millisecond: nil,
			2 * time.Second:        lanes.ErrNotSaved,
		} {
			t.Run(which+" after "+waits.String(), func(t *testing.T) {
				var recorder driverRecorder
				runFixture(t, func(t *testing.T, f *fixture) {
					session := f.create(0, 30)
					f.advance(time.Minute)
					release, since := f.blockFlushes(), time.Now()
					moved := f.runAsync(func() error { return f.tryMove(session, 1) })
					closed := f.runAsync(func() error {
						_, err := f.On(f.requestContext(), session, onSession(closing, session), nil)
						return err
					})
					f.advance(waits)
					require.NoError(t, f.RestartLane(f.requestContext(), "root", f.laneID(0)))
					f.advance(waits)
					release()
					require.Contains(t, []error{nil, lanes.ErrTimeout}, <-moved)
					require.ErrorIs(t, <-closed, answer)
					f.advance(time.Second)
					require.False(t, recorder.everOpened(f.laneID(1), since))
					if which == "stop" {
						require.Equal(t, time.Minute, f.endedSession(session).Used, "it counts from when it came")
					} else {
						require.Equal(t, f.laneID(1), f.Sessions()[0].Lane)
						require.Equal(t, 29*time.Minute, f.remaining(session))
					}
				}, withRecorder(&recorder))
			})
		}
	}
}

// A hold that is not saved outlives the restart of its lane: a pause that comes before the lane is loaded does not end
// it on the hardware.
func TestAHoldThatIsNotSavedOutlivesARestart(t *testing.T) {
	for how, begin := range map[string]func(f *fixture){
		"after a panic":  func(f *fixture) { f.panicLane(0) },
		"by an operator": func(f *fixture) { f.restartLane(0) },
	} {
		t.Run(how, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.advance(time.Minute)
				release := f.blockFlushes()
				f.runAsync(func() error { return f.tryModify(session, 5) })
				held := f.startHold(f.laneScope(0))
				f.advance(100 * time.Millisecond)
				require.True(t, f.controller(0).Shown().Hold)
				begin(f)
				f.runAsync(func() error { return f.tryPause(session) })
				f.advance(100 * time.Millisecond)
				require.True(t, f.controller(0).Shown().Hold)
				release()
				f.awaitHold(held)
				f.advance(time.Second)
				f.requireHeld(0)
				f.liftHold(f.laneScope(0))
				require.False(t, f.controller(0).Shown().Hold)
			})
		})
	}
}

// restartLane restarts a lane as an operator does.
func (f *fixture) restartLane(i int) {
	f.Helper()
	require.NoError(f, f.RestartLane(f.requestContext(), "root", f.laneID(i)))
}

// onSession is the command about that session.
func onSession(command lanes.Command, session uuid.UUID) lanes.Command {
	switch c := command.(type) {
	case lanes.Stop:
		c.Session = session
		return c
	case lanes.Pause:
		c.Session = session
		return c
	}
	return command
}

// A stop that waited is refused where no life follows: its idempotency key is free again.
func TestWhatClosesALaneIsRefusedWhenNoLifeFollowsItsRestart(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var refused []error
		m := &inherited{closing: []*request{{command: lanes.Stop{}, done: func(saved bool) {
			require.False(t, saved)
			refused = append(refused, lanes.ErrLaneNotFound)
		}}}}
		f.addresses.sendTo(uuid.New(), m)
		synctest.Wait()
		require.Len(t, refused, 1)
	})
}

// A parked lane is not restarted: that would begin its minute anew.
func TestAParkedLaneIsNotRestarted(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.parkLane(0)
		require.ErrorIs(t, f.RestartLane(f.requestContext(), "root", f.laneID(0)), lanes.ErrLaneParked)
		require.Empty(t, f.acts())
		f.advance(parkedFor - firstBackoff)
		f.requireOpen(0)
	})
}

// A range that another process has taken over answers so.
func TestNoLaneOfARangeThatHasStoppedIsOperated(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		r := f.Range
		f.claimElsewhere()
		require.ErrorIs(t, f.tryCreate(1, 30), lanes.ErrNotOwner)
		synctest.Wait()
		_, err := r.RedeliverEvents(f.requestContext(), "root", lanes.EventSelection{Until: 1000})
		require.ErrorIs(t, err, lanes.ErrNotOwner)
		require.ErrorIs(t, r.NoteDebug(f.requestContext(), "root", uuid.Nil), lanes.ErrNotOwner)
		require.ErrorIs(t, r.NoteWebhookTest(f.requestContext(), "root", "pos", ""), lanes.ErrNotOwner)
		for _, do := range []error{
			r.Reconnect(f.requestContext(), "root", f.laneID(0)), r.UnparkLane(f.requestContext(), "root", f.laneID(0)),
			r.RestartLane(f.requestContext(), "root", f.laneID(0)),
		} {
			require.ErrorIs(t, do, lanes.ErrNotOwner)
		}
	})
}

// A webhook that was down gets what an operator wants, once more and in order. It is on record.
func TestAnOperatorHasEventsSentAgain(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setReply(fail)
		f.stop(f.create(0, 30))
		synctest.Wait()
		before := len(webhook.sentEvents())
		log := f.eventLog()
		webhook.setReply(nil)
		result, err := f.RedeliverEvents(f.requestContext(), "root",
			lanes.EventSelection{After: log[0].Cursor, Until: log[2].Cursor})
		require.NoError(t, err)
		require.Equal(t, lanes.Redelivery{Events: 2}, result)
		f.advance(2 * delivery.ResendInterval)
		require.Equal(t, []uuid.UUID{log[1].Event.ID, log[2].Event.ID}, webhook.sentEvents()[before:])
		require.Equal(t, []string{"redeliver_part 2"}, f.actSummaries())
		require.Equal(t, "root", f.acts()[0].Who)

		_, err = f.RedeliverEvents(f.requestContext(), "root", lanes.EventSelection{Until: 1000, Webhook: "nobody's"})
		require.ErrorIs(t, err, lanes.ErrWebhookNotConfigured)
		require.Len(t, f.acts(), 1, "a refusal is not on record")
	}, withWebhook(webhook))
}

// That an operator has tested a webhook is on record, and the log says what came of it.
func TestATestOfAWebhookIsOnRecord(t *testing.T) {
	logs := &logRecorder{}
	runFixture(t, func(t *testing.T, f *fixture) {
		require.NoError(t, f.NoteWebhookTest(f.requestContext(), "root", "pos", ""))
		require.NoError(t, f.NoteWebhookTest(f.requestContext(), "root", "", "the connection was refused"))
		synctest.Wait()
		require.Equal(t, []string{"test_webhook pos", "test_webhook "}, f.actSummaries())
		require.Equal(t, "root", f.acts()[0].Who)
		require.Contains(t, logs.String(), `"webhook":"pos","reached":true`)
		require.Contains(t, logs.String(), `"reached":false,`)
		require.Contains(t, logs.String(), `"error":"the connection was refused"`)
	}, withLog(zerolog.New(logs)))
}

// That an operator has the store backed up or verified is on record at the range.
func TestMaintenanceIsOnRecord(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		require.NoError(t, f.NoteOperation(f.requestContext(), "root", lanes.DidBackup, ""))
		require.NoError(t, f.NoteOperation(f.requestContext(), "root", lanes.DidVerify, "24 h"))
		synctest.Wait()
		require.Equal(t, []string{"backup ", "verify 24 h"}, f.actSummaries())
		require.Equal(t, "root", f.acts()[0].Who)
	})
}

// A lane that an operator has logged at debug writes what it saves into the log; its neighbour does not.
func TestALaneIsLoggedAtDebug(t *testing.T) {
	logs, before := &logRecorder{}, zerolog.GlobalLevel()
	t.Cleanup(func() { loglevel.Set(before) })
	runFixture(t, func(t *testing.T, f *fixture) {
		loglevel.Set(zerolog.InfoLevel)
		id := f.Layout().Range
		saved := func(lane int) int {
			before := len(logs.lines(t, "saved"))
			f.stop(f.create(lane, 30))
			synctest.Wait()
			return len(logs.lines(t, "saved")) - before
		}
		require.Zero(t, saved(0))
		require.NoError(t, f.NoteDebug(f.requestContext(), "root", f.laneID(0)))
		loglevel.Debug(id, f.laneID(0))
		require.Positive(t, saved(0))
		require.Zero(t, saved(1))
		loglevel.Debug(id, uuid.Nil)
		require.Positive(t, saved(1))
		loglevel.Debug(uuid.New(), uuid.Nil)
		require.Zero(t, saved(1))
		loglevel.Set(zerolog.InfoLevel) // its timer ends

		require.ErrorIs(t, f.NoteDebug(f.requestContext(), "root", uuid.New()), lanes.ErrLaneNotFound)
		require.Equal(t, []string{"debug_log "}, f.actSummaries())
		require.Equal(t, f.laneID(0), f.acts()[0].Lane)
	}, withLog(zerolog.New(logs)))
}
