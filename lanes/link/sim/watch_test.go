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

// guarded is a lane with a running session of an hour, whose controller was told what to do without the gateway.
func guarded(t *testing.T, hold bool) (*rig, lanes.Session) {
	now := clock()
	r := &rig{driver: sim.New(now), lane: link.Lane{ID: uuid.New(), HoldOnLoss: hold}, now: now}
	r.Controller = r.driver.Controller(r.lane.ID)
	r.connect(t)
	session := sold(time.Hour)
	r.want(session, lanes.Running, false)
	return r, session
}

func TestOnLoss(t *testing.T) {
	tell := func(name string, hold bool, story func(*testing.T, *rig, lanes.Session)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lane, session := guarded(t, hold)
				story(t, lane, session)
			})
		})
	}
	tell("a link that is up is no loss, however quiet", true, func(t *testing.T, lane *rig, _ lanes.Session) {
		<-time.After(30 * time.Minute)
		assert.True(t, lane.Shown().Open)
	})
	tell("run_out lets what runs go on", false, func(t *testing.T, lane *rig, _ lanes.Session) {
		lane.Cut(errors.New("cut by the test"))
		<-time.After(30 * time.Minute)
		assert.True(t, lane.Shown().Open)
		assert.Equal(t, 30*time.Minute, lane.Shown().Remaining)
	})
	tell("hold locks after 15 s, until a gateway says otherwise", true, func(t *testing.T, lane *rig, session lanes.Session) {
		lane.Cut(errors.New("cut by the test"))
		<-time.After(15*time.Second - time.Millisecond)
		assert.True(t, lane.Shown().Open)
		<-time.After(10 * time.Minute)
		assert.False(t, lane.Shown().Open)
		assert.True(t, lane.Shown().Hold)
		assert.Equal(t, time.Hour-15*time.Second, lane.Shown().Remaining, "the countdown stands still since then")

		conn, hello, err := lane.driver.Dial(t.Context(), lane.lane, deaf{})
		require.NoError(t, err)
		defer conn.Close()
		assert.True(t, hello.Hold)
		assert.Equal(t, time.Hour-15*time.Second, hello.Left)
		assert.False(t, lane.Shown().Open)
		lane.conn, lane.revision = conn, 0
		lane.want(session, lanes.Running, false)
		assert.True(t, lane.Shown().Open)
	})
	tell("a gateway that comes back in time is no loss", true, func(t *testing.T, lane *rig, _ lanes.Session) {
		for range 5 {
			lane.conn.Close()
			<-time.After(14 * time.Second)
			lane.connect(t)
		}
		assert.True(t, lane.Shown().Open)
	})
	tell("a power cut forgets what the hello said", true, func(t *testing.T, lane *rig, _ lanes.Session) {
		lane.PowerCut(false)
		<-time.After(time.Hour)
		assert.False(t, lane.Shown().Hold)
	})
}

// Over a real wire every state, ack and ping is a sign of life, and an open connection is none.
func TestOnLossOverAWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane, session := guarded(t, true)
		line, _, err := lane.driver.Answer(lane.lane, deaf{})
		require.NoError(t, err)
		defer line.Close()
		lane.conn, lane.revision = line, 0
		lane.want(session, lanes.Running, false)
		for range 3 {
			<-time.After(14 * time.Second)
			line.Heard()
			<-time.After(14 * time.Second)
			line.Ack(lanes.Log{ID: "any", Seq: 1})
			<-time.After(14 * time.Second)
			lane.want(session, lanes.Running, false)
		}
		assert.True(t, lane.Shown().Open)
		<-time.After(15 * time.Second)
		assert.False(t, lane.Shown().Open)
		line.Heard()
		assert.False(t, lane.Shown().Open, "a ping opens nothing")
	})
}
