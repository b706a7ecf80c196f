package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Reports about a session that is no longer on the lane, told by a controller that was cut off. Whether anybody knows
// of the session has to be looked up.

// gone is a session that ran on the i-th lane, and was stopped after its link broke and its carrier was hit.
func (g *rig) gone(i int) (session uuid.UUID, letBack func()) {
	g.Helper()
	session = g.create(i, 30)
	letBack = g.cutOff(i)
	require.NoError(g, g.controller(i).HitCarrier())
	g.pass(time.Second)
	g.stop(session)
	return session, letBack
}

func TestACarrierIsPaidForByWhoShotAtIt(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		hit := g.clock.Now().Wall
		session, letBack := g.gone(0)
		next := g.create(0, 30)
		letBack()
		require.Zero(t, g.controller(0).Unacked())
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped, lanes.CarrierHit,
		}, g.happened(session))
		log := g.eventLog()
		late := log[len(log)-1].Event
		require.Equal(t, hit, late.At, "when it happened")
		require.Equal(t, g.lane(0), late.Lane)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, g.happened(next), "who has nothing to do with it")
		require.Equal(t, lanes.CarrierHit, received.kinds()[len(received.kinds())-1])
		require.Len(t, received.kinds(), len(log))
	}, withWebhook(received))
}

func TestALateReportOfASessionThatMovedAway(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		letBack := g.cutOff(0)
		g.callHelp(0)
		g.move(session, 1)
		next := g.create(0, 30)
		before := g.Lanes()
		letBack()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.Help,
		}, g.happened(session))
		require.Len(t, g.happened(next), 2)
		require.Equal(t, before[1].Lane, g.Lanes()[1].Lane)
		require.Equal(t, before[0].Lane.Session, g.Lanes()[0].Lane.Session)
		g.pass(time.Hour)
		require.Equal(t, 30*time.Minute, g.ended(session).Used)
	})
}

func TestALateReportOfASessionThatNobodyKnows(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		for seq, about := range []uuid.UUID{uuid.New(), uuid.Nil, session} {
			report := lanes.Report{Log: lanes.Log{ID: "log", Seq: uint64(seq) + 1}, Kind: lanes.ReportCarrierHit, Session: about}
			s.newest().to.Reported(report)
			synctest.Wait()
			require.Equal(t, report.Log, s.newest().acked()[seq])
		}
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.CarrierHit}, g.happened(session))
		require.Len(t, g.eventLog(), 3)
		require.Equal(t, 1.0, g.metric("rangegate_lane_reports_ignored_total", "not about the session on this lane"))
		require.NotNil(t, g.Lanes()[0].Lane.Stray, "staff are shown the one without a session")
	})
}

func TestReportsKeepTheirOrderWhileOneIsLookedUp(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, letBack := g.gone(0)
		history := g.watchLookUps()
		goOn := history.hold()
		letBack()
		next := g.create(0, 30)
		g.callHelp(0)
		require.NoError(t, g.controller(0).HitCarrier())
		for range 3 { // and all of them again
			g.controller(0).Cut(errNoAnswer)
			g.pass(time.Second)
		}
		g.pass(lastBackoff)
		require.Equal(t, 3, g.controller(0).Unacked())
		require.Len(t, g.happened(next), 2, "they wait")
		g.modify(next, 5) // what clients ask does not
		g.pause(next)
		g.requireOpen()

		goOn()
		g.pass(time.Second)
		require.Zero(t, g.controller(0).Unacked())
		require.Equal(t, 1, countKind(g.happened(session), lanes.CarrierHit))
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused, lanes.Help, lanes.CarrierHit,
		}, g.happened(next))
	})
}

func TestALateReportIsLookedUpUntilTheStoreIsBack(t *testing.T) {
	for name, away := range map[string]func(context.Context) error{
		"it says no":      func(context.Context) error { return errAnswerLost },
		"it says nothing": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session, letBack := g.gone(0)
				history := g.watchLookUps()
				history.answers(away)
				letBack()
				g.pass(time.Minute)
				require.Equal(t, 1, g.controller(0).Unacked())
				require.LessOrEqual(t, history.asked.Load(), int64(90), "without haste")
				g.create(0, 30)
				history.answers(nil)
				g.pass(commit.FlushTimeout + reportRetry)
				require.Zero(t, g.controller(0).Unacked())
				require.Equal(t, 1, countKind(g.happened(session), lanes.CarrierHit))
			})
		})
	}
}

// The record of the session is damaged: it has ended for all that, and the reports behind the one about it do not wait.
func TestALateReportAboutASessionWhoseRecordIsDamaged(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, letBack := g.gone(0)
		g.watchLookUps().answers(func(context.Context) error { return &store.CorruptError{Err: errAnswerLost} })
		letBack()
		g.pass(lastBackoff)
		require.Zero(t, g.controller(0).Unacked())
		require.Equal(t, 1, countKind(g.happened(session), lanes.CarrierHit))
	})
}

func TestALanePanicsWhileAReportIsLookedUp(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, letBack := g.gone(0)
		history := g.watchLookUps()
		goOn := history.hold()
		letBack()
		g.crash(0)
		g.pass(lastBackoff)
		require.Equal(t, 1, g.controller(0).Unacked())
		goOn()
		g.pass(lastBackoff)
		require.Zero(t, g.controller(0).Unacked())
		require.Equal(t, 1, countKind(g.happened(session), lanes.CarrierHit), "told again by the controller, once on record")
		g.create(0, 30)
		g.callHelp(0)
		require.Zero(t, g.controller(0).Unacked(), "the lane takes reports again")
	})
}

// The same that was saved and not acked before a restart is on record once.
func TestALateReportThroughARestart(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, letBack := g.gone(0)
		g.watchLookUps().hold()
		letBack()
		g.shutDown()
		for range 2 {
			g.start()
			g.pass(lastBackoff)
			require.Zero(t, g.controller(0).Unacked())
			require.Equal(t, 1, countKind(g.happened(session), lanes.CarrierHit))
			g.shutDown()
		}
		g.start()
	})
}
