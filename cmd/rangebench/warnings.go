package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// warnedAt is how much is left of the sessions when they are warned: long enough for none to end meanwhile.
const warnedAt = 10 * time.Minute

var warnings = experiment{"warnings/10k", "10,000 sessions are warned over 10 s: how late is that?", measureWarnings}

func measureWarnings(ctx context.Context, t *trial) error {
	e := expiry{lanes: t.lanes(10_000)}
	figure := func(percentile string) figures.Figure {
		return figures.Figure{
			Name: percentile, Unit: "ms", Goal: figures.AtMost(1.5),
			What:  "from when so much is left to the event that says so",
			Limit: "time.AfterFunc at the same times",
		}
	}
	return t.compare(ctx, 2,
		func(ctx context.Context) ([]float64, error) { return warnAll(ctx, t, e) },
		func(ctx context.Context) ([]float64, error) { return e.bare(ctx, t) },
		figure("p99"), figure("p99.9"))
}

// warnAll starts a range whose sessions are about to be warned. A machine that is too slow for the first one gets more
// time.
func warnAll(ctx context.Context, t *trial, e expiry) ([]float64, error) {
	for lead := e.lead(); ; lead *= 2 {
		late, inTime, err := warnOnce(ctx, t, e.lanes, lead)
		if err != nil || inTime {
			return tails(late), err
		}
		t.say("the range was not up in time: once more")
	}
}

func warnOnce(ctx context.Context, t *trial, n int, lead time.Duration) (late []float64, inTime bool, err error) {
	g, err := newGatewayOn(t.store())
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	layout := layoutOf(n)
	layout.Warnings = []time.Duration{warnedAt}
	due := evenDeadlines(g.clock.Now().Add(lead), endsWithin, n)
	deadline := func(i int) lanes.Instant { return due(i).Add(warnedAt) }
	if err := (seed{layout: layout, sessions: n, deadline: deadline}).plant(ctx, g.file, g.clock); err != nil {
		return nil, false, err
	}
	noted := newWarned(g.file.Store, layout.Lanes, due)
	g.file.Store = noted
	r, err := g.startOn(ctx, layout, g.hardware, nil)
	if err != nil {
		return nil, false, err
	}
	if err := linksUp(ctx, r); err != nil {
		return nil, false, err
	}
	if !g.clock.Now().Before(due(0)) {
		return nil, false, nil
	}
	select {
	case <-noted.all:
		return noted.late, true, nil
	case <-time.After(lead + endsWithin + patience):
		return nil, false, errors.New("not every session was warned")
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// warned is a store that notes how late each session was warned, in milliseconds.
type warned struct {
	store.Store
	due  func(i int) lanes.Instant
	of   map[uuid.UUID]int // lane → its number
	late []float64         // by number
	left atomic.Int64
	all  chan struct{}
}

func newWarned(kept store.Store, of []lanes.Place, due func(i int) lanes.Instant) *warned {
	w := &warned{
		Store: kept, due: due, of: make(map[uuid.UUID]int, len(of)), late: make([]float64, len(of)),
		all: make(chan struct{}),
	}
	for i, place := range of {
		w.of[place.ID] = i
	}
	w.left.Store(int64(len(of)))
	return w
}

// Flush stores the batch, and notes the warnings in it. A range flushes one batch at a time.
func (w *warned) Flush(ctx context.Context, batch store.Batch) error {
	if err := w.Store.Flush(ctx, batch); err != nil {
		return err
	}
	for _, logged := range batch.Events {
		if logged.Event.Kind != lanes.SessionEnding {
			continue
		}
		i := w.of[logged.Event.Lane]
		w.late[i] = milliseconds(logged.Event.At.Sub(w.due(i).Wall))
		if w.left.Add(-1) == 0 {
			close(w.all)
		}
	}
	return nil
}
