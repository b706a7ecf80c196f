package integrator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Gateway is the API of a gateway, for one range.
type Gateway struct {
	URL          string // with its prefix, as http://127.0.0.1:8080/api/v2/pos
	Range, Token string
}

// Bounds of requests to the gateway.
const (
	pollSeconds    = 50 // a proxy in between may end what is silent for 60
	requestTimeout = 10 * time.Second
	maxPageBytes   = 4 << 20
	pageSize       = 1000
)

// Pulled is an event of the log.
type Pulled struct {
	Cursor    string    `json:"cursor"`
	At        time.Time `json:"at"`
	Event     string    `json:"event"`
	Session   string    `json:"session_id"`
	Lane      string    `json:"lane_id"`
	WebhookID string    `json:"webhook_id"` // under which the webhook gets it
}

// eventLog is the gateway's event log as it has been pulled.
type eventLog struct {
	gateway Gateway // without a URL nothing is pulled
	client  *http.Client

	mu      sync.Mutex
	list    []Pulled // oldest first, the last maxArrivals
	count   int      // of all events that were pulled
	problem string   // why nothing can be pulled now; empty: it can
	changed chan struct{}
}

func newEventLog() *eventLog {
	return &eventLog{client: &http.Client{}, list: []Pulled{}, changed: make(chan struct{})}
}

// Follow pulls the events of the gateway until Close: those that it has, and each next one by a long poll. It
// is called once at most, and does not block.
func (in *Integrator) Follow(gateway Gateway) {
	in.pulled.mu.Lock()
	in.pulled.gateway = gateway
	in.pulled.notify()
	in.pulled.mu.Unlock()
	go in.follow(in.ctx)
}

// follow goes on from the cursor of the page before. A POS saves it with what it does about the events; this
// one begins at the oldest event whenever it is started.
func (in *Integrator) follow(ctx context.Context) {
	cursor, failures := "0", 0
	for ctx.Err() == nil {
		wait := pollSeconds
		if failures > 0 {
			wait = 0 // the answer says at once that the gateway is back
		}
		page, err := in.pulled.read(ctx, cursor, wait)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			if failures > 0 {
				in.settings.Log.Info().Msg("the demo integrator reads the events of the gateway again")
			}
			cursor, failures = page.Next, 0
			in.pulled.add(page)
			continue
		}
		if in.pulled.setProblem(err.Error()) {
			in.settings.Log.Warn().Err(err).
				Msg("the demo integrator cannot read the events of the gateway and tries again")
		}
		if refused := (*refusal)(nil); errors.As(err, &refused) {
			switch refused.status {
			case http.StatusGone: // the log is another one, or does not keep what is behind the cursor
				cursor = cmp.Or(refused.oldest, "0")
			case http.StatusBadRequest: // the log was rolled back
				cursor = "0"
			}
		}
		select {
		case <-time.After(min(time.Second<<min(failures, 5), 30*time.Second)):
			failures++
		case <-ctx.Done():
		}
	}
}

// logPage is a page of GET /events, without what is not shown.
type logPage struct {
	Events []struct {
		Cursor     string    `json:"cursor"`
		ID         string    `json:"id"`
		OccurredAt time.Time `json:"occurred_at"`
		Payload    struct {
			Event   string `json:"event"`
			Session string `json:"session_id"`
			Lane    string `json:"lane_id"`
		} `json:"payload"`
	} `json:"events"`
	Next string `json:"next"`
}

// read returns the events behind the cursor, and waits that many seconds for the next one if there are none.
func (l *eventLog) read(ctx context.Context, cursor string, wait int) (page logPage, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollSeconds*time.Second+requestTimeout)
	defer cancel()
	query := url.Values{"after": {cursor}, "wait": {strconv.Itoa(wait)}, "limit": {strconv.Itoa(pageSize)}}
	body, err := l.request(ctx, http.MethodGet, "/events?"+query.Encode(), "")
	if err != nil {
		return logPage{}, err
	}
	return page, json.Unmarshal(body, &page)
}

// redeliver has the gateway send an event to the webhook again. Its errors are a *refusal, or that there is no answer.
func (l *eventLog) redeliver(ctx context.Context, cursor string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := l.request(ctx, http.MethodPost, "/events/"+url.PathEscape(cursor)+"/redeliver", uuid.NewString())
	return err
}

// refusal is an answer of the gateway that is no success.
type refusal struct {
	status int
	text   string
	oldest string // the cursor to go on from, with 410
}

func (r *refusal) Error() string { return r.text }

// request returns the body of a 2xx answer, otherwise a *refusal or why there is no answer.
func (l *eventLog) request(ctx context.Context, method, path, key string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, l.gateway.URL+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("range-id", l.gateway.Range)
	request.Header.Set("token", l.gateway.Token)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := l.client.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return nil, failed.Err // without the path, which differs from one try to the next
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPageBytes))
	if err != nil || response.StatusCode < 300 {
		return body, err
	}
	var failed struct{ Error, Oldest string }
	if json.NewDecoder(bytes.NewReader(body)).Decode(&failed) != nil || failed.Error == "" {
		failed.Error = fmt.Sprintf("the gateway answered with status %d", response.StatusCode)
	}
	return nil, &refusal{response.StatusCode, shorten(failed.Error), failed.Oldest}
}

// add keeps the events of a page.
func (l *eventLog) add(page logPage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range page.Events {
		l.list = append(l.list, Pulled{
			Cursor: e.Cursor, At: e.OccurredAt, Event: shorten(e.Payload.Event), Session: shorten(e.Payload.Session),
			Lane:      shorten(e.Payload.Lane),
			WebhookID: "msg_" + shorten(e.ID),
		})
	}
	l.count += len(page.Events)
	if len(l.list) > maxArrivals {
		l.list = slices.Delete(l.list, 0, len(l.list)-maxArrivals)
	}
	l.problem = ""
	l.notify()
}

// setProblem returns whether the problem is another one than before.
func (l *eventLog) setProblem(problem string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := l.problem != problem
	if l.problem = problem; changed {
		l.notify()
	}
	return changed
}

// pulling is what the page shows of the log beside its events.
type pulling struct {
	Follows bool   `json:"follows"` // a gateway's log is pulled at all
	Problem string `json:"problem"` // why it cannot be now; empty: it can
}

// since returns the kept events after the first n, how many there are in all, the state, and a channel that
// is closed at the next change.
func (l *eventLog) since(n int) (added []Pulled, count int, state pulling, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := min(l.count-n, len(l.list))
	return slices.Clone(l.list[len(l.list)-kept:]), l.count, pulling{l.gateway.URL != "", l.problem}, l.changed
}

// notify is called with mu held.
func (l *eventLog) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// sendAgain has the gateway send the event with a cursor again.
func (in *Integrator) sendAgain(w http.ResponseWriter, r *http.Request) {
	var event struct {
		Cursor string `json:"cursor"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxChoiceBytes)).Decode(&event); err != nil ||
		event.Cursor == "" {
		fault(w, http.StatusBadRequest, `the body must be {"cursor": "…"}`)
		return
	}
	if _, _, state, _ := in.pulled.since(0); !state.Follows {
		fault(w, http.StatusConflict, "this integrator was started without a gateway")
		return
	}
	err := in.pulled.redeliver(r.Context(), event.Cursor)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		fault(w, refused.status, refused.text)
		return
	}
	if err != nil {
		in.settings.Log.Warn().Err(err).Str("cursor", shorten(event.Cursor)).
			Msg("the demo integrator cannot reach the gateway to have an event sent again")
		fault(w, http.StatusBadGateway, "the gateway cannot be reached")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
