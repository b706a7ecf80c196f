package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// The operations of a batch, as a POS asks for them.

func (f *fixture) saleOn(i int, sale lanes.Create) lanes.Operation {
	return lanes.Operation{Lane: f.laneID(i), Command: sale}
}

func (f *fixture) moveTo(i int, session uuid.UUID) lanes.Operation {
	return lanes.Operation{Session: session, To: f.laneID(i), Command: lanes.Move{Session: session}}
}

func stopOf(session uuid.UUID) lanes.Operation {
	return lanes.Operation{Session: session, Command: lanes.Stop{Session: session, By: lanes.ByPOS}}
}

func pauseOf(session uuid.UUID) lanes.Operation {
	return lanes.Operation{Session: session, Command: lanes.Pause{Session: session}}
}

func modifyOf(session uuid.UUID, minutes int) lanes.Operation {
	return lanes.Operation{Session: session, Command: lanes.Modify{Session: session, Minutes: minutes}}
}

func (f *fixture) batch(atomic bool, operations ...lanes.Operation) ([]lanes.BatchResult, error) {
	results, err := f.Batch(f.requestContext(), lanes.Batch{Operations: operations, Atomic: atomic}, nil)
	synctest.Wait()
	return results, err
}

// batchAsync gives the batch up to where it waits.
func (f *fixture) batchAsync(atomic bool, operations ...lanes.Operation) <-chan error {
	return f.runAsync(func() error {
		_, err := f.Batch(f.requestContext(), lanes.Batch{Operations: operations, Atomic: atomic}, nil)
		return err
	})
}

// laneOfSession returns the number of the lane that the session is on, -1 for none.
func (f *fixture) laneOfSession(session uuid.UUID) int {
	lane, found := f.Find(session)
	for i := range f.settings.Layout.Lanes {
		if found && f.laneID(i) == lane.ID {
			return i
		}
	}
	return -1
}

func errorsOf(results []lanes.BatchResult) (errs []error) {
	for _, result := range results {
		errs = append(errs, result.Err)
	}
	return errs
}

// The operations on one lane are decided in their order, all in one write.
func TestABatchIsOneWrite(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second, third := f.create(0, 30), f.create(1, 30), f.createWaiting(2, 30)
		next := f.newSale(60)
		flushes := 0
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			flushes += min(1, len(batch.Lanes))
			return flush()
		})
		results, err := f.batch(true, stopOf(first), f.saleOn(0, next), modifyOf(second, 15), pauseOf(second),
			lanes.Operation{Session: third, Command: lanes.Enter{Session: third}})
		require.NoError(t, err)
		require.Equal(t, 1, flushes)
		require.Equal(t, make([]error, 5), errorsOf(results))
		require.Nil(t, results[0].Session, "it has ended")
		require.Equal(t, next.Session, results[1].Session.ID)
		require.Equal(t, 45, results[2].Session.Minutes)
		f.requireOpen(0, 2)
		require.Equal(t, lanes.Paused, f.sessionView(second).Phase)
		f.restart()
		require.Equal(t, []uuid.UUID{next.Session, second, third}, f.activeSessions())
		require.Equal(t, 1, f.countStops(first))
	}, withLanes(3))
}

// Moves that stand one after the other are made at once: two sessions change places, three go round.
func TestSessionsChangePlaces(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var sessions []uuid.UUID
		for i := range 3 {
			sessions = append(sessions, f.create(i, 30+i))
		}
		_, err := f.batch(true, f.moveTo(1, sessions[0]), f.moveTo(0, sessions[1]))
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{sessions[1], sessions[0], sessions[2]}, f.activeSessions())
		results, err := f.batch(false, f.moveTo(1, sessions[1]), f.moveTo(2, sessions[0]), f.moveTo(0, sessions[2]),
			stopOf(sessions[0]))
		require.NoError(t, err)
		require.Equal(t, make([]error, 4), errorsOf(results))
		require.Equal(t, []int{1, -1, 0}, []int{
			f.laneOfSession(sessions[1]), f.laneOfSession(sessions[0]),
			f.laneOfSession(sessions[2]),
		})
		f.requireOpen(0, 1)
		f.restart()
		require.Equal(t, []uuid.UUID{sessions[2], sessions[1]}, f.activeSessions())
		f.advance(32 * time.Minute)
		require.Equal(t, 32*time.Minute, f.endedSession(sessions[2]).Used)
	}, withLanes(3))
}

// A session that cannot go stays, and so does one that was to have its lane.
func TestAMoveThatFailsKeepsItsLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 30), f.create(1, 30)
		f.reportFault(2, "stuck")
		results, err := f.batch(false, f.moveTo(1, first), f.moveTo(2, second))
		require.NoError(t, err)
		require.Equal(t, []error{lanes.ErrLaneOccupied, lanes.ErrLaneNotUsable}, errorsOf(results))
		require.Equal(t, []uuid.UUID{first, second}, f.activeSessions())
	}, withLanes(3))
}

// An atomic batch names every operation that is refused, and does none.
func TestAnAtomicBatchIsDoneAsAWhole(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 30), f.create(1, 30)
		gone := f.create(2, 30)
		f.stop(gone)
		before := len(f.eventLog())
		_, err := f.batch(true, stopOf(first), f.saleOn(1, f.newSale(30)), modifyOf(second, -40), modifyOf(gone, 5),
			pauseOf(uuid.New()))
		var refused lanes.Refusals
		require.ErrorAs(t, err, &refused)
		require.Equal(t, lanes.Refusals{
			nil, lanes.ErrLaneOccupied, lanes.ErrDurationOutOfRange, lanes.ErrSessionEnded, lanes.ErrSessionNotFound,
		}, refused)
		f.requireOpen(0, 1)
		require.Len(t, f.eventLog(), before)
	}, withLanes(3))
}

// Of another batch each operation is done that can be.
func TestABatchDoesWhatItCan(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first := f.create(0, 30)
		sale := f.newSale(30)
		stray := f.newSale(30)
		stray.Group = uuid.New()
		results, err := f.batch(false, f.saleOn(0, f.newSale(30)), pauseOf(first), f.saleOn(1, sale),
			f.saleOn(2, stray),
			lanes.Operation{Lane: uuid.New(), Command: f.newSale(30)})
		require.NoError(t, err)
		require.Equal(t, []error{lanes.ErrLaneOccupied, nil, nil, lanes.ErrGroupNotFound, lanes.ErrLaneNotFound},
			errorsOf(results))
		f.requireOpen(1)
		require.Equal(t, []uuid.UUID{first, sale.Session}, f.activeSessions())

		results, err = f.batch(false, pauseOf(first))
		require.NoError(t, err)
		require.Equal(t, []error{lanes.ErrNotRunning}, errorsOf(results), "none can be done")
		results, err = f.batch(false, pauseOf(uuid.New()))
		require.NoError(t, err)
		require.Equal(t, []error{lanes.ErrSessionNotFound}, errorsOf(results), "it is about no lane")
	}, withLanes(3))
}

// A repeat with the key has no second effect and the same results; a batch that is refused frees its key.
func TestABatchIsDoneOnceForItsKey(t *testing.T) {
	for _, atomic := range []bool{true, false} {
		t.Run(fmt.Sprint("atomic ", atomic), func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				key := &lanes.KeyOf[[]lanes.BatchResult]{
					Name: "k", Fingerprint: "f",
					Render: func(results []lanes.BatchResult) (int, []byte) {
						return 200, fmt.Append(nil, errorsOf(results))
					},
				}
				session := f.create(0, 30)
				batch := lanes.Batch{
					Operations: []lanes.Operation{modifyOf(session, 15), f.saleOn(1, f.newSale(30))},
					Atomic:     atomic,
				}
				_, err := f.Batch(f.requestContext(), batch, key)
				require.NoError(t, err)
				f.restart()
				_, err = f.Batch(f.requestContext(), batch, key)
				var repeat *lanes.Repeat
				require.ErrorAs(t, err, &repeat)
				_, body := repeat.Replay()
				require.Equal(t, "[<nil> <nil>]", string(body))
				require.Equal(t, 45, f.sessionView(session).Minutes)

				other := *key
				other.Name = "other"
				refused := lanes.Batch{Operations: []lanes.Operation{modifyOf(session, 999)}, Atomic: true}
				for range 2 {
					_, err = f.Batch(f.requestContext(), refused, &other)
					require.ErrorAs(t, err, new(lanes.Refusals))
				}
			})
		})
	}
}

// The stops and pauses of a batch close at once, whatever becomes of the store, and nothing opens before it is saved.
func TestTheStopsOfABatchCloseWhileTheStoreIsAway(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				first, second, third := f.create(0, 30), f.create(1, 30), f.createWaiting(3, 30)
				f.advance(10 * time.Minute)
				f.store.setHook(outage)
				asked := f.batchAsync(false, stopOf(first), f.saleOn(2, f.newSale(30)), pauseOf(second),
					lanes.Operation{Session: third, Command: lanes.Enter{Session: third}})
				f.requireOpen()
				f.advance(2 * time.Second)
				f.requireOpen()
				f.storeReturns()
				err := <-asked
				f.advance(5 * time.Second)
				if err != nil && !errors.Is(err, lanes.ErrTimeout) {
					require.ErrorIs(t, err, lanes.ErrNotSaved)
					require.Equal(t, -1, f.laneOfSession(first))
					f.requireOpen()
					require.Equal(t, lanes.Waiting, f.sessionView(third).Phase)
				}
				require.Equal(t, 1, f.countStops(first))
				require.Equal(t, lanes.Paused, f.sessionView(second).Phase)
				f.restart()
				require.Equal(t, 1, f.countStops(first))
				require.Equal(t, lanes.Paused, f.sessionView(second).Phase)
				require.Equal(t, 20*time.Minute, f.remaining(second), "no time is lost behind a closed line")
				require.Equal(t, 10*time.Minute, f.endedSession(first).Used)
			}, withLanes(4))
		})
	}
}

// The stops of a batch do not wait for the store, which has to be asked about a session that has ended before.
func TestTheStopsOfABatchCloseWhileTheStoreCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		read func(context.Context) error
		want error
	}{
		"it hangs": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, lanes.ErrTimeout},
		"it fails": {func(context.Context) error { return errors.New("the disk is gone") }, lanes.ErrNotSaved},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				first, ended := f.create(0, 30), f.create(1, 30)
				f.stop(ended)
				f.interceptHistory().setReply(test.read)
				asked := f.batchAsync(false, stopOf(ended), stopOf(first))
				f.requireOpen()
				require.ErrorIs(t, f.answerOf(asked, time.Minute), test.want)
				synctest.Wait()
				f.requireOpen()
				require.Equal(t, 1, f.countStops(first))
			}, withLanes(2))
		})
	}
}

// A lane that is parked decides the stop of a batch once it goes on.
func TestTheStopOfABatchIsForAParkedLaneToo(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 30), f.create(1, 30)
		f.parkLane(0)
		results, err := f.batch(false, stopOf(first), modifyOf(second, 5))
		require.NoError(t, err)
		require.Equal(t, []error{lanes.ErrNotSaved, nil}, errorsOf(results))
		require.Equal(t, 35, f.sessionView(second).Minutes)
		require.NoError(t, f.UnparkLane(f.requestContext(), "root", f.laneID(0)))
		synctest.Wait()
		f.requireOpen(1)
		require.Equal(t, 1, f.countStops(first))
	}, withLanes(2))
}

// A lane that begins anew while the stop of a batch waits for another lane stays closed.
func TestTheStopOfABatchOutlivesItsLane(t *testing.T) {
	for name, begin := range map[string]func(f *fixture){
		"an operator restarts it": func(f *fixture) {
			require.NoError(f, f.RestartLane(f.requestContext(), "root", f.laneID(0)))
		},
		"it panics": func(f *fixture) { f.panicLane(0) },
	} {
		t.Run(name, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				first, second := f.create(0, 30), f.create(1, 30)
				f.advance(time.Minute)
				release := f.blockFlushes()
				f.runAsync(func() error { return f.tryModify(second, 5) })
				asked := f.batchAsync(false, stopOf(first), modifyOf(second, 5))
				f.requireOpen(1)
				since := time.Now()
				begin(f)
				f.advance(500 * time.Millisecond)
				f.requireOpen(1)
				release()
				_ = f.answerOf(asked, time.Minute)
				f.advance(time.Second)
				f.requireOpen(1)
				require.False(t, recorder.everOpened(f.laneID(0), since))
				require.Equal(t, 1, f.countStops(first))
				require.Equal(t, time.Minute, f.endedSession(first).Used)
			}, withLanes(2), withRecorder(&recorder))
		})
	}
}

// The stop of a batch does not wait for the other lanes of it.
func TestAStopClosesWhileAnotherLaneIsBusy(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 30), f.create(1, 30)
		release := f.blockFlushesFrom(func(store.Batch) bool { return true })
		modified := f.runAsync(func() error { return f.tryModify(second, 5) })
		asked := f.batchAsync(false, stopOf(first), modifyOf(second, 5))
		f.requireOpen(1)
		f.advance(500 * time.Millisecond)
		release()
		require.NoError(t, <-modified)
		require.NoError(t, <-asked)
		synctest.Wait()
		f.requireOpen(1)
		require.Equal(t, 40, f.sessionView(second).Minutes)
		require.Equal(t, time.Duration(0), f.endedSession(first).Used, "it counts from when the line closed")
	}, withLanes(2))
}

// A session that is just moving is stopped before its line opens where it comes to, whatever becomes of the store then,
// and however long the batch waits for its other lanes.
func TestTheStopOfABatchClosesTheLaneThatASessionComesTo(t *testing.T) {
	for name, move := range map[string]func(f *fixture, session uuid.UUID) error{
		"by itself": func(f *fixture, session uuid.UUID) error { return f.tryMove(session, 1) },
		"in a batch": func(f *fixture, session uuid.UUID) error {
			_, err := f.Batch(f.requestContext(),
				lanes.Batch{Operations: []lanes.Operation{f.moveTo(1, session)}, Atomic: true}, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				session, paused := f.create(0, 30), f.create(2, 30)
				f.advance(10 * time.Minute)
				resolve, begun := f.blockNextFlush(func(flush func() error) error { return flush() }), time.Now()
				moved := f.runAsync(func() error { return move(f, session) })
				asked := f.batchAsync(false, stopOf(session), pauseOf(paused))
				f.requireOpen()
				release := f.blockFlushes()
				resolve()
				require.NoError(t, <-moved)
				require.Equal(t, 1, f.laneOfSession(session))
				f.requireOpen()
				require.False(t, recorder.everOpened(f.laneID(1), begun))
				release()
				require.NoError(t, <-asked)
				f.advance(time.Second)
				f.requireOpen()
				require.Equal(t, 1, f.countStops(session))
				require.Equal(t, 10*time.Minute, f.endedSession(session).Used, "it counts from when the line closed")
				require.Equal(t, lanes.Paused, f.sessionView(paused).Phase)
				f.create(1, 30)
				f.create(0, 30)
				f.requireOpen(0, 1)
			}, withLanes(3), withRecorder(&recorder))
		})
	}
}

// sortedByID lets operations together ask the lanes for themselves in their order.
func sortedByID(f *fixture) {
	slices.SortFunc(f.settings.Layout.Lanes, func(a, b lanes.Place) int { return slices.Compare(a.ID[:], b.ID[:]) })
}

// A lane that can be asked again in a moment has not refused the stop of a batch: its line stays closed, the stop is
// carried out, and no answer that says otherwise is kept for the key.
func TestTheStopOfABatchIsCarriedOutAlthoughItsLaneCannotBeLentNow(t *testing.T) {
	for name, busy := range map[string]func(f *fixture, onStopped, onOther uuid.UUID) (free func()){
		"it waits for the store": func(f *fixture, onStopped, onOther uuid.UUID) func() {
			resolve := f.blockNextFlush(func(flush func() error) error { return flush() })
			f.runAsync(func() error { return f.tryModify(f.activeSessions()[2], 5) })
			f.runAsync(func() error { return f.tryModify(onStopped, 5) })
			f.runAsync(func() error { return f.tryMove(onOther, 1) })
			free := f.blockFlushes() // of both
			resolve()
			return free
		},
		"too much waits for it": func(f *fixture, onStopped, _ uuid.UUID) func() {
			free := f.blockFlushes()
			for range maxWaiting + 1 {
				f.runAsync(func() error { return f.tryModify(onStopped, 1) })
			}
			return free
		},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				key := &lanes.KeyOf[[]lanes.BatchResult]{
					Name: "k", Fingerprint: "f",
					Render: func(results []lanes.BatchResult) (int, []byte) {
						return 200, fmt.Append(nil, errorsOf(results))
					},
				}
				stopped, other := f.create(0, 30), f.create(2, 30)
				f.create(3, 30)
				free := busy(f, stopped, other)
				batch := func() ([]lanes.BatchResult, error) {
					return f.Batch(f.requestContext(), lanes.Batch{Operations: []lanes.Operation{
						stopOf(stopped), f.saleOn(1, f.newSale(30)),
					}}, key)
				}
				asked := f.runAsync(func() error { _, err := batch(); return err })
				require.False(t, f.isOpen(0))
				free()
				err := <-asked
				f.advance(2 * time.Second)
				require.False(t, f.isOpen(0))
				require.Equal(t, 1, f.countStops(stopped))
				require.ErrorIs(t, err, lanes.ErrNotSaved)
				results, err := batch()
				require.NoError(t, err, "the key is free")
				require.ErrorIs(t, results[0].Err, lanes.ErrSessionEnded)
			}, withLanes(4), sortedByID)
		})
	}
}

// An atomic batch closes once it is decided, and only then: a stop that may not be made locks nobody out.
func TestAnAtomicBatchClosesOnceItIsDecided(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 30), f.create(1, 30)
		endTurn := f.keepBusy(1)
		asked := f.batchAsync(true, stopOf(first), modifyOf(second, 5))
		f.requireOpen(0, 1)
		release := f.blockFlushes()
		endTurn()
		synctest.Wait()
		f.requireOpen(1)
		release()
		require.NoError(t, <-asked)
		synctest.Wait()
		f.requireOpen(1)
		require.Equal(t, 1, f.countStops(first))
	}, withLanes(2))
}

// Whoever stops a session that is on its way stops it before its line opens at the lane that it comes to.
func TestAStopFollowsASessionThatMovesInABatch(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 30), f.create(1, 30)
		release, begun := f.blockFlushes(), time.Now()
		asked := f.batchAsync(true, f.moveTo(2, first), f.moveTo(0, second))
		stopped := f.runAsync(func() error { return f.tryStop(first) })
		f.requireOpen(1)
		release()
		require.NoError(t, <-asked)
		require.NoError(t, <-stopped)
		synctest.Wait()
		require.Equal(t, []uuid.UUID{second}, f.activeSessions())
		f.requireOpen(0)
		require.False(t, recorder.everOpened(f.laneID(2), begun))
	}, withLanes(3), withRecorder(&recorder))
}

// A session that moves by itself and one that comes to its lane in a batch do not wait for each other.
func TestABatchBesideAMove(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for range 20 {
			session := f.create(0, 30)
			asked := time.Now()
			errs := runTogether(
				func() error { return f.tryMove(session, 1) },
				func() error {
					_, err := f.Batch(f.requestContext(), lanes.Batch{Operations: []lanes.Operation{
						modifyOf(session, 5), f.saleOn(1, f.newSale(30)),
					}}, nil)
					return err
				})
			require.NoError(t, errs[1])
			require.Less(t, time.Since(asked), time.Second)
			require.Equal(t, 35, f.sessionView(session).Minutes)
			for _, active := range f.activeSessions() {
				f.stop(active)
			}
		}
	}, withLanes(2))
}

// The board shows a session at the lane that it has moved to before that lane has it: a batch that finds it there
// waits for it, and does not refuse it as if the lane were taken.
func TestABatchWaitsForASessionThatArrives(t *testing.T) {
	for _, atomic := range []bool{true, false} {
		t.Run(fmt.Sprint("atomic ", atomic), func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				release := f.blockFlushes()
				moved := f.runAsync(func() error { return f.tryMove(session, 1) })
				endTurn := f.keepBusy(0) // that hands the session over
				release()
				synctest.Wait()
				require.Equal(t, 1, f.laneOfSession(session))
				asked := f.batchAsync(atomic, modifyOf(session, 5))
				endTurn()
				require.NoError(t, <-moved)
				require.NoError(t, <-asked)
				require.Equal(t, 35, f.sessionView(session).Minutes)
			}, withLanes(2))
		})
	}
}

// Killed at any flush, a batch is there as a whole or not at all.
func TestABatchSurvivesAsAWholeOrNotAtAll(t *testing.T) {
	for _, written := range []bool{true, false} {
		t.Run(fmt.Sprint("written ", written), func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				first, second := f.create(0, 30), f.create(1, 30)
				sale := f.newSale(30)
				point := &killPoint{flush: 1, written: written}
				f.setKillPoint(point)
				asked := f.batchAsync(true, f.moveTo(1, first), f.moveTo(0, second), stopOf(second), f.saleOn(0, sale))
				require.True(t, point.reached())
				f.killAt(point)
				require.Error(t, <-asked)
				f.start()
				if written {
					require.Equal(t, []uuid.UUID{sale.Session, first}, f.activeSessions())
					require.Equal(t, 1, f.countStops(second))
				} else {
					require.Equal(t, []uuid.UUID{first, second}, f.activeSessions())
				}
				for i, session := range f.activeSessions() {
					require.Equal(t, i, f.laneOfSession(session))
				}
			}, withLanes(2))
		})
	}
}
