package sim_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
)

// dialOnLoss dials a lane with that on_loss and starts a session of an hour.
func dialOnLoss(t *testing.T, hold bool) (*fixture, lanes.Session) {
	now := clock()
	f := &fixture{driver: sim.New(now), lane: link.Lane{ID: uuid.New(), HoldOnLoss: hold}, now: now}
	f.Controller = f.driver.Controller(f.lane.ID)
	f.connect(t)
	session := sold(time.Hour)
	f.send(session, lanes.Running, false)
	return f, session
}

func TestOnLoss(t *testing.T) {
	run := func(name string, hold bool, test func(*testing.T, *fixture, lanes.Session)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lane, session := dialOnLoss(t, hold)
				test(t, lane, session)
			})
		})
	}
	run("a link that is up is no loss, however quiet", true, func(t *testing.T, lane *fixture, _ lanes.Session) {
		<-time.After(30 * time.Minute)
		assert.True(t, lane.Shown().Open)
	})
	run("run_out lets a running session continue", false, func(t *testing.T, lane *fixture, _ lanes.Session) {
		lane.Cut(errors.New("cut by the test"))
		<-time.After(30 * time.Minute)
		assert.True(t, lane.Shown().Open)
		assert.Equal(t, 30*time.Minute, lane.Shown().Remaining)
	})
	run("hold locks after 15 s, until a gateway says otherwise", true,
		func(t *testing.T, lane *fixture, session lanes.Session) {
			lane.Cut(errors.New("cut by the test"))
			<-time.After(15*time.Second - time.Millisecond)
			assert.True(t, lane.Shown().Open)
			<-time.After(10 * time.Minute)
			assert.False(t, lane.Shown().Open)
			assert.True(t, lane.Shown().Hold)
			assert.Equal(t, time.Hour-15*time.Second, lane.Shown().Remaining, "the countdown stands still since then")

			conn, hello, err := lane.driver.Dial(t.Context(), lane.lane, ignoreAll{})
			require.NoError(t, err)
			defer conn.Close()
			assert.True(t, hello.Hold)
			assert.Equal(t, time.Hour-15*time.Second, hello.Left)
			assert.False(t, lane.Shown().Open)
			lane.conn, lane.revision = conn, 0
			lane.send(session, lanes.Running, false)
			assert.True(t, lane.Shown().Open)
		})
	run("a gateway that comes back in time is no loss", true, func(t *testing.T, lane *fixture, _ lanes.Session) {
		for range 5 {
			lane.conn.Close()
			<-time.After(14 * time.Second)
			lane.connect(t)
		}
		assert.True(t, lane.Shown().Open)
	})
	run("a power cut forgets what the hello said", true, func(t *testing.T, lane *fixture, _ lanes.Session) {
		lane.PowerCut(false)
		<-time.After(time.Hour)
		assert.False(t, lane.Shown().Hold)
	})
}

// Over a wire every state, ack and ping is a sign of life; an open connection is none.
func TestOnLossOverAWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane, session := dialOnLoss(t, true)
		conn, _, err := lane.driver.Accept(lane.lane, ignoreAll{})
		require.NoError(t, err)
		defer conn.Close()
		lane.conn, lane.revision = conn, 0
		lane.send(session, lanes.Running, false)
		for range 3 {
			<-time.After(14 * time.Second)
			conn.Heard()
			<-time.After(14 * time.Second)
			conn.Ack(lanes.Log{ID: "any", Seq: 1})
			<-time.After(14 * time.Second)
			lane.send(session, lanes.Running, false)
		}
		assert.True(t, lane.Shown().Open)
		<-time.After(15 * time.Second)
		assert.False(t, lane.Shown().Open)
		conn.Heard()
		assert.False(t, lane.Shown().Open, "a ping opens nothing")
	})
}
