package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Errors is the table of all codes: the response of each, which the document repeats.
type Errors map[string]Error

// Error is the response to a code.
type Error struct {
	Status     int
	Sentence   string        // for people; the text of an error that has its own replaces it
	RetryAfter time.Duration // zero: no Retry-After
}

// lookUp returns the entry of a code. It panics if the table has none, so that a missing code stops the start.
func (e Errors) lookUp(code string) Error {
	entry, ok := e[code]
	if !ok {
		panic(fmt.Sprintf("endpoint: the table of errors has no code %q", code))
	}
	return entry
}

// Refusal returns an error that is only a code; the table has the sentence.
func Refusal(code string) error { return refusal{code: code} }

// Refuse returns an error with a code, a sentence of its own, and a wait; zero is the wait that the table has
// for the code.
func Refuse(code, sentence string, wait time.Duration) error { return refusal{code, sentence, wait} }

type refusal struct {
	code, sentence string
	wait           time.Duration
}

func (r refusal) Error() string { return cmp.Or(r.sentence, r.code) }

// Code is the code of the refusal.
func (r refusal) Code() string { return r.code }

// RetryAfter is the wait of the refusal.
func (r refusal) RetryAfter() time.Duration { return r.wait }

// Faults is the error of a malformed request: a sentence for each field. An endpoint may return it too.
type Faults map[string]string

func (f Faults) Error() string { return fmt.Sprintf("invalid request: %v", map[string]string(f)) }

// Code is invalid_request.
func (f Faults) Code() string { return "invalid_request" }

// CursorGone is the error of a cursor that is of another log, or of one that does not keep what is behind it any more.
type CursorGone struct{ Oldest LogCursor }

func (CursorGone) Error() string {
	return "the cursor is of another log, or what is behind it is not kept any more"
}

// Code is cursor_gone.
func (CursorGone) Code() string { return "cursor_gone" }

// partly is the error of several operations of which one refuses all: why each is refused, in their order, nil where it
// is not.
type partly interface{ Each() []error }

// Part is what one of several operations came to.
type Part struct {
	Index  int    `json:"index" doc:"Of the operation, from 0" min:"0" example:"1"`
	Status int    `json:"status" doc:"As its own request would have been answered" example:"409"`
	Code   string `json:"code,omitempty" doc:"Why it was refused, as the code of its own request; only where it was" example:"lane_occupied"`
	Error  string `json:"error,omitempty" doc:"The same for people" example:"the lane already has an active session"`
	Particulars
}

// Particulars are what a refusal says beside its code: what there could be instead, and when.
type Particulars struct {
	Closes *string `json:"closes_at,omitempty" doc:"With after_closing only: when the range closes, for several sessions of a start the earliest; without it, it is closed" format:"date-time"`
	Opens  *string `json:"opens_at,omitempty" doc:"With after_closing only: when a range that is closed opens next, where that is known" format:"date-time"`
	Most   *int    `json:"max_minutes,omitempty" doc:"With after_closing only, but not of a start: as many minutes could be sold, or added, now" min:"0" max:"480"`

	Reserved *string `json:"reserved_until,omitempty" doc:"With lane_reserved only: when the reservation is over" format:"date-time"`
}

// Part returns how the wire shows that the operation with that index was refused.
func (e Errors) Part(index int, err error) Part {
	entry, body := e.problem(err)
	return Part{index, entry.Status, body.Code, body.Error, body.Particulars}
}

// bounded is a refusal of minutes, which says how many there could be, and until when.
type bounded interface {
	Bounds() (closes, opens time.Time, most int)
}

// late is a refusal of a start that is too late for sessions, which names them.
type late interface {
	TooLate() (closes time.Time, sessions []uuid.UUID)
}

// kept is a refusal of a lane that is kept for somebody else until then.
type kept interface {
	ReservedUntil() time.Time
}

// problem returns how the wire shows err. An error without a code of the table is a defect: `internal`,
// without its text.
func (e Errors) problem(err error) (entry Error, body failure) {
	var coded interface {
		error
		Code() string
	}
	switch {
	case errors.As(err, &coded):
	case errors.Is(err, context.DeadlineExceeded):
		coded = refusal{code: "timeout"}
	default:
		coded = refusal{code: "internal"}
	}
	entry, ok := e[coded.Code()]
	if !ok || coded.Code() == "internal" {
		coded, entry = refusal{code: "internal"}, e.lookUp("internal")
	}
	body = failure{Error: coded.Error(), Code: coded.Code()}
	switch coded := coded.(type) {
	case refusal:
		body.Error = cmp.Or(coded.sentence, entry.Sentence)
	case Faults:
		body.Error, body.Fields = entry.Sentence, coded
	case CursorGone:
		body.Error, body.Oldest = entry.Sentence, coded.Oldest.String()
	case bounded:
		body.setBounds(coded)
	case late:
		closes, sessions := coded.TooLate()
		body.Closes, body.Sessions = OptionalStamp(&closes), sessions
	case partly:
		body.Error = entry.Sentence
		for i, why := range coded.Each() {
			if why != nil {
				body.Results = append(body.Results, e.Part(i, why))
			}
		}
	}
	var reserved kept
	if errors.As(err, &reserved) {
		until := reserved.ReservedUntil()
		body.Reserved = OptionalStamp(&until)
	}
	var onLane interface{ LaneID() uuid.UUID }
	if errors.As(err, &onLane) {
		body.Lane = new(onLane.LaneID())
	}
	var waiting interface{ RetryAfter() time.Duration }
	if errors.As(err, &waiting) && waiting.RetryAfter() > 0 {
		entry.RetryAfter = waiting.RetryAfter()
	}
	return entry, body
}

// clientGone is the status in the access log where the client closed the connection first; nginx introduced it.
const clientGone = 499

// FailFunc responds with an error: it is API.Fail, for handlers and middlewares.
type FailFunc func(http.ResponseWriter, *http.Request, error)

// Fail responds with err. It reports a defect to the Defect hook, unless the client cancelled the request.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) {
	entry, body := a.Errors.problem(err)
	if body.Code == "internal" {
		if errors.Is(err, context.Canceled) && errors.Is(r.Context().Err(), context.Canceled) {
			w.WriteHeader(clientGone)
			return
		}
		a.Defect(r, err, nil)
	}
	entry.respond(w, body)
}

// failure is the body of every error (WIRE.md, Errors).
type failure struct {
	Error   string `json:"error" doc:"What went wrong, for people and logs"`
	Code    string `json:"code" doc:"What went wrong, for programs; stable"`
	TraceID string `json:"trace_id" doc:"Quote it when you report an issue" pattern:"^[0-9a-f]{32}$"`
	Fields  Faults `json:"fields,omitempty" doc:"With invalid_request only: what is wrong, by field"`
	Oldest  string `json:"oldest,omitempty" doc:"With cursor_gone only: the cursor to go on behind; what was before it is not kept" pattern:"^[0-9]+$"`

	Lane *uuid.UUID `json:"lane_id,omitempty" doc:"Of a request about several lanes: the one that it was refused for" example:"44444444-4444-4444-8444-000000000001"`

	Sessions []uuid.UUID `json:"session_ids,omitempty" doc:"With after_closing of a start only: the sessions that would end after closing, in the order of the request"`

	Results []Part `json:"results,omitempty" doc:"With batch_refused only: every operation that is refused, and why"`
	Particulars
}

func (p *Particulars) setBounds(refused bounded) {
	closes, opens, most := refused.Bounds()
	p.Closes, p.Opens, p.Most = OptionalStamp(&closes), OptionalStamp(&opens), &most
}

// SetRetryAfter tells the client how long to wait, in whole seconds.
func SetRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

func (e Error) respond(w http.ResponseWriter, body failure) {
	if e.RetryAfter > 0 {
		SetRetryAfter(w, e.RetryAfter)
	}
	body.TraceID = w.Header().Get(traceHeader)
	write(w, e.Status, encode(body))
}
