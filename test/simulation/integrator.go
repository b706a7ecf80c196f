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
	down    bool
}

// arrival is an event that has come.
type arrival struct {
	ID    string `json:"-"`
	Event string `json:"event"`
	Lane  string `json:"lane_id"`
	at    time.Time
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
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer.body)), Request: r,
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
	a := arrival{ID: r.Header.Get("webhook-id"), at: time.Now()}
	if err := json.Unmarshal(body, &a); err != nil {
		i.world.fail("an event cannot be read: %v: %s", err, body)
		return decision{}
	}
	i.mu.Lock()
	i.arrived = append(i.arrived, a)
	down := i.down
	i.mu.Unlock()
	i.world.trace("the integrator gets %s of lane %s: %s", a.Event, a.Lane, a.ID)
	decided := decision{status: http.StatusNoContent}
	switch {
	case down:
		decided.status = http.StatusServiceUnavailable
	case a.Event == string(lanes.PurchaseRequest) && i.world.draw(3) == 0:
		decided = decision{http.StatusConflict, `{"user_message":"No."}`}
	case a.Event == string(lanes.PurchaseRequest):
		decided = decision{http.StatusOK, `{"success":true}`}
	}
	select {
	case <-time.After(i.world.lag()):
	case <-r.Context().Done(): // nobody waits any more
	}
	if i.world.chance(3) {
		return decision{}
	}
	return decided
}

// setDown makes it refuse every event.
func (i *integrator) setDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// received returns every event so far, in the order in which they came.
func (i *integrator) received() []arrival {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.arrived)
}
