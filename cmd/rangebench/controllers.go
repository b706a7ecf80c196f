package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// controllers is the other end of many lanes, in a process of its own: it says hello as LINK.md has it, confirms every
// state, and prints when the last lane was closed, and when the last was opened.
type controllers struct {
	Lanes int `default:"1000" help:"How many lanes."`
}

// tally counts the lanes on which a hold is in force.
type tally struct {
	lanes int
	mu    sync.Mutex
	held  int
}

// Run serves until its input ends.
func (c controllers) Run() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	t := &tally{lanes: c.Lanes}
	server := &http.Server{Handler: t, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	fmt.Println(listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return server.Close()
}

func (t *tally) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	frames, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"rangegate.lane.v1"}})
	if err != nil {
		return
	}
	defer frames.CloseNow()
	held := false
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
		}
		if json.Unmarshal(text, &m) != nil {
			return
		}
		answer := fmt.Sprintf(`{"type":"applied","revision":%d}`, m.Revision)
		switch m.Type {
		case "hello":
			answer = fmt.Sprintf(`{"type":"hello","protocol":1,"lane_id":%q,"log_id":"bench","firmware":"bench","state":{"hold":false,`+
				`"session_id":null,"phase":null,"remaining_ms":null,"faults":[]}}`, m.Lane)
		case "state":
			if m.Hold != held {
				held = m.Hold
				t.turned(held)
			}
		default:
			continue
		}
		if frames.Write(r.Context(), websocket.MessageText, []byte(answer)) != nil {
			return
		}
	}
}

func (t *tally) turned(held bool) {
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

// hall is a process of controllers, as seen from here.
type hall struct {
	address string
	process *exec.Cmd
	in      io.Closer
	turned  chan turn
}

type turn struct {
	closed bool
	at     time.Time
}

func newHall(lanes int) (*hall, error) {
	h := &hall{process: exec.Command(os.Args[0], "controllers", "--lanes", fmt.Sprint(lanes)), turned: make(chan turn, 100)}
	h.process.Stderr = os.Stderr
	h.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := h.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.process.Start(); err != nil {
		return nil, err
	}
	h.in = in
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return nil, errors.New("the controllers did not start")
	}
	h.address = "ws://" + lines.Text()
	go func() {
		defer close(h.turned)
		for lines.Scan() {
			word, nanos, _ := strings.Cut(lines.Text(), " ")
			var at int64
			if _, err := fmt.Sscan(nanos, &at); err == nil {
				h.turned <- turn{word == "closed", time.Unix(0, at)}
			}
		}
	}()
	return h, nil
}

// wait is when every lane was closed, or opened.
func (h *hall) wait(ctx context.Context, closed bool) (time.Time, error) {
	for {
		select {
		case t, going := <-h.turned:
			if !going {
				return time.Time{}, errors.New("the controllers have ended")
			}
			if t.closed == closed {
				return t.at, nil
			}
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("not every lane was reached: %w", ctx.Err())
		}
	}
}

func (h *hall) close() error {
	_ = h.in.Close()
	return h.process.Wait()
}
