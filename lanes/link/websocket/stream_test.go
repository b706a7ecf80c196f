package websocket_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

// The frames of a controller, byte by byte. The first byte has the final bit, three reserved bits and the
// opcode; the second has the mask bit, which only the gateway sets, and the length.
const (
	firstPart, middlePart, whole        = 0x01, 0x00, 0x81
	binaryFrame, lastPart               = 0x82, 0x80
	closeOpcode, ping, pong             = 0x88, 0x89, 0x8a
	twoBytes, eightBytes                = 126, 127
	help                                = `{"type":"report","seq":1,"kind":"help","age_ms":0}`
	noStatus, noFrame            uint16 = 0, 1 // a close frame without a status; no close frame
)

// shortFrame is a frame of fewer than 126 bytes.
func shortFrame(first byte, payload string) string {
	return string([]byte{first, byte(len(payload))}) + payload
}

// longFrame is a longer frame.
func longFrame(first byte, payload string) string {
	return string(append([]byte{first, eightBytes},
		binary.BigEndian.AppendUint64(nil, uint64(len(payload)))...)) + payload
}

func closeFrame(status uint16, reason string) string {
	return shortFrame(closeOpcode, string(binary.BigEndian.AppendUint16(nil, status))+reason)
}

var filler = strings.Repeat(" ", frame.Longest)

// streams are frames of controllers after their hello, and the status of the gateway's close frame.
var streams = []struct {
	name, bytes string
	status      uint16
	faulty      bool
}{
	{"masked", "\x81\x80mask", 1002, true},
	{"a reserved bit", shortFrame(whole|0x40, "{}"), 1002, true},
	{"a reserved kind of data", shortFrame(0x83, ""), 1002, true},
	{"a reserved kind of control", shortFrame(0x8b, ""), 1002, true},
	{"a ping in pieces", shortFrame(0x09, ""), 1002, true},
	{"a long ping", string([]byte{ping, twoBytes, 0, 126}) + filler[:126], 1002, true},
	{"nothing to continue", shortFrame(lastPart, "{}"), 1002, true},
	{"a message inside of another", shortFrame(firstPart, "{") + shortFrame(whole, "}"), 1002, true},
	{"a length below zero", string([]byte{whole, eightBytes, 0x80, 0, 0, 0, 0, 0, 0, 0}), 1002, true},
	{
		"a length beyond all bounds", string([]byte{whole, eightBytes, 0x7f, 255, 255, 255, 255, 255, 255, 255}), 1009,
		true,
	},
	{"a byte too long", longFrame(whole, filler+" "), 1009, true},
	{
		"a byte too long in all", longFrame(firstPart, filler) + shortFrame(ping, "") + shortFrame(lastPart, " "), 1009,
		true,
	},
	{"not text", shortFrame(binaryFrame, help), 1008, true},
	{"not text, and very long", longFrame(binaryFrame, filler+filler), 1008, true},
	{"not UTF-8", shortFrame(whole, "{\"\xff\":1}"), 1008, true},
	{"nothing at all", shortFrame(whole, ""), 1008, true},
	{"half an object", shortFrame(whole, "{"), 1008, true},
	{"a close frame", closeFrame(1000, "bye"), 1000, false},
	{"a close frame without a status", shortFrame(closeOpcode, ""), noStatus, false},
	{"a close frame: service restart", closeFrame(1012, ""), 1012, false},
	{"a close frame with a status of an application", closeFrame(4999, ""), 4999, false},
	{"a close frame: the gateway broke a rule", closeFrame(1008, "rule"), 1008, true},
	{"half a status", shortFrame(closeOpcode, "\x03"), 1002, true},
	{"a status too low", closeFrame(999, ""), 1002, true},
	{"a status that is never sent", closeFrame(1005, ""), 1002, true},
	{"a status without a meaning", closeFrame(1004, ""), 1002, true},
	{"a status that is not registered", closeFrame(1015, ""), 1002, true},
	{"a status too high", closeFrame(5000, ""), 1002, true},
	{"a reason that is not UTF-8", closeFrame(1000, "\xff"), 1002, true},
	{"cut off before anything", "", noFrame, false},
	{"cut off in a header", "\x81", noFrame, false},
	{"cut off in a length", string([]byte{whole, eightBytes, 0}), noFrame, false},
	{"cut off in a message", shortFrame(whole, help)[:20], noFrame, false},
	{"cut off in a ping", shortFrame(ping, "ping")[:3], noFrame, false},
	{"cut off between the pieces", shortFrame(firstPart, help), noFrame, false},
	{"a message after a close frame", closeFrame(1001, "") + shortFrame(whole, help), 1001, false},
}

func TestStreams(t *testing.T) {
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			received, frames, err := receive(t, c.bytes)
			assert.Equal(t, c.faulty, isFaulty(err), "%v", err)
			assert.Equal(t, c.status, statusOf(t, frames), "%v", err)
			assert.Empty(t, received.reports)
		})
	}
}

func TestFragmentedMessages(t *testing.T) {
	pieces := shortFrame(firstPart, help[:7]) + shortFrame(ping, "one") + shortFrame(middlePart, "") + shortFrame(pong,
		"?") + shortFrame(middlePart, help[7:30]) +
		shortFrame(ping, strings.Repeat("x", 125)) + shortFrame(lastPart, help[30:]) + shortFrame(ping, "") +
		longFrame(whole, help+filler[len(help):])
	received, frames, err := receive(t, pieces)
	require.False(t, isFaulty(err))
	report := lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportHelp}
	require.Equal(t, []lanes.Report{report, report}, received.reports)
	require.Equal(t, []written{{pong, "one"}, {pong, strings.Repeat("x", 125)}, {pong, ""}}, frames)
}

// After any bytes from a controller the connection ends in order, and has allocated little more than their size.
func FuzzStream(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.bytes))
	}
	f.Add([]byte(shortFrame(firstPart, help[:7]) + shortFrame(ping, "one") + shortFrame(lastPart,
		help[7:]) + shortFrame(whole, `{"type":"applied","revision":1}`)))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		before := allocated()
		_, frames, err := receive(t, string(bytes))
		require.LessOrEqual(t, allocated()-before, uint64(1<<20+len(bytes)<<10))
		switch status := statusOf(t, frames); status {
		case noFrame:
			require.False(t, isFaulty(err), "a controller is told what rule it broke: %v", err)
		case 1002, 1008, 1009: // it broke a rule, or says that the gateway did
			require.True(t, isFaulty(err))
		case 1003, 1007: // the gateway did
			require.True(t, isFaulty(err))
		default:
			require.False(t, isFaulty(err), "status %d", status)
		}
	})
}

// No response to the handshake is accepted without the right key.
func FuzzAnswer(f *testing.F) {
	const yes = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	f.Add([]byte(yes + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: " +
		frame.Subprotocol + "\r\n\r\n"))
	f.Add([]byte(yes + "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=15, x;y=\"z\"\r\n\r\n" +
		shortFrame(whole, help)))
	f.Add([]byte("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"))
	f.Add([]byte("HTTP/1.0 200\r\n: \r\n"))
	f.Add([]byte("220 lane.example ESMTP\r\n"))
	f.Add([]byte(filler + filler))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, answer []byte) {
		before := allocated()
		err := websocket.Upgrade(&stream{in: bytes.NewReader(answer)})
		require.Error(t, err)
		require.Equal(t, len(answer) > 0, isFaulty(err))
		require.LessOrEqual(t, allocated()-before, uint64(1<<20))
	})
}

// receive runs a connection to a controller that sends those bytes and disconnects. It returns the receiver,
// the gateway's frames, and the reason of Down.
func receive(t *testing.T, bytes string) (*receiver, []written, error) {
	received, wire := &receiver{down: make(chan error, 2)}, &stream{in: strings.NewReader(bytes)}
	conn := websocket.Connected(wire, received)
	err := received.waitDown(t)
	conn.Close()
	require.Empty(t, received.down, "down once")
	wire.mu.Lock()
	defer wire.mu.Unlock()
	return received, parseFrames(t, wire.out.Bytes()), err
}

// stream is a connection on which a controller has sent some bytes and closed its side.
type stream struct {
	net.Conn
	in  io.Reader
	mu  sync.Mutex
	out bytes.Buffer
}

func (s *stream) Read(p []byte) (int, error) { return s.in.Read(p) }

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (*stream) Close() error                    { return nil }
func (*stream) SetReadDeadline(time.Time) error { return nil }

// written is a frame of the gateway.
type written struct {
	first   byte
	payload string
}

// parseFrames parses the gateway's bytes, which must be complete, masked frames of the shortest form.
func parseFrames(t *testing.T, bytes []byte) (frames []written) {
	for len(bytes) > 0 {
		require.GreaterOrEqual(t, len(bytes), 6)
		require.EqualValues(t, 0x80, bytes[1]&0x80, "masked")
		length := int(bytes[1] &^ 0x80)
		require.LessOrEqual(t, length, 125, "control frames only: nobody gives it anything else to write")
		require.GreaterOrEqual(t, len(bytes), 6+length)
		mask, payload := bytes[2:6], bytes[6:6+length]
		for i := range payload {
			payload[i] ^= mask[i%4]
		}
		frames = append(frames, written{bytes[0], string(payload)})
		bytes = bytes[6+length:]
	}
	return frames
}

// statusOf returns the status of the close frame, which must be the last one.
func statusOf(t *testing.T, frames []written) uint16 {
	status := noFrame
	for _, f := range frames {
		require.Equal(t, noFrame, status, "a frame after the close frame")
		switch {
		case f.first == pong:
		case f.first != closeOpcode:
			require.Fail(t, "neither pong nor close")
		case f.payload == "":
			status = noStatus
		default:
			status = binary.BigEndian.Uint16([]byte(f.payload))
		}
	}
	return status
}
