package linktest

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

var reports = []Story{
	{"what happens on the lane is reported, each once, in order", told(inOrder)},
	{"a report comes again after a reconnect until it is acked, and never after", told(untilAcked)},
	{"an ack of another log forgets nothing", told(otherLog)},
	{"a report that comes late says how long ago it happened", told(late)},
	{"a log that survives a power cut keeps its name, numbers and reports", told(logKept)},
	{"a log that is lost is begun anew", told(logLost)},
	{"a purchase is reported whole, also when it comes late", told(purchase)},
	{"a purchase that comes after its session names that session", told(afterItsSession)},
}

// watched is a connection to a lane with a session on it, whose log is known.
func (s scene) watched(phase lanes.Phase) (link.Connection, *ear, lanes.Log, uuid.UUID) {
	conn, hello, heard := s.dial()
	state := link.State{Revision: 1, Session: s.session(phase, time.Hour)}
	s.send(conn, heard, state)
	return conn, heard, lanes.Log{ID: hello.LogID}, state.Session.ID
}

// numbers are the numbers of the reports.
func numbers(reports []lanes.Report) []uint64 {
	seqs := make([]uint64, 0, len(reports))
	for _, r := range reports {
		seqs = append(seqs, r.Log.Seq)
	}
	return seqs
}

func inOrder(s scene) {
	_, heard, log, session := s.watched(lanes.Waiting)
	require.NoError(s, s.Controller.Enter())
	require.NoError(s, s.Controller.Help())
	require.NoError(s, s.Controller.HitCarrier())

	all := s.hears(heard, 3)
	require.Len(s, all, 3)
	for i, kind := range []string{lanes.ReportEntered, lanes.ReportHelp, lanes.ReportCarrierHit} {
		assert.Equal(s, kind, all[i].Kind)
		assert.Equal(s, session, all[i].Session)
		assert.Equal(s, lanes.Log{ID: log.ID, Seq: uint64(i + 1)}, all[i].Log)
		assert.GreaterOrEqual(s, all[i].Age, time.Duration(0))
		assert.Less(s, all[i].Age, patience)
	}
	assert.Equal(s, 3, s.Controller.Unacked())
}

func untilAcked(s scene) {
	conn, heard, log, _ := s.watched(lanes.Running)
	for range 4 {
		require.NoError(s, s.Controller.Help())
	}
	s.hears(heard, 4)
	log.Seq = 3
	conn.Ack(log)
	s.wait("all up to the acked one are forgotten", func() bool { return s.Controller.Unacked() == 1 })
	s.cut(heard)
	require.NoError(s, s.Controller.HitCarrier(), "what happens while the link is down is kept")

	_, _, heard = s.dial()
	assert.Equal(s, []uint64{4, 5}, numbers(s.hears(heard, 2)))
	s.cut(heard)

	conn, _, heard = s.dial()
	assert.Equal(s, []uint64{4, 5}, numbers(s.hears(heard, 2)), "it was not acked")
	log.Seq = 5
	conn.Ack(log)
	s.wait("all are forgotten", func() bool { return s.Controller.Unacked() == 0 })
	s.cut(heard)

	_, _, heard = s.dial()
	require.NoError(s, s.Controller.Help())
	assert.Equal(s, []uint64{6}, numbers(s.hears(heard, 1)), "what was acked never comes again")
}

func otherLog(s scene) {
	conn, heard, log, _ := s.watched(lanes.Running)
	require.NoError(s, s.Controller.Help())
	require.NoError(s, s.Controller.Help())
	s.hears(heard, 2)
	conn.Ack(lanes.Log{ID: "another", Seq: 2})
	log.Seq = 1
	conn.Ack(log)
	s.wait("the first report is forgotten", func() bool { return s.Controller.Unacked() < 2 })
	assert.Equal(s, 1, s.Controller.Unacked())
}

func late(s scene) {
	_, heard, _, session := s.watched(lanes.Waiting)
	s.cut(heard)
	before := s.Now()
	require.NoError(s, s.Controller.Enter())
	after := s.Now()
	for range 2 {
		s.pass(20 * tick)
		dialled := s.Now()
		_, _, heard = s.dial()
		entered := s.hears(heard, 1)[0]
		assert.Equal(s, session, entered.Session)
		assert.GreaterOrEqual(s, entered.Age, dialled.Since(after)-tick)
		assert.LessOrEqual(s, entered.Age, s.Now().Since(before)+tick)
		s.cut(heard)
	}
}

func logKept(s scene) {
	_, heard, log, _ := s.watched(lanes.Running)
	require.NoError(s, s.Controller.Help())
	s.hears(heard, 1)
	s.Controller.PowerCut(false)

	conn, hello, heard := s.dial()
	assert.Equal(s, log.ID, hello.LogID)
	s.send(conn, heard, s.running())
	require.NoError(s, s.Controller.Help())
	assert.Equal(s, []uint64{1, 2}, numbers(s.hears(heard, 2)))
}

func logLost(s scene) {
	_, heard, log, _ := s.watched(lanes.Running)
	require.NoError(s, s.Controller.Help())
	s.hears(heard, 1)
	s.Controller.PowerCut(true)

	conn, hello, heard := s.dial()
	assert.NotEqual(s, log.ID, hello.LogID)
	assert.Zero(s, s.Controller.Unacked())
	s.send(conn, heard, s.running())
	require.NoError(s, s.Controller.Help())
	all := s.hears(heard, 1)
	assert.Equal(s, []uint64{1}, numbers(all))
	assert.Equal(s, hello.LogID, all[0].Log.ID)
}

func purchase(s scene) {
	_, heard, _, session := s.watched(lanes.Running)
	s.cut(heard)
	items := []lanes.Item{{ID: lanes.TimeItem, Qty: 30}, {ID: "9mm \u00e0 50", Qty: 2}}
	id := uuid.New()
	require.NoError(s, s.Controller.Buy(id, items...))
	s.pass(20 * time.Millisecond)
	_, _, heard = s.dial()
	report := s.hears(heard, 1)[0]
	assert.Equal(s, lanes.ReportPurchase, report.Kind)
	assert.Equal(s, session, report.Session)
	assert.Equal(s, id, report.Purchase)
	assert.Equal(s, items, report.Items)
	assert.GreaterOrEqual(s, report.Age, 20*time.Millisecond)
}

func afterItsSession(s scene) {
	conn, heard, _, session := s.watched(lanes.Running)
	require.NoError(s, s.Controller.Buy(uuid.New(), lanes.Item{ID: lanes.TimeItem, Qty: 15}))
	s.hears(heard, 1)
	next := link.State{Revision: 2, Session: s.session(lanes.Running, time.Hour)}
	s.send(conn, heard, next)
	s.cut(heard)

	_, _, heard = s.dial()
	require.NoError(s, s.Controller.Help())
	all := s.hears(heard, 2)
	assert.Equal(s, session, all[0].Session)
	assert.Equal(s, next.Session.ID, all[1].Session)
}
