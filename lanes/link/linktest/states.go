package linktest

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

var states = []Test{
	{"the wanted state is applied", with(wantedState)},
	{"after a burst of states the last one is in force", with(burst)},
	{"a state older than the one in force is ignored", with(olderState)},
	{"a controller that stalled applies the newest state afterwards", with(stalled)},
	{"the controller warns by itself", with(warnsByItself)},
	{"a session begins by itself at its start", with(beginsByItself)},
	{"no session begins by itself under a hold", with(startUnderHold)},
	{"no session begins by itself without the gateway", with(startWithoutGateway)},
	{"the result of the session's latest purchase is shown", with(purchaseShown)},
	{"the first state of a new connection is applied, although its revision is lower", with(firstState)},
}

func wantedState(s fixture) {
	conn, _, received := s.dial()
	state := s.running()
	s.send(conn, received, state)

	shown := s.Controller.Shown()
	assert.True(s, shown.Open)
	assert.Equal(s, state.Session.ID, shown.Session)
	assert.Equal(s, lanes.Running, shown.Phase)
	assert.Equal(s, state.Revision, shown.Revision)
	assert.LessOrEqual(s, shown.Remaining, time.Hour)
	assert.Greater(s, shown.Remaining, time.Hour-patience)

	s.send(conn, received, link.State{Revision: 2})
	shown = s.Controller.Shown()
	assert.False(s, shown.Open)
	assert.Equal(s, uuid.Nil, shown.Session)
}

func burst(s fixture) {
	const last = 500
	conn, _, received := s.dial()
	session := s.session(lanes.Running, time.Hour)
	for revision := uint64(1); revision <= last; revision++ {
		conn.Send(link.State{Revision: revision, Session: session, Hold: revision%2 == 1})
	}
	s.wait("the last state is applied", func() bool { return received.hasApplied(last) })

	assert.True(s, s.Controller.Shown().Open)
	revisions := received.revisions()
	assert.True(s, slices.IsSorted(revisions), "revisions are applied in order: %v", revisions)
	assert.Len(s, slices.Compact(revisions), len(received.revisions()), "none is applied twice")
}

func olderState(s fixture) {
	conn, _, received := s.dial()
	session := s.session(lanes.Running, time.Hour)
	s.send(conn, received, link.State{Revision: 5, Session: session, Hold: true})
	conn.Send(link.State{Revision: 4, Session: session})
	require.NoError(s, s.Controller.Help())
	s.waitReports(received, 1)
	assert.False(s, s.Controller.Shown().Open, "the hold stands")
	s.send(conn, received, link.State{Revision: 6, Session: session})

	assert.Equal(s, []uint64{5, 6}, received.revisions())
}

func stalled(s fixture) {
	conn, _, received := s.dial()
	state := s.running()
	s.send(conn, received, state)

	s.Controller.Stall(true)
	conn.Send(link.State{Revision: 2, Session: state.Session, Hold: true})
	conn.Send(link.State{Revision: 3})
	require.NoError(s, s.Controller.Help())
	s.waitReports(received, 1)
	assert.Equal(s, []uint64{1}, received.revisions())
	assert.True(s, s.Controller.Shown().Open)

	s.Controller.Stall(false)
	s.wait("the newest state is applied", func() bool { return received.hasApplied(3) })
	assert.Equal(s, uuid.Nil, s.Controller.Shown().Session)
}

func firstState(s fixture) {
	conn, _, received := s.dial()
	state := s.running()
	state.Revision = 900
	s.send(conn, received, state)
	s.cut(received)

	conn, hello, received := s.dial()
	assert.Equal(s, state.Session.ID, hello.Session)
	assert.Equal(s, lanes.Running, hello.Phase)
	assert.False(s, hello.Hold)
	assert.LessOrEqual(s, hello.Left, time.Hour)
	assert.Greater(s, hello.Left, time.Hour-patience)
	assert.True(s, s.Controller.Shown().Open, "a running session continues until a state changes it")

	s.send(conn, received, link.State{Revision: 1})
	assert.False(s, s.Controller.Shown().Open)
	assert.Equal(s, []uint64{1}, received.revisions())
}

// startsIn returns a first state with a session that waits for its start.
func (s fixture) startsIn(ahead time.Duration) link.State {
	session := s.session(lanes.Waiting, time.Hour)
	session.Start = &lanes.Start{ID: uuid.New(), At: session.Since.Add(ahead)}
	return link.State{Revision: 1, Session: session}
}

func beginsByItself(s fixture) {
	conn, _, received := s.dial()
	state := s.startsIn(time.Hour)
	s.send(conn, received, state)
	assert.Equal(s, lanes.Waiting, s.Controller.Shown().Phase)
	state = s.startsIn(300 * time.Millisecond)
	state.Revision = 2
	s.send(conn, received, state)
	s.wait("the session begins", func() bool { return s.Controller.Shown().Open })
	assert.False(s, s.Now().Before(state.Session.Start.At), "not before its start")
	shown := s.Controller.Shown()
	assert.Equal(s, lanes.Running, shown.Phase)
	assert.InDelta(s, state.Session.Start.At.Add(time.Hour).Since(s.Now()), shown.Remaining, float64(patience),
		"its time runs from the start on")
	assert.Empty(s, received.reported(), "the gateway knows by itself")

	s.send(conn, received, link.State{Revision: 3, Session: s.session(lanes.Waiting, time.Hour)})
	assert.False(s, s.Controller.Shown().Open, "the newest state counts")
}

func startUnderHold(s fixture) {
	conn, _, received := s.dial()
	state := s.startsIn(200 * time.Millisecond)
	state.Hold = true
	s.send(conn, received, state)
	s.elapse(400 * time.Millisecond)
	assert.False(s, s.Controller.Shown().Open)
	assert.Equal(s, lanes.Waiting, s.Controller.Shown().Phase)
}

func startWithoutGateway(s fixture) {
	conn, _, received := s.dial()
	s.send(conn, received, s.startsIn(time.Second))
	s.cut(received)
	s.elapse(1200 * time.Millisecond)
	assert.False(s, s.Controller.Shown().Open, "nobody could hold it")
}

func warnsByItself(s fixture) {
	conn, _, received := s.dial()
	state := s.running() // an hour is left
	state.WarnAt = []time.Duration{5 * time.Minute, 30 * time.Minute}
	s.send(conn, received, state)
	assert.False(s, s.Controller.Shown().Warns)
	state.Revision, state.Session = 2, s.session(lanes.Running, 29*time.Minute)
	s.send(conn, received, state)
	assert.True(s, s.Controller.Shown().Warns)
	s.cut(received)
	assert.True(s, s.Controller.Shown().Warns, "without its gateway too")

	conn, _, received = s.dial()
	s.send(conn, received, link.State{
		Revision: 1, Session: s.session(lanes.Paused, 29*time.Minute),
		WarnAt: state.WarnAt,
	})
	assert.False(s, s.Controller.Shown().Warns, "paused")
	s.send(conn, received, link.State{Revision: 2, Session: s.session(lanes.Running, time.Minute)})
	assert.False(s, s.Controller.Shown().Warns, "nobody is warned")
}

func purchaseShown(s fixture) {
	conn, _, received := s.dial()
	state := s.running()
	state.Purchasing = true
	s.send(conn, received, state)
	assert.True(s, s.Controller.Shown().Purchasing)
	assert.Nil(s, s.Controller.Shown().Purchase)

	for i, latest := range []lanes.Purchase{
		{ID: uuid.New(), Phase: lanes.Pending},
		{ID: uuid.New(), Phase: lanes.Declined, UserMessage: "Your card was declined."},
	} {
		session := *state.Session
		session.Purchase = &latest
		s.send(conn, received, link.State{Revision: uint64(i + 2), Session: &session, Purchasing: true})
		shown := s.Controller.Shown().Purchase
		require.NotNil(s, shown)
		assert.Equal(s, latest, lanes.Purchase{ID: shown.ID, Phase: shown.Phase, UserMessage: shown.UserMessage})
	}
}
