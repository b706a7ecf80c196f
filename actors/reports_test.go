package actors

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/commit"
	"rangegate/actors/hardware"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// A timer of the lane's life before the panic does not resume the reports during a lookup: each is processed
// in its turn.
func TestATimerFromBeforeAPanicDoesNotReorderReports(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, restoreLink := f.stopWhileCut(0)
		f.create(0, 30)
		history := f.interceptHistory()
		f.store.setHook(refuseFlush)
		restoreLink() // looked up, refused by the store, and tried again each second
		f.callHelp(0)
		f.store.setHook(nil)
		release := history.block()
		f.panicLane(0)
		f.advance(firstBackoff) // reported again, and looked up again
		f.advance(3 * time.Second)
		release()
		f.advance(lastBackoff)
		require.Zero(t, f.controller(0).Unacked())
		require.Equal(t, 1, countKind(f.eventKinds(session), lanes.CarrierHit))
	})
}

func TestAReportIsAckedOnceItIsSaved(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.callHelp(0)
		require.Equal(t, 1, f.controller(0).Unacked(), "not before it is saved")
		release()
		synctest.Wait()
		require.Zero(t, f.controller(0).Unacked())
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.Help}, f.eventKinds(session))
	})
}

func TestAReportThatIsRepeatedCountsOnce(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.callHelp(0)
		for range 3 {
			f.controller(0).Cut(errNoAnswer)
			f.advance(200 * time.Millisecond)
		}
		release()
		f.advance(lastBackoff)
		require.Zero(t, f.controller(0).Unacked(), "acked on the new connection")
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.Help}, f.eventKinds(session))
		f.restart()
		f.callHelp(0)
		require.Len(t, f.eventKinds(session), 4, "the next report is another one")
	})
}

// The gateway stops between saving the report and acking it, so the controller repeats it.
func TestAReportThatWasSavedAndNotAckedIsAckedAfterARestart(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		help := lanes.Report{Log: lanes.Log{ID: "log", Seq: 7}, Kind: lanes.ReportHelp, Session: session}
		driver.newest().receiver.Reported(help)
		synctest.Wait()
		require.Equal(t, []lanes.Log{help.Log}, driver.newest().sentAcks())
		f.restart()
		for range 2 {
			driver.newest().receiver.Reported(help)
			synctest.Wait()
		}
		require.Equal(t, []lanes.Log{help.Log, help.Log}, driver.newest().sentAcks())
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.Help}, f.eventKinds(session))
	})
}

// A controller that skips numbers has lost reports of its own. Those that arrive count, and operators can see the gap.
func TestAGapInTheReportsIsCountedAndLogged(t *testing.T) {
	driver := &fakeDriver{}
	var logs logRecorder
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		for _, seq := range []uint64{5, 6, 9, 9} {
			driver.newest().receiver.Reported(lanes.Report{
				Log: lanes.Log{ID: "log", Seq: seq}, Kind: lanes.ReportHelp,
				Session: session,
			})
			synctest.Wait()
		}
		require.Equal(t, uint64(9), driver.newest().sentAcks()[3].Seq)
		require.Len(t, f.eventKinds(session), 2+3)
		require.Equal(t, 2.0, f.counterValue("rangegate_lane_reports_missing_total"), "7 and 8, told once")
		require.Equal(t, 1, strings.Count(logs.String(), `"reports_missing":2`))
	}, withLog(zerolog.New(&logs)))
}

func TestReportsAreKeptThroughAnOutageInOrder(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.store.setHook(outage)
				for i := range 4 {
					f.callHelp(0)
					require.NoError(t, f.controller(0).HitCarrier())
					f.advance(5 * time.Second)
					if i == 2 {
						f.controller(0).Cut(errNoAnswer) // all of them are repeated
					}
				}
				require.Equal(t, 8, f.controller(0).Unacked())
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, f.eventKinds(session))
				f.storeReturns()
				f.advance(lastBackoff)
				require.Zero(t, f.controller(0).Unacked())
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.Help, lanes.CarrierHit, lanes.Help,
					lanes.CarrierHit,
					lanes.Help, lanes.CarrierHit, lanes.Help, lanes.CarrierHit,
				}, f.eventKinds(session))
			})
		})
	}
}

func TestAnEntryBeginsTheSessionWhenItHappened(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		f.advance(time.Minute)
		restoreLink := f.cutLink(0)
		entered := f.clock.Now()
		f.enter(0)
		f.advance(20 * time.Second)
		require.Equal(t, 30*time.Minute, f.remaining(session))
		restoreLink()
		require.Equal(t, 30*time.Minute-f.clock.Now().Since(entered), f.remaining(session))
		view, err := f.Session(t.Context(), session)
		require.NoError(t, err)
		require.Equal(t, entered.Wall, *view.Began)
		require.True(t, f.isOpen(0))
		require.Equal(t, f.remaining(session), f.controller(0).Shown().Remaining)
	})
}

func TestAnEntryInAnOutageBeginsTheSessionWhenItHappened(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		f.store.setHook(refuseFlush)
		entered := f.clock.Now()
		f.enter(0)
		f.advance(10 * time.Second)
		require.False(t, f.isOpen(0), "nothing opens before it is saved")
		f.storeReturns()
		require.True(t, f.isOpen(0))
		require.Equal(t, 30*time.Minute-f.clock.Now().Since(entered), f.remaining(session))
	})
}

func TestALateReportDoesNotTouchTheNextSession(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		removed := f.createWaiting(0, 30)
		restoreLink := f.cutLink(0)
		f.enter(0)
		f.stop(removed)
		next := f.createWaiting(0, 30)
		restoreLink()
		require.Zero(t, f.controller(0).Unacked(), "the report is acked")
		require.Equal(t, lanes.Waiting, f.Sessions()[0].Phase)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated}, f.eventKinds(next))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStopped}, f.eventKinds(removed))
	})
}

func TestAReportDoesNotWaitForTheCommandsOfClients(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		var sold []<-chan error
		for range 3 {
			sold = append(sold, f.runAsync(func() error { return f.tryModify(session, 1) }))
		}
		f.callHelp(0)
		release()
		for _, answer := range sold {
			require.NoError(t, f.answerOf(answer, 0))
		}
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.Help, lanes.SessionModified,
			lanes.SessionModified,
		}, f.eventKinds(session))
	})
}

// During a long outage a link keeps breaking: a report that the controller repeats again and again is queued once.
func TestARepeatedReportWaitsInTheQueueOnce(t *testing.T) {
	var logs logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.store.setHook(refuseFlush)
		f.callHelp(0)
		f.callHelp(0)
		for range 20 {
			f.controller(0).Cut(errNoAnswer)
			f.advance(lastBackoff)
		}
		f.storeReturns()
		require.Zero(t, f.controller(0).Unacked())
		require.Equal(t, 2, strings.Count(logs.String(), `"command":"report help"`))
	}, withLog(zerolog.New(&logs)))
}

// A report is being saved when the lane panics. Its connection is closed: it is acked when the controller
// repeats it, and no panic of the driver is logged.
func TestAReportThatIsSavedAfterAPanicIsAckedOnTheNextLink(t *testing.T) {
	driver := &fakeDriver{}
	logs := &logRecorder{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		help := lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportHelp, Session: session}
		before := driver.newest()
		release := f.blockFlushes()
		before.receiver.Reported(help)
		synctest.Wait()
		driver.setFirstReports(help)
		f.panicLane(0)
		require.NotSame(t, before, driver.newest())
		require.Empty(t, driver.newest().sentAcks(), "not before it is saved")
		release()
		f.advance(time.Second)
		require.Empty(t, before.sentAcks())
		require.Equal(t, []lanes.Log{help.Log}, driver.newest().sentAcks())
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.Help}, f.eventKinds(session))
		require.Equal(t, map[string]int{"lane": 1}, f.Health().Restarts, "no driver panicked")
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		require.Equal(t, 2, driver.connectionCount())
	}, withLog(zerolog.New(logs)))
}

// The first of three reports is being saved when the link breaks, and the controller repeats all of them
// during the next dial: the first is then processed once more, behind the others. The last one is acked, once
// the link is up.
func TestTheLastReportIsAckedAlthoughAnEarlierOneIsRepeated(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		var reports []lanes.Report
		for seq := range uint64(3) {
			reports = append(reports, lanes.Report{
				Log: lanes.Log{ID: "log", Seq: seq + 1}, Kind: lanes.ReportHelp,
				Session: session,
			})
		}
		release := f.blockFlushes()
		for _, report := range reports {
			driver.newest().receiver.Reported(report)
			synctest.Wait()
		}
		connected := make(chan struct{})
		driver.setFirstReports(reports...)
		driver.setDialResult(func(context.Context) error {
			<-connected
			return nil
		})
		driver.newest().fail()
		f.advance(firstBackoff)
		release()
		synctest.Wait()
		require.Len(t, f.eventKinds(session), 2+3)
		close(connected)
		synctest.Wait()
		require.Equal(t, 2, driver.connectionCount())
		require.Equal(t, []lanes.Log{reports[2].Log}, driver.newest().sentAcks())
	})
}

// A controller sends more reports than fit while the store is down. The lane keeps a bounded number of them,
// closes its fire line on command, and takes the rest when the store returns: all of them, once, in order.
func TestMoreReportsThanALaneCanQueue(t *testing.T) {
	const many = maxReports + 100
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			driver := &fakeDriver{}
			runWithDriver(t, driver, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				tell := func(connection *fakeConnection, from uint64) {
					for seq := from; seq <= many; seq++ {
						connection.receiver.Reported(helpReport(session, seq))
					}
					synctest.Wait()
				}
				f.store.setHook(outage)
				first := driver.newest()
				tell(first, 1)
				tell(first, 1) // all of it is repeated
				require.Empty(t, first.sentAcks())
				_ = f.tryPause(session)
				synctest.Wait()
				states := first.sentStates()
				require.Equal(t, lanes.Paused, states[len(states)-1].Session.Phase)

				f.storeReturns()
				acked := first.sentAcks()
				heard := acked[len(acked)-1].Seq
				require.LessOrEqual(t, heard, uint64(maxReports+1), "one more was being saved")
				f.advance(lastBackoff)
				require.True(t, first.isClosed())
				tell(driver.newest(), heard+1)
				acked = driver.newest().sentAcks()
				require.Equal(t, uint64(many), acked[len(acked)-1].Seq)
				require.Equal(t, many, countKind(f.eventKinds(session), lanes.Help))
				tell(driver.newest(), 1)
				f.advance(lastBackoff)
				require.Equal(t, many, countKind(f.eventKinds(session), lanes.Help))
				require.False(t, driver.newest().isClosed())
			})
		})
	}
}

// The event log has what the POS gave the session with each of its events, also with one that is reported
// after its end, and after a restart of the gateway. The webhook does not.
func TestEventsHaveTheCorrelationOfTheirSession(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		given := &lanes.Correlation{ExternalID: "receipt-1", Metadata: map[string]string{"till": "3"}}
		sale := f.newSale(30)
		sale.Correlation = given
		session := f.sell(0, sale)
		f.restart()
		view, err := f.Session(f.requestContext(), session)
		require.NoError(t, err)
		require.Equal(t, given, view.Correlation)
		restoreLink := f.cutLink(0)
		require.NoError(t, f.controller(0).HitCarrier())
		f.advance(time.Second)
		f.stop(session)
		other := f.create(0, 30)
		restoreLink()
		log := f.eventLog()
		require.Equal(t, lanes.CarrierHit, log[len(log)-1].Event.Kind)
		for _, logged := range log {
			want := given
			if logged.Event.Session == other {
				want = nil
			}
			require.Equal(t, want, logged.Event.Correlation, logged.Event.Kind)
		}
	})
}

func helpReport(session uuid.UUID, seq uint64) lanes.Report {
	return lanes.Report{Log: lanes.Log{ID: "log", Seq: seq}, Kind: lanes.ReportHelp, Session: session}
}

// A controller comes back with thousands of reports, and tells all of them each time it is connected. The store is
// there: each time some are saved, and the next connection comes soon.
func TestThousandsOfReportsDoNotKeepALaneFromItsHardware(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		const many = 12 * maxReports
		session, heard, began := f.create(0, 30), uint64(0), time.Now()
		for heard < many {
			connection := driver.newest()
			for seq := heard + 1; seq <= many; seq++ {
				connection.receiver.Reported(helpReport(session, seq))
			}
			synctest.Wait()
			acked := connection.sentAcks()
			require.NotEmpty(t, acked)
			heard = acked[len(acked)-1].Seq
			for connection == driver.newest() && heard < many {
				f.advance(10 * time.Millisecond)
			}
		}
		require.Less(t, time.Since(began), 12*hardware.FirstBackoff)
	})
}

// Reports about a session that is no longer on the lane, from a controller that was cut off. The lane looks
// up whether the session is known.

// stopWhileCut stops a session on the i-th lane after its link broke and its carrier was hit.
func (f *fixture) stopWhileCut(i int) (session uuid.UUID, restoreLink func()) {
	f.Helper()
	session = f.create(i, 30)
	restoreLink = f.cutLink(i)
	require.NoError(f, f.controller(i).HitCarrier())
	f.advance(time.Second)
	f.stop(session)
	return session, restoreLink
}

func TestALateCarrierHitBelongsToTheSessionThatCausedIt(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		hit := f.clock.Now().Wall
		session, restoreLink := f.stopWhileCut(0)
		next := f.create(0, 30)
		restoreLink()
		require.Zero(t, f.controller(0).Unacked())
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped, lanes.CarrierHit,
		}, f.eventKinds(session))
		log := f.eventLog()
		late := log[len(log)-1].Event
		require.Equal(t, hit, late.At, "when it happened")
		require.Equal(t, f.laneID(0), late.Lane)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, f.eventKinds(next),
			"the next session gets no event of it")
		require.Equal(t, lanes.CarrierHit, webhook.kinds()[len(webhook.kinds())-1])
		require.Len(t, webhook.kinds(), len(log))
	}, withWebhook(webhook))
}

func TestALateReportOfASessionThatMovedAway(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		restoreLink := f.cutLink(0)
		f.callHelp(0)
		f.move(session, 1)
		next := f.create(0, 30)
		before := f.Lanes()
		restoreLink()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.Help,
		}, f.eventKinds(session))
		require.Len(t, f.eventKinds(next), 2)
		require.Equal(t, before[1].Lane, f.Lanes()[1].Lane)
		require.Equal(t, before[0].Lane.Session, f.Lanes()[0].Lane.Session)
		f.advance(time.Hour)
		require.Equal(t, 30*time.Minute, f.endedSession(session).Used)
	})
}

func TestALateReportOfAnUnknownSession(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		for seq, about := range []uuid.UUID{uuid.New(), uuid.Nil, session} {
			report := lanes.Report{
				Log: lanes.Log{ID: "log", Seq: uint64(seq) + 1}, Kind: lanes.ReportCarrierHit,
				Session: about,
			}
			driver.newest().receiver.Reported(report)
			synctest.Wait()
			require.Equal(t, report.Log, driver.newest().sentAcks()[seq])
		}
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.CarrierHit},
			f.eventKinds(session))
		require.Len(t, f.eventLog(), 3)
		require.Equal(t, 1.0, f.metricValue("rangegate_lane_reports_ignored_total",
			"not about the session on this lane"))
		require.NotNil(t, f.Lanes()[0].Lane.Stray, "staff are shown the hit without a session")
	})
}

func TestReportsKeepTheirOrderWhileOneIsLookedUp(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, restoreLink := f.stopWhileCut(0)
		history := f.interceptHistory()
		release := history.block()
		restoreLink()
		next := f.create(0, 30)
		f.callHelp(0)
		require.NoError(t, f.controller(0).HitCarrier())
		for range 3 { // all of them are repeated
			f.controller(0).Cut(errNoAnswer)
			f.advance(time.Second)
		}
		f.advance(lastBackoff)
		require.Equal(t, 3, f.controller(0).Unacked())
		require.Len(t, f.eventKinds(next), 2, "the reports wait")
		f.modify(next, 5) // requests of clients do not wait
		f.pause(next)
		f.requireOpen()

		release()
		f.advance(time.Second)
		require.Zero(t, f.controller(0).Unacked())
		require.Equal(t, 1, countKind(f.eventKinds(session), lanes.CarrierHit))
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused, lanes.Help,
			lanes.CarrierHit,
		}, f.eventKinds(next))
	})
}

// The retry of a warning, which waits for the store, does not end the wait for a lookup: the report that is looked up
// stays before those behind it.
func TestARetryWhileAReportIsLookedUp(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		history := f.interceptHistory()
		session, restoreLink := f.stopWhileCut(0)
		next := f.create(0, 10)
		f.advance(5*time.Minute - 200*time.Millisecond) // before its warning
		release := history.block()
		f.store.setHook(refuseFlush)
		restoreLink()
		f.callHelp(0)
		f.advance(3 * time.Second)
		f.store.setHook(nil)
		f.advance(3 * time.Second)
		require.Equal(t, 2, f.controller(0).Unacked(), "the call for help waits for the hit before it")
		require.Len(t, f.endings(next), 1, "the warning waits for the store alone")
		release()
		f.advance(lastBackoff)
		require.Zero(t, f.controller(0).Unacked())
		require.Equal(t, 1, countKind(f.eventKinds(session), lanes.CarrierHit))
		require.Equal(t, 1, countKind(f.eventKinds(next), lanes.Help))
	}, withWarnings)
}

func TestALateReportIsLookedUpUntilTheStoreReturns(t *testing.T) {
	for name, outage := range map[string]func(context.Context) error{
		"the store fails": func(context.Context) error { return errReplyLost },
		"the store hangs": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session, restoreLink := f.stopWhileCut(0)
				history := f.interceptHistory()
				history.setReply(outage)
				restoreLink()
				f.advance(time.Minute)
				require.Equal(t, 1, f.controller(0).Unacked())
				require.LessOrEqual(t, history.reads.Load(), int64(90), "at most 90 lookups in a minute")
				f.create(0, 30)
				history.setReply(nil)
				f.advance(commit.FlushTimeout + reportRetry)
				require.Zero(t, f.controller(0).Unacked())
				require.Equal(t, 1, countKind(f.eventKinds(session), lanes.CarrierHit))
			})
		})
	}
}

// The record of the session is damaged: the session has ended all the same, and the reports behind this one
// do not wait.
func TestALateReportAboutASessionWhoseRecordIsDamaged(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, restoreLink := f.stopWhileCut(0)
		f.interceptHistory().setReply(func(context.Context) error { return &store.CorruptError{Err: errReplyLost} })
		restoreLink()
		f.advance(lastBackoff)
		require.Zero(t, f.controller(0).Unacked())
		require.Equal(t, 1, countKind(f.eventKinds(session), lanes.CarrierHit))
	})
}

func TestALanePanicsWhileAReportIsLookedUp(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, restoreLink := f.stopWhileCut(0)
		history := f.interceptHistory()
		release := history.block()
		restoreLink()
		f.panicLane(0)
		f.advance(lastBackoff)
		require.Equal(t, 1, f.controller(0).Unacked())
		release()
		f.advance(lastBackoff)
		require.Zero(t, f.controller(0).Unacked())
		require.Equal(t, 1, countKind(f.eventKinds(session), lanes.CarrierHit),
			"repeated by the controller, recorded once")
		f.create(0, 30)
		f.callHelp(0)
		require.Zero(t, f.controller(0).Unacked(), "the lane takes reports again")
	})
}

// A report that was saved and not acked before a restart is recorded once.
func TestALateReportIsRecordedOnceThroughARestart(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, restoreLink := f.stopWhileCut(0)
		f.interceptHistory().block()
		restoreLink()
		f.shutDown()
		for range 2 {
			f.start()
			f.advance(lastBackoff)
			require.Zero(t, f.controller(0).Unacked())
			require.Equal(t, 1, countKind(f.eventKinds(session), lanes.CarrierHit))
			f.shutDown()
		}
		f.start()
	})
}

// A report that waits for the store counts from its arrival, although its session was paused since, and that is saved
// before it.
func TestAReportKeepsItsInstantBehindALaterPause(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(time.Minute)
		release := f.blockFlushes()
		modified := f.runAsync(func() error { return f.tryModify(session, 5) })
		hit := f.clock.Now().Wall
		require.NoError(t, f.controller(0).HitCarrier())
		f.advance(300 * time.Millisecond)
		paused := f.runAsync(func() error { return f.tryPause(session) })
		f.advance(300 * time.Millisecond)
		release()
		require.NoError(t, <-modified)
		require.NoError(t, <-paused)
		f.advance(time.Second)
		for _, logged := range f.eventLog() {
			if logged.Event.Kind == lanes.CarrierHit {
				require.Equal(t, hit.UTC(), logged.Event.At.UTC())
				return
			}
		}
		require.Fail(t, "the hit is not in the log")
	})
}
