package main

import (
	"context"
	"errors"
	"time"

	"rangegate/actors/clock"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

var startUp = experiment{"startup", "a gateway starts on 100,000 running sessions, until it is ready", measureStartUp}

func measureStartUp(ctx context.Context, t *trial) error {
	n := t.lanes(100_000)
	return t.compare(ctx, 2,
		func(ctx context.Context) ([]float64, error) { return startOnSessions(ctx, t, n) },
		func(ctx context.Context) ([]float64, error) { return readSessions(ctx, t, n) },
		figures.Figure{
			Unit: "ms", Goal: figures.AtMost(3), What: "from opening the store to being ready",
			Limit: "opening the bare database, reading the same records and decoding each",
		})
}

func startOnSessions(ctx context.Context, t *trial, n int) (had []float64, err error) {
	clock, err := clock.NewSystem()
	if err != nil {
		return nil, err
	}
	d, err := newDisk(t.store())
	if err != nil {
		return nil, err
	}
	layout := layoutOf(n)
	if err := (seed{layout: layout, sessions: n, deadline: deadlineInAnHour(clock)}).
		plantOn(ctx, d, clock); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	begun := time.Now()
	g, err := openGateway(d)
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if _, err := g.startOn(ctx, layout, g.hardware, nil); err != nil {
		return nil, err
	}
	return []float64{milliseconds(time.Since(begun))}, nil
}

// plantOn writes the seed to the store and closes it.
func (s seed) plantOn(ctx context.Context, d *disk, clock clock.Clock) error {
	kept, err := d.open()
	if err != nil {
		return err
	}
	return errors.Join(s.plant(ctx, kept, clock), kept.Close())
}

func readSessions(ctx context.Context, t *trial, n int) (had []float64, err error) {
	clock, err := clock.NewSystem()
	if err != nil {
		return nil, err
	}
	d, err := newDisk(t.store())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.remove()) }()
	if err := fill(d, seed{
		layout: layoutOf(n), sessions: n,
		deadline: deadlineInAnHour(clock),
	}.batches(clock)); err != nil {
		return nil, err
	}
	begun := time.Now()
	kept, err := d.bare()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	all := make([]lanes.Snapshot, 0, n)
	err = kept.read("lanes", func(value []byte) error {
		lane, err := store.Decode[lanes.Snapshot](value)
		all = append(all, lane)
		return err
	})
	if err == nil && len(all) != n {
		err = errors.New("not every record was read")
	}
	return []float64{milliseconds(time.Since(begun))}, errors.Join(err, ctx.Err())
}

// fill writes the batches to the bare database, and closes it.
func fill(d *disk, batches []store.Batch) error {
	kept, err := d.bare()
	if err != nil {
		return err
	}
	for _, batch := range batches {
		records, err := recordsOf(batch)
		if err == nil {
			err = kept.write(records)
		}
		if err != nil {
			return errors.Join(err, kept.close())
		}
	}
	return kept.close()
}
