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

// The frames of a controller, byte by byte. The first byte has the bit that ends a message, three that are reserved, and
// the kind; the second the bit of masked frames, which only the gateway's are, and the length.
const (
	begin, goOn, whole            = 0x01, 0x00, 0x81
	binaryFrame, lastOne          = 0x82, 0x80
	closeFrame, ping, pong        = 0x88, 0x89, 0x8a
	twoBytes, eightBytes          = 126, 127
	help                          = `{"type":"report","seq":1,"kind":"help","age_ms":0}`
	noStatus, notSaid      uint16 = 0, 1 // of a close frame: it has none; there is no such frame
)

// sent is a frame of fewer than 126 bytes.
func sent(first byte, payload string) string {
	return string([]byte{first, byte(len(payload))}) + payload
}

// long is one of more.
func long(first byte, payload string) string {
	return string(append([]byte{first, eightBytes}, binary.BigEndian.AppendUint64(nil, uint64(len(payload)))...)) + payload
}

func closing(status uint16, reason string) string {
	return sent(closeFrame, string(binary.BigEndian.AppendUint16(nil, status))+reason)
}

var filler = strings.Repeat(" ", frame.Longest)

// streams are what controllers send after their hello, and the status that they are answered with.
var streams = []struct {
	name, bytes string
	status      uint16
	faulty      bool
}{
	{"masked", "\x81\x80mask", 1002, true},
	{"a reserved bit", sent(whole|0x40, "{}"), 1002, true},
	{"a reserved kind of data", sent(0x83, ""), 1002, true},
	{"a reserved kind of control", sent(0x8b, ""), 1002, true},
	{"a ping in pieces", sent(0x09, ""), 1002, true},
	{"a long ping", string([]byte{ping, twoBytes, 0, 126}) + filler[:126], 1002, true},
	{"nothing to continue", sent(lastOne, "{}"), 1002, true},
	{"a message inside of another", sent(begin, "{") + sent(whole, "}"), 1002, true},
	{"a length below zero", string([]byte{whole, eightBytes, 0x80, 0, 0, 0, 0, 0, 0, 0}), 1002, true},
	{"a length beyond all bounds", string([]byte{whole, eightBytes, 0x7f, 255, 255, 255, 255, 255, 255, 255}), 1009, true},
	{"a byte too long", long(whole, filler+" "), 1009, true},
	{"a byte too long in all", long(begin, filler) + sent(ping, "") + sent(lastOne, " "), 1009, true},
	{"not text", sent(binaryFrame, help), 1008, true},
	{"not text, and very long", long(binaryFrame, filler+filler), 1008, true},
	{"not UTF-8", sent(whole, "{\"\xff\":1}"), 1008, true},
	{"nothing at all", sent(whole, ""), 1008, true},
	{"half an object", sent(whole, "{"), 1008, true},
	{"goodbye", closing(1000, "bye"), 1000, false},
	{"goodbye without a word", sent(closeFrame, ""), noStatus, false},
	{"goodbye, service restart", closing(1012, ""), 1012, false},
	{"goodbye with a status of its own", closing(4999, ""), 4999, false},
	{"goodbye, you broke a rule", closing(1008, "rule"), 1008, true},
	{"half a status", sent(closeFrame, "\x03"), 1002, true},
	{"a status too low", closing(999, ""), 1002, true},
	{"a status that is never sent", closing(1005, ""), 1002, true},
	{"a status without a meaning", closing(1004, ""), 1002, true},
	{"a status nobody has", closing(1015, ""), 1002, true},
	{"a status too high", closing(5000, ""), 1002, true},
	{"a reason that is not UTF-8", closing(1000, "\xff"), 1002, true},
	{"cut off before anything", "", notSaid, false},
	{"cut off in a header", "\x81", notSaid, false},
	{"cut off in a length", string([]byte{whole, eightBytes, 0}), notSaid, false},
	{"cut off in a message", sent(whole, help)[:20], notSaid, false},
	{"cut off in a ping", sent(ping, "ping")[:3], notSaid, false},
	{"cut off between the pieces", sent(begin, help), notSaid, false},
	{"what comes after goodbye", closing(1001, "") + sent(whole, help), 1001, false},
}

func TestWhatControllersSend(t *testing.T) {
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			heard, frames, err := hears(t, c.bytes)
			assert.Equal(t, c.faulty, isFaulty(err), "%v", err)
			assert.Equal(t, c.status, statusOf(t, frames), "%v", err)
			assert.Empty(t, heard.reports)
		})
	}
}

func TestAMessageMayComeInPieces(t *testing.T) {
	pieces := sent(begin, help[:7]) + sent(ping, "one") + sent(goOn, "") + sent(pong, "?") + sent(goOn, help[7:30]) +
		sent(ping, strings.Repeat("x", 125)) + sent(lastOne, help[30:]) + sent(ping, "") +
		long(whole, help+filler[len(help):])
	heard, frames, err := hears(t, pieces)
	require.False(t, isFaulty(err))
	report := lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportHelp}
	require.Equal(t, []lanes.Report{report, report}, heard.reports)
	require.Equal(t, []written{{pong, "one"}, {pong, strings.Repeat("x", 125)}, {pong, ""}}, frames)
}

// Whatever bytes a controller sends, the connection comes to its end in order, and takes no more memory than they do.
func FuzzStream(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.bytes))
	}
	f.Add([]byte(sent(begin, help[:7]) + sent(ping, "one") + sent(lastOne, help[7:]) + sent(whole, `{"type":"applied","revision":1}`)))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		before := allocated()
		_, frames, err := hears(t, string(bytes))
		require.LessOrEqual(t, allocated()-before, uint64(1<<20+len(bytes)<<10))
		switch status := statusOf(t, frames); status {
		case notSaid:
			require.False(t, isFaulty(err), "a controller is told what rule it broke: %v", err)
		case 1002, 1008, 1009: // it broke a rule, or says that we did
			require.True(t, isFaulty(err))
		case 1003, 1007: // we did
			require.True(t, isFaulty(err))
		default:
			require.False(t, isFaulty(err), "status %d", status)
		}
	})
}

// Whatever a controller answers to the handshake, it cannot know the key, and is no more than refused.
func FuzzAnswer(f *testing.F) {
	const yes = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	f.Add([]byte(yes + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: " + frame.Subprotocol + "\r\n\r\n"))
	f.Add([]byte(yes + "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=15, x;y=\"z\"\r\n\r\n" + sent(whole, help)))
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

// hears lets a gateway hear a controller that sends those bytes and hangs up. It answers what the gateway's receiver
// heard, what frames the gateway wrote, and why the connection went down.
func hears(t *testing.T, bytes string) (*ear, []written, error) {
	heard, wire := &ear{down: make(chan error, 2)}, &stream{in: strings.NewReader(bytes)}
	conn := websocket.Met(wire, heard)
	err := heard.fails(t)
	conn.Close()
	require.Empty(t, heard.down, "down once")
	wire.mu.Lock()
	defer wire.mu.Unlock()
	return heard, parsed(t, wire.out.Bytes()), err
}

// stream is a connection that a controller has sent some bytes over, and closed its side of.
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

// written is a frame of the gateway's.
type written struct {
	first   byte
	payload string
}

// parsed is what the gateway wrote, which is to be whole frames, masked, as short as can be written.
func parsed(t *testing.T, bytes []byte) (frames []written) {
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

// statusOf is the status of the close frame, which nothing comes after.
func statusOf(t *testing.T, frames []written) uint16 {
	status := notSaid
	for _, f := range frames {
		require.Equal(t, notSaid, status, "a frame after the close frame")
		switch {
		case f.first == pong:
		case f.first != closeFrame:
			require.Fail(t, "neither pong nor close")
		case f.payload == "":
			status = noStatus
		default:
			status = binary.BigEndian.Uint16([]byte(f.payload))
		}
	}
	return status
}
