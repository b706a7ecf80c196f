package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/actors/delivery"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
	"rangegate/webhook"
	"rangegate/webhook/egress"
)

var redelivering = experiment{
	"redeliver", "events that happen now, while 10,000 others are sent again",
	measureRedelivering,
}

const (
	redelivered  = 10_000
	liveInterval = 10 * time.Millisecond // between two events that happen now
)

func measureRedelivering(ctx context.Context, t *trial) (err error) {
	integrator, err := newPeer("receiver")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, integrator.close()) }()
	var where delivered
	if err := integrator.question(awaited{}, &where); err != nil {
		return err
	}
	live, err := openRedelivering(ctx, t, where.Address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, live.gateway.close()) }()
	var alone time.Duration // as long as with them
	return t.compare(ctx, 5,
		func(ctx context.Context) ([]float64, error) {
			began := time.Now()
			p99, p50, err := live.measure(ctx, func() error { return live.redeliverAll(ctx) })
			alone = time.Since(began)
			return []float64{p99, p50}, err
		},
		func(ctx context.Context) ([]float64, error) {
			p99, p50, err := live.measure(ctx, func() error {
				time.Sleep(alone)
				return nil
			})
			return []float64{p99, p50}, err
		},
		figures.Figure{
			Name: "p99", Unit: "ms", Goal: figures.AtMost(1.2), Limit: "the same while nothing is sent again",
			What: "from an event's happening until the receiver has answered, 100 events a second, while " +
				"10,000 events are sent again",
		},
		figures.Figure{Name: "p50", Unit: "ms", What: "the median of the same", Limit: "of the same"})
}

// liveEvents is a range on which events happen, with a log of others.
type liveEvents struct {
	gateway *gateway
	r       *actors.Range
	webhook *timedWebhook
	planted uint64 // the cursor of the last planted event

	sessions []uuid.UUID
	paused   map[uuid.UUID]bool
}

// openRedelivering starts a range whose log has events that were sent.
func openRedelivering(ctx context.Context, t *trial, address string) (l *liveEvents, err error) {
	g, err := newGatewayOn(t.store())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	const laneCount = 100
	layout := layoutOf(laneCount)
	sent := lanes.Attempt{At: time.Now().UTC(), Status: 204}
	planted := seed{
		layout: layout, sessions: laneCount, deadline: deadlineInAnHour(g.clock),
		pending: func(i int) (log []lanes.Logged) {
			for range redelivered / laneCount {
				log = append(log, lanes.Logged{
					Event:    waitingEvent(layout.Lanes[i].ID, time.Now().UTC()),
					Delivery: lanes.Delivery{Attempt: &sent},
				})
			}
			return log
		},
	}
	if err := planted.plant(ctx, g.file, g.clock); err != nil {
		return nil, err
	}
	to, err := webhook.New(webhook.Settings{
		Range: layout.Range, URL: address, Secrets: []string{webhookSecret}, Timeout: 10 * time.Second,
		Transport: egress.Transport(false, 16), Version: "bench", Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	l = &liveEvents{gateway: g, webhook: &timedWebhook{Webhook: to}, paused: map[uuid.UUID]bool{}}
	if l.r, err = g.startOn(ctx, layout, g.hardware, l.webhook); err != nil {
		return nil, err
	}
	l.planted, _ = l.r.FollowEvents()
	for _, session := range l.r.Sessions() {
		l.sessions = append(l.sessions, session.ID)
	}
	return l, nil
}

// timedWebhook notes how long after their happening events were answered, of those that happened after since.
type timedWebhook struct {
	delivery.Webhook
	mu    sync.Mutex
	since time.Time
	took  []float64

	others int           // that happened before, and are awaited
	all    chan struct{} // closed when they have come
}

// Attempt makes the attempt.
func (w *timedWebhook) Attempt(ctx context.Context, event lanes.Logged, late bool) (lanes.Attempt, lanes.Answer) {
	attempt, answer := w.Webhook.Attempt(ctx, event, late)
	took := time.Since(event.Event.At)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.since.IsZero() && event.Event.At.After(w.since) {
		w.took = append(w.took, milliseconds(took))
	} else if w.others--; w.others == 0 {
		close(w.all)
	}
	return attempt, answer
}

// measure has events happen until during returns, and returns the percentiles of their milliseconds.
func (l *liveEvents) measure(ctx context.Context, during func() error) (p99, p50 float64, err error) {
	time.Sleep(time.Second) // until everything before is delivered
	l.webhook.mu.Lock()
	l.webhook.since, l.webhook.took = time.Now(), nil
	l.webhook.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- during() }()
	next := time.NewTicker(liveInterval)
	defer next.Stop()
	for n := 0; ; n++ {
		select {
		case err = <-done:
		case <-next.C:
			session := l.sessions[n%len(l.sessions)]
			var command lanes.Command = lanes.Pause{Session: session}
			if l.paused[session] {
				command = lanes.Resume{Session: session}
			}
			l.paused[session] = !l.paused[session]
			go func() { _, _ = l.r.On(ctx, session, command, nil) }()
			continue
		}
		break
	}
	time.Sleep(500 * time.Millisecond)
	l.webhook.mu.Lock()
	defer l.webhook.mu.Unlock()
	l.webhook.since = time.Time{}
	return figures.Percentile(l.webhook.took, 99), figures.Percentile(l.webhook.took, 50), err
}

// redeliverAll has the planted events sent again, and waits until they are.
func (l *liveEvents) redeliverAll(ctx context.Context) error {
	all := make(chan struct{})
	l.webhook.mu.Lock()
	l.webhook.others, l.webhook.all = redelivered, all
	l.webhook.mu.Unlock()
	result, err := l.r.Redeliver(ctx, lanes.EventSelection{Until: l.planted}, nil)
	if err == nil && result.Events != redelivered {
		err = errors.New("not every event is sent again")
	}
	if err != nil {
		return err
	}
	select {
	case <-all:
	case <-time.After(2 * patience):
		err = errors.New("not every event was sent again in time")
	case <-ctx.Done():
		err = ctx.Err()
	}
	return err
}
