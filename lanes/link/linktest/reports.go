package linktest

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

var reports = []Test{
	{"reports come once and in order", with(inOrder)},
	{"a report is repeated after a reconnect until it is acked", with(untilAcked)},
	{"an ack of another log is ignored", with(otherLog)},
	{"a late report has its age", with(late)},
	{"a log that survives a power cut keeps its name, numbers and reports", with(logKept)},
	{"a lost log is replaced by a new one", with(logLost)},
	{"a purchase is reported completely, also when it is late", with(purchase)},
	{"a purchase that is reported after its session names that session", with(afterItsSession)},
}

// dialWithSession connects to a lane and gives it a session. It returns the log and the session's id too.
func (s fixture) dialWithSession(phase lanes.Phase) (link.Connection, *receiver, lanes.Log, uuid.UUID) {
	conn, hello, received := s.dial()
	state := link.State{Revision: 1, Session: s.session(phase, time.Hour)}
	s.send(conn, received, state)
	return conn, received, lanes.Log{ID: hello.LogID}, state.Session.ID
}

// numbers returns the numbers of the reports.
func numbers(reports []lanes.Report) []uint64 {
	seqs := make([]uint64, 0, len(reports))
	for _, r := range reports {
		seqs = append(seqs, r.Log.Seq)
	}
	return seqs
}

func inOrder(s fixture) {
	_, received, log, session := s.dialWithSession(lanes.Waiting)
	require.NoError(s, s.Controller.Enter())
	require.NoError(s, s.Controller.Help())
	require.NoError(s, s.Controller.HitCarrier())

	found := s.waitReports(received, 3)
	require.Len(s, found, 3)
	for i, kind := range []string{lanes.ReportEntered, lanes.ReportHelp, lanes.ReportCarrierHit} {
		assert.Equal(s, kind, found[i].Kind)
		assert.Equal(s, session, found[i].Session)
		assert.Equal(s, lanes.Log{ID: log.ID, Seq: uint64(i + 1)}, found[i].Log)
		assert.GreaterOrEqual(s, found[i].Age, time.Duration(0))
		assert.Less(s, found[i].Age, patience)
	}
	assert.Equal(s, 3, s.Controller.Unacked())
}

func untilAcked(s fixture) {
	conn, received, log, _ := s.dialWithSession(lanes.Running)
	for range 4 {
		require.NoError(s, s.Controller.Help())
	}
	s.waitReports(received, 4)
	log.Seq = 3
	conn.Ack(log)
	s.wait("the acked reports are removed", func() bool { return s.Controller.Unacked() == 1 })
	s.cut(received)
	require.NoError(s, s.Controller.HitCarrier(), "a report is stored while the link is down")

	_, _, received = s.dialAnd(s.running())
	assert.Equal(s, []uint64{4, 5}, numbers(s.waitReports(received, 2)))
	s.cut(received)

	conn, _, received = s.dialAnd(s.running())
	assert.Equal(s, []uint64{4, 5}, numbers(s.waitReports(received, 2)), "it was not acked")
	log.Seq = 5
	conn.Ack(log)
	s.wait("all reports are removed", func() bool { return s.Controller.Unacked() == 0 })
	s.cut(received)

	_, _, received = s.dialAnd(s.running())
	require.NoError(s, s.Controller.Help())
	assert.Equal(s, []uint64{6}, numbers(s.waitReports(received, 1)), "an acked report is not repeated")
}

func otherLog(s fixture) {
	conn, received, log, _ := s.dialWithSession(lanes.Running)
	require.NoError(s, s.Controller.Help())
	require.NoError(s, s.Controller.Help())
	s.waitReports(received, 2)
	conn.Ack(lanes.Log{ID: "another", Seq: 2})
	log.Seq = 1
	conn.Ack(log)
	s.wait("the first report is removed", func() bool { return s.Controller.Unacked() < 2 })
	assert.Equal(s, 1, s.Controller.Unacked())
}

func late(s fixture) {
	_, received, _, session := s.dialWithSession(lanes.Waiting)
	s.cut(received)
	before := s.Now()
	require.NoError(s, s.Controller.Enter())
	after := s.Now()
	for range 2 {
		s.elapse(20 * tick)
		dialled := s.Now()
		_, _, received = s.dialAnd(link.State{Revision: 1})
		entered := s.waitReports(received, 1)[0]
		assert.Equal(s, session, entered.Session)
		assert.GreaterOrEqual(s, entered.Age, dialled.Since(after)-tick)
		assert.LessOrEqual(s, entered.Age, s.Now().Since(before)+tick)
		s.cut(received)
	}
}

func logKept(s fixture) {
	_, received, log, _ := s.dialWithSession(lanes.Running)
	require.NoError(s, s.Controller.Help())
	s.waitReports(received, 1)
	s.Controller.PowerCut(false)

	conn, hello, received := s.dial()
	assert.Equal(s, log.ID, hello.LogID)
	s.send(conn, received, s.running())
	require.NoError(s, s.Controller.Help())
	assert.Equal(s, []uint64{1, 2}, numbers(s.waitReports(received, 2)))
}

func logLost(s fixture) {
	_, received, log, _ := s.dialWithSession(lanes.Running)
	require.NoError(s, s.Controller.Help())
	s.waitReports(received, 1)
	s.Controller.PowerCut(true)

	conn, hello, received := s.dial()
	assert.NotEqual(s, log.ID, hello.LogID)
	assert.Zero(s, s.Controller.Unacked())
	s.send(conn, received, s.running())
	require.NoError(s, s.Controller.Help())
	found := s.waitReports(received, 1)
	assert.Equal(s, []uint64{1}, numbers(found))
	assert.Equal(s, hello.LogID, found[0].Log.ID)
}

func purchase(s fixture) {
	_, received, _, session := s.dialWithSession(lanes.Running)
	s.cut(received)
	items := []lanes.Item{{ID: lanes.TimeItem, Qty: 30}, {ID: "9mm \u00e0 50", Qty: 2}}
	id := uuid.New()
	require.NoError(s, s.Controller.Buy(id, items...))
	s.elapse(20 * time.Millisecond)
	_, _, received = s.dialAnd(link.State{Revision: 1})
	report := s.waitReports(received, 1)[0]
	assert.Equal(s, lanes.ReportPurchase, report.Kind)
	assert.Equal(s, session, report.Session)
	assert.Equal(s, id, report.Purchase)
	assert.Equal(s, items, report.Items)
	assert.GreaterOrEqual(s, report.Age, 20*time.Millisecond)
}

func afterItsSession(s fixture) {
	conn, received, _, session := s.dialWithSession(lanes.Running)
	require.NoError(s, s.Controller.Buy(uuid.New(), lanes.Item{ID: lanes.TimeItem, Qty: 15}))
	s.waitReports(received, 1)
	next := link.State{Revision: 2, Session: s.session(lanes.Running, time.Hour)}
	s.send(conn, received, next)
	s.cut(received)

	next.Revision = 1
	_, _, received = s.dialAnd(next)
	require.NoError(s, s.Controller.Help())
	found := s.waitReports(received, 2)
	assert.Equal(s, session, found[0].Session)
	assert.Equal(s, next.Session.ID, found[1].Session)
}
