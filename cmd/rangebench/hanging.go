package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/lanes"
	"rangegate/webhook"
	"rangegate/webhook/egress"
)

// hanging delivers the events of many ranges, by turns with all receivers working and with one that hangs.
type hanging struct {
	Ranges int           `default:"100" help:"How many ranges."`
	Lanes  int           `default:"8" help:"How many lanes each has."`
	Turns  int           `default:"9" help:"How often either is measured."`
	Turn   time.Duration `default:"3s" help:"How long each time."`
	Every  time.Duration `default:"200ms" help:"How long between two events of a range."`
}

// Run prints how much later the others get their events while one hangs.
func (h hanging) Run() (err error) {
	b := &bench{hanging: h, sent: map[uuid.UUID]time.Time{}}
	if err := b.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	var well, beside [][]time.Duration
	for range h.Turns {
		well = append(well, b.turn(false))
		beside = append(beside, b.turn(true))
	}
	if len(slices.Concat(well...)) < 1000 || len(slices.Concat(beside...)) < 1000 {
		return errors.New("too few events arrived")
	}
	fmt.Printf("%d ranges of %d lanes, from a command to its event at the receiver, the %d whose receiver is well:\n",
		h.Ranges, h.Lanes, h.Ranges-1)
	fmt.Printf("  all are well   p50 %8s  p99 %8s\n", at(slices.Concat(well...), 50), at(slices.Concat(well...), 99))
	fmt.Printf("  one hangs      p50 %8s  p99 %8s   %d attempts hung\n",
		at(slices.Concat(beside...), 50), at(slices.Concat(beside...), 99), b.hung.Load())
	return errors.Join(
		bound("p50, one hangs / all are well", ratio(beside, well, 50), 1.25),
		bound("p99, one hangs / all are well", ratio(beside, well, 99), 1.5),
	)
}

// bench has the ranges, their sessions, and one server as the receiver of all, which reads the range from a header.
type bench struct {
	hanging
	gateway  *gateway
	receiver *http.Server
	ranges   []*actors.Range
	sessions [][]uuid.UUID          // of each range
	first    atomic.Pointer[string] // the id of the first range
	hangs    atomic.Bool            // its receiver
	hung     atomic.Int64

	mu      sync.Mutex
	sent    map[uuid.UUID]time.Time // session → time of its newest command
	latency []time.Duration
}

func (b *bench) open() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.receiver = &http.Server{Handler: http.HandlerFunc(b.receive), ReadHeaderTimeout: time.Minute}
	go func() { _ = b.receiver.Serve(listener) }()
	if b.gateway, err = newGateway(); err != nil {
		return err
	}
	ctx := context.Background()
	for range b.Ranges {
		to := &named{}
		r, err := b.gateway.start(ctx, b.Lanes, to)
		if err != nil {
			return err
		}
		to.Client, err = webhook.New(webhook.Settings{
			Range: r.Layout().Range, URL: "http://" + listener.Addr().String(), Timeout: 10 * time.Second,
			Transport: egress.Transport(false, 16), Now: time.Now,
		})
		if err != nil {
			return err
		}
		var sessions []uuid.UUID
		for _, lane := range r.Layout().Lanes {
			session, err := sell(ctx, r, lane.ID)
			if err != nil {
				return err
			}
			sessions = append(sessions, session)
		}
		if len(b.ranges) == 0 {
			id := r.Layout().Range.String()
			b.first.Store(&id)
		}
		b.ranges, b.sessions = append(b.ranges, r), append(b.sessions, sessions)
	}
	return nil
}

// named is a webhook whose range is set after its start.
type named struct{ *webhook.Client }

func (b *bench) close() error { return errors.Join(b.receiver.Close(), b.gateway.close()) }

func (b *bench) receive(w http.ResponseWriter, r *http.Request) {
	var event webhook.Body
	if json.NewDecoder(r.Body).Decode(&event) != nil {
		return
	}
	arrived := time.Now()
	if first := b.first.Load(); first != nil && r.Header.Get("range-id") == *first {
		if b.hangs.Load() {
			b.hung.Add(1)
			<-r.Context().Done()
		}
		return
	}
	if event.Event != string(lanes.SessionPaused) && event.Event != string(lanes.SessionResumed) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if sent, found := b.sent[event.Session]; found {
		b.latency = append(b.latency, arrived.Sub(sent))
	}
}

// turn makes events in every range for a while, and returns how long they took to arrive.
func (b *bench) turn(oneHangs bool) []time.Duration {
	b.hangs.Store(oneHangs)
	b.mu.Lock()
	b.latency = nil
	b.mu.Unlock()
	var working sync.WaitGroup
	end := time.Now().Add(b.Turn)
	for i, r := range b.ranges {
		working.Go(func() {
			time.Sleep(b.Every * time.Duration(i) / time.Duration(len(b.ranges)))
			for n := 0; time.Now().Before(end); n++ {
				b.act(r, b.sessions[i][n/2%b.Lanes], n%2 == 0)
				time.Sleep(b.Every)
			}
		})
	}
	working.Wait()
	time.Sleep(time.Second) // for deliveries that have begun
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.latency)
}

// act pauses the session, or resumes it.
func (b *bench) act(r *actors.Range, session uuid.UUID, pause bool) {
	b.mu.Lock()
	b.sent[session] = time.Now()
	b.mu.Unlock()
	var command lanes.Command = lanes.Resume{Session: session}
	if pause {
		command = lanes.Pause{Session: session}
	}
	_, _ = r.On(context.Background(), session, command, nil) // a turn begins with either
}

func at(all []time.Duration, percent int) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)*percent/100].Round(10 * time.Microsecond)
}

// ratio is the median, over the turns, of the ratio of neighbouring measurements: other load affects both.
func ratio(a, b [][]time.Duration, percent int) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = float64(at(a[i], percent)) / float64(at(b[i], percent))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}
