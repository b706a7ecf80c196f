package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"rangegate/test/support"
)

// device is a controller that says what a test tells it to, right or wrong. Of itself it answers hellos and confirms
// states.
type device struct {
	t       testing.TB
	lane    int
	address string

	mu     sync.Mutex
	force  string // the state in its hello, as JSON
	frames *websocket.Conn
	hellos int
	states []state
	acked  uint64
	closed websocket.StatusCode // of the latest connection that the gateway has closed
}

// state is what the gateway wants of the lane.
type state struct {
	Session *struct {
		ID        string `json:"session_id"`
		Phase     string
		Remaining int64 `json:"remaining_ms"`
	}
}

const idle = `{"hold":false,"session_id":null,"phase":null,"remaining_ms":null,"faults":[]}`

// running is the state in a device's hello: that session runs, with so many milliseconds left.
func running(session, remaining string) string {
	return fmt.Sprintf(`{"hold":false,"session_id":%q,"phase":"running","remaining_ms":%s,"faults":[]}`,
		session, remaining)
}

func newDevice(t testing.TB, lane int) *device {
	d := &device{t: t, lane: lane, force: idle}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	t.Cleanup(d.drop)
	d.address = "ws" + strings.TrimPrefix(server.URL, "http")
	return d
}

// link is the device's lane in a configuration.
func (d *device) link() string {
	return support.Lane(d.lane, support.Link(d.address, ""))
}

func (d *device) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	frames, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"rangegate.lane.v1"}})
	if err != nil {
		return
	}
	for {
		_, text, err := frames.Read(context.Background())
		if err != nil {
			if status := websocket.CloseStatus(err); status != -1 {
				d.mu.Lock()
				d.closed = status
				d.mu.Unlock()
			}
			return
		}
		d.handle(frames, text)
	}
}

func (d *device) handle(frames *websocket.Conn, text []byte) {
	var message struct {
		state
		Type     string
		Revision uint64
		Seq      uint64
	}
	if json.Unmarshal(text, &message) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch message.Type {
	case "hello":
		d.frames = frames
		d.write(fmt.Sprintf(`{"type":"hello","protocol":1,"lane_id":%q,"log_id":"log","firmware":"f","state":%s}`,
			support.LaneID(d.lane), d.force))
		d.hellos++
	case "state":
		d.states = append(d.states, message.state)
		d.write(fmt.Sprintf(`{"type":"applied","revision":%d}`, message.Revision))
	case "ack":
		d.acked = message.Seq
	}
}

// write is a message on the newest connection; when that is gone, it is lost. d.mu is held.
func (d *device) write(text string) {
	_ = d.frames.Write(context.Background(), websocket.MessageText, []byte(text))
}

// report says that something happened, in the words of the test.
func (d *device) report(seq int, kind, session, more string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	about := "null"
	if session != "" {
		about = `"` + session + `"`
	}
	d.write(fmt.Sprintf(`{"type":"report","seq":%d,"session_id":%s,"kind":%q,%s}`, seq, about, kind, more))
}

func (d *device) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frames != nil {
		_ = d.frames.CloseNow()
	}
}

// reconnect ends the connection and waits for the next one, whose hello says that this is in force.
func (d *device) reconnect(force string) {
	d.t.Helper()
	d.mu.Lock()
	d.force, d.states = force, nil
	earlier := d.hellos
	d.mu.Unlock()
	d.drop()
	d.waitFor("it comes back", func() bool { return d.hellos > earlier && len(d.states) > 0 })
}

func (d *device) waitFor(what string, condition func() bool) {
	d.t.Helper()
	support.Eventually(d.t, what, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return condition()
	})
}

// wanted is the latest state.
func (d *device) wanted() state {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.states[len(d.states)-1]
}
