package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"rangegate/actors"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
	"rangegate/webhook"
)

var deliveries = experiment{"webhook", "events delivered a second, 64 at a time, each marked before and recorded afterwards", measureDeliveries}

const (
	atOnce      = 64
	eventsALane = 10
)

func measureDeliveries(ctx context.Context, t *trial) (err error) {
	integrator, err := newPeer("receiver")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, integrator.close()) }()
	var where delivered
	if err := integrator.question(awaited{}, &where); err != nil {
		return err
	}
	laneCount := t.lanes(1000)
	return t.compare(ctx, 3,
		func(ctx context.Context) ([]float64, error) {
			return deliverAll(ctx, t, integrator, where.Address, laneCount)
		},
		func(ctx context.Context) ([]float64, error) {
			return postAll(ctx, integrator, where.Address, laneCount*eventsALane)
		},
		figures.Figure{
			Unit: "1/s", Goal: figures.AtLeast(0.8),
			What:  "events at the receiver a second, from the first to the last, each saved as begun before and with its outcome after",
			Limit: "64 loops of net/http posting the same bodies to the same receiver",
		})
}

// deliverAll starts a range on whose lanes events wait that were never attempted.
func deliverAll(ctx context.Context, t *trial, integrator *peer, address string, laneCount int) (had []float64, err error) {
	g, err := newGatewayOn(t.store())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	layout := layoutOf(laneCount)
	planted := seed{layout: layout, sessions: laneCount, deadline: inAnHour(g.clock), pending: func(i int) (waiting []lanes.Logged) {
		for range eventsALane {
			waiting = append(waiting, lanes.Logged{Event: lanes.Event{
				ID: uuid.New(), Kind: lanes.SessionModified, Session: uuid.New(), Lane: layout.Lanes[i].ID, At: time.Now().UTC(),
			}})
		}
		return waiting
	}}
	if err := planted.plant(ctx, g.file, g.clock); err != nil {
		return nil, err
	}
	to, err := webhook.New(webhook.Settings{
		Range: layout.Range, URL: address, Secrets: []string{webhookSecret}, Timeout: 10 * time.Second,
		Transport: webhook.Transport(false, atOnce), Version: "bench", Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	return countWhile(integrator, laneCount*eventsALane, func() error {
		_, err := g.startWith(ctx, actors.Settings{
			Layout: layout, Driver: g.hardware, Webhook: to, Delivery: actors.Delivery{Slots: atOnce, Queue: laneCount * eventsALane},
		})
		return err
	})
}

const webhookSecret = "whsec_cmFuZ2VnYXRlIHBsYXlncm91bmQ6IG5vIHNlY3JldCBhdCBhbGw="

// countWhile counts what arrives from now on, until so many have.
func countWhile(integrator *peer, n int, send func() error) ([]float64, error) {
	var listening struct{}
	if err := integrator.question(awaited{n}, &listening); err != nil {
		return nil, err
	}
	if err := send(); err != nil {
		return nil, err
	}
	var had delivered
	if err := integrator.answers.Decode(&had); err != nil {
		return nil, err
	}
	if had.Missing > 0 {
		return nil, fmt.Errorf("%d of %d events did not arrive", had.Missing, n)
	}
	return []float64{had.PerSecond}, nil
}

// postAll posts as many bodies of the same kind.
func postAll(ctx context.Context, integrator *peer, address string, n int) ([]float64, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce, MaxConnsPerHost: atOnce}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	body, err := json.Marshal(webhook.BodyOf(lanes.Event{Kind: lanes.SessionModified, Session: uuid.New(), Lane: uuid.New()}))
	if err != nil {
		return nil, err
	}
	return countWhile(integrator, n, func() error {
		var left atomic.Int64
		left.Store(int64(n))
		posting, ctx := errgroup.WithContext(ctx)
		for range atOnce {
			posting.Go(func() error {
				for left.Add(-1) >= 0 {
					request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
					if err != nil {
						return err
					}
					request.Header.Set("Content-Type", "application/json")
					response, err := client.Do(request)
					if err != nil {
						return err
					}
					_ = response.Body.Close()
				}
				return nil
			})
		}
		return posting.Wait()
	})
}
