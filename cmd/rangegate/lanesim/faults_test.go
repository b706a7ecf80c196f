package lanesim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// A gateway that is silent for 15 s is lost, although its connection is still open.
func TestAControllerThatLosesItsGateway(t *testing.T) {
	for _, hold := range []bool{false, true} {
		r := newRig(t)
		r.lane.HoldOnLoss = hold
		_, _, heard := r.shooting()
		r.HalfOpen(true)
		r.ahead.Add(int64(14 * time.Second))
		assert.True(t, r.Shown().Open)
		r.ahead.Add(int64(2 * time.Second))
		assert.Equal(t, !hold, r.Shown().Open, "what its hello said of on_loss")
		assert.Equal(t, hold, r.Shown().Hold)
		left := r.Shown().Remaining
		r.ahead.Add(int64(time.Minute))
		assert.Equal(t, !hold, r.Shown().Remaining < left, "a hold stops the countdown")
		r.Drop()
		got(t, heard.down)
		r.HalfOpen(false)

		conn, hello, heard := r.dial()
		assert.Equal(t, hold, hello.Hold)
		assert.Equal(t, lanes.Running, hello.Phase)
		conn.Send(link.State{Revision: 1, Session: r.session()})
		got(t, heard.applied)
		assert.True(t, r.Shown().Open, "the gateway says so")
	}
}

func TestLostAcks(t *testing.T) {
	r := newRig(t)
	conn, hello, heard := r.shooting()
	r.LoseAcks(true)
	require.NoError(t, r.Help())
	report := got(t, heard.reports)
	conn.Ack(report.Log)
	conn.Send(link.State{Revision: 2, Session: r.session()})
	got(t, heard.applied)
	assert.Equal(t, 1, r.Unacked())
	r.LoseAcks(false)
	conn.Ack(lanes.Log{ID: hello.LogID, Seq: 1})
	require.Eventually(t, func() bool { return r.Unacked() == 0 }, patience, time.Millisecond)
}

func TestDuplicateAndReorderedReports(t *testing.T) {
	r := newRig(t)
	_, _, heard := r.shooting()
	numbers := func(many int) (all []uint64) {
		for range many {
			all = append(all, got(t, heard.reports).Log.Seq)
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
	r := newRig(t)
	_, first, heard := r.shooting()
	require.NoError(t, r.Help())
	got(t, heard.reports)
	r.PowerCut(false)
	got(t, heard.down)
	assert.False(t, r.Shown().Open)
	_, second, heard := r.shooting()
	assert.Equal(t, first.LogID, second.LogID)
	assert.Equal(t, uint64(1), got(t, heard.reports).Log.Seq)
	r.PowerCut(true)
	got(t, heard.down)
	_, third, _ := r.shooting()
	assert.NotEqual(t, first.LogID, third.LogID)
	assert.Zero(t, r.Unacked())
}

func TestAClockThatStandsStill(t *testing.T) {
	r := newRig(t)
	_, _, heard := r.shooting()
	r.StopClock(true)
	before := r.Shown().Remaining
	r.ahead.Add(int64(10 * time.Minute))
	assert.Equal(t, before, r.Shown().Remaining)
	assert.True(t, r.Shown().Open)
	require.NoError(t, r.Help())
	assert.Zero(t, got(t, heard.reports).Age)
	r.StopClock(false)
	r.ahead.Add(int64(time.Minute))
	assert.Greater(t, r.Shown().Remaining, before-2*time.Minute, "it goes on from where it stood")
	assert.Less(t, r.Shown().Remaining, before)
}

func TestASlowController(t *testing.T) {
	r := newRig(t)
	r.Slow(true)
	conn, _, heard := r.shooting()
	for revision := uint64(2); revision <= 50; revision++ {
		conn.Send(link.State{Revision: revision, Session: r.session()})
	}
	r.Slow(false)
	for got(t, heard.applied) != 50 {
	}
	assert.True(t, r.Shown().Open)
}

func TestAnOlderGatewayIsRefused(t *testing.T) {
	r := newRig(t)
	r.lane.Epoch = 5
	_, _, heard := r.shooting()
	r.lane.Epoch = 4
	_, _, err := r.driver.Dial(t.Context(), r.lane, heard)
	assert.ErrorIs(t, err, link.ErrFaulty)
	assert.ErrorContains(t, err, "higher epoch")
	assert.Empty(t, heard.down)
}
