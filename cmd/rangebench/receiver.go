package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// receiver is an integrator's webhook in a process of its own: it reads each request and responds 204.
type receiver struct{}

type (
	// awaited is the number of deliveries to wait for.
	awaited struct{ Deliveries int }
	// delivered is the rate of deliveries from the first to the last.
	delivered struct {
		Address   string // of the receiver, when none are awaited
		PerSecond float64
		Missing   int // not in time
	}
)

// arrivals counts deliveries.
type arrivals struct {
	mu          sync.Mutex
	left        int
	first, last time.Time
	all         chan struct{}
}

// Run answers until its input ends.
func (receiver) Run() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	a := &arrivals{}
	server := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	return answerAll(func(q awaited) (delivered, error) {
		if q.Deliveries == 0 {
			return delivered{Address: "http://" + listener.Addr().String()}, nil
		}
		return a.await(q.Deliveries), nil
	})
}

func (a *arrivals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusNoContent)
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first.IsZero() {
		a.first = now
	}
	a.last = now
	if a.left--; a.left == 0 {
		close(a.all)
	}
}

// await counts deliveries from now on.
func (a *arrivals) await(n int) delivered {
	a.mu.Lock()
	a.left, a.first, a.all = n, time.Time{}, make(chan struct{})
	a.mu.Unlock()
	fmt.Println(`{}`) // ready
	select {
	case <-a.all:
	case <-time.After(patience + time.Minute):
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	arrived := n - max(0, a.left)
	return delivered{PerSecond: float64(arrived-1) / a.last.Sub(a.first).Seconds(), Missing: n - arrived}
}
