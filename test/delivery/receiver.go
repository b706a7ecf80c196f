package delivery

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// receiver is an integrator's webhook on a bad day. It writes down every request as it comes in.
type receiver struct {
	mu      sync.Mutex
	chance  *rand.Rand
	arrived []arrival
}

// arrival is one request of the gateway.
type arrival struct {
	id, event, session, lane string
	answer                   int // its status, 0: none was given
}

// What the receiver may do, of a thousand requests each.
const (
	hangs    = 4  // does not answer at all
	hangsUp  = 4  // breaks the connection off
	refuses  = 60 // status 500
	slowness = 20 * time.Millisecond
)

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var event struct {
		Event   string `json:"event"`
		Session string `json:"session_id"`
		Lane    string `json:"lane_id"`
	}
	if err != nil || json.Unmarshal(body, &event) != nil {
		return // the gateway was killed in the middle of it
	}
	r.mu.Lock()
	draw, slow := r.chance.IntN(1000), time.Duration(r.chance.Int64N(int64(slowness)))
	a := arrival{id: request.Header.Get("webhook-id"), event: event.Event, session: event.Session, lane: event.Lane}
	switch {
	case draw < hangs+hangsUp:
	case draw < hangs+hangsUp+refuses:
		a.answer = http.StatusInternalServerError
	default:
		a.answer = http.StatusNoContent
	}
	r.arrived = append(r.arrived, a)
	r.mu.Unlock()

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
		w.WriteHeader(a.answer)
	}
}

func (r *receiver) all() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]arrival(nil), r.arrived...)
}
