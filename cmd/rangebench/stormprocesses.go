package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/lanesim"
	driver "rangegate/lanes/link/websocket"
)

// stormControllers are the controllers of all lanes, in a process of their own.
type stormControllers struct{}

// stormDialling has them dial an address, or lose all their links at once. The answer is how many there are.
type stormDialling struct {
	Ranges, Lanes int
	Address       string
	Cut           bool
}

// Run dials until the input ends.
func (stormControllers) Run() error {
	machine, err := clock.NewSystem()
	if err != nil {
		return err
	}
	var controllers *lanesim.Controllers
	var dialling []uuid.UUID
	err = answerAll(func(q stormDialling) (int, error) {
		if q.Cut {
			for _, lane := range dialling {
				controllers.Controller(lane).Drop()
			}
			return len(dialling), nil
		}
		var served []lanesim.Lane
		for n := range q.Ranges {
			for i := range q.Lanes {
				lane := stormLane(n, i)
				dialling = append(dialling, lane)
				address := strings.Replace(q.Address, "http", "ws", 1) + driver.LanePath + lane.String()
				served = append(served, lanesim.Lane{ID: lane, Key: redialKey, Dial: address})
			}
		}
		var err error
		controllers, err = lanesim.New(lanesim.Settings{Now: machine.Now}, served...)
		return len(dialling), err
	})
	if controllers != nil {
		controllers.Close()
	}
	return err
}

// stormReceiver is the webhook of all ranges, in a process of its own.
type stormReceiver struct{}

// stormReceiving has it hang from now on, or answer again everything that hangs.
type stormReceiving struct{ Turn, Hang bool }

// stormReceived is what has arrived.
type stormReceived struct {
	Address string
	Events  int    // each once, however often it came
	Wrong   string // the first event that came before an earlier one of its lane, and has not been sent before
}

// stormArrivals are the events that a stormReceiver has taken.
type stormArrivals struct {
	mu     sync.Mutex
	hung   chan struct{} // closed when it answers again; nil: it does
	events map[string]struct{}
	newest map[string]uint64 // by lane, of those that were sent for the first time
	wrong  string
}

// Run answers until its input ends.
func (stormReceiver) Run() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	a := &stormArrivals{events: map[string]struct{}{}, newest: map[string]uint64{}}
	server := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	return answerAll(func(q stormReceiving) (stormReceived, error) {
		if q.Turn {
			a.turn(q.Hang)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		return stormReceived{"http://" + listener.Addr().String(), len(a.events), a.wrong}, nil
	})
}

func (a *stormArrivals) turn(hang bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hung != nil {
		close(a.hung)
		a.hung = nil
	}
	if hang {
		a.hung = make(chan struct{})
	}
}

func (a *stormArrivals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var event struct {
		Lane string `json:"lane_id"`
	}
	if err != nil || json.Unmarshal(body, &event) != nil {
		return
	}
	a.mu.Lock()
	hung := a.hung
	a.mu.Unlock()
	if hung != nil {
		select {
		case <-hung:
		case <-r.Context().Done():
			return
		}
	}
	a.take(event.Lane, r.Header)
	w.WriteHeader(http.StatusNoContent)
}

func (a *stormArrivals) take(lane string, h http.Header) {
	sequence, err := strconv.ParseUint(h.Get("Event-Sequence"), 10, 64)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events[h.Get("Webhook-Id")] = struct{}{}
	switch {
	case h.Get("Event-Redelivered") == "true":
	case err != nil, sequence <= a.newest[lane]:
		if a.wrong == "" {
			a.wrong = fmt.Sprintf("event %q of lane %s came after %d", h.Get("Event-Sequence"), lane, a.newest[lane])
		}
	default:
		a.newest[lane] = sequence
	}
}
