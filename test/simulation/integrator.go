package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"rangegate/lanes"
)

// integrator receives events and decides purchases. While there are faults it is slow, refuses, and does not
// answer.
type integrator struct {
	world *world

	mu      sync.Mutex
	arrived []arrival
	refusal int // the status that it answers every event with; 0: it takes them
}

// arrival is an event that has come.
type arrival struct {
	ID    string `json:"-"`
	Event string `json:"event"`
	Lane  string `json:"lane_id"`
	at    time.Time

	sequence string // its number in the range's log
	taken    bool   // it was answered 2xx, if the answer has come back
}

// way is how a gateway reaches the integrator.
type way struct {
	integrator *integrator
	machine    *machine
	life       *life
}

var errConnectionLost = errors.New("the connection to the webhook broke")

// RoundTrip implements http.RoundTripper.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if err := w.life.io(ctx, w.machine); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answers := make(chan decision, 1)
	go func() { answers <- w.integrator.receive(r, body) }()
	select {
	case answer := <-answers:
		if err := w.life.io(context.Background(), w.machine); err != nil {
			return nil, err
		}
		if answer.status == 0 {
			return nil, errConnectionLost
		}
		return &http.Response{
			StatusCode: answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}},
			Body:   io.NopCloser(strings.NewReader(answer.body)), Request: r,
		}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.life.ended:
		return nil, errDead
	}
}

// decision is what the integrator answers; status 0: the connection breaks, before the event has come or
// behind it.
type decision struct {
	status int
	body   string
}

// receive takes an event and decides.
func (i *integrator) receive(r *http.Request, body []byte) decision {
	time.Sleep(i.world.lag())
	if i.world.chance(3) {
		return decision{}
	}
	a := arrival{ID: r.Header.Get("webhook-id"), at: time.Now(), sequence: r.Header.Get("event-sequence")}
	if err := json.Unmarshal(body, &a); err != nil {
		i.world.fail("an event cannot be read: %v: %s", err, body)
		return decision{}
	}
	decided := i.decide(&a)
	i.world.trace("the integrator gets %s of lane %s: %s", a.Event, a.Lane, a.ID)
	select {
	case <-time.After(i.world.lag()):
	case <-r.Context().Done(): // nobody waits any more
	}
	if i.world.chance(3) {
		return decision{}
	}
	return decided
}

// decide keeps the event, and returns what it is answered.
func (i *integrator) decide(a *arrival) decision {
	i.mu.Lock()
	defer i.mu.Unlock()
	decided := decision{status: http.StatusNoContent}
	switch {
	case i.refusal != 0:
		decided.status = i.refusal
	case a.Event == string(lanes.PurchaseRequest) && i.world.draw(3) == 0:
		decided = decision{http.StatusConflict, `{"user_message":"No."}`}
	case a.Event == string(lanes.PurchaseRequest):
		decided = decision{http.StatusOK, `{"success":true}`}
	}
	a.taken = decided.status/100 == 2
	i.arrived = append(i.arrived, *a)
	return decided
}

// refuse makes it answer every event with that status; 0: it takes them again.
func (i *integrator) refuse(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refusal = status
}

// received returns every event so far, in the order in which they came.
func (i *integrator) received() []arrival {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.arrived)
}
