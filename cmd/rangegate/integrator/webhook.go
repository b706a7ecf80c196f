package integrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
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
	in.settings.Log.Info().Int("number", arrival.Number).Str("event", arrival.Event).
		Str("webhook_id", arrival.WebhookID).
		Str("signature", string(arrival.Signature)).Str("answer", string(arrival.Answer)).Int("status", arrival.Status).
		Msg("an event arrived at the demo integrator")
	trace := traceOf(r)
	switch arrival.Answer {
	case Rejected:
		answer(w, arrival.Status, failure{arrival.Reason, "", trace})
	case Hang:
		in.hang(r)
	case Refuse:
		answer(w, arrival.Status, failure{"refused by whoever sits at the demo integrator", next.UserMessage, trace})
	case Error:
		answer(w, arrival.Status, failure{
			"the demo integrator was told to fail",
			"Something went wrong at the counter.", trace,
		})
	case Accept:
		if arrival.Event == purchaseRequest {
			answer(w, arrival.Status, success{true, trace})
			return
		}
		w.WriteHeader(arrival.Status)
	}
}

// hang holds the request until the client gives up, and then closes the connection without an answer.
func (in *Integrator) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-in.ctx.Done():
	case <-time.After(maxHang):
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

// Arrival is a request to the webhook with its answer. Texts of the request are shortened, to bound the memory.
type Arrival struct {
	Number    int       `json:"number"` // from 1, in order of arrival
	At        time.Time `json:"at"`
	Event     string    `json:"event"` // empty when the body is no event
	Session   string    `json:"session_id"`
	Lane      string    `json:"lane_id"`
	Items     []Item    `json:"items"` // of a purchaseRequest, else []
	Range     string    `json:"range_id"`
	WebhookID string    `json:"webhook_id"`
	Signature Signature `json:"signature"`
	Answer    Answer    `json:"answer"`
	Status    int       `json:"status"`   // 0 when it is not answered at all
	Reason    string    `json:"reason"`   // of a rejection, else empty
	AgainOf   int       `json:"again_of"` // the kept arrival before it with the same webhook-id; 0: there is none
	// an earlier arrival with this webhook-id was accepted: there is nothing left to do
	Known bool `json:"known"`
	Late  bool `json:"late"` // it carries webhook-late: later events of its lane have gone before it
}

// Item is a product with its quantity in a purchaseRequest.
type Item struct {
	ID  string `json:"id"`
	Qty int    `json:"qty"`
}

// Signature is the outcome of checking a signature.
type Signature string

// The outcomes.
const (
	Right     Signature = "right"
	Wrong     Signature = "wrong"
	Missing   Signature = "missing"
	Untimely  Signature = "untimely"  // the timestamp differs by more than five minutes: it may be a replay
	Unchecked Signature = "unchecked" // there are no secrets
)

const (
	maxTextBytes = 255
	maxItems     = 50
)

// read parses a request. It rejects a wrong signature, and a body that is no event.
func (in *Integrator) read(body []byte, header http.Header) Arrival {
	a := Arrival{
		At: in.settings.Now().UTC(), Items: []Item{}, Range: shorten(header.Get("range-id")),
		WebhookID: shorten(header.Get("webhook-id")), Signature: in.checkSignature(body, header),
		Late: header.Get("webhook-late") == "true",
	}
	var event struct {
		Event   string `json:"event"`
		Session string `json:"session_id"`
		Lane    string `json:"lane_id"`
		Items   []Item `json:"items"`
	}
	err := json.Unmarshal(body, &event)
	if err == nil {
		a.Event, a.Session, a.Lane = shorten(event.Event), shorten(event.Session), shorten(event.Lane)
		for _, item := range event.Items[:min(len(event.Items), maxItems)] {
			a.Items = append(a.Items, Item{shorten(item.ID), item.Qty})
		}
	}
	switch {
	case a.Signature != Right && a.Signature != Unchecked:
		a.Answer, a.Status, a.Reason = Rejected, http.StatusUnauthorized, reasons[a.Signature]
	case err != nil || a.Event == "":
		a.Answer, a.Status, a.Reason = Rejected, http.StatusBadRequest, "the body is not an event in JSON"
	}
	return a
}

var reasons = map[Signature]string{
	Wrong:    "the signature is not of any secret that is known here",
	Missing:  "a header is missing: webhook-id, webhook-timestamp or webhook-signature",
	Untimely: "the timestamp is more than five minutes off",
}

func (in *Integrator) checkSignature(body []byte, header http.Header) Signature {
	if len(in.keys) == 0 {
		return Unchecked
	}
	outcome := Wrong
	for _, key := range in.keys {
		switch err := key.Verify(body, header); {
		case err == nil:
			return Right
		case errors.Is(err, standardwebhooks.ErrRequiredHeaders):
			outcome = Missing
		case errors.Is(err, standardwebhooks.ErrMessageTooOld), errors.Is(err, standardwebhooks.ErrMessageTooNew):
			outcome = Untimely
		}
	}
	return outcome
}

// shorten returns the first maxTextBytes bytes, without a broken character at the end.
func shorten(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxTextBytes)], "")
}

// maxArrivals bounds the kept arrivals.
const maxArrivals = 500

// inbox holds the last arrivals and the answer to the next event.
type inbox struct {
	mu      sync.Mutex
	list    []Arrival // oldest first
	count   int       // of all arrivals
	next    Next
	changed chan struct{} // closed at the next change
}

func newInbox() *inbox {
	return &inbox{list: []Arrival{}, next: acceptAll, changed: make(chan struct{})}
}

// add gives the arrival its number and, unless it is rejected, its answer.
func (i *inbox) add(a Arrival) (Arrival, Next) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.count++
	a.Number = i.count
	next := i.next
	if a.Answer != Rejected {
		a.AgainOf, a.Known = i.earlier(a.WebhookID)
		a.Answer, a.Status = next.Answer, next.status(a.Event)
		if next.Once {
			i.next = acceptAll
		}
	}
	i.list = append(i.list, a)
	if len(i.list) > maxArrivals {
		i.list = slices.Delete(i.list, 0, len(i.list)-maxArrivals)
	}
	i.notify()
	return a, next
}

// earlier returns the newest kept arrival with that webhook-id, and whether one of them was accepted. What
// was rejected may be anybody's.
func (i *inbox) earlier(webhookID string) (number int, accepted bool) {
	for _, a := range slices.Backward(i.list) {
		if webhookID == "" || a.WebhookID != webhookID || a.Answer == Rejected {
			continue
		}
		if number == 0 {
			number = a.Number
		}
		accepted = accepted || a.Answer == Accept
	}
	return number, accepted
}

// setNext sets the answer to the next event.
func (i *inbox) setNext(next Next) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next = next
	i.notify()
}

// since returns the kept arrivals after that number, the answer to the next event, and a channel that is closed at the
// next change.
func (i *inbox) since(number int) ([]Arrival, Next, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	added := min(i.count-number, len(i.list))
	return slices.Clone(i.list[len(i.list)-added:]), i.next, i.changed
}

func (i *inbox) notify() {
	close(i.changed)
	i.changed = make(chan struct{})
}

const (
	keepAlive    = 15 * time.Second // between two comments on an idle stream
	writeTimeout = 10 * time.Second
)

// snapshot is the first event of a stream.
type snapshot struct {
	Arrived []Arrival `json:"arrived"` // oldest first
	Next    Next      `json:"next"`
	Checks  bool      `json:"checks_signatures"`
	Pulled  []Pulled  `json:"pulled"` // oldest first
	Pulling pulling   `json:"pulling"`
}

// stream sends server-sent events: first `all`, then `arrived` for each arrival and `pulled` for each event
// of the log, each in order, and `next` and `pulling` when these change. A slow reader misses what is no
// longer kept.
func (in *Integrator) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := sender{w, http.NewResponseController(w)}
	list, next, changed := in.inbox.since(0)
	sent := 0
	for _, arrival := range list {
		sent = arrival.Number
	}
	events, pulled, state, more := in.pulled.since(0)
	ok := out.send("all", snapshot{Arrived: list, Next: next, Checks: len(in.keys) > 0, Pulled: events, Pulling: state})
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	for ok {
		select {
		case <-changed:
			var current Next
			list, current, changed = in.inbox.since(sent)
			for _, arrival := range list {
				ok, sent = ok && out.send("arrived", arrival), arrival.Number
			}
			if current != next {
				ok = ok && out.send("next", current)
			}
			next = current
		case <-more:
			var current pulling
			events, pulled, current, more = in.pulled.since(pulled)
			for _, event := range events {
				ok = ok && out.send("pulled", event)
			}
			if current != state {
				ok = ok && out.send("pulling", current)
			}
			state = current
		case <-idle.C:
			ok = out.write(": still here\n\n")
		case <-r.Context().Done():
			return
		case <-in.ctx.Done():
			return
		}
	}
}

// sender writes events. Its methods return false when the reader is gone.
type sender struct {
	w          http.ResponseWriter
	connection *http.ResponseController
}

func (s sender) send(event string, data any) bool {
	encoded, err := json.Marshal(data) // has no line break, so it is one line of the stream
	return err == nil && s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event, encoded))
}

func (s sender) write(text string) bool {
	// The server's write deadline is for a whole answer, and a stream has no end.
	_ = s.connection.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := s.w.Write([]byte(text))
	return err == nil && s.connection.Flush() == nil
}
