package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
)

var relaySmall = relay{
	"relay/1k", 1000,
	5,
}.experiment("1,000 sessions begin together: how far apart is that at the controllers?")

// relay measures how far apart the sessions of one start begin. The limit writes the same frames, one after the other,
// to as many bare connections.
type relay struct {
	name   string
	lanes  int
	rounds int
}

const (
	startsARound = 3 // the median counts
	startsAhead  = 2 * time.Second
)

func (r relay) experiment(what string) experiment { return experiment{r.name, what, r.measure} }

func (r relay) measure(ctx context.Context, t *trial) error {
	const spare = 1000
	n := t.lanes(r.lanes)
	if have := files(n + spare); have < n+spare {
		return &notMeasured{fmt.Sprintf("it takes %d files, and this process may open %d", n+spare, have)}
	}
	limit := "the orders to run, written one after the other to as many bare connections"
	return t.compare(ctx, r.rounds,
		func(ctx context.Context) ([]float64, error) { return startAll(ctx, n) },
		func(ctx context.Context) ([]float64, error) { return orderAll(ctx, n) },
		figures.Figure{
			Name: "ordered", Unit: "ms", Goal: figures.AtMost(2),
			What: "from the first order to run to the last, at the controllers", Limit: limit,
		},
		figures.Figure{
			Name: "by itself", Unit: "ms", Goal: figures.AtMost(2),
			What: "from the first begin to the last of controllers that begin by themselves", Limit: limit,
		})
}

// startAll sells waiting sessions on all lanes of a range and lets them begin together.
func startAll(ctx context.Context, n int) (had []float64, err error) {
	r, err := newHeld(ctx, layoutOf(n), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	return measureStarts(ctx, r.controllers, func(ctx context.Context) error {
		sessions, err := r.sellWaiting(ctx)
		if err != nil {
			return err
		}
		_, err = r.r.ScheduleStart(ctx, sessions, r.r.Now().Add(startsAhead), nil)
		return err
	})
}

// orderAll orders bare connections to run.
func orderAll(ctx context.Context, n int) (had []float64, err error) {
	b, err := newBare(ctx, n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	had, err = measureStarts(ctx, b.controllers, func(ctx context.Context) error {
		for _, phase := range []lanes.Phase{lanes.Waiting, lanes.Running} {
			if err := b.order(ctx, phase); err != nil {
				return err
			}
		}
		return nil
	})
	return slices.Repeat(had[:min(1, len(had))], 2), err
}

// measureStarts starts all lanes repeatedly, and returns the medians of how far apart the orders and the begins were,
// in milliseconds.
func measureStarts(ctx context.Context, at *controllerProcess, start func(context.Context) error) ([]float64, error) {
	var ordered, begun []float64
	for range startsARound {
		within, cancel := context.WithTimeout(ctx, patience)
		err := start(within)
		var apart spread
		if err == nil {
			apart, err = at.spread(within)
		}
		cancel()
		if err != nil {
			return nil, err
		}
		ordered, begun = append(ordered, milliseconds(apart.ordered)), append(begun, milliseconds(apart.begun))
	}
	return []float64{figures.Median(ordered), figures.Median(begun)}, nil
}

// order writes to all connections that their session is in that phase.
func (b *bare) order(ctx context.Context, phase lanes.Phase) error {
	frame := fmt.Appendf(nil,
		`{"type":"state","revision":%d,"hold":false,"session":{"session_id":%q,"customer_name":"Jo Smith","group_id":%q,`+
			`"phase":%q,"remaining_ms":28800000,"enable_purchasing":false},"purchase":null}`, b.next.Add(1), uuid.Max,
		uuid.Max, phase)
	for _, conn := range b.all {
		if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
			return err
		}
	}
	return nil
}

// sellWaiting sells a session that waits on each lane, in place of the one that is there.
func (h *held) sellWaiting(ctx context.Context) ([]uuid.UUID, error) {
	layout := h.r.Layout()
	sessions := make([]uuid.UUID, len(layout.Lanes))
	var sales errgroup.Group
	sales.SetLimit(64)
	for i, place := range layout.Lanes {
		sales.Go(func() error {
			if status, _ := h.r.LaneStatus(place.ID); status.Lane.Session != nil {
				session := status.Lane.Session.ID
				if _, err := h.r.On(ctx, session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil); err != nil {
					return err
				}
			}
			sessions[i] = uuid.New()
			_, err := h.r.Create(ctx, place.ID, lanes.Create{
				Session: sessions[i], Group: layout.Groups[0].ID, Customer: "Jo Smith", Minutes: lanes.MaxMinutes,
			}, nil)
			return err
		})
	}
	return sessions, sales.Wait()
}
