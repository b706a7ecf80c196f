package main

import (
	"context"
	"errors"
	"time"

	"rangegate/cmd/rangebench/figures"
)

var day = experiment{"day", "a range of 100 lanes on a busy minute of its day: CPU of one core", measureDay}

// Half-hour sessions on nearly all of 100 lanes are 3 sales and 3 stops a minute. The script is such a minute
// in half the time, with a list, a change and a ceasefire.
const (
	dayLanes   = 100
	dayScreens = 3
	daySpan    = 30 * time.Second
	dayRounds  = 1
)

// script is the sequence of requests, each with its time.
var script = []struct {
	after time.Duration
	what  func(*working) error
}{
	{1 * time.Second, (*working).sells},
	{5 * time.Second, (*working).lists},
	{8 * time.Second, (*working).changes},
	{11 * time.Second, (*working).sells},
	{14 * time.Second, (*working).stops},
	{17 * time.Second, (*working).holds},
	{21 * time.Second, (*working).lifts},
	{24 * time.Second, (*working).stops},
	{27 * time.Second, (*working).sells},
	{29 * time.Second, (*working).stops},
}

func measureDay(ctx context.Context, t *trial) error {
	var busy, idle []float64
	for range t.rounds(dayRounds) {
		_, err := t.ours(ctx, len(busy), func(ctx context.Context) ([]float64, error) {
			b, i, err := runDay(ctx, t.lanes(dayLanes))
			busy, idle = append(busy, b), append(idle, i)
			return nil, err
		})
		if err != nil {
			return err
		}
	}
	t.note(
		figures.Figure{
			Name: "busy", Unit: "% CPU", Goal: figures.Below(1), Ours: busy,
			What: "of one core: 100 links, 3 control screens, a webhook, and in 30 s 3 sales, 3 stops, a change, " +
				"a list and a ceasefire",
		},
		figures.Figure{
			Name: "night", Unit: "% CPU", Ours: idle,
			What: "of one core: 100 links and 3 control screens, and nothing happens",
		})
	return nil
}

// runDay returns the share of a core during the script, and without requests, in percent.
func runDay(ctx context.Context, laneCount int) (busy, idle float64, err error) {
	w, err := openWorking(ctx, laneCount)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	audience, err := newAudience(w.address, w.held.r.Layout().Range, laneCount, dayScreens)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, audience.close()) }()
	time.Sleep(2 * time.Second) // signing in has ended
	if idle, err = share(func() error { return pause(ctx, 10*time.Second) }); err != nil {
		return 0, 0, err
	}
	busy, err = share(w.work)
	return busy, idle, err
}

// share returns the share of a core that this process uses during the call, in percent.
func share(during func() error) (float64, error) {
	before, begun := cpuTime(), time.Now()
	err := during()
	return 100 * (cpuTime() - before).Seconds() / time.Since(begun).Seconds(), err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
