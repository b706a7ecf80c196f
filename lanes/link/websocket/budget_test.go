package websocket_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

// What is said beyond the budget ends the connection, whatever it is. The clock of these connections stands still.
func TestAFloodIsFaulty(t *testing.T) {
	unknown := `{"type":"weather"}`
	padded := unknown + strings.Repeat(" ", frame.Longest-len(unknown))
	for _, c := range []struct {
		name, frames string
		most         int // how many of them a controller may send at once
	}{
		{"reports", shortFrame(whole, help), 5000},
		{"messages of an unknown type", shortFrame(whole, unknown), 5000},
		{"pings", shortFrame(ping, ""), 5000},
		{"pongs", shortFrame(pong, "?"), 5000},
		{"confirmations of nothing", shortFrame(whole, `{"type":"applied","revision":1}`), 5000},
		{"long messages", longFrame(whole, padded), 4 << 20 / frame.Longest},
	} {
		received, _, err := receive(t, strings.Repeat(c.frames, c.most))
		require.False(t, isFaulty(err), "%s: %v", c.name, err)
		if c.name == "reports" {
			require.Len(t, received.reports, c.most)
		}
		_, frames, err := receive(t, strings.Repeat(c.frames, c.most+1))
		require.True(t, isFaulty(err), "%s: %v", c.name, err)
		require.ErrorContains(t, err, "more than a lane has to say")
		require.EqualValues(t, 1008, statusOf(t, frames), c.name)
	}
	_, _, err := receive(t, shortFrame(firstPart, "{")+strings.Repeat(shortFrame(middlePart, ""), 5000))
	require.True(t, isFaulty(err), "pieces of one message without an end")
}

// The budget comes back with time. A state that the controller confirms is no message of its own.
func TestTheBudgetComesBack(t *testing.T) {
	spent := websocket.SpendBudget()
	for range 5000 {
		require.NoError(t, spent(0))
	}
	require.Error(t, spent(0))
	require.NoError(t, spent(10_000), "200 messages a second")
	for i := range 200 {
		require.NoError(t, spent(10_000+i*5))
	}

	var confirmations strings.Builder
	for revision := 1; revision <= 20_000; revision++ {
		confirmations.WriteString(shortFrame(whole, fmt.Sprintf(`{"type":"applied","revision":%d}`, revision)))
	}
	said, says := io.Pipe()
	received := &receiver{down: make(chan error, 2)}
	websocket.SetSent(websocket.Connected(&stream{in: said}, received), 20_000)
	_, err := io.WriteString(says, confirmations.String())
	require.NoError(t, err)
	require.NoError(t, says.Close())
	assert.False(t, isFaulty(received.waitDown(t)), "each of them was asked for")

	said, says = io.Pipe()
	received = &receiver{down: make(chan error, 2)}
	websocket.SetSent(websocket.Connected(&stream{in: said}, received), 1)
	go func() {
		_, _ = io.WriteString(says, strings.Repeat(shortFrame(whole, `{"type":"applied","revision":1}`), 5002))
		_ = says.Close()
	}()
	assert.True(t, isFaulty(received.waitDown(t)), "one was asked for")
}
