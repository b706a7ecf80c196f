package v2

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/screens"
	"rangegate/lanes"
)

// The paths on which events are read, below the prefix.
const (
	EventsPath      = "/events"
	EventStreamPath = "/events/stream"
)

const (
	// maxWait is the longest wait for an event in seconds.
	maxWait = 60
	// beatInterval is the time between two messages of a stream, at most: a proxy closes a connection that is
	// silent (nginx after 60 s).
	beatInterval = 15 * time.Second
	// readerWriteTimeout is how long a reader may take to accept a message. Then the stream ends; nothing is
	// queued for it.
	readerWriteTimeout = 10 * time.Second
	// catchUpPage is how many events a stream reads from the store at a time.
	catchUpPage = 100
	// reconnectAfter is how long a browser waits until it connects again.
	reconnectAfter = time.Second
	// catchUpTimeout bounds one read of the store by a stream that has begun.
	catchUpTimeout = 5 * time.Second
)

// streamExample is a part of a stream.
const streamExample = "retry: 1000\n\nid: 1042\ndata: " +
	"{\"cursor\":\"1042\",\"id\":\"7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d\"," +
	"\"occurred_at\":\"2026-05-01T10:00:00.000Z\",\"payload\":{\"event\":\"sessionStarted\",\"session_id\":\"7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d\"," +
	"\"lane_id\":\"44444444-4444-4444-8444-000000000001\"},\"simulated\":false,\"attempt\":null}\n\n:\n\n"

// beatMessage is a comment.
var beatMessage = []byte(":\n\n")

// Readers are the requests that wait for events, long polls and streams. They end when the API's
// configuration is replaced.
type Readers struct {
	limit          int                // of a range; 0: none
	slots          *screens.SlotTable // of the ranges
	closing        <-chan struct{}    // closed when the gateway stops; all of them end
	polls, streams prometheus.Gauge
	refused        prometheus.Counter
	// the room of a page that a stream catches up with; nil: always there
	reserve func(context.Context) (endpoint.PageRoom, error)

	mu     sync.Mutex
	frames map[uuid.UUID]*frame
}

// NewReaders returns a Readers without any. open is labelled by kind; closing may be nil, and reserve, which is that
// of endpoint.API.
func NewReaders(
	limit int, closing <-chan struct{}, open *prometheus.GaugeVec, refused prometheus.Counter,
	reserve func(context.Context) (endpoint.PageRoom, error),
) *Readers {
	return &Readers{
		limit: limit, slots: screens.NewSlotTable(limit), closing: closing, polls: open.WithLabelValues("poll"),
		streams: open.WithLabelValues("stream"),
		refused: refused, reserve: reserve, frames: map[uuid.UUID]*frame{},
	}
}

// enter takes a slot of the range for one more reader, or refuses it with `overloaded`.
func (rs *Readers) enter(ctx context.Context, open prometheus.Gauge) (leave func(), err error) {
	if rs.limit == 0 {
		open.Inc()
		return open.Dec, nil
	}
	slots := rs.slots.Of(request.RangeID(ctx))
	if !slots.TryAcquire() {
		rs.refused.Inc()
		return nil, screens.Overloaded(fmt.Sprintf("requests of this range wait for events: at most %d may", rs.limit))
	}
	open.Inc()
	return func() { open.Dec(); slots.Release() }, nil
}

// eventsPage is what GET /events reads.
type eventsPage struct {
	page
	wait    time.Duration
	webhook string    // the deliveries to that one; empty: every event
	at      *position // once it was waited: where that began
}

// maxWebhookName is the length of a webhook's name in characters.
const maxWebhookName = 64

func readEvents(in *endpoint.Input) eventsPage {
	refuseKinds(in)
	return eventsPage{
		at:   &position{},
		page: readPage(in),
		wait: time.Duration(in.QueryLimit("wait", 0, maxWait, 0,
			"Seconds to wait at most for an event behind the cursor")) * time.Second,
		webhook: in.QueryText("webhook", maxWebhookName, "Only deliveries to that one of several webhooks; none: "+
			"every event, with its delivery to the first of them. A page may have fewer than there are, or none, "+
			"although there are more: go on from `next`. `wait` ends with any event of the range"),
	}
}

// refuseKinds refuses a filter that the event log does not have: a reader who believes in it would take every
// event for one of those kinds.
func refuseKinds(in *endpoint.Input) {
	in.RefuseQuery("kinds", "is no parameter here: the event log has every kind. Name kinds in the webhook's "+
		"configuration, or when you have events sent again")
}

// start is where a stream begins, and the field that says so.
type start struct {
	cursor endpoint.LogCursor
	field  string
}

func readStart(in *endpoint.Input) start {
	refuseKinds(in)
	in.RefuseQuery("webhook", "is no parameter here: the stream has every event, with its delivery to the first "+
		"of several webhooks. Read pages of `/events` for one of them")
	from := start{in.QueryLogCursor("after", "Cursor to read behind, or `latest`; none: from the oldest on"), "after"}
	if last, given := in.HeaderLogCursor("Last-Event-ID",
		"Likewise, but for `latest`; counts more than `after`"); given {
		from = start{last, "Last-Event-ID"}
	}
	return from
}

// locate sets where the page begins, when it is called first.
func (p eventsPage) locate(ctx context.Context, r Range) (err error) {
	if p.webhook != "" && !r.HasWebhook(p.webhook) {
		return endpoint.Faults{"webhook": "names no webhook of this range"}
	}
	if p.at.log.keptBehind == nil {
		*p.at, err = eventLog(ctx, r).locate(ctx, p.after, "after")
	}
	return err
}

// awaitEvents waits until there is an event behind the cursor, the time to wait is over, or the gateway or
// the range stops.
func (h Handlers) awaitEvents(ctx context.Context, p eventsPage) error {
	if p.wait == 0 {
		return nil
	}
	r, err := h.RangeOf(ctx)
	if err != nil {
		return err
	}
	if err := p.locate(ctx, r); err != nil {
		return err
	}
	saved, next := r.FollowEvents()
	if saved > p.at.after {
		return nil
	}
	leave, err := h.Readers.enter(ctx, h.Readers.polls)
	if err != nil {
		return err
	}
	defer leave()
	began, enough := time.Now(), time.NewTimer(p.wait)
	defer enough.Stop()
	defer func() {
		if i := request.Of(ctx); i != nil {
			i.Waited = time.Since(began)
		}
	}()
	for {
		events, wake := next()
		if wake == nil {
			if events[len(events)-1].Cursor > p.at.after {
				return nil
			}
			continue
		}
		select {
		case <-wake:
		case <-enough.C:
			return nil
		case <-h.Readers.closing:
			return nil
		case <-r.Ended():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// events reads a page. One that was waited for leaves records out that are not kept any more.
func events(ctx context.Context, r Range, p eventsPage) (Events, error) {
	if err := p.locate(ctx, r); err != nil {
		return Events{}, err
	}
	shown := func(e lanes.Logged) Event { return eventOf(e, p.at.log) }
	var saved uint64 // before anything is read: what is saved meanwhile is on the next page
	if p.wait > 0 {
		saved, _ = r.FollowEvents()
	}
	var found []Event
	var after uint64
	var err error
	if p.webhook != "" {
		found, after, err = deliveriesTo(ctx, r, p, shown)
	} else {
		found, after, err = fillPage(p.at.after, p.limit,
			func(after uint64, limit int) ([]lanes.Logged, error) { return r.Events(ctx, after, limit) },
			func(e lanes.Logged) uint64 { return e.Cursor }, shown)
		if len(found) == 0 {
			after = max(after, saved) // r.Events has read a log with saved in it: nothing to show lies between
		}
	}
	if err == nil {
		err = p.at.checkKept(ctx)
	}
	if err != nil {
		return Events{}, err
	}
	return Events{Events: found, Next: p.at.log.cursor(after).String()}, nil
}

// deliveriesTo reads a page of the deliveries to one webhook, and returns the cursor to go on behind.
func deliveriesTo(
	ctx context.Context, r Range, p eventsPage, view func(lanes.Logged) Event,
) (shown []Event, after uint64, err error) {
	logged, after, err := r.DeliveriesTo(ctx, p.webhook, p.at.after, p.limit)
	if err != nil {
		return nil, 0, err
	}
	shown = endpoint.Fit(endpoint.Views(logged, view))
	if len(shown) < len(logged) {
		after = logged[len(shown)-1].Cursor
	}
	return shown, after, nil
}

// stream opens a stream of the events behind the cursor. What can be refused is refused before the response begins.
func (h Handlers) stream(ctx context.Context, from start) (func(http.ResponseWriter, *http.Request), error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	at, err := eventLog(ctx, r).locate(ctx, from.cursor, from.field)
	if err != nil {
		return nil, err
	}
	leave, err := h.Readers.enter(ctx, h.Readers.streams)
	if err != nil {
		return nil, err
	}
	s := &eventStream{
		readers: h.Readers, rangeID: request.RangeID(ctx), r: r, log: at.log, after: at.after,
		anywhere: at.anywhere,
	}
	if err := s.readPage(ctx); err != nil {
		leave()
		return nil, err
	}
	return func(w http.ResponseWriter, r *http.Request) {
		defer leave()
		defer s.giveRoomBack()
		s.follow(w, r)
	}, nil
}

// eventStream is one stream: first what the store has behind the cursor, then what the range saves. Only the
// goroutine that serves its request uses it.
type eventStream struct {
	readers *Readers
	rangeID uuid.UUID
	r       Range
	log     recordLog
	// anywhere is true until the first page was read of a stream that begins with what is kept.
	anywhere bool
	after    uint64                                   // the cursor of the last event of the page, or that was sent
	page     []lanes.Logged                           // read from the store, and not sent yet
	room     endpoint.PageRoom                        // of that page
	next     func() ([]lanes.Logged, <-chan struct{}) // what is saved after the page

	w          http.ResponseWriter
	connection *http.ResponseController
}

// readPage reads what the store has next, and begins to follow what is saved from now on: only as much is
// kept in memory for the stream as is saved while it sends one page.
func (s *eventStream) readPage(ctx context.Context) (err error) {
	var saved uint64
	saved, s.next = s.r.FollowEvents()
	s.page = nil
	if s.after >= saved {
		return nil
	}
	if s.readers.reserve != nil {
		if s.room, err = s.readers.reserve(ctx); err != nil {
			return err
		}
	}
	defer func() {
		if err != nil || len(s.page) == 0 {
			s.giveRoomBack()
		}
	}()
	if s.page, err = s.r.Events(ctx, s.after, catchUpPage); err != nil {
		return err
	}
	if err = (position{s.log, s.after, s.anywhere}).checkKept(ctx); err != nil {
		return err
	}
	s.anywhere = false
	if len(s.page) == 0 { // it was read with saved in it: what is behind the cursor goes to other readers only
		s.after = saved
	}
	return nil
}

// giveRoomBack frees the room of a page that is sent, or never will be.
func (s *eventStream) giveRoomBack() {
	if s.room.Written != nil {
		s.room.Encoded()
		s.room.Written()
		s.room = endpoint.PageRoom{}
	}
}

// follow writes the response until one side ends it. A reader that is too slow has to connect again.
func (s *eventStream) follow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", endpoint.EventStream)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // tells nginx not to buffer
	if r.Method == http.MethodHead {          // a stream has no end, and no response to HEAD has a body
		return
	}
	s.w, s.connection = w, http.NewResponseController(w)
	if s.write(fmt.Appendf(nil, "retry: %d\n\n", reconnectAfter.Milliseconds())) && s.catchUp(r.Context()) {
		s.sendNew(r.Context())
	}
}

// catchUp sends what the store has. It returns false when the stream ends.
func (s *eventStream) catchUp(ctx context.Context) bool {
	for len(s.page) > 0 {
		encoded := encodeEvents(s.page, s.log)
		if s.room.Encoded != nil {
			s.room.Encoded()
		}
		if !s.write(encoded) {
			return false
		}
		s.after = s.page[len(s.page)-1].Cursor
		s.giveRoomBack()
		select {
		case <-s.readers.closing:
			return false
		case <-s.r.Ended():
			return false
		default:
		}
		limited, cancel := context.WithTimeout(ctx, catchUpTimeout)
		err := s.readPage(limited)
		cancel()
		if err != nil { // the range has logged it; the reader connects again, and is told
			return false
		}
	}
	return true
}

// sendNew sends what the range saves, until the stream ends.
func (s *eventStream) sendNew(ctx context.Context) {
	beat := time.NewTimer(beatInterval)
	defer beat.Stop()
	for {
		message := beatMessage
		events, wake := s.next()
		if s.r.LogID() != s.log.id { // the reader connects again, and is told
			return
		}
		if wake == nil {
			if message = s.encoded(events); message == nil {
				continue
			}
		} else {
			select {
			case <-wake:
				continue
			case <-beat.C:
			case <-s.readers.closing:
				return
			case <-s.r.Ended():
				return
			case <-ctx.Done():
				return
			}
		}
		if !s.write(message) {
			return
		}
		beat.Reset(beatInterval)
	}
}

// encoded returns the messages of those of the events that were not sent, nil if all were.
func (s *eventStream) encoded(events []lanes.Logged) []byte {
	first, last := events[0].Cursor, events[len(events)-1].Cursor
	after := s.after
	s.after = max(after, last)
	switch {
	case last <= after:
		return nil
	case first <= after:
		for events[0].Cursor <= after {
			events = events[1:]
		}
		return encodeEvents(events, s.log)
	}
	return s.readers.frameOf(s.rangeID).encode(events, s.log)
}

// write sends and flushes. It returns false when the reader is gone or too slow.
func (s *eventStream) write(message []byte) bool {
	_ = s.connection.SetWriteDeadline(time.Now().Add(readerWriteTimeout)) // a test's recorder has no deadline
	_, err := s.w.Write(message)
	return err == nil && s.connection.Flush() == nil
}

// encodeEvents returns events as messages of a stream.
func encodeEvents(events []lanes.Logged, log recordLog) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // as in the responses
	for _, event := range events {
		shown := eventOf(event, log)
		fmt.Fprintf(&text, "id: %s\ndata: ", shown.Cursor)
		if err := encoder.Encode(shown); err != nil { // it writes the newline
			panic(fmt.Errorf("encode an event: %w", err))
		}
		text.WriteByte('\n')
	}
	return text.Bytes()
}

// frame has the newest events of a range encoded, as all streams send the same ones.
type frame struct {
	mu      sync.Mutex
	first   *lanes.Logged // of the slice
	encoded []byte
}

func (rs *Readers) frameOf(rangeID uuid.UUID) *frame {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	f := rs.frames[rangeID]
	if f == nil {
		f = &frame{}
		rs.frames[rangeID] = f
	}
	return f
}

// encode returns the messages of the events, a slice that nobody changes.
func (f *frame) encode(events []lanes.Logged, log recordLog) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first != &events[0] {
		f.first, f.encoded = &events[0], encodeEvents(events, log)
	}
	return f.encoded
}
