package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/actors"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/bolt"
)

// gateway is ranges in this process, on a bolt file of their own, with simulated lanes.
type gateway struct {
	*actors.Gateway
	clock    actors.Clock
	hardware *sim.Driver
	file     *hangingStore
	dir      string
}

func newGateway() (*gateway, error) {
	clock, err := actors.NewSystemClock()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rangebench-")
	if err != nil {
		return nil, err
	}
	const long = 24 * time.Hour
	file, err := bolt.Open(filepath.Join(dir, "range.db"), store.Retention{Events: long, History: long, Names: long, Cap: 1_000_000})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	hanging := &hangingStore{Store: file}
	return &gateway{
		Gateway: actors.NewGateway(clock, hanging, actors.NewMetrics(prometheus.NewRegistry()), zerolog.Nop()),
		clock:   clock, hardware: sim.New(clock.Now), file: hanging, dir: dir,
	}, nil
}

// layoutOf is a range with so many lanes.
func layoutOf(laneCount int) lanes.Layout {
	layout := lanes.Layout{Range: uuid.New(), Name: "Range", Groups: []lanes.Group{{ID: uuid.New(), Name: "Public"}}}
	for range laneCount {
		layout.Lanes = append(layout.Lanes, lanes.Place{ID: uuid.New(), Name: "Lane", Accessible: true})
	}
	return layout
}

// start brings up a range with so many simulated lanes.
func (g *gateway) start(ctx context.Context, laneCount int, webhook actors.Webhook) (*actors.Range, error) {
	return g.startOn(ctx, layoutOf(laneCount), g.hardware, webhook)
}

func (g *gateway) startOn(
	ctx context.Context, layout lanes.Layout, hardware link.Driver, webhook actors.Webhook,
) (*actors.Range, error) {
	err := g.StartRange(ctx, actors.Settings{
		Layout: layout, Grace: time.Minute, Driver: hardware, Webhook: webhook,
		Delivery: actors.Delivery{Slots: 16, Queue: 10_000},
	})
	if err != nil {
		return nil, err
	}
	r, _ := g.Range(layout.Range)
	for !r.Ready() {
		time.Sleep(time.Millisecond)
	}
	return r, nil
}

// close stops everything and removes the file.
func (g *gateway) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	return errors.Join(g.Stop(ctx), g.file.Close(), os.RemoveAll(g.dir))
}

// sell sells eight hours on the lane.
func sell(ctx context.Context, r *actors.Range, lane uuid.UUID) (uuid.UUID, error) {
	sale := lanes.Create{
		Session: uuid.New(), Group: r.Layout().Groups[0].ID, Customer: "Jo Smith", Minutes: lanes.MaxMinutes, AutoStart: true,
	}
	_, err := r.Create(ctx, lane, sale, nil)
	return sale.Session, err
}
