package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/actors/delivery"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
)

// gateway has ranges in this process, with a store of their own and, by default, simulated lanes. It logs
// from info on and counts as in production; the output is discarded.
type gateway struct {
	*actors.Gateway
	clock    clock.Clock
	hardware *sim.Driver
	file     *hangingStore
	disk     *disk
	registry *prometheus.Registry
	log      zerolog.Logger
	nowhere  io.Closer
}

// newGateway makes a gateway on an empty SQLite file.
func newGateway() (*gateway, error) { return newGatewayOn(sqliteStore) }

// newGatewayOn makes a gateway on an empty store of that kind.
func newGatewayOn(kind storeKind) (*gateway, error) {
	d, err := newDisk(kind)
	if err != nil {
		return nil, err
	}
	g, err := openGateway(d)
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return g, nil
}

// openGateway makes a gateway on a disk, which it owns.
func openGateway(d *disk) (*gateway, error) {
	clock, err := clock.NewSystem()
	if err != nil {
		return nil, err
	}
	kept, err := d.open()
	if err != nil {
		return nil, err
	}
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	g := &gateway{
		clock: clock, hardware: sim.New(clock.Now), file: &hangingStore{Store: kept}, disk: d,
		registry: prometheus.NewRegistry(),
		log:      zerolog.New(nowhere).Level(zerolog.InfoLevel).With().Timestamp().Logger(), nowhere: nowhere,
	}
	g.Gateway = actors.NewGateway(clock, g.file, metrics.New(g.registry), g.log)
	return g, nil
}

// layoutOf returns a range with that many lanes.
func layoutOf(laneCount int) lanes.Layout {
	layout := lanes.Layout{Range: uuid.New(), Name: "Range", Groups: []lanes.Group{{ID: uuid.New(), Name: "Public"}}}
	for range laneCount {
		layout.Lanes = append(layout.Lanes, lanes.Place{ID: uuid.New(), Name: "Lane", Accessible: true})
	}
	return layout
}

// start starts a range with that many simulated lanes.
func (g *gateway) start(ctx context.Context, laneCount int, webhook delivery.Webhook) (*actors.Range, error) {
	return g.startOn(ctx, layoutOf(laneCount), g.hardware, webhook)
}

func (g *gateway) startOn(
	ctx context.Context, layout lanes.Layout, hardware link.Driver, webhook delivery.Webhook,
) (*actors.Range, error) {
	return g.startWith(ctx, actors.Settings{
		Layout: layout, Driver: hardware,
		Receivers: []delivery.Receiver{{Webhook: webhook, Purchases: true, Slots: 16, Queue: 10_000}},
	})
}

func (g *gateway) startWith(ctx context.Context, s actors.Settings) (*actors.Range, error) {
	s.Grace = time.Minute
	if err := g.StartRange(ctx, s); err != nil {
		return nil, err
	}
	r, err := g.Range(s.Layout.Range)
	if err != nil {
		return nil, err
	}
	for !r.Ready() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
	return r, nil
}

// linksUp waits until every lane has its link. It checks seldom, because a check reads every lane.
func linksUp(ctx context.Context, r *actors.Range) error {
	look := max(20*time.Millisecond, time.Duration(len(r.Layout().Lanes))*5*time.Microsecond)
	for late := time.After(4 * patience); ; {
		if !slices.ContainsFunc(r.Lanes(), func(l lanes.LaneStatus) bool { return l.Link != lanes.LinkUp }) {
			return nil
		}
		select {
		case <-time.After(look):
		case <-late:
			return errors.New("not every link came up")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close stops everything and removes the store.
func (g *gateway) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(g.Stop(ctx), g.file.Close(), g.disk.remove(), g.nowhere.Close())
}

// sell sells eight hours on the lane.
func sell(ctx context.Context, r *actors.Range, lane uuid.UUID) (uuid.UUID, error) {
	sale := lanes.Create{
		Session: uuid.New(), Group: r.Layout().Groups[0].ID, Customer: "Jo Smith", Minutes: lanes.MaxMinutes,
		AutoStart: true,
	}
	_, err := r.Create(ctx, lane, sale, nil)
	return sale.Session, err
}
