package sim_test

import (
	"errors"
	"sync/atomic"
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

// slow is a receiver that blocks, against its contract, in its first call.
type slow struct {
	begun chan struct{}
	leave chan struct{}
	calls atomic.Int32
}

func (s *slow) Applied(uint64) {
	if s.calls.Add(1) == 1 {
		close(s.begun)
		<-s.leave
	}
}

func (s *slow) Reported(lanes.Report) { s.calls.Add(1) }
func (s *slow) Down(error)            { s.calls.Add(1) }

// inCall returns a connection whose receiver is in a call.
func inCall(t *testing.T) (*slow, link.Connection, *sim.Controller) {
	driver := sim.New(clock())
	receiver := &slow{begun: make(chan struct{}), leave: make(chan struct{})}
	lane := link.Lane{ID: uuid.New()}
	conn, _, err := driver.Dial(t.Context(), lane, receiver)
	require.NoError(t, err)
	session := &lanes.Session{ID: uuid.New(), Phase: lanes.Running, Left: time.Hour}
	conn.Send(link.State{Revision: 1, Session: session})
	<-receiver.begun
	return receiver, conn, driver.Controller(lane.ID)
}

// A call that blocked would be a deadlock of the bubble.
func TestNothingButCloseWaitsForACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver, conn, controller := inCall(t)
		conn.Send(link.State{Revision: 2})
		conn.Ack(lanes.Log{ID: "any", Seq: 1})
		require.Error(t, controller.Help())
		controller.Cut(errors.New("cut by the test"))
		assert.Equal(t, uint64(2), controller.Shown().Revision)

		close(receiver.leave)
		synctest.Wait()
		assert.EqualValues(t, 3, receiver.calls.Load(), "two states and the failure")
		conn.Close()
	})
}

func TestCloseWaitsForACall(t *testing.T) {
	receiver, conn, controller := inCall(t)
	require.NoError(t, controller.Help())
	closed, calls := make(chan struct{}), int32(0)
	go func() {
		conn.Close()
		calls = receiver.calls.Load()
		close(closed)
	}()
	select {
	case <-closed:
		assert.Fail(t, "closed while the receiver was in a call")
	case <-time.After(20 * time.Millisecond):
	}
	close(receiver.leave)
	<-closed
	require.NoError(t, controller.Help())
	assert.Equal(t, calls, receiver.calls.Load(), "the receiver hears no more once close has returned")
}
