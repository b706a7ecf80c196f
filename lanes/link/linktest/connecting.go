package linktest

import (
	"context"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

var connecting = []Test{
	{"a connection that fails is down once, and makes no call afterwards", with(downOnce)},
	{"a refused dial is an error, and the next one may succeed", with(refused)},
	{"a dial whose context has ended fails at once", with(endedContext)},
	{"a newer connection replaces the older, which is down once", with(replaced)},
	{"a gateway of an older epoch is refused until the next power-up", with(olderEpoch)},
	{"a controller of another lane is faulty", with(anotherLane)},
}

// dialFails dials the lane and requires an error within a second.
func (s fixture) dialFails(ctx context.Context, lane link.Lane) error {
	s.Helper()
	began := s.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, _, err := s.Driver.Dial(ctx, lane, newReceiver(s.T))
	require.Error(s, err)
	assert.Nil(s, conn)
	assert.Less(s, s.Now().Since(began), time.Second)
	return err
}

func downOnce(s fixture) {
	conn, _, old := s.dial()
	s.send(conn, old, s.running())
	s.cut(old)
	s.Controller.Cut()
	conn.Send(link.State{Revision: 2})
	conn.Ack(lanes.Log{ID: "any", Seq: 1})

	// When the next connection works, the old one has made all its calls.
	conn, _, received := s.dial()
	assert.True(s, s.Controller.Shown().Open, "what is sent into a failed connection is lost")
	s.send(conn, received, s.running())
	require.NoError(s, s.Controller.Help())
	s.waitReports(received, 1)
}

func refused(s fixture) {
	conn, _, received := s.dial()
	s.Controller.Refuse(true)
	_ = s.dialFails(context.Background(), s.Lane)
	s.send(conn, received, s.running())
	s.cut(received)
	_ = s.dialFails(context.Background(), s.Lane)
	s.Controller.Refuse(false)
	s.dial()
}

func endedContext(s fixture) {
	conn, _, received := s.dial()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.NotErrorIs(s, s.dialFails(ctx, s.Lane), link.ErrFaulty)
	s.send(conn, received, s.running())
	assert.False(s, received.isDown(), "a dial that failed replaces nothing")
}

func replaced(s fixture) {
	older, _, old := s.dial()
	state := s.running()
	s.send(older, old, state)

	newer, _, received := s.dialAnd(state)
	s.wait("the older connection is down", old.isDown)
	older.Send(link.State{Revision: 2})
	state.Revision = 3
	s.send(newer, received, state)
	older.Close()

	require.NoError(s, s.Controller.Help())
	s.waitReports(received, 1)
	assert.Empty(s, old.reported())
	assert.True(s, s.Controller.Shown().Open)
	assert.False(s, received.isDown())
}

func olderEpoch(s fixture) {
	younger, older := s.Lane, s.Lane
	younger.Epoch = s.Lane.Epoch + 1
	s.Lane = younger
	conn, _, received := s.dialAnd(s.running())
	assert.ErrorIs(s, s.dialFails(context.Background(), older), link.ErrFaulty)
	s.send(conn, received, link.State{Revision: 2})
	assert.False(s, received.isDown(), "a dial that failed replaces nothing")

	s.Controller.PowerCut(false)
	s.Lane = older
	s.dial()
}

func anotherLane(s fixture) {
	conn, _, received := s.dial()
	s.Controller.Pose(true)
	assert.ErrorIs(s, s.dialFails(context.Background(), s.Lane), link.ErrFaulty)
	s.send(conn, received, s.running())
	assert.False(s, received.isDown(), "a dial that failed replaces nothing")

	s.Controller.Pose(false)
	_, hello, _ := s.dial()
	assert.Equal(s, lanes.Running, hello.Phase)
}
