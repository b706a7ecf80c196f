package crash

import (
	"fmt"
	"net/http"

	"rangegate/test/support"
)

// kind is what a request asks for.
type kind string

const (
	create kind = "create"
	modify kind = "modify"
	pause  kind = "pause"
	resume kind = "resume"
	stop   kind = "stop"
	move   kind = "move"
)

// request is one command of a client, and when it was made.
type request struct {
	client    *client
	kind      kind
	session   *session // nil for a create, until its session is known
	minutes   int      // of a create or modify
	lane      string   // of a create or move
	customer  string   // of a create
	autoStart bool     // of a create
	quiet     bool     // of a create: the session is left alone afterwards
	key       string   // its idempotency key; empty: none
	at        span     // from when it was sent until it was answered, or the connection broke

	inForce  bool // it was answered not_saved: it holds on the lane, and is saved when the store is back
	happened bool // of one whose answer was lost: whether it turned out to have happened
}

func (r *request) path() string {
	switch r.kind {
	case create:
		return "/sessions"
	case modify:
		return fmt.Sprintf("/sessions/%s/modify?time=%d", r.session.id, r.minutes)
	case move:
		return fmt.Sprintf("/sessions/%s/move?lane_id=%s", r.session.id, r.lane)
	default:
		return fmt.Sprintf("/sessions/%s/%s", r.session.id, r.kind)
	}
}

func (r *request) body() string {
	if r.kind != create {
		return ""
	}
	return fmt.Sprintf(`{"customer_name":%q,"lane_id":%q,"group_id":%q,"duration":%d,"auto_start":%v}`,
		r.customer, r.lane, r.client.group(), r.minutes, r.autoStart)
}

// send makes the request and records when.
func (r *request) send(gateway posClient) (support.Answer, error) {
	r.at.lo = now()
	answer, err := gateway.Do(http.MethodPost, r.path(), r.body(), "Idempotency-Key", r.key)
	r.at.hi = now()
	return answer, err
}

func (r *request) String() string {
	subject := r.customer
	if r.session != nil {
		subject = r.session.id
	}
	return fmt.Sprintf("%s of %s (key %q)", r.kind, subject, r.key)
}

// succeeded tells whether the answer is a 2xx: the request was carried out and is durable.
func succeeded(answer support.Answer) bool { return answer.Status/100 == 2 }

// replayed tells whether the answer is that of an earlier request with the same key.
func replayed(answer support.Answer) bool { return answer.Header.Get("idempotency-replayed") == "true" }
