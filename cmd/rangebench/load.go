package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"rangegate/actors"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
)

// burdens are the figures of ranges under load.
var burdens = []struct{ name, what, unit string }{
	{"cpu", "CPU of a sale, a change and a stop, 64 under way at once", "µs"},
	{"memory", "memory of a lane with nothing on it", "KB"},
	{"latency", "a command of one lane while all others are busy, median", "ms"},
}

const (
	turns      = 12_000 // sales, changes and stops
	busySpan   = 3 * time.Second
	busyRate   = 1000 // commands a second on all other lanes
	atLaneRate = 100  // on the one lane
)

// loaded returns the figures in the order of burdens.
func loaded(ctx context.Context, a isolated) (had []float64, err error) {
	g, err := newGatewayOn(a.Store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	before := inUse()
	var all []*actors.Range
	for range a.Ranges {
		r, err := g.start(ctx, a.Lanes/a.Ranges, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	for _, r := range all {
		if err := linksUp(ctx, r); err != nil {
			return nil, err
		}
	}
	memory := each(before, a.Lanes)
	cpu, err := timeCommands(ctx, all)
	if err != nil {
		return nil, err
	}
	latency, err := timeOneLane(ctx, all)
	return []float64{cpu, memory, latency}, err
}

// timeCommands sells, changes and stops on each lane of each range in turn, and returns the processor time of
// a command, in microseconds.
func timeCommands(ctx context.Context, all []*actors.Range) (float64, error) {
	before := cpuTime()
	var working errgroup.Group
	working.SetLimit(clients)
	for n := range turns {
		working.Go(func() error {
			r := all[n%len(all)]
			places := r.Layout().Lanes
			return sellChangeStop(ctx, r, places[n/len(all)%len(places)].ID)
		})
	}
	err := working.Wait()
	return float64((cpuTime() - before).Microseconds()) / turns, err
}

func sellChangeStop(ctx context.Context, r *actors.Range, lane uuid.UUID) error {
	session, err := sell(ctx, r, lane)
	if err != nil {
		return err
	}
	if _, err := r.On(ctx, session, lanes.Modify{Session: session, Minutes: -15}, nil); err != nil {
		return err
	}
	_, err = r.On(ctx, session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
	return err
}

// timeOneLane pauses and resumes one session while all other lanes get commands.
func timeOneLane(ctx context.Context, all []*actors.Range) (float64, error) {
	first := all[0].Layout().Lanes[0].ID
	session, err := sell(ctx, all[0], first)
	if err != nil {
		return 0, err
	}
	busy, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { loadOtherLanes(busy, all) })
	var took []float64
	commands := time.NewTicker(time.Second / atLaneRate)
	defer commands.Stop()
	for end := time.Now().Add(busySpan); time.Now().Before(end) && err == nil; <-commands.C {
		var command lanes.Command = lanes.Pause{Session: session}
		if len(took)%2 == 1 {
			command = lanes.Resume{Session: session}
		}
		begun := time.Now()
		_, err = all[0].On(ctx, session, command, nil)
		took = append(took, milliseconds(time.Since(begun)))
	}
	cancel()
	others.Wait()
	return figures.Percentile(took, 50), err
}

// loadOtherLanes sells and stops at a fixed rate on every lane but the first.
func loadOtherLanes(ctx context.Context, all []*actors.Range) {
	var working errgroup.Group
	working.SetLimit(1000)
	begun := time.Now()
	for n := 1; ctx.Err() == nil; n++ {
		time.Sleep(time.Until(begun.Add(time.Duration(n) * 3 * time.Second / busyRate)))
		r := all[n%len(all)]
		places := r.Layout().Lanes[1:]
		lane := places[n/len(all)%len(places)].ID
		working.Go(func() error {
			_ = sellChangeStop(ctx, r, lane) // one that is interrupted is work too
			return nil
		})
	}
	_ = working.Wait()
}
