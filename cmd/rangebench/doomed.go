package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"rangegate/actors"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// doomed is a range whose sessions are about to end: it was started on a store in which they run.
type doomed struct {
	*gateway
	r        *actors.Range
	deadline func(i int) lanes.Instant
	heard    *orders
	kept     *ledger
	took     time.Duration // to plant the sessions and to bring the range up
}

// doomedInTime brings one up before the first deadline. A machine on which that takes longer than thought gets more time.
func doomedInTime(ctx context.Context, t *trial, ending, free int, within time.Duration) (*doomed, error) {
	for lead := 2*time.Second + time.Duration(ending)*150*time.Microsecond; ; {
		d, err := newDoomed(ctx, t.store(), ending, free, lead, within)
		if err != nil {
			return nil, err
		}
		if d.until() > 0 {
			return d, nil
		}
		lead = d.took*3/2 + time.Second
		t.say("the range was up too late: once more, with %s", lead.Round(time.Second))
		if err := d.close(); err != nil {
			return nil, err
		}
	}
}

// newDoomed is a range with so many sessions, which end evenly within some time after the lead, and some free lanes.
func newDoomed(ctx context.Context, kind storeKind, ending, free int, lead, within time.Duration) (d *doomed, err error) {
	g, err := newGatewayOn(kind)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	begun := time.Now()
	layout := layoutOf(ending + free)
	d = &doomed{gateway: g, deadline: evenly(g.clock.Now().Add(lead), within, ending)}
	if err := (seed{layout: layout, sessions: ending, deadline: d.deadline}).plant(ctx, g.file, g.clock); err != nil {
		return nil, err
	}
	d.kept = &ledger{Store: g.file.Store, now: g.clock.Now, all: make(chan struct{})}
	d.kept.left.Store(int64(ending))
	g.file.Store = d.kept
	d.heard = newOrders(g.hardware, g.clock.Now, layout.Lanes[:ending])
	if d.r, err = g.startOn(ctx, layout, d.heard, nil); err != nil {
		return nil, err
	}
	err = linksUp(ctx, d.r)
	d.took = time.Since(begun)
	return d, err
}

// until is the time to the first deadline.
func (d *doomed) until() time.Duration { return d.deadline(0).Since(d.clock.Now()) }

// await waits for something that the end of all sessions brings about.
func (d *doomed) await(ctx context.Context, all <-chan struct{}) error {
	select {
	case <-all:
		return nil
	case <-time.After(d.until() + endsWithin + 2*time.Minute):
		return errors.New("not every session ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ledger is a store that knows when the last session's end was durable.
type ledger struct {
	store.Store
	now     func() lanes.Instant
	left    atomic.Int64 // ends that are not durable
	at      atomic.Int64 // when the last was, on the boot clock
	all     chan struct{}
	flushed []store.Batch // with ends, in their order: a range has one flush under way
}

// Flush keeps the batch, and counts the ends in it.
func (l *ledger) Flush(ctx context.Context, batch store.Batch) error {
	if err := l.Store.Flush(ctx, batch); err != nil || len(batch.Ended) == 0 {
		return err
	}
	l.flushed = append(l.flushed, batch)
	if l.left.Add(-int64(len(batch.Ended))) == 0 {
		l.at.Store(int64(l.now().Mono))
		close(l.all)
	}
	return nil
}
