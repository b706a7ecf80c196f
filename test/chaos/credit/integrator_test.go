package credit_test

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/test/support"
)

// integrator decides about purchases. It writes each decision down before it answers.
type integrator struct {
	mu        sync.Mutex
	chance    *rand.Rand
	purchases map[string]decision // by webhook-id
	repeated  []string            // webhook-ids that came twice
}

type decision struct {
	session  uuid.UUID
	minutes  int
	accepted bool
}

func (i *integrator) respond(a support.Arrival, w http.ResponseWriter, r *http.Request) {
	if a.Event != "purchaseRequest" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	draw, delay := i.decide(a.ID, uuid.MustParse(a.Session), a.Items[0].Qty)
	time.Sleep(delay)
	switch {
	case draw < 5: // accepted, and the gateway does not hear of it in time
		support.Hang(a, w, r)
	case draw < 10: // likewise
		panic(http.ErrAbortHandler)
	case draw < 80:
		support.Accept(a, w, r)
	default:
		support.Reply(http.StatusConflict,
			`{"error":"declined","user_message":"Your card was declined.","trace_id":"t"}`)(a, w, r)
	}
}

func (i *integrator) decide(id string, session uuid.UUID, minutes int) (draw int, delay time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, found := i.purchases[id]; found {
		i.repeated = append(i.repeated, id)
	}
	draw = i.chance.IntN(100)
	i.purchases[id] = decision{session, minutes, draw < 80}
	return draw, time.Duration(i.chance.Int64N(int64(4 * time.Millisecond)))
}

func (i *integrator) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.purchases)
}
