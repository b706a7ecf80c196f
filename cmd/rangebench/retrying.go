package main

import (
	"context"
	"errors"
	"net"
	"runtime"
	"time"

	"rangegate/actors"
	"rangegate/actors/delivery"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
	"rangegate/webhook"
	"rangegate/webhook/egress"
)

var retrying = experiment{"retries", "100 ranges whose receiver is dead for a day: CPU of one core", measureRetrying}

const (
	retryingRanges = 100
	// perDay is how many events each range makes in a day: one a minute. With retries for 24 h each is tried
	// seven times more, evenly over the day once it has lasted for long enough.
	perDay         = 24 * 60
	retryInterval  = 24 * time.Hour / (7 * perDay) // between two retries of a range
	retryingWindow = 30 * time.Second
)

func measureRetrying(ctx context.Context, t *trial) error {
	var cost, idle []float64
	for range t.rounds(2) {
		without, err := retryingCPU(ctx, t, 0)
		if err != nil {
			return err
		}
		_, err = t.ours(ctx, len(cost), func(ctx context.Context) ([]float64, error) {
			with, err := retryingCPU(ctx, t, perDay)
			cost, idle = append(cost, with-without), append(idle, without)
			return nil, err
		})
		if err != nil {
			return err
		}
	}
	t.note(
		figures.Figure{
			Name: "cpu", Unit: "% CPU", Goal: figures.Below(2), Ours: cost,
			What: "of one core: 100 ranges with 1,440 events each that await their retry, whose receiver refuses " +
				"connections; 11.7 retries a second in all",
		},
		figures.Figure{
			Name: "idle", Unit: "% CPU", Ours: idle,
			What: "of one core: the same ranges without an event, not in the figure above",
		})
	return nil
}

// retryingCPU returns the share of a core that ranges take with so many events each that await their retry.
func retryingCPU(ctx context.Context, t *trial, events int) (percent float64, err error) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	dead := "http://" + closed.Addr().String()
	g, err := newGatewayOn(t.store())
	if err = errors.Join(err, closed.Close()); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	for n := range retryingRanges {
		layout := layoutOf(1)
		first := time.Now().UTC().Add(time.Duration(n) * retryInterval / retryingRanges)
		planted := seed{
			layout: layout, sessions: 1, deadline: deadlineInAnHour(g.clock),
			pending: func(int) (log []lanes.Logged) {
				for i := range events {
					log = append(log, awaitingRetry(layout, first.Add(time.Duration(i)*retryInterval)))
				}
				return log
			},
		}
		if err := planted.plant(ctx, g.file, g.clock); err != nil {
			return 0, err
		}
		to, err := webhook.New(webhook.Settings{
			Range: layout.Range, URL: dead, Secrets: []string{webhookSecret}, Timeout: 10 * time.Second,
			Transport: egress.Transport(false, 16), Version: "bench", Now: time.Now,
		})
		if err != nil {
			return 0, err
		}
		if _, err := g.startWith(ctx, actors.Settings{
			Layout: layout, Driver: g.hardware,
			Receivers: []delivery.Receiver{{
				Webhook: to, Slots: 16, Queue: 10_000,
				Retry: lanes.RetryPolicy{For: 24 * time.Hour},
			}},
		}); err != nil {
			return 0, err
		}
	}
	runtime.GC()
	time.Sleep(15 * time.Second) // what was due before is tried, and what was planted is in the file
	return share(func() error { return pause(ctx, retryingWindow) })
}

// awaitingRetry is an event that was tried four times and is tried again at that time.
func awaitingRetry(layout lanes.Layout, at time.Time) lanes.Logged {
	failed := lanes.Attempt{
		At: at.Add(-2 * time.Hour), Error: lanes.Unreachable + ": the connection was refused",
		Duration: time.Millisecond,
	}
	logged := lanes.Logged{
		Event:    waitingEvent(layout.Lanes[0].ID, failed.At),
		Delivery: lanes.Delivery{Earlier: []lanes.Attempt{failed, failed, failed}},
	}
	failed.RetryAt = at
	logged.Attempt = &failed
	return logged
}
