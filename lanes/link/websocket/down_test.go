package websocket_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

func TestViolationsAfterTheHello(t *testing.T) {
	for _, c := range []struct {
		name, text, problem string
		status              coder.StatusCode
	}{
		{"garbage", `{"type":`, "not a JSON object", coder.StatusPolicyViolation},
		{"no seq", `{"type":"report","kind":"help","age_ms":0}`, "seq: wants", coder.StatusPolicyViolation},
		{"a second hello", "", "a second hello", coder.StatusPolicyViolation},
		{"too long", strings.Repeat(" ", frame.Longest+1), "longer than 16 KiB", coder.StatusMessageTooBig},
		{"much too long", strings.Repeat(" ", 1<<20), "longer than 16 KiB", coder.StatusMessageTooBig},
	} {
		closed := make(chan coder.StatusCode, 1)
		r := newScripted(t, func(r *fixture, to *coder.Conn) {
			send(to, r.hello())
			if c.text == "" {
				c.text = r.hello()
			}
			send(to, c.text)
			_, _, err := to.Read(context.Background())
			closed <- coder.CloseStatus(err)
		})
		_, received := r.connected()
		err := received.waitDown(t)
		assert.ErrorIs(t, err, link.ErrFaulty, c.name)
		assert.ErrorContains(t, err, c.problem, c.name)
		assert.Equal(t, c.status, <-closed, c.name)
	}
}

func TestABinaryMessageBreaksARule(t *testing.T) {
	r := newScripted(t, func(r *fixture, to *coder.Conn) {
		send(to, r.hello())
		_ = to.Write(context.Background(), coder.MessageBinary, []byte(`{"type":"weather"}`))
		_, _, _ = to.Read(context.Background())
	})
	_, received := r.connected()
	assert.ErrorIs(t, received.waitDown(t), link.ErrFaulty)
}

// A message of the greatest allowed length is read.
func TestTheLongestMessageIsRead(t *testing.T) {
	report := `{"type":"report","seq":1,"kind":"help","age_ms":0}`
	r := newScripted(t, func(r *fixture, to *coder.Conn) {
		send(to, r.hello())
		send(to, report+strings.Repeat(" ", frame.Longest-len(report)))
		_ = to.Close(coder.StatusGoingAway, "")
	})
	_, received := r.connected()
	assert.NotErrorIs(t, received.waitDown(t), link.ErrFaulty)
	assert.Equal(t, []lanes.Report{{Log: lanes.Log{ID: "log", Seq: 1}, Kind: "help"}}, received.reports)
}

func TestCloseFramesOfTheController(t *testing.T) {
	for status, faulty := range map[coder.StatusCode]bool{
		coder.StatusNormalClosure: false, coder.StatusGoingAway: false, coder.StatusServiceRestart: false,
		coder.StatusPolicyViolation: true, coder.StatusMessageTooBig: true, coder.StatusProtocolError: true,
	} {
		early := newScripted(t, func(_ *fixture, to *coder.Conn) { _ = to.Close(status, "because") })
		_, _, err := early.dial()
		assert.ErrorContains(t, err, "because")
		assert.Equal(t, faulty, isFaulty(err), "instead of a hello: %v", status)

		late := newScripted(t, func(r *fixture, to *coder.Conn) {
			send(to, r.hello())
			_ = to.Close(status, "because")
		})
		_, received := late.connected()
		err = received.waitDown(t)
		assert.ErrorContains(t, err, "because")
		assert.Equal(t, faulty, isFaulty(err), "later: %v", status)
		assert.ErrorIs(t, err, io.EOF, "there is no more to hear")
	}
}

func TestFaultsOfTheWire(t *testing.T) {
	r, controller := newSimulated(t)
	_, received := r.connected()
	controller.Drop()
	assert.False(t, isFaulty(received.waitDown(t)))
	_, received = r.connected()
	controller.Garbage()
	assert.True(t, isFaulty(received.waitDown(t)))
	_, received = r.connected()
	controller.Oversize()
	assert.True(t, isFaulty(received.waitDown(t)))
}

// The reader notices the end of a closed connection, which is no failure.
func TestAConnectionThatIsClosedDoesNotFail(t *testing.T) {
	r, _ := newSimulated(t)
	for range 100 {
		conn, received := r.connected()
		conn.Close()
		require.Empty(t, received.down)
	}
}

func TestAConnectionWithoutPongsIsDown(t *testing.T) {
	r, controller := newSimulated(t)
	r.driver.SetTimeouts(patience, 10*time.Millisecond, 100*time.Millisecond, time.Second)
	_, received := r.connected()
	controller.HalfOpen(true)
	err := received.waitDown(t)
	assert.ErrorIs(t, err, link.ErrSilent)
	assert.False(t, isFaulty(err))
	controller.HalfOpen(false)
	r.connected()
}

// Pongs alone keep a connection up.
func TestPongsKeepAConnectionUp(t *testing.T) {
	r, controller := newSimulated(t)
	var ahead atomic.Int64
	now := clock()
	r.driver = websocket.New(websocket.Settings{
		Now:   func() lanes.Instant { return now().Add(time.Duration(ahead.Load())) },
		Lanes: map[uuid.UUID]websocket.Target{r.lane.ID: {Address: controller.Address()}},
	})
	r.driver.SetTimeouts(patience, time.Millisecond, 15*time.Second, time.Second)
	conn, received := r.connected()
	for range 10 {
		ahead.Add(int64(10 * time.Second))
		require.Eventually(t, func() bool { return websocket.Silence(conn) < 5*time.Second }, patience,
			time.Millisecond)
	}
	assert.Empty(t, received.down)
	conn.Send(link.State{Revision: 1})
	require.Eventually(t, func() bool { return controller.Shown().Revision == 1 }, patience, time.Millisecond)
}

// The round trip is the time from a ping to its pong. A ping without a pong has none, and each ping counts once.
func TestTheRoundTripIsMeasured(t *testing.T) {
	const late = 70 * time.Millisecond
	pings, begun := 0, time.Now()
	var roundTrips []time.Duration
	r := newScripted(t, func(r *fixture, to *coder.Conn) {
		send(to, r.hello())
		_, _, _ = to.Read(context.Background())
	}, func() bool {
		pings++
		time.Sleep(late)
		return pings <= 3
	})
	r.driver = websocket.New(websocket.Settings{
		Now: clock(), Lanes: map[uuid.UUID]websocket.Target{r.lane.ID: {Address: r.address}},
		RoundTrip: func(took time.Duration) { // before Down, so no other goroutine reads it
			roundTrips = append(roundTrips, took)
			assert.GreaterOrEqual(t, took, late)
			assert.Less(t, took, time.Since(begun), "the ping was sent after the pong before")
			begun = time.Now()
		},
	})
	r.driver.SetTimeouts(patience, 200*time.Millisecond, 2*time.Second, time.Second)
	_, received := r.connected()
	assert.ErrorIs(t, received.waitDown(t), link.ErrSilent)
	require.NotEmpty(t, roundTrips)
	require.LessOrEqual(t, len(roundTrips), 3)
}

// Writes block when the controller stops reading; states do not queue up meanwhile.
func TestABlockedWriteEndsTheConnection(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	r := newScripted(t, func(r *fixture, to *coder.Conn) {
		send(to, r.hello())
		<-done
	})
	r.driver.SetTimeouts(patience, time.Hour, time.Hour, 50*time.Millisecond)
	conn, received := r.connected()
	state := link.State{Session: &lanes.Session{
		ID: uuid.New(), Group: uuid.New(), Phase: lanes.Running, Left: time.Hour, Customer: strings.Repeat("x", 1<<20),
	}}
	for len(received.down) == 0 {
		state.Revision++
		conn.Send(state)
		time.Sleep(time.Millisecond)
	}
	err := received.waitDown(t)
	assert.ErrorContains(t, err, "writing")
	assert.False(t, isFaulty(err))
}

func isFaulty(err error) bool { return errors.Is(err, link.ErrFaulty) }
