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
	"rangegate/actors/delivery"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/webhook"
	"rangegate/webhook/egress"
)

var deliveries = experiment{"webhook", "events delivered a second, 64 at a time, each marked before and recorded " +
	"afterwards", measureDeliveries}

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
	const what = "events at the receiver a second, from the first to the last, each saved as begun before and " +
		"with its outcome after"
	return t.compare(ctx, 3,
		func(ctx context.Context) ([]float64, error) {
			perSecond, err := deliverAll(ctx, t, integrator, where.Address, laneCount)
			return []float64{perSecond, perSecond}, err
		},
		func(ctx context.Context) ([]float64, error) {
			bare, err := postAll(ctx, integrator, where.Address, laneCount*eventsALane, unsaved)
			if err != nil {
				return nil, err
			}
			saved, err := postSaved(ctx, t, integrator, where.Address, laneCount*eventsALane)
			return []float64{bare, saved}, err
		},
		figures.Figure{
			Unit: "1/s", Goal: figures.AtLeast(0.8), What: what,
			Limit: "64 loops of net/http posting the same bodies to the same receiver",
		},
		figures.Figure{
			Name: "saved", Unit: "1/s", Goal: figures.AtLeast(0.8), What: what,
			Limit: "the same loops, each encoding the same record before and after the post and writing it to the " +
				"bare database in groups: before it is posted the record is durable, and nobody waits for the outcome",
		})
}

// deliverAll starts a range with pending events.
func deliverAll(
	ctx context.Context, t *trial, integrator *peer, address string, laneCount int,
) (perSecond float64, err error) {
	g, err := newGatewayOn(t.store())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	layout := layoutOf(laneCount)
	planted := seed{
		layout: layout, sessions: laneCount, deadline: deadlineInAnHour(g.clock),
		pending: func(i int) (waiting []lanes.Logged) {
			for range eventsALane {
				waiting = append(waiting, lanes.Logged{Event: waitingEvent(layout.Lanes[i].ID, time.Now().UTC())})
			}
			return waiting
		},
	}
	if err := planted.plant(ctx, g.file, g.clock); err != nil {
		return 0, err
	}
	to, err := webhook.New(webhook.Settings{
		Range: layout.Range, URL: address, Secrets: []string{webhookSecret}, Timeout: 10 * time.Second,
		Transport: egress.Transport(false, atOnce), Version: "bench", Now: time.Now,
	})
	if err != nil {
		return 0, err
	}
	return countWhile(integrator, laneCount*eventsALane, func() error {
		_, err := g.startWith(ctx, actors.Settings{
			Layout: layout, Driver: g.hardware,
			Receivers: []delivery.Receiver{{Webhook: to, Slots: atOnce, Queue: laneCount * eventsALane}},
		})
		return err
	})
}

const webhookSecret = "whsec_cmFuZ2VnYXRlIHBsYXlncm91bmQ6IG5vIHNlY3JldCBhdCBhbGw="

// countWhile counts deliveries until n have arrived.
func countWhile(integrator *peer, n int, send func() error) (perSecond float64, err error) {
	var listening struct{}
	if err := integrator.question(awaited{n}, &listening); err != nil {
		return 0, err
	}
	if err := send(); err != nil {
		return 0, err
	}
	var had delivered
	if err := integrator.answers.Decode(&had); err != nil {
		return 0, err
	}
	if had.Missing > 0 {
		return 0, fmt.Errorf("%d of %d events did not arrive", had.Missing, n)
	}
	return had.PerSecond, nil
}

// postAll posts n bodies of the same kind; around wraps each post.
func postAll(
	ctx context.Context, integrator *peer, address string, n int, around func(i int, post func() error) error,
) (float64, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce, MaxConnsPerHost: atOnce}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	body, err := json.Marshal(webhook.BodyOf(lanes.Event{
		Kind: lanes.SessionModified, Session: uuid.New(),
		Lane: uuid.New(),
	}))
	if err != nil {
		return 0, err
	}
	return countWhile(integrator, n, func() error {
		var next atomic.Int64
		posting, ctx := errgroup.WithContext(ctx)
		for range atOnce {
			posting.Go(func() error {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					if err := around(i, func() error { return postOnce(ctx, client, address, body) }); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return posting.Wait()
	})
}

func postOnce(ctx context.Context, client *http.Client, address string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func unsaved(_ int, post func() error) error { return post() }

// postSaved is postAll with the one rule that an event is saved as begun before its attempt.
func postSaved(ctx context.Context, t *trial, integrator *peer, address string, n int) (perSecond float64, err error) {
	d, err := newDisk(t.store())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.remove()) }()
	kept, err := d.bare()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	waiting, now := make([]lanes.Logged, n), time.Now().UTC()
	for i := range waiting {
		waiting[i] = lanes.Logged{Cursor: uint64(i + 1), Event: waitingEvent(uuid.New(), now)}
	}
	planted, err := recordsOf(store.Batch{Events: waiting})
	if err == nil {
		err = kept.write(planted)
	}
	if err != nil {
		return 0, err
	}
	saves := newGroupCommit(kept)
	defer saves.close()
	var outcomes errgroup.Group
	perSecond, err = postAll(ctx, integrator, address, n, func(i int, post func() error) error {
		event := waiting[i]
		begun, err := attempted(event, lanes.Attempt{At: now, Error: lanes.Interrupted})
		if err == nil {
			err = saves.save(begun...)
		}
		if err == nil {
			err = post()
		}
		if err != nil {
			return err
		}
		made, err := attempted(event, lanes.Attempt{At: now, Status: http.StatusNoContent})
		outcomes.Go(func() error { return saves.save(made...) })
		return err
	})
	return perSecond, errors.Join(err, outcomes.Wait())
}

func attempted(event lanes.Logged, attempt lanes.Attempt) ([]entry, error) {
	event.Attempt = &attempt
	return recordsOf(store.Batch{Events: []lanes.Logged{event}})
}

// waitingEvent has a session of its own: only events of the same lane are before it.
func waitingEvent(lane uuid.UUID, at time.Time) lanes.Event {
	return lanes.Event{ID: uuid.New(), Kind: lanes.SessionModified, Session: uuid.New(), Lane: lane, At: at}
}
