package lanesim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// After 15 s of silence the controller has lost its gateway, although the connection is open.
func TestAControllerThatLosesItsGateway(t *testing.T) {
	for _, hold := range []bool{false, true} {
		r := newFixture(t)
		r.lane.HoldOnLoss = hold
		_, _, received := r.startSession()
		r.HalfOpen(true)
		r.ahead.Add(int64(14 * time.Second))
		assert.True(t, r.Shown().Open)
		r.ahead.Add(int64(2 * time.Second))
		assert.Equal(t, !hold, r.Shown().Open, "on_loss of its hello")
		assert.Equal(t, hold, r.Shown().Hold)
		left := r.Shown().Remaining
		r.ahead.Add(int64(time.Minute))
		assert.Equal(t, !hold, r.Shown().Remaining < left, "a hold stops the countdown")
		r.Drop()
		_ = receive(t, received.down)
		r.HalfOpen(false)

		conn, hello, received := r.dial()
		assert.Equal(t, hold, hello.Hold)
		assert.Equal(t, lanes.Running, hello.Phase)
		conn.Send(link.State{Revision: 1, Session: r.session()})
		receive(t, received.applied)
		assert.True(t, r.Shown().Open, "the gateway decides")
	}
}

func TestLostAcks(t *testing.T) {
	r := newFixture(t)
	conn, hello, received := r.startSession()
	r.LoseAcks(true)
	require.NoError(t, r.Help())
	report := receive(t, received.reports)
	conn.Ack(report.Log)
	conn.Send(link.State{Revision: 2, Session: r.session()})
	receive(t, received.applied)
	assert.Equal(t, 1, r.Unacked())
	r.LoseAcks(false)
	conn.Ack(lanes.Log{ID: hello.LogID, Seq: 1})
	require.Eventually(t, func() bool { return r.Unacked() == 0 }, timeout, time.Millisecond)
}

func TestDuplicateAndReorderedReports(t *testing.T) {
	r := newFixture(t)
	_, _, received := r.startSession()
	numbers := func(count int) (all []uint64) {
		for range count {
			all = append(all, receive(t, received.reports).Log.Seq)
		}
		return all
	}
	r.Duplicate(true)
	require.NoError(t, r.Help())
	assert.Equal(t, []uint64{1, 1}, numbers(2))
	r.Duplicate(false)
	r.Reorder(true)
	require.NoError(t, r.Help())
	require.NoError(t, r.Help())
	assert.Equal(t, []uint64{3, 2}, numbers(2))
	r.Reorder(false)
	require.NoError(t, r.Help())
	assert.Equal(t, []uint64{4}, numbers(1))
}

func TestPowerCuts(t *testing.T) {
	r := newFixture(t)
	_, first, received := r.startSession()
	require.NoError(t, r.Help())
	receive(t, received.reports)
	r.PowerCut(false)
	_ = receive(t, received.down)
	assert.False(t, r.Shown().Open)
	_, second, received := r.startSession()
	assert.Equal(t, first.LogID, second.LogID)
	assert.Equal(t, uint64(1), receive(t, received.reports).Log.Seq)
	r.PowerCut(true)
	_ = receive(t, received.down)
	_, third, _ := r.startSession()
	assert.NotEqual(t, first.LogID, third.LogID)
	assert.Zero(t, r.Unacked())
}

func TestAStoppedClock(t *testing.T) {
	r := newFixture(t)
	_, _, received := r.startSession()
	r.StopClock(true)
	before := r.Shown().Remaining
	r.ahead.Add(int64(10 * time.Minute))
	assert.Equal(t, before, r.Shown().Remaining)
	assert.True(t, r.Shown().Open)
	require.NoError(t, r.Help())
	assert.Zero(t, receive(t, received.reports).Age)
	r.StopClock(false)
	r.ahead.Add(int64(time.Minute))
	assert.Greater(t, r.Shown().Remaining, before-2*time.Minute, "it goes on from where it stopped")
	assert.Less(t, r.Shown().Remaining, before)
}

func TestASlowController(t *testing.T) {
	r := newFixture(t)
	r.Slow(true)
	conn, _, received := r.startSession()
	for revision := uint64(2); revision <= 50; revision++ {
		conn.Send(link.State{Revision: revision, Session: r.session()})
	}
	r.Slow(false)
	for receive(t, received.applied) != 50 {
	}
	assert.True(t, r.Shown().Open)
}

func TestAnOlderGatewayIsRefused(t *testing.T) {
	r := newFixture(t)
	r.lane.Epoch = 5
	_, _, received := r.startSession()
	r.lane.Epoch = 4
	_, _, err := r.driver.Dial(t.Context(), r.lane, received)
	assert.ErrorIs(t, err, link.ErrFaulty)
	assert.ErrorContains(t, err, "higher epoch")
	assert.Empty(t, received.down)
}
