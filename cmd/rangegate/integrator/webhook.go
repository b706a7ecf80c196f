package integrator

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	purchaseRequest = "purchaseRequest"

	maxEventBytes = 64 << 10
	maxHang       = 60 * time.Second
)

// success and failure are the bodies of answers (SPEC.md part 6).
type success struct {
	Success bool   `json:"success"`
	TraceID string `json:"trace_id"`
}

type failure struct {
	Error       string `json:"error"`
	UserMessage string `json:"user_message"`
	TraceID     string `json:"trace_id"`
}

// webhook receives an event and gives the chosen answer.
func (in *Integrator) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEventBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		fault(w, http.StatusRequestEntityTooLarge, "an event has at most 64 KiB")
		return
	}
	if err != nil {
		fault(w, http.StatusBadRequest, "the body broke off")
		return
	}
	arrival, next := in.inbox.add(in.read(body, r.Header))
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

// hang holds the request until the client gives up, and then closes the connection without an answer.
func (in *Integrator) hang(r *http.Request) {
	timeout := time.NewTimer(maxHang)
	defer timeout.Stop()
	select {
	case <-r.Context().Done():
	case <-in.closed:
	case <-timeout.C:
	}
	panic(http.ErrAbortHandler)
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceOf returns the gateway's trace id, which joins the logs of both sides, or a new one.
func traceOf(r *http.Request) string {
	if parts := traceparent.FindStringSubmatch(r.Header.Get("traceparent")); parts != nil {
		return parts[1]
	}
	return strings.ReplaceAll(uuid.NewString(), "-", "")
}

// Answer is an answer to an event.
type Answer string

// The answers.
const (
	Accept   Answer = "accept"   // 200 for a purchaseRequest, 204 for every other event
	Refuse   Answer = "refuse"   // 409 with a message for the customer
	Hang     Answer = "hang"     // none
	Error    Answer = "error"    // 500
	Rejected Answer = "rejected" // 401 or 400 for a wrong signature or no event; cannot be chosen
)

// Next is the answer to the next event.
type Next struct {
	Answer      Answer `json:"answer"`
	UserMessage string `json:"user_message"` // for the customer, with Refuse only
	Once        bool   `json:"once"`         // accept every event after the next one
}

var acceptAll = Next{Answer: Accept}

func (n Next) status(event string) int {
	switch {
	case n.Answer == Refuse:
		return http.StatusConflict
	case n.Answer == Error:
		return http.StatusInternalServerError
	case n.Answer == Hang:
		return 0
	case event == purchaseRequest:
		return http.StatusOK
	}
	return http.StatusNoContent
}

const (
	maxChoiceBytes = 8 << 10
	maxMessage     = 500 // characters
)

// choose receives a Next.
func (in *Integrator) choose(w http.ResponseWriter, r *http.Request) {
	var next Next
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxChoiceBytes)).Decode(&next); err != nil {
		fault(w, http.StatusBadRequest, `the body must be {"answer": …, "user_message": …, "once": …}`)
		return
	}
	switch next.Answer {
	case Accept:
		next = acceptAll // without Once, which changes nothing
	case Hang, Error:
		next.UserMessage = ""
	case Refuse:
		if utf8.RuneCountInString(next.UserMessage) > maxMessage {
			fault(w, http.StatusBadRequest, "user_message must have at most 500 characters")
			return
		}
	default:
		fault(w, http.StatusBadRequest, "answer must be accept, refuse, hang or error")
		return
	}
	in.inbox.setNext(next)
	answer(w, http.StatusOK, next)
}
