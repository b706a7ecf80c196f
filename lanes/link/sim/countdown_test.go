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
	"rangegate/lanes/link/sim"
)

func TestCountdown(t *testing.T) {
	sold := lanes.Session{ID: uuid.New(), Left: 30 * time.Minute}
	tell := func(name string, story func(*testing.T, *fixture)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := clock()
				story(t, newFixture(t, sim.New(now), now))
			})
		})
	}

	tell("is open to the last millisecond and locked at zero", func(t *testing.T, lane *fixture) {
		lane.send(sold, lanes.Running, false)
		<-time.After(30*time.Minute - time.Millisecond)
		assert.True(t, lane.Shown().Open)
		assert.Equal(t, time.Millisecond, lane.Shown().Remaining)
		<-time.After(time.Millisecond)
		assert.False(t, lane.Shown().Open)
		<-time.After(time.Hour)
		assert.Zero(t, lane.Shown().Remaining)
	})

	tell("goes on without the link", func(t *testing.T, lane *fixture) {
		lane.send(sold, lanes.Running, false)
		lane.Cut(errors.New("cut by the test"))
		<-time.After(10 * time.Minute)
		assert.Equal(t, 20*time.Minute, lane.Shown().Remaining)
		assert.True(t, lane.Shown().Open)
		<-time.After(20 * time.Minute)
		assert.False(t, lane.Shown().Open)
	})

	tell("stands still while waiting, paused or held", func(t *testing.T, lane *fixture) {
		for _, phase := range []lanes.Phase{lanes.Waiting, lanes.Paused, lanes.Running} {
			lane.send(sold, phase, true)
			<-time.After(time.Hour)
			assert.Equal(t, 30*time.Minute, lane.Shown().Remaining, phase)
			assert.False(t, lane.Shown().Open, phase)
		}
		lane.send(sold, lanes.Running, false)
		<-time.After(time.Minute)
		assert.Equal(t, 29*time.Minute, lane.Shown().Remaining)
	})

	tell("added time opens a line that had locked by itself", func(t *testing.T, lane *fixture) {
		lane.send(sold, lanes.Running, false)
		<-time.After(31 * time.Minute)
		assert.False(t, lane.Shown().Open)
		lane.send(sold, lanes.Running, false)
		assert.True(t, lane.Shown().Open)
	})
}

func TestReportsNeedASession(t *testing.T) {
	now := clock()
	lane := newFixture(t, sim.New(now), now)
	for _, report := range []func() error{lane.Enter, lane.Help, lane.HitCarrier} {
		require.Error(t, report(), "no session is on the lane")
	}
	lane.send(lanes.Session{ID: uuid.New(), Left: time.Minute}, lanes.Running, false)
	require.Error(t, lane.Enter(), "the session has begun")
	assert.Zero(t, lane.Unacked())
	require.NoError(t, lane.Help())
	assert.Equal(t, 1, lane.Unacked())
}
