package integrator

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	purchaseRequest = "purchaseRequest"

	maxEvent = 64 << 10         // bytes of a body
	patience = 60 * time.Second // that an answer is held back when nobody gives up
)

// success and failure are the bodies of SPEC.md part 6.
type success struct {
	Success bool   `json:"success"`
	TraceID string `json:"trace_id"`
}

type failure struct {
	Error       string `json:"error"`
	UserMessage string `json:"user_message"`
	TraceID     string `json:"trace_id"`
}

// webhook takes an event, notes it, and answers as chosen.
func (in *Integrator) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		fault(w, http.StatusRequestEntityTooLarge, "an event has at most 64 KiB")
		return
	}
	if err != nil {
		fault(w, http.StatusBadRequest, "the body broke off")
		return
	}
	arrival, next := in.desk.take(in.read(body, r.Header))
	in.settings.Log.Info().Int("number", arrival.Number).Str("event", arrival.Event).Str("webhook_id", arrival.WebhookID).
		Str("signature", string(arrival.Signature)).Str("answer", string(arrival.Answer)).Int("status", arrival.Status).
		Msg("an event arrived at the demo integrator")
	trace := traceOf(r)
	switch {
	case arrival.Answer == Rejected:
		answer(w, arrival.Status, failure{Error: arrival.Reason, TraceID: trace})
	case arrival.Answer == Hang:
		in.hang(r)
	case arrival.Answer == Refuse:
		answer(w, arrival.Status, failure{
			Error: "refused by whoever sits at the demo integrator", UserMessage: next.UserMessage, TraceID: trace,
		})
	case arrival.Answer == Error:
		answer(w, arrival.Status, failure{
			Error: "the demo integrator was told to fail", UserMessage: "Something went wrong at the till.", TraceID: trace,
		})
	case arrival.Event == purchaseRequest:
		answer(w, arrival.Status, success{Success: true, TraceID: trace})
	default:
		w.WriteHeader(arrival.Status)
	}
}

// hang holds the request until somebody has had enough, and then drops the connection without a word.
func (in *Integrator) hang(r *http.Request) {
	enough := time.NewTimer(patience)
	defer enough.Stop()
	select {
	case <-r.Context().Done():
	case <-in.closed:
	case <-enough.C:
	}
	panic(http.ErrAbortHandler)
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceOf is the trace id that the gateway sent along, so that the logs of both sides meet in it, or a new one.
func traceOf(r *http.Request) string {
	if parts := traceparent.FindStringSubmatch(r.Header.Get("traceparent")); parts != nil {
		return parts[1]
	}
	return strings.ReplaceAll(uuid.NewString(), "-", "")
}
