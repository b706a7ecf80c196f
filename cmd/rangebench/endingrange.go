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

// endingRange is a range whose sessions are about to end. It was started on a store with running sessions.
type endingRange struct {
	*gateway
	r        *actors.Range
	deadline func(i int) lanes.Instant
	heard    *orders
	kept     *endCounter
	took     time.Duration // to write the sessions and to start the range
}

// startEndingRange starts one before the first deadline. A slow machine gets more time.
func startEndingRange(ctx context.Context, t *trial, ending, free int, within time.Duration) (*endingRange, error) {
	for lead := 2*time.Second + time.Duration(ending)*150*time.Microsecond; ; {
		d, err := newEndingRange(ctx, t.store(), ending, free, lead, within)
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

// newEndingRange makes a range with sessions that end evenly within a time after the lead, and with free lanes.
func newEndingRange(
	ctx context.Context, kind storeKind, ending, free int, lead, within time.Duration,
) (d *endingRange, err error) {
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
	d = &endingRange{gateway: g, deadline: evenDeadlines(g.clock.Now().Add(lead), within, ending)}
	if err := (seed{layout: layout, sessions: ending, deadline: d.deadline}).plant(ctx, g.file, g.clock); err != nil {
		return nil, err
	}
	d.kept = &endCounter{Store: g.file.Store, now: g.clock.Now, all: make(chan struct{})}
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

// until returns the time to the first deadline.
func (d *endingRange) until() time.Duration { return d.deadline(0).Since(d.clock.Now()) }

// await waits for a signal that follows the end of all sessions.
func (d *endingRange) await(ctx context.Context, all <-chan struct{}) error {
	select {
	case <-all:
		return nil
	case <-time.After(d.until() + endsWithin + 2*time.Minute):
		return errors.New("not every session ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endCounter is a store that notes when the last session's end was durable.
type endCounter struct {
	store.Store
	now     func() lanes.Instant
	left    atomic.Int64 // ends that are not durable
	at      atomic.Int64 // when the last was, on the boot clock
	all     chan struct{}
	flushed []store.Batch // with ended sessions, in order: a range flushes one batch at a time
}

// Flush stores the batch, and counts the ended sessions in it.
func (l *endCounter) Flush(ctx context.Context, batch store.Batch) error {
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
