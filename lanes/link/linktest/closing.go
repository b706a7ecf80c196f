package linktest

import (
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

var closing = []Story{
	{"close leaves nothing behind", told(leavesNothing)},
	{"close may be called again, and after a failure", told(closeAgain)},
	{"a connection that is closed takes nothing more", told(closedTakesNothing)},
	{"once close has returned the receiver hears no more, whatever is under way", told(silence)},
	{"whoever takes the reports may send, ack and close meanwhile", told(oneTaker)},
}

func leavesNothing(s scene) {
	before := goleak.IgnoreCurrent()
	conn, _, heard := s.dial()
	state := s.running()
	s.send(conn, heard, state)
	require.NoError(s, s.Controller.Help())
	s.hears(heard, 1)
	s.cut(heard)
	conn.Close()

	conn, _, heard = s.dial()
	s.send(conn, heard, state)
	conn.Close()
	goleak.VerifyNone(s, before)
}

func closeAgain(s scene) {
	conn, _, heard := s.dial()
	conn.Close()
	heard.cover()
	conn.Close()
	s.Controller.Cut()

	conn, _, heard = s.dial()
	s.cut(heard)
	conn.Close()
	heard.cover()
	conn.Close()

	conn, _, heard = s.dial()
	s.send(conn, heard, s.running())
}

func closedTakesNothing(s scene) {
	conn, heard, log, _ := s.watched(lanes.Running)
	require.NoError(s, s.Controller.Help())
	s.hears(heard, 1)
	conn.Close()
	heard.cover()
	conn.Send(link.State{Revision: 2})
	log.Seq = 1
	conn.Ack(log)

	conn, _, heard = s.dial()
	assert.Equal(s, []uint64{1}, numbers(s.hears(heard, 1)))
	assert.True(s, s.Controller.Shown().Open)
	s.send(conn, heard, link.State{Revision: 1})
}

func silence(s scene) {
	const rounds, calls = 20, 10
	for range rounds {
		conn, hello, heard := s.dial()
		s.send(conn, heard, s.running())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range calls {
				assert.NoError(s, s.Controller.Help())
			}
			s.Controller.Cut()
		}()
		s.hears(heard, 1)
		conn.Ack(lanes.Log{ID: hello.LogID, Seq: heard.reported()[0].Log.Seq})
		conn.Close()
		heard.cover()
		<-done
	}
	_, _, heard := s.dial()
	s.hears(heard, s.Controller.Unacked())
}

// oneTaker is how a lane's actor uses a connection: one goroutine takes what comes, one after the other, and acts on
// it at once.
func oneTaker(s scene) {
	const taken = 50
	conn, heard, log, _ := s.watched(lanes.Running)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 4 * taken {
			assert.NoError(s, s.Controller.Help())
		}
	}()
	for seq := uint64(1); seq <= taken; seq++ {
		s.hears(heard, int(seq))
		log.Seq = seq
		conn.Ack(log)
		conn.Send(link.State{Revision: seq + 1, Session: s.session(lanes.Running, time.Hour)})
	}
	conn.Close()
	heard.cover()
	<-done
}
