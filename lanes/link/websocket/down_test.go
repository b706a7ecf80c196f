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

func TestRulesThatAreBrokenLater(t *testing.T) {
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
		r := scripted(t, func(r *rig, to *coder.Conn) {
			says(to, r.hello())
			if c.text == "" {
				c.text = r.hello()
			}
			says(to, c.text)
			_, _, err := to.Read(context.Background())
			closed <- coder.CloseStatus(err)
		})
		_, heard := r.connected()
		err := heard.fails(t)
		assert.ErrorIs(t, err, link.ErrFaulty, c.name)
		assert.ErrorContains(t, err, c.problem, c.name)
		assert.Equal(t, c.status, <-closed, c.name)
	}
}

func TestABinaryMessageBreaksARule(t *testing.T) {
	r := scripted(t, func(r *rig, to *coder.Conn) {
		says(to, r.hello())
		_ = to.Write(context.Background(), coder.MessageBinary, []byte(`{"type":"weather"}`))
		_, _, _ = to.Read(context.Background())
	})
	_, heard := r.connected()
	assert.ErrorIs(t, heard.fails(t), link.ErrFaulty)
}

// The longest message that may be is taken.
func TestALongMessageIsTaken(t *testing.T) {
	report := `{"type":"report","seq":1,"kind":"help","age_ms":0}`
	r := scripted(t, func(r *rig, to *coder.Conn) {
		says(to, r.hello())
		says(to, report+strings.Repeat(" ", frame.Longest-len(report)))
		_ = to.Close(coder.StatusGoingAway, "")
	})
	_, heard := r.connected()
	assert.NotErrorIs(t, heard.fails(t), link.ErrFaulty)
	assert.Equal(t, []lanes.Report{{Log: lanes.Log{ID: "log", Seq: 1}, Kind: "help"}}, heard.reports)
}

func TestWhatAControllerSaysWhenItCloses(t *testing.T) {
	for status, faulty := range map[coder.StatusCode]bool{
		coder.StatusNormalClosure: false, coder.StatusGoingAway: false, coder.StatusServiceRestart: false,
		coder.StatusPolicyViolation: true, coder.StatusMessageTooBig: true, coder.StatusProtocolError: true,
	} {
		early := scripted(t, func(_ *rig, to *coder.Conn) { _ = to.Close(status, "because") })
		_, _, err := early.dial()
		assert.ErrorContains(t, err, "because")
		assert.Equal(t, faulty, isFaulty(err), "instead of a hello: %v", status)

		late := scripted(t, func(r *rig, to *coder.Conn) {
			says(to, r.hello())
			_ = to.Close(status, "because")
		})
		_, heard := late.connected()
		err = heard.fails(t)
		assert.ErrorContains(t, err, "because")
		assert.Equal(t, faulty, isFaulty(err), "later: %v", status)
		assert.ErrorIs(t, err, io.EOF, "there is no more to hear")
	}
}

func TestFaultsOfTheWire(t *testing.T) {
	r, at := simulated(t)
	_, heard := r.connected()
	at.Drop()
	assert.False(t, isFaulty(heard.fails(t)))
	_, heard = r.connected()
	at.Garbage()
	assert.True(t, isFaulty(heard.fails(t)))
	_, heard = r.connected()
	at.Oversize()
	assert.True(t, isFaulty(heard.fails(t)))
}

// The reader notices at once that the connection is gone, and must not take it for a failure.
func TestAConnectionThatIsClosedDoesNotFail(t *testing.T) {
	r, _ := simulated(t)
	for range 100 {
		conn, heard := r.connected()
		conn.Close()
		require.Empty(t, heard.down)
	}
}

func TestAConnectionWithoutPongsIsDown(t *testing.T) {
	r, at := simulated(t)
	r.driver.Hurry(patience, 10*time.Millisecond, 100*time.Millisecond, time.Second)
	_, heard := r.connected()
	at.HalfOpen(true)
	err := heard.fails(t)
	assert.ErrorIs(t, err, link.ErrSilent)
	assert.False(t, isFaulty(err))
	at.HalfOpen(false)
	r.connected()
}

// Pongs alone keep a connection up, for as long as they come.
func TestPongsKeepAConnectionUp(t *testing.T) {
	r, at := simulated(t)
	var ahead atomic.Int64
	now := clock()
	r.driver = websocket.New(websocket.Settings{
		Now:   func() lanes.Instant { return now().Add(time.Duration(ahead.Load())) },
		Lanes: map[uuid.UUID]websocket.Target{r.lane.ID: {Address: at.Address()}},
	})
	r.driver.Hurry(patience, time.Millisecond, 15*time.Second, time.Second)
	conn, heard := r.connected()
	for range 10 {
		ahead.Add(int64(10 * time.Second))
		require.Eventually(t, func() bool { return websocket.Silent(conn) < 5*time.Second }, patience, time.Millisecond)
	}
	assert.Empty(t, heard.down)
	conn.Send(link.State{Revision: 1})
	require.Eventually(t, func() bool { return at.Shown().Revision == 1 }, patience, time.Millisecond)
}

// From a ping to its pong, and no pong counts from a ping that another has answered; of pings that are not answered nothing
// is told.
func TestTheRoundTripIsTold(t *testing.T) {
	const late = 70 * time.Millisecond
	pings, begun := 0, time.Now()
	var told []time.Duration
	r := scripted(t, func(r *rig, to *coder.Conn) {
		says(to, r.hello())
		_, _, _ = to.Read(context.Background())
	}, func() bool {
		pings++
		time.Sleep(late)
		return pings <= 3
	})
	r.driver = websocket.New(websocket.Settings{
		Now: clock(), Lanes: map[uuid.UUID]websocket.Target{r.lane.ID: {Address: r.address}},
		RoundTrip: func(took time.Duration) { // before Down, so nobody reads told meanwhile
			told = append(told, took)
			assert.GreaterOrEqual(t, took, late)
			assert.Less(t, took, time.Since(begun), "the ping was sent after the pong before")
			begun = time.Now()
		},
	})
	r.driver.Hurry(patience, 200*time.Millisecond, 2*time.Second, time.Second)
	_, heard := r.connected()
	assert.ErrorIs(t, heard.fails(t), link.ErrSilent)
	require.NotEmpty(t, told)
	require.LessOrEqual(t, len(told), 3)
}

// A controller that reads nothing more lets the writes block; states do not queue up before it meanwhile.
func TestABlockedWriteEndsTheConnection(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	r := scripted(t, func(r *rig, to *coder.Conn) {
		says(to, r.hello())
		<-done
	})
	r.driver.Hurry(patience, time.Hour, time.Hour, 50*time.Millisecond)
	conn, heard := r.connected()
	state := link.State{Session: &lanes.Session{
		ID: uuid.New(), Group: uuid.New(), Phase: lanes.Running, Left: time.Hour, Customer: strings.Repeat("x", 1<<20),
	}}
	for len(heard.down) == 0 {
		state.Revision++
		conn.Send(state)
		time.Sleep(time.Millisecond)
	}
	err := heard.fails(t)
	assert.ErrorContains(t, err, "writing")
	assert.False(t, isFaulty(err))
}

func isFaulty(err error) bool { return errors.Is(err, link.ErrFaulty) }
