package main

import (
	"context"
	"errors"
	"time"

	"rangegate/actors/clock"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
)

var ending = experiment{"ending", "100,000 sessions end within the same 100 ms: until all lanes are stopped and " +
	"all of it is saved", measureEnding}

func measureEnding(ctx context.Context, t *trial) error {
	n := t.lanes(100_000)
	var ended []store.Batch // of the gateway; the limit writes the same
	return t.compare(ctx, 1,
		func(ctx context.Context) (had []float64, err error) {
			had, ended, err = endAllAtOnce(ctx, t, n)
			return had, err
		},
		func(ctx context.Context) ([]float64, error) { return writeAndSend(ctx, t, ended) },
		figures.Figure{
			Unit: "ms", Goal: figures.AtMost(3),
			What:  "from the first deadline until every lane is stopped, saved and its event committed",
			Limit: "one batch write of the same records, encoded, and one send to each link",
		})
}

// endAllAtOnce returns how long the end of all sessions took, and the flushed batches.
func endAllAtOnce(ctx context.Context, t *trial, n int) (had []float64, flushed []store.Batch, err error) {
	d, err := startEndingRange(ctx, t, n, 0, 100*time.Millisecond)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	for _, all := range []chan struct{}{d.heard.all, d.kept.all} {
		if err := d.await(ctx, all); err != nil {
			return nil, nil, err
		}
	}
	last := d.kept.at.Load()
	for i := range d.heard.stopped {
		last = max(last, d.heard.stopped[i].Load())
	}
	return []float64{milliseconds(time.Duration(last) - d.deadline(0).Mono)}, d.kept.flushed, nil
}

// writeAndSend writes all batches at once, and sends a state to every lane.
func writeAndSend(ctx context.Context, t *trial, flushed []store.Batch) (had []float64, err error) {
	d, err := newDisk(t.store())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.remove()) }()
	to, err := d.bare()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	clock, err := clock.NewSystem()
	if err != nil {
		return nil, err
	}
	links, err := bareLinks(ctx, clock, flushed)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	for _, connection := range links {
		connection.Send(link.State{Revision: 1})
	}
	var all []entry
	for _, batch := range flushed {
		records, err := recordsOf(batch)
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	if err := to.write(all); err != nil {
		return nil, err
	}
	return []float64{milliseconds(time.Since(begun))}, nil
}

// bareLinks connects to simulated lanes without a gateway.
func bareLinks(ctx context.Context, clock clock.Clock, flushed []store.Batch) (all []link.Connection, err error) {
	hardware := sim.New(clock.Now)
	for _, batch := range flushed {
		for _, lane := range batch.Lanes {
			connection, _, err := hardware.Dial(ctx, link.Lane{ID: lane.ID}, ignoreAll{})
			if err != nil {
				return nil, err
			}
			all = append(all, connection)
		}
	}
	return all, nil
}

// ignoreAll ignores all calls of a connection.
type ignoreAll struct{}

func (ignoreAll) Applied(uint64)        {}
func (ignoreAll) Reported(lanes.Report) {}
func (ignoreAll) Down(error)            {}
