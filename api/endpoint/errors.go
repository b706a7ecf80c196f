package endpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Errors is the one table of all codes: what they answer, and what the document says of them.
type Errors map[string]Error

// Error is what a code stands for.
type Error struct {
	Status     int
	Sentence   string        // for people; an error that brings a text of its own says that instead
	RetryAfter time.Duration // zero: no Retry-After
}

// of answers what a code stands for. A code that is used and not in the table is found at start, and stops it.
func (e Errors) of(code string) Error {
	known, ok := e[code]
	if !ok {
		panic(fmt.Sprintf("endpoint: the table of errors has no code %q", code))
	}
	return known
}

// Refusal is an error that is nothing but its code; the table has the sentence.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Code is the refusal itself.
func (r Refusal) Code() string { return string(r) }

// Faults is the error of a malformed request: a sentence for each field. Beside readers, an endpoint may answer it for
// what only it can see, such as a cursor that was never given out.
type Faults map[string]string

func (f Faults) Error() string { return fmt.Sprintf("invalid request: %v", map[string]string(f)) }

// Code is invalid_request.
func (f Faults) Code() string { return "invalid_request" }

// Problem is an error as the wire shows it.
type Problem struct {
	Status     int
	Code       string
	Message    string
	Fields     Faults
	RetryAfter time.Duration
}

// Problem answers how err is shown. Code `internal` means that it is a defect of ours, of which nothing is told.
func (a *API) Problem(err error) Problem {
	var coded interface {
		error
		Code() string
	}
	switch {
	case errors.As(err, &coded):
	case errors.Is(err, context.DeadlineExceeded):
		coded = Refusal("timeout")
	default:
		coded = Refusal("internal")
	}
	known, ok := a.Errors[coded.Code()]
	if !ok || coded.Code() == "internal" {
		coded, known = Refusal("internal"), a.Errors.of("internal")
	}
	p := Problem{Status: known.Status, Code: coded.Code(), Message: coded.Error(), RetryAfter: known.RetryAfter}
	switch coded := coded.(type) {
	case Refusal:
		p.Message = known.Sentence
	case Faults:
		p.Message, p.Fields = known.Sentence, coded
	}
	var later interface{ RetryAfter() time.Duration }
	if errors.As(err, &later) {
		p.RetryAfter = later.RetryAfter()
	}
	return p
}

// clientGone is the status the access log shows where nobody was left to answer; nginx made it customary.
const clientGone = 499

// Fail answers err: what an endpoint or a middleware could not do. The Defect hook hears of defects, and not of a client
// that went away in the middle.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p := a.Problem(err)
	if p.Code == "internal" {
		if errors.Is(err, context.Canceled) && errors.Is(r.Context().Err(), context.Canceled) {
			w.WriteHeader(clientGone)
			return
		}
		a.Defect(r, err, nil)
	}
	p.write(w, r)
}

// failure is the one shape of every error (WIRE.md, Errors).
type failure struct {
	Error   string `json:"error" doc:"What went wrong, for people and logs"`
	Code    string `json:"code" doc:"What went wrong, for programs; stable"`
	TraceID string `json:"trace_id" doc:"Quote it when you report an issue" pattern:"^[0-9a-f]{32}$"`
	Fields  Faults `json:"fields,omitempty" doc:"With invalid_request only: what is wrong, by field"`
}

func (p Problem) write(w http.ResponseWriter, r *http.Request) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	write(w, p.Status, encode(failure{p.Message, p.Code, TraceID(r.Context()), p.Fields}))
}
