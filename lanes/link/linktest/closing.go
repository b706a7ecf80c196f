package linktest

import (
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

var closing = []Test{
	{"close leaks nothing", with(leaksNothing)},
	{"close may be called again, and after a failure", with(closeAgain)},
	{"a closed connection accepts nothing", with(closedAcceptsNothing)},
	{"after close the receiver is not called, also during reports and failures", with(silence)},
	{"the goroutine that receives reports may send, ack and close", with(oneReceiver)},
}

func leaksNothing(s fixture) {
	before := goleak.IgnoreCurrent()
	conn, _, received := s.dial()
	state := s.running()
	s.send(conn, received, state)
	require.NoError(s, s.Controller.Help())
	s.waitReports(received, 1)
	s.cut(received)
	conn.Close()

	conn, _, received = s.dial()
	s.send(conn, received, state)
	conn.Close()
	goleak.VerifyNone(s, before)
}

func closeAgain(s fixture) {
	conn, _, received := s.dial()
	conn.Close()
	received.markClosed()
	conn.Close()
	s.Controller.Cut()

	conn, _, received = s.dialAnd(s.running())
	s.cut(received)
	conn.Close()
	received.markClosed()
	conn.Close()

	conn, _, received = s.dial()
	s.send(conn, received, s.running())
}

func closedAcceptsNothing(s fixture) {
	conn, received, log, _ := s.dialWithSession(lanes.Running)
	require.NoError(s, s.Controller.Help())
	s.waitReports(received, 1)
	conn.Close()
	received.markClosed()
	conn.Send(link.State{Revision: 2})
	log.Seq = 1
	conn.Ack(log)

	conn, _, received = s.dial()
	assert.True(s, s.Controller.Shown().Open)
	s.send(conn, received, link.State{Revision: 1})
	assert.Equal(s, []uint64{1}, numbers(s.waitReports(received, 1)))
}

func silence(s fixture) {
	const rounds, calls = 20, 10
	for range rounds {
		conn, hello, received := s.dial()
		s.send(conn, received, s.running())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range calls {
				assert.NoError(s, s.Controller.Help())
			}
			s.Controller.Cut()
		}()
		s.waitReports(received, 1)
		conn.Ack(lanes.Log{ID: hello.LogID, Seq: received.reported()[0].Log.Seq})
		conn.Close()
		received.markClosed()
		<-done
	}
	_, _, received := s.dialAnd(s.running())
	s.waitReports(received, s.Controller.Unacked())
}

// oneReceiver uses a connection as a lane's actor does: one goroutine receives the reports and reacts to each at once.
func oneReceiver(s fixture) {
	const count = 50
	conn, received, log, _ := s.dialWithSession(lanes.Running)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 4 * count {
			assert.NoError(s, s.Controller.Help())
		}
	}()
	for seq := uint64(1); seq <= count; seq++ {
		s.waitReports(received, int(seq))
		log.Seq = seq
		conn.Ack(log)
		conn.Send(link.State{Revision: seq + 1, Session: s.session(lanes.Running, time.Hour)})
	}
	conn.Close()
	received.markClosed()
	<-done
}
