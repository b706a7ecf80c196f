package linktest

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

var fireLine = []Test{
	{"after power-up it is locked until a state comes", with(poweredUp)},
	{"only a running session that is not held is open and counts", with(safetyTable)},
	{"at zero it locks by itself", with(countdown)},
	{"a session in its grace is locked, and opens with more minutes", with(grace)},
	{"with an open end it stays open at zero, and locks by itself at its bound", with(openEnd)},
	{"it says in its hello for how long it stays open beyond zero", with(openEndOverReconnect)},
	{"it runs out while the link is down", with(runOut)},
	{"a hold locks at once, and over a reconnect until a state says otherwise", with(holdOverReconnect)},
	{"after a power cut it is locked until a state comes", with(powerCut)},
}

// tick is the resolution of time on a wire: a countdown may end that much early.
const tick = time.Millisecond

func poweredUp(s fixture) {
	assert.False(s, s.Controller.Shown().Open)
	_, hello, _ := s.dial()
	assert.Equal(s, uuid.Nil, hello.Session)
	assert.Empty(s, hello.Phase)
	assert.Zero(s, hello.Left)
	assert.Empty(s, hello.Faults)
	assert.NotEmpty(s, hello.LogID)
	assert.Equal(s, Shown{}, s.Controller.Shown())
}

func safetyTable(s fixture) {
	conn, _, received := s.dial()
	for i, row := range []struct {
		about string
		phase lanes.Phase
		hold  bool
		open  bool
	}{
		{"running", lanes.Running, false, true},
		{"running and held", lanes.Running, true, false},
		{"waiting", lanes.Waiting, false, false},
		{"waiting and held", lanes.Waiting, true, false},
		{"paused", lanes.Paused, false, false},
		{"paused and held", lanes.Paused, true, false},
	} {
		s.send(conn, received, link.State{
			Revision: uint64(i + 1), Hold: row.hold, Session: s.session(row.phase, time.Hour),
		})
		before := s.Controller.Shown()
		assert.Equal(s, row.open, before.Open, row.about)
		assert.Equal(s, row.hold, before.Hold, row.about)
		assert.Equal(s, row.phase, before.Phase, row.about)
		s.elapse(3 * tick)
		after := s.Controller.Shown()
		assert.Equal(s, row.open, after.Remaining < before.Remaining, "%s: the countdown runs", row.about)
	}
}

func countdown(s fixture) {
	conn, _, received := s.dial()
	session := s.session(lanes.Running, time.Hour)
	s.send(conn, received, link.State{Revision: 1, Session: session})
	assert.True(s, s.Controller.Shown().Open)

	s.locksAtZero(s.almostOver(conn, received, *session))
	assert.Equal(s, session.ID, s.Controller.Shown().Session, "the session is the gateway's to end")
}

func grace(s fixture) {
	conn, _, received := s.dial()
	session := s.session(lanes.Running, time.Hour)
	s.send(conn, received, link.State{Revision: 1, Session: session})
	s.locksAtZero(s.almostOver(conn, received, *session))
	over := *session
	over.Phase, over.Left, over.Since = lanes.Paused, 0, s.Now()
	s.send(conn, received, link.State{Revision: 3, Session: &over})
	shown := s.Controller.Shown()
	assert.False(s, shown.Open)
	assert.Zero(s, shown.Remaining)
	assert.Equal(s, session.ID, shown.Session)
	longer := over
	longer.Phase, longer.Left, longer.Since = lanes.Running, time.Minute, s.Now()
	s.send(conn, received, link.State{Revision: 4, Session: &longer})
	assert.True(s, s.Controller.Shown().Open)
}

func openEnd(s fixture) {
	conn, hello, received := s.dial()
	assert.True(s, hello.OpenEnd)
	session := s.session(lanes.Running, time.Hour)
	session.OpenEnd = session.Sold + 200*time.Millisecond
	session.Left = 100 * time.Millisecond
	s.send(conn, received, link.State{Revision: 1, Session: session})
	s.wait("the remaining time is used up", func() bool { return s.Controller.Shown().Remaining == 0 })
	shown := s.Controller.Shown()
	assert.True(s, shown.Open || !s.Now().Before(session.Since.Add(300*time.Millisecond-tick)),
		"closed before its bound")
	assert.LessOrEqual(s, shown.Beyond, 200*time.Millisecond)
	s.locksAtZero(session.Since.Add(300 * time.Millisecond))
	assert.Zero(s, s.Controller.Shown().Beyond)

	held := *session
	held.Left, held.Since = -time.Minute, s.Now()
	held.OpenEnd = held.Sold + time.Hour
	s.send(conn, received, link.State{Revision: 2, Session: &held, Hold: true})
	assert.False(s, s.Controller.Shown().Open, "a hold locks beyond zero too")
	s.send(conn, received, link.State{Revision: 3, Session: &held})
	assert.True(s, s.Controller.Shown().Open)
	paused := held
	paused.Phase = lanes.Paused
	s.send(conn, received, link.State{Revision: 4, Session: &paused})
	assert.False(s, s.Controller.Shown().Open)
}

func openEndOverReconnect(s fixture) {
	conn, _, received := s.dial()
	session := s.session(lanes.Running, -time.Minute)
	session.OpenEnd = session.Sold + time.Hour
	s.send(conn, received, link.State{Revision: 1, Session: session})
	s.cut(received)
	assert.True(s, s.Controller.Shown().Open)

	_, hello, _ := s.dial()
	assert.Equal(s, session.ID, hello.Session)
	assert.Zero(s, hello.Left)
	assert.LessOrEqual(s, hello.Beyond, 59*time.Minute)
	assert.Greater(s, hello.Beyond, 59*time.Minute-patience)
}

func runOut(s fixture) {
	conn, _, received := s.dial()
	session := s.session(lanes.Running, time.Hour)
	s.send(conn, received, link.State{Revision: 1, Session: session})
	s.cut(received)
	assert.True(s, s.Controller.Shown().Open)

	conn, _, received = s.dial()
	deadline := s.almostOver(conn, received, *session)
	s.cut(received)
	s.locksAtZero(deadline)

	_, hello, _ := s.dial()
	assert.Equal(s, session.ID, hello.Session)
	assert.Zero(s, hello.Left)
}

// almostOver leaves a running session 200 ms, and returns its deadline.
func (s fixture) almostOver(conn link.Connection, received *receiver, session lanes.Session) lanes.Instant {
	session.Left, session.Since = 200*time.Millisecond, s.Now()
	s.send(conn, received, link.State{Revision: 2, Session: &session})
	return session.Since.Add(session.Left)
}

func (s fixture) locksAtZero(deadline lanes.Instant) {
	s.wait("it locks by itself", func() bool { return !s.Controller.Shown().Open })
	assert.False(s, s.Now().Before(deadline.Add(-tick)), "locked before the time was used up")
	assert.Zero(s, s.Controller.Shown().Remaining)
}

func holdOverReconnect(s fixture) {
	conn, _, received := s.dial()
	state := s.running()
	s.send(conn, received, state)
	state.Revision, state.Hold = 2, true
	s.send(conn, received, state)
	assert.False(s, s.Controller.Shown().Open)

	s.cut(received)
	assert.False(s, s.Controller.Shown().Open)
	conn, hello, received := s.dial()
	assert.True(s, hello.Hold)
	assert.Equal(s, state.Session.ID, hello.Session)
	assert.Equal(s, lanes.Running, hello.Phase, "as the gateway said; the hold is beside it")
	assert.False(s, s.Controller.Shown().Open)

	state.Revision, state.Hold = 1, false
	s.send(conn, received, state)
	assert.True(s, s.Controller.Shown().Open)
}

func powerCut(s fixture) {
	conn, _, received := s.dial()
	state := s.running()
	s.send(conn, received, state)
	s.Controller.PowerCut(false)
	s.wait("the receiver hears that the connection failed", received.isDown)
	assert.False(s, s.Controller.Shown().Open)

	conn, hello, received := s.dial()
	assert.Equal(s, uuid.Nil, hello.Session)
	assert.False(s, s.Controller.Shown().Open)
	s.send(conn, received, state)
	assert.True(s, s.Controller.Shown().Open)
}
