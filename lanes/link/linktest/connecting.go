package linktest

import (
	"context"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

var connecting = []Story{
	{"a connection that fails is down once, and silent after", told(downOnce)},
	{"a refused dial is an error, and the next one may succeed", told(refused)},
	{"a dial whose context has ended fails at once", told(endedContext)},
	{"a newer connection replaces the older, which is down once", told(replaced)},
	{"a gateway of an older epoch is refused until the next power-up", told(olderEpoch)},
	{"a controller of another lane is faulty", told(anotherLane)},
}

// fails dials the lane and expects an error, at once.
func (s scene) fails(ctx context.Context, lane link.Lane) error {
	s.Helper()
	began := s.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, _, err := s.Driver.Dial(ctx, lane, newEar(s.T))
	require.Error(s, err)
	assert.Nil(s, conn)
	assert.Less(s, s.Now().Since(began), time.Second)
	return err
}

func downOnce(s scene) {
	conn, _, old := s.dial()
	s.send(conn, old, s.running())
	s.cut(old)
	s.Controller.Cut()
	conn.Send(link.State{Revision: 2})
	conn.Ack(lanes.Log{ID: "any", Seq: 1})

	// Once the next connection works, all that the old one had to say has been said.
	conn, _, heard := s.dial()
	require.NoError(s, s.Controller.Help())
	s.hears(heard, 1)
	assert.True(s, s.Controller.Shown().Open, "what is sent into a failed connection is lost")
	s.send(conn, heard, link.State{Revision: 1})
}

func refused(s scene) {
	conn, _, heard := s.dial()
	s.Controller.Refuse(true)
	_ = s.fails(context.Background(), s.Lane)
	s.send(conn, heard, s.running())
	s.cut(heard)
	_ = s.fails(context.Background(), s.Lane)
	s.Controller.Refuse(false)
	s.dial()
}

func endedContext(s scene) {
	conn, _, heard := s.dial()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.NotErrorIs(s, s.fails(ctx, s.Lane), link.ErrFaulty)
	s.send(conn, heard, s.running())
	assert.False(s, heard.isDown(), "a dial that failed replaces nothing")
}

func replaced(s scene) {
	older, _, old := s.dial()
	state := s.running()
	s.send(older, old, state)

	newer, _, heard := s.dial()
	s.wait("the older connection is down", old.isDown)
	older.Send(link.State{Revision: 2})
	state.Revision = 3
	s.send(newer, heard, state)
	older.Close()

	require.NoError(s, s.Controller.Help())
	s.hears(heard, 1)
	assert.Empty(s, old.reported())
	assert.True(s, s.Controller.Shown().Open)
	assert.False(s, heard.isDown())
}

func olderEpoch(s scene) {
	younger, older := s.Lane, s.Lane
	younger.Epoch = s.Lane.Epoch + 1
	s.Lane = younger
	conn, _, heard := s.dial()
	assert.ErrorIs(s, s.fails(context.Background(), older), link.ErrFaulty)
	s.send(conn, heard, s.running())
	assert.False(s, heard.isDown(), "a dial that failed replaces nothing")

	s.Controller.PowerCut(false)
	s.Lane = older
	s.dial()
}

func anotherLane(s scene) {
	conn, _, heard := s.dial()
	s.Controller.Pose(true)
	assert.ErrorIs(s, s.fails(context.Background(), s.Lane), link.ErrFaulty)
	s.send(conn, heard, s.running())
	assert.False(s, heard.isDown(), "a dial that failed replaces nothing")

	s.Controller.Pose(false)
	_, hello, _ := s.dial()
	assert.Equal(s, lanes.Running, hello.Phase)
}
