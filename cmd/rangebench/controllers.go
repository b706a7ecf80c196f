package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// controllers are the controllers of many lanes, in a process of their own. They send hellos, confirm every
// state, and print when the last lane was closed and when the last was opened, and how far apart all were ordered to
// run, and began by themselves.
type controllers struct {
	Lanes int `default:"1000" help:"How many lanes."`
}

// closedLanes counts the closed lanes, and prints when all are closed and when none is.
type closedLanes struct {
	lanes   int
	mu      sync.Mutex
	held    int
	ordered []time.Time // to run
	begun   []time.Time // when those begin that begin by themselves
}

// Run serves until its input ends.
func (c controllers) Run() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	t := &closedLanes{lanes: c.Lanes}
	server := &http.Server{Handler: t, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	fmt.Println(listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return server.Close()
}

func (t *closedLanes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	frames, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"rangegate.lane.v1"}})
	if err != nil {
		return
	}
	defer func() { _ = frames.CloseNow() }()
	held, running := false, false
	for {
		_, text, err := frames.Read(r.Context())
		if err != nil {
			return
		}
		var m struct {
			Type     string `json:"type"`
			Lane     string `json:"lane_id"`
			Revision uint64 `json:"revision"`
			Hold     bool   `json:"hold"`
			Session  *struct {
				Phase   string `json:"phase"`
				StartAt *int64 `json:"start_at_ms"`
			} `json:"session"`
		}
		if json.Unmarshal(text, &m) != nil {
			return
		}
		answer := fmt.Sprintf(`{"type":"applied","revision":%d}`, m.Revision)
		switch m.Type {
		case "hello":
			answer = fmt.Sprintf(
				`{"type":"hello","protocol":1,"lane_id":%q,"log_id":"bench","firmware":"bench","state":{"hold":false,`+
					`"session_id":null,"phase":null,"remaining_ms":null,"faults":[]}}`, m.Lane)
		case "state":
			if m.Hold != held {
				held = m.Hold
				t.setHeld(held)
			}
			if m.Session != nil && m.Session.StartAt != nil {
				t.beginsIn(time.Duration(*m.Session.StartAt) * time.Millisecond)
			}
			if runs := m.Session != nil && m.Session.Phase == "running"; runs != running {
				if running = runs; running {
					t.run()
				}
			}
		default:
			continue
		}
		if frames.Write(r.Context(), websocket.MessageText, []byte(answer)) != nil {
			return
		}
	}
}

func (t *closedLanes) setHeld(held bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held {
		t.held++
	} else {
		t.held--
	}
	switch t.held {
	case t.lanes:
		fmt.Println("closed", time.Now().UnixNano())
	case 0:
		fmt.Println("opened", time.Now().UnixNano())
	}
}

func (t *closedLanes) beginsIn(ahead time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun = append(t.begun, time.Now().Add(ahead))
}

// run prints how far apart the lanes were ordered to run, and began, once all run.
func (t *closedLanes) run() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ordered = append(t.ordered, time.Now()); len(t.ordered) == t.lanes {
		fmt.Println("apart", int64(apart(t.ordered)), int64(apart(t.begun)))
		t.ordered, t.begun = nil, nil
	}
}

// apart returns the time from the first to the last; 0 without any.
func apart(all []time.Time) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.MaxFunc(all, time.Time.Compare).Sub(slices.MinFunc(all, time.Time.Compare))
}

// controllerProcess is the process with the controllers.
type controllerProcess struct {
	*child
	address string
}

func newControllerProcess(lanes int) (*controllerProcess, error) {
	c, address, err := newChild("controllers", "--lanes", fmt.Sprint(lanes))
	if err != nil {
		return nil, err
	}
	return &controllerProcess{c, "ws://" + address}, nil
}
