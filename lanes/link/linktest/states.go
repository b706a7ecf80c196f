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

var states = []Story{
	{"the wanted state is applied", told(wantedState)},
	{"of a burst of states the last is in force", told(burst)},
	{"a state older than the one in force changes nothing", told(olderState)},
	{"a controller that stalled applies the newest state when it goes on", told(stalled)},
	{"what became of the session's latest purchase is shown", told(purchaseShown)},
	{"the first state of a new connection is taken, though its revision is lower", told(firstState)},
}

func wantedState(s scene) {
	conn, _, heard := s.dial()
	state := s.running()
	s.send(conn, heard, state)

	shown := s.Controller.Shown()
	assert.True(s, shown.Open)
	assert.Equal(s, state.Session.ID, shown.Session)
	assert.Equal(s, lanes.Running, shown.Phase)
	assert.Equal(s, state.Revision, shown.Revision)
	assert.LessOrEqual(s, shown.Remaining, time.Hour)
	assert.Greater(s, shown.Remaining, time.Hour-patience)

	s.send(conn, heard, link.State{Revision: 2})
	shown = s.Controller.Shown()
	assert.False(s, shown.Open)
	assert.Equal(s, uuid.Nil, shown.Session)
}

func burst(s scene) {
	const last = 500
	conn, _, heard := s.dial()
	session := s.session(lanes.Running, time.Hour)
	for revision := uint64(1); revision <= last; revision++ {
		conn.Send(link.State{Revision: revision, Session: session, Hold: revision%2 == 1})
	}
	s.wait("the last state is applied", func() bool { return heard.hasApplied(last) })

	assert.True(s, s.Controller.Shown().Open)
	revisions := heard.revisions()
	assert.True(s, slices.IsSorted(revisions), "revisions are applied in order: %v", revisions)
	assert.Len(s, slices.Compact(revisions), len(heard.revisions()), "none is applied twice")
}

func olderState(s scene) {
	conn, _, heard := s.dial()
	session := s.session(lanes.Running, time.Hour)
	s.send(conn, heard, link.State{Revision: 5, Session: session, Hold: true})
	conn.Send(link.State{Revision: 4, Session: session})
	require.NoError(s, s.Controller.Help())
	s.hears(heard, 1)
	assert.False(s, s.Controller.Shown().Open, "the hold stands")
	s.send(conn, heard, link.State{Revision: 6, Session: session})

	assert.Equal(s, []uint64{5, 6}, heard.revisions())
}

func stalled(s scene) {
	conn, _, heard := s.dial()
	state := s.running()
	s.send(conn, heard, state)

	s.Controller.Stall(true)
	conn.Send(link.State{Revision: 2, Session: state.Session, Hold: true})
	conn.Send(link.State{Revision: 3})
	require.NoError(s, s.Controller.Help())
	s.hears(heard, 1)
	assert.Equal(s, []uint64{1}, heard.revisions())
	assert.True(s, s.Controller.Shown().Open)

	s.Controller.Stall(false)
	s.wait("the newest state is applied", func() bool { return heard.hasApplied(3) })
	assert.Equal(s, uuid.Nil, s.Controller.Shown().Session)
}

func firstState(s scene) {
	conn, _, heard := s.dial()
	state := s.running()
	state.Revision = 900
	s.send(conn, heard, state)
	s.cut(heard)

	conn, hello, heard := s.dial()
	assert.Equal(s, state.Session.ID, hello.Session)
	assert.Equal(s, lanes.Running, hello.Phase)
	assert.False(s, hello.Hold)
	assert.LessOrEqual(s, hello.Left, time.Hour)
	assert.Greater(s, hello.Left, time.Hour-patience)
	assert.True(s, s.Controller.Shown().Open, "what runs goes on until a state says otherwise")

	s.send(conn, heard, link.State{Revision: 1})
	assert.False(s, s.Controller.Shown().Open)
	assert.Equal(s, []uint64{1}, heard.revisions())
}

func purchaseShown(s scene) {
	conn, _, heard := s.dial()
	state := s.running()
	state.Purchasing = true
	s.send(conn, heard, state)
	assert.True(s, s.Controller.Shown().Purchasing)
	assert.Nil(s, s.Controller.Shown().Purchase)

	for i, latest := range []lanes.Purchase{
		{ID: uuid.New(), Phase: lanes.Pending},
		{ID: uuid.New(), Phase: lanes.Declined, UserMessage: "Your card was declined."},
	} {
		session := *state.Session
		session.Purchase = &latest
		s.send(conn, heard, link.State{Revision: uint64(i + 2), Session: &session, Purchasing: true})
		shown := s.Controller.Shown().Purchase
		require.NotNil(s, shown)
		assert.Equal(s, latest, lanes.Purchase{ID: shown.ID, Phase: shown.Phase, UserMessage: shown.UserMessage})
	}
}
