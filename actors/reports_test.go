package actors

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func (g *rig) callHelp(i int) {
	g.Helper()
	require.NoError(g, g.controller(i).Help())
	synctest.Wait()
}

func TestAReportIsAckedOnceItIsSaved(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		g.callHelp(0)
		require.Equal(t, 1, g.controller(0).Unacked(), "not before it is saved")
		release()
		synctest.Wait()
		require.Zero(t, g.controller(0).Unacked())
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.Help}, g.happened(session))
	})
}

func TestAReportThatComesAgainCountsOnce(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		g.callHelp(0)
		for range 3 {
			g.controller(0).Cut(errNoAnswer)
			g.pass(200 * time.Millisecond)
		}
		release()
		g.pass(lastBackoff)
		require.Zero(t, g.controller(0).Unacked(), "acked on the new connection")
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.Help}, g.happened(session))
		g.restart()
		g.callHelp(0)
		require.Len(t, g.happened(session), 4, "the next one is another")
	})
}

// The gateway stops between saving the report and acking it, so the controller tells it again.
func TestAReportThatWasSavedAndNotAckedIsAckedAfterARestart(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		help := lanes.Report{Log: lanes.Log{ID: "log", Seq: 7}, Kind: lanes.ReportHelp, Session: session}
		s.newest().to.Reported(help)
		synctest.Wait()
		require.Equal(t, []lanes.Log{help.Log}, s.newest().acked())
		g.restart()
		for range 2 {
			s.newest().to.Reported(help)
			synctest.Wait()
		}
		require.Equal(t, []lanes.Log{help.Log, help.Log}, s.newest().acked())
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.Help}, g.happened(session))
	})
}

// A controller that skips numbers has lost reports of its own. What it does tell counts, and operators can see the rest.
func TestAGapInTheReportsIsCountedAndLogged(t *testing.T) {
	s := &switchboard{}
	var said journal
	onLine(t, s, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		for _, seq := range []uint64{5, 6, 9, 9} {
			s.newest().to.Reported(lanes.Report{Log: lanes.Log{ID: "log", Seq: seq}, Kind: lanes.ReportHelp, Session: session})
			synctest.Wait()
		}
		require.Equal(t, uint64(9), s.newest().acked()[3].Seq)
		require.Len(t, g.happened(session), 2+3)
		require.Equal(t, 2.0, g.counted("rangegate_lane_reports_missing_total"), "7 and 8, told once")
		require.Equal(t, 1, strings.Count(said.String(), `"reports_missing":2`))
	}, withLog(zerolog.New(&said)))
}

func TestReportsAreKeptThroughAnOutageInOrder(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.store.hook(outage)
				for i := range 4 {
					g.callHelp(0)
					require.NoError(t, g.controller(0).HitCarrier())
					g.pass(5 * time.Second)
					if i == 2 {
						g.controller(0).Cut(errNoAnswer) // and all of them come again
					}
				}
				require.Equal(t, 8, g.controller(0).Unacked())
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, g.happened(session))
				g.storeReturns()
				g.pass(lastBackoff)
				require.Zero(t, g.controller(0).Unacked())
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.Help, lanes.CarrierHit, lanes.Help, lanes.CarrierHit,
					lanes.Help, lanes.CarrierHit, lanes.Help, lanes.CarrierHit,
				}, g.happened(session))
			})
		})
	}
}

func TestAnEntryBeginsTheSessionWhenItHappened(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.book(0, 30)
		g.pass(time.Minute)
		letBack := g.cutOff(0)
		entered := g.clock.Now()
		g.enter(0)
		g.pass(20 * time.Second)
		require.Equal(t, 30*time.Minute, g.left(session))
		letBack()
		require.Equal(t, 30*time.Minute-g.clock.Now().Since(entered), g.left(session))
		view, err := g.Session(t.Context(), session)
		require.NoError(t, err)
		require.Equal(t, entered.Wall, *view.Began)
		require.True(t, g.open(0))
		require.Equal(t, g.left(session), g.controller(0).Shown().Remaining)
	})
}

func TestAnEntryInAnOutageBeginsTheSessionWhenItHappened(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.book(0, 30)
		g.store.hook(refuses)
		entered := g.clock.Now()
		g.enter(0)
		g.pass(10 * time.Second)
		require.False(t, g.open(0), "nothing opens that is not saved")
		g.storeReturns()
		require.True(t, g.open(0))
		require.Equal(t, 30*time.Minute-g.clock.Now().Since(entered), g.left(session))
	})
}

func TestALateReportDoesNotTouchTheNextSession(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		gone := g.book(0, 30)
		letBack := g.cutOff(0)
		g.enter(0)
		g.stop(gone)
		next := g.book(0, 30)
		letBack()
		require.Zero(t, g.controller(0).Unacked(), "taken in")
		require.Equal(t, lanes.Waiting, g.Sessions()[0].Phase)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated}, g.happened(next))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStopped}, g.happened(gone))
	})
}

func TestAReportDoesNotWaitForTheCommandsOfClients(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		var sold []<-chan error
		for range 3 {
			sold = append(sold, g.begin(func() error { return g.tryModify(session, 1) }))
		}
		g.callHelp(0)
		release()
		for _, answer := range sold {
			require.NoError(t, g.answerOf(answer, 0))
		}
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.Help, lanes.SessionModified, lanes.SessionModified,
		}, g.happened(session))
	})
}

// A long outage and a link that keeps breaking: what the controller repeats again and again waits only once.
func TestReportsThatWaitTakeRoomOnce(t *testing.T) {
	var said journal
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.store.hook(refuses)
		g.callHelp(0)
		g.callHelp(0)
		for range 20 {
			g.controller(0).Cut(errNoAnswer)
			g.pass(lastBackoff)
		}
		g.storeReturns()
		require.Zero(t, g.controller(0).Unacked())
		require.Equal(t, 2, strings.Count(said.String(), `"command":"report help"`))
	}, withLog(zerolog.New(&said)))
}

// A report is being saved as the lane panics. The link that it came by is no more: it is acked when the controller tells it
// again, and nobody speaks of a defect of the driver.
func TestAReportThatIsSavedAfterAPanicIsAckedOnTheNextLink(t *testing.T) {
	s := &switchboard{}
	said := &paper{}
	onLine(t, s, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		help := lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportHelp, Session: session}
		before := s.newest()
		release := g.holdFlushes()
		before.to.Reported(help)
		synctest.Wait()
		s.says(help)
		g.crash(0)
		require.NotSame(t, before, s.newest())
		require.Empty(t, s.newest().acked(), "not before it is saved")
		release()
		g.pass(time.Second)
		require.Empty(t, before.acked())
		require.Equal(t, []lanes.Log{help.Log}, s.newest().acked())
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.Help}, g.happened(session))
		require.Empty(t, said.about(t, "a link's driver panicked"))
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		require.Equal(t, 2, s.made())
	}, withLog(zerolog.New(said)))
}

// Of three reports the first is being saved as the link breaks, and the controller tells all of them again while the next one is
// being made: the first is then taken in once more, behind the others. What is acked is the last, once the link is up.
func TestTheLastReportIsAckedAlthoughAnEarlierOneComesAgain(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		var told []lanes.Report
		for seq := range uint64(3) {
			told = append(told, lanes.Report{Log: lanes.Log{ID: "log", Seq: seq + 1}, Kind: lanes.ReportHelp, Session: session})
		}
		release := g.holdFlushes()
		for _, report := range told {
			s.newest().to.Reported(report)
			synctest.Wait()
		}
		connected := make(chan struct{})
		s.says(told...)
		s.answers(func(context.Context) error {
			<-connected
			return nil
		})
		s.newest().breaks()
		g.pass(firstBackoff)
		release()
		synctest.Wait()
		require.Len(t, g.happened(session), 2+3)
		close(connected)
		synctest.Wait()
		require.Equal(t, 2, s.made())
		require.Equal(t, []lanes.Log{told[2].Log}, s.newest().acked())
	})
}
