package credit_test

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
)

// till is the integrator's webhook. It writes down what it decides before it answers.
type till struct {
	mu        sync.Mutex
	chance    *rand.Rand
	purchases map[string]decision // by webhook-id
	again     []string            // webhook-ids that came twice
}

type decision struct {
	session  uuid.UUID
	minutes  int
	accepted bool
}

func (t *till) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event struct {
		Event   string    `json:"event"`
		Session uuid.UUID `json:"session_id"`
		Items   []struct {
			ID  string
			Qty int
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &event) != nil {
		return // the gateway was killed in the middle of it
	}
	if event.Event != "purchaseRequest" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	draw, slow := t.decide(r.Header.Get("webhook-id"), event.Session, event.Items[0].Qty)
	time.Sleep(slow)
	switch {
	case draw < 5: // accepted, and nobody hears of it in time
		<-r.Context().Done()
	case draw < 10: // likewise
		panic(http.ErrAbortHandler)
	case draw < 80:
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, `{"success":true,"trace_id":"t"}`)
	default:
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"error":"declined","user_message":"Your card was declined.","trace_id":"t"}`)
	}
}

func (t *till) decide(id string, session uuid.UUID, minutes int) (draw int, slow time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.purchases[id]; known {
		t.again = append(t.again, id)
	}
	draw = t.chance.IntN(100)
	t.purchases[id] = decision{session, minutes, draw < 80}
	return draw, time.Duration(t.chance.Int64N(int64(4 * time.Millisecond)))
}

func (t *till) asked() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.purchases)
}
