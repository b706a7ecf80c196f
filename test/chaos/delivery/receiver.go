package delivery

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Receiver is an integrator's webhook on a bad day. It writes down every request as it comes in.
type Receiver struct {
	URL string

	mu      sync.Mutex
	chance  *rand.Rand
	arrived []Arrival
}

// Arrival is one request of the gateway.
type Arrival struct {
	ID, Event, Session, Lane string
	Answer                   int // its status, 0: none was given
}

// What the receiver may do, of a thousand requests each.
const (
	hangs    = 4  // does not answer at all
	hangsUp  = 4  // breaks the connection off
	refuses  = 60 // status 500
	slowness = 20 * time.Millisecond
)

// Receive opens the webhook, until the test ends. What goes wrong is drawn by the seed.
func Receive(t testing.TB, seed uint64) *Receiver {
	r := &Receiver{chance: rand.New(rand.NewPCG(seed, 2))}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	r.URL = server.URL + "/webhook"
	return r
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var event struct {
		Event   string `json:"event"`
		Session string `json:"session_id"`
		Lane    string `json:"lane_id"`
	}
	if err != nil || json.Unmarshal(body, &event) != nil {
		return // the gateway was killed in the middle of it
	}
	a := Arrival{ID: request.Header.Get("webhook-id"), Event: event.Event, Session: event.Session, Lane: event.Lane}
	draw, slow := r.take(&a)
	select {
	case <-time.After(slow):
	case <-request.Context().Done():
		return
	}
	switch {
	case draw < hangs:
		<-request.Context().Done()
	case draw < hangs+hangsUp:
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(a.Answer)
	}
}

// take decides how the request is answered, and writes it down.
func (r *Receiver) take(a *Arrival) (draw int, slow time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	draw, slow = r.chance.IntN(1000), time.Duration(r.chance.Int64N(int64(slowness)))
	switch {
	case draw < hangs+hangsUp:
	case draw < hangs+hangsUp+refuses:
		a.Answer = http.StatusInternalServerError
	default:
		a.Answer = http.StatusNoContent
	}
	r.arrived = append(r.arrived, *a)
	return draw, slow
}

// Arrived is what came, in its order.
func (r *Receiver) Arrived() []Arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.arrived)
}
