package v2

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

func newReaders(limit int) *Readers {
	open := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "readers"}, []string{"kind"})
	return NewReaders(limit, nil, open, prometheus.NewCounter(prometheus.CounterOpts{Name: "refused"}), nil)
}

// loggingRange is a range with an event log.
type loggingRange struct {
	Range
	mu      sync.Mutex
	log     []lanes.Logged
	id      atomic.Uint64 // see LogID
	trimmed int           // of the log
	reads   int           // of the store
	err     error
	before  func() // called once, at the beginning of the next read of the store
	during  func() // likewise at its end
	wake    chan struct{}
	ended   chan struct{}
}

func newLoggingRange(events int) *loggingRange {
	r := &loggingRange{wake: make(chan struct{}), ended: make(chan struct{})}
	r.save(events)
	return r
}

// save adds that many events to the log.
func (r *loggingRange) save(events int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range events {
		event := lanes.Event{ID: uuid.New(), Kind: lanes.Help, Session: uuid.New(), Lane: uuid.New(), At: time.Now()}
		r.log = append(r.log, lanes.Logged{Cursor: uint64(len(r.log) + 1), Event: event})
	}
	close(r.wake)
	r.wake = make(chan struct{})
}

func (r *loggingRange) Events(_ context.Context, after uint64, limit int) ([]lanes.Logged, error) {
	if before := r.before; before != nil {
		r.before = nil
		before()
	}
	r.mu.Lock()
	defer func() {
		during := r.during
		r.during = nil
		r.mu.Unlock()
		if during != nil {
			during()
		}
	}()
	r.reads++
	kept := r.log[min(max(int(after), r.trimmed), len(r.log)):]
	return kept[:min(limit, len(kept))], r.err
}

func (r *loggingRange) Latest(context.Context) (lastEvent, lastEnded, lastAct uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return uint64(len(r.log)), uint64(len(r.log)), 0
}

func (r *loggingRange) Saved() (event, ended uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return uint64(len(r.log)), uint64(len(r.log))
}

func (r *loggingRange) History(context.Context, uint64, int) ([]lanes.Ended, error) { return nil, nil }

func (r *loggingRange) EndedSession(context.Context, uuid.UUID) (lanes.Ended, error) {
	return lanes.Ended{}, lanes.ErrSessionNotFound
}

func (r *loggingRange) HistoryOf(context.Context, string, uint64, int) ([]lanes.Ended, error) {
	return nil, nil
}

func (r *loggingRange) HistoryKeptBehind(ctx context.Context) (uint64, error) {
	return r.EventsKeptBehind(ctx)
}

func (r *loggingRange) Redeliver(
	_ context.Context, selection lanes.EventSelection, _ *lanes.KeyOf[lanes.Redelivery],
) (lanes.Redelivery, error) {
	if selection.Whole && selection.After < uint64(r.trimmed) {
		return lanes.Redelivery{}, lanes.ErrEventsGone
	}
	return lanes.Redelivery{Events: 1}, nil
}

func (r *loggingRange) LogID() uint64 { return r.id.Load() }

func (r *loggingRange) EventsKeptBehind(context.Context) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return uint64(r.trimmed), nil
}

func (r *loggingRange) HasWebhook(name string) bool { return name == "books" }

func (r *loggingRange) FollowEvents() (saved uint64, next func() ([]lanes.Logged, <-chan struct{})) {
	r.mu.Lock()
	defer r.mu.Unlock()
	returned := len(r.log)
	return uint64(returned), func() ([]lanes.Logged, <-chan struct{}) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if events := r.log[returned:len(r.log):len(r.log)]; len(events) > 0 {
			returned = len(r.log)
			return events, nil
		}
		return nil, r.wake
	}
}

func (r *loggingRange) Ended() <-chan struct{} { return r.ended }

func (r *loggingRange) readCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reads
}

// newAPI returns the endpoints of the range, with a timeout as in production.
func (r *loggingRange) newAPI(t *testing.T, readers *Readers) http.Handler {
	codes := endpoint.Errors{}
	for _, code := range append(SessionCodes("event_not_found", "not_redeliverable", "webhook_not_configured",
		"webhook_gone", "cursor_gone", "not_saved", "not_running", "not_waiting", "start_scheduled", "start_not_found",
		"batch_refused", "reservation_not_found", "lane_reserved", "reservation_over", "reservation_limit",
		"no_lanes_fit", "lane_not_usable", "lane_lacks_capability", "not_paused", "in_grace", "ceasefire",
		"duration_out_of_range",
		"no_time_left", "after_closing", "group_not_found", "lane_not_found", "lane_occupied", "lane_not_accessible",
		"lane_not_clear"),
		"invalid_request", "not_found", "method_not_allowed", "request_timeout", "too_large", "unsupported_media_type",
		"timeout", "internal", "overloaded") {
		codes[code] = endpoint.Error{Status: http.StatusBadRequest, Sentence: code}
	}
	a := &endpoint.API{
		Errors: codes, Timeout: 5 * time.Second,
		Defect: func(_ *http.Request, cause error, _ []byte) { t.Error("defect:", cause) },
	}
	router := a.Router()
	a.Mount(router, "/", Handlers{
		RangeOf: func(context.Context) (Range, error) { return r, nil },
		Readers: readers,
	}.Endpoints())
	return router
}

// answer can be read while its request is served.
type answer struct {
	StatusCode int
	Header     http.Header
	Body       *io.PipeReader
}

// begin sends a request, which ends with ctx.
func begin(ctx context.Context, h http.Handler, path string, headers ...string) *answer {
	r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	body, w := io.Pipe()
	recorder := &pipedResponse{header: http.Header{}, begun: make(chan int, 1), pipe: w}
	go func() {
		h.ServeHTTP(recorder, r)
		recorder.WriteHeader(http.StatusOK)
		_ = w.Close()
	}()
	return &answer{<-recorder.begun, recorder.header, body}
}

// pipedResponse is a response without buffers.
type pipedResponse struct {
	header http.Header
	once   sync.Once
	begun  chan int
	pipe   *io.PipeWriter
}

func (p *pipedResponse) Header() http.Header { return p.header }

func (p *pipedResponse) WriteHeader(status int) { p.once.Do(func() { p.begun <- status }) }

func (p *pipedResponse) Flush() {}

func (p *pipedResponse) Write(text []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.pipe.Write(text)
}

// poll reads a page and returns its cursors.
func poll(ctx context.Context, t *testing.T, h http.Handler, path string) (cursors []string, next string) {
	response := begin(ctx, h, path)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(text))
	var page Events
	require.NoError(t, json.Unmarshal(text, &page))
	for _, event := range page.Events {
		cursors = append(cursors, event.Cursor)
	}
	return cursors, page.Next
}

func TestAPollWaitsForTheNextEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoggingRange(2)
		h := r.newAPI(t, newReaders(0))
		cursors, next := poll(t.Context(), t, h, "/events?after=1&wait=60")
		require.Equal(t, []string{"2"}, cursors, "there is one already")
		require.Equal(t, "2", next)

		began, reads := time.Now(), r.readCount()
		time.AfterFunc(47*time.Second, func() { r.save(2) })
		cursors, next = poll(t.Context(), t, h, "/events?after=2&wait=60")
		require.Equal(t, []string{"3", "4"}, cursors)
		require.Equal(t, "4", next)
		require.Equal(t, 47*time.Second, time.Since(began), "as soon as there is one")
		require.Equal(t, reads+1, r.readCount(), "the store is read once, and not while it waits")

		began = time.Now()
		cursors, next = poll(t.Context(), t, h, "/events?after=4&wait=60")
		require.Empty(t, cursors)
		require.Equal(t, "4", next)
		require.Equal(t, time.Minute, time.Since(began))

		began = time.Now()
		cursors, _ = poll(t.Context(), t, h, "/events?after=4")
		require.Empty(t, cursors)
		require.Zero(t, time.Since(began), "who does not ask to wait does not")
	})
}

// A reader whose cursor is older than everything that is kept goes on with what is kept, and does not ask
// again and again.
func TestAPollBehindARecordThatIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoggingRange(5)
		r.trimmed = 5
		h := r.newAPI(t, newReaders(0))
		cursors, next := poll(t.Context(), t, h, "/events?wait=60")
		require.Empty(t, cursors)
		require.Equal(t, "5", next)
	})
}

// The limit is on those that wait, of both kinds together. Whoever leaves makes room.
func TestTheLimitOfWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoggingRange(1)
		h := r.newAPI(t, newReaders(3))
		ctx, leave := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range 2 {
			waiting.Go(func() { _, _ = io.ReadAll(begin(ctx, h, "/events?after=1&wait=60").Body) })
		}
		stream := begin(t.Context(), h, "/events/stream?after=1")
		synctest.Wait()
		for _, path := range []string{"/events?after=1&wait=1", "/events/stream"} {
			response := begin(t.Context(), h, path)
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Contains(t, string(text), `"code":"overloaded"`, path)
		}
		cursors, _ := poll(t.Context(), t, h, "/events?wait=60")
		require.Len(t, cursors, 1, "whoever need not wait is not refused")
		leave()
		waiting.Wait()
		_, next := poll(t.Context(), t, h, "/events?after=1&wait=1")
		require.Equal(t, "1", next)
		close(r.ended)
		_, err := io.ReadAll(stream.Body)
		require.NoError(t, err)
	})
}

// message is one message of a stream.
type message struct{ id, data, comment string }

// readMessages returns a function that returns the next message of a stream, and false at its end.
func readMessages(body io.Reader) func() (message, bool) {
	lines := bufio.NewScanner(body)
	return func() (m message, ok bool) {
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ":"); {
			case lines.Text() == "":
				return m, true
			case name == "id":
				m.id = strings.TrimPrefix(value, " ")
			case name == "data":
				m.data = strings.TrimPrefix(value, " ")
			default:
				m.comment = lines.Text()
			}
		}
		return m, false
	}
}

func TestAStreamHasWhatIsSavedAndWhatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoggingRange(250) // more than a page
		h := r.newAPI(t, newReaders(0))
		response := begin(t.Context(), h, "/events/stream?after=10", "Last-Event-ID", "20")
		require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
		require.Equal(t, "no", response.Header.Get("X-Accel-Buffering"))
		next := readMessages(response.Body)
		first, _ := next()
		require.Equal(t, message{comment: "retry: 1000"}, first)
		want := 21
		receive := func(until int) {
			for ; want <= until; want++ {
				m, ok := next()
				require.True(t, ok)
				require.Equal(t, fmt.Sprint(want), m.id)
				var event Event
				require.NoError(t, json.Unmarshal([]byte(m.data), &event))
				require.Equal(t, eventOf(r.log[want-1], recordLog{}), event)
			}
		}
		receive(120)
		r.save(3) // while it reads what was saved
		receive(253)
		synctest.Wait()
		reads := r.readCount()
		r.save(2)
		receive(255)
		began := time.Now()
		beat, _ := next()
		require.Equal(t, message{comment: ":"}, beat)
		require.Equal(t, 15*time.Second, time.Since(began))
		r.save(1)
		receive(256)
		require.Equal(t, reads, r.readCount(), "what comes is not read from the store")
		close(r.ended)
		_, ok := next()
		require.False(t, ok)
	})
}

// The pages that streams catch up with take the room that pages of records have: while one is read and sent, and
// no longer.
func TestAStreamThatCatchesUpTakesTheRoomOfOnePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoggingRange(250) // three pages
		taken, full := 0, false
		readers := newReaders(0)
		readers.reserve = func(context.Context) (endpoint.PageRoom, error) {
			if full {
				return endpoint.PageRoom{}, screens.Overloaded("pages of records are being written")
			}
			taken++
			return endpoint.PageRoom{Encoded: func() {}, Written: sync.OnceFunc(func() { taken-- })}, nil
		}
		h := r.newAPI(t, readers)

		unread := begin(t.Context(), h, "/events/stream?after=0")
		next := readMessages(unread.Body)
		for _, until := range []int{1, 99, 101, 199, 220} {
			for m, ok := next(); m.id != fmt.Sprint(until); m, ok = next() {
				require.True(t, ok)
			}
			synctest.Wait()
			require.Equal(t, 1, taken, "event %d of 250 is read", until)
		}
		for m, _ := next(); m.id != "250"; m, _ = next() {
		}
		synctest.Wait()
		require.Zero(t, taken, "all is read")
		r.save(1)
		m, _ := next()
		require.Equal(t, "251", m.id)
		synctest.Wait()
		require.Zero(t, taken, "what comes is no page")

		behind := begin(t.Context(), h, "/events/stream?after=100")
		synctest.Wait()
		require.Equal(t, 1, taken)
		require.NoError(t, behind.Body.Close()) // the reader is gone
		synctest.Wait()
		require.Zero(t, taken, "nobody reads the page")

		full = true
		refusal, err := io.ReadAll(begin(t.Context(), h, "/events/stream?after=0").Body)
		require.NoError(t, err)
		require.Contains(t, string(refusal), `"overloaded"`)
		close(r.ended)
		_, ok := next()
		require.False(t, ok)
	})
}

// What is saved between a read of the store and the wait for more is neither missed nor sent twice.
func TestWhatIsSavedDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, path := range []string{"/events/stream", "/events/stream?after=0", "/events/stream?after=2"} {
			r := newLoggingRange(3)
			r.before = func() { r.save(1) }
			r.during = func() { r.save(1) }
			next := readMessages(begin(t.Context(), r.newAPI(t, newReaders(0)), path).Body)
			var ids []string
			for {
				m, ok := next()
				require.True(t, ok)
				if m.comment == ":" { // nothing more has come
					break
				}
				if m.id != "" {
					ids = append(ids, m.id)
				}
			}
			want := []string{"1", "2", "3", "4", "5"}
			if strings.HasSuffix(path, "2") {
				want = want[2:]
			}
			require.Equal(t, want, ids, path)
			close(r.ended)
			next()
		}
	})
}

// refused requires that a request is refused as Error shows, whatever it reads by: a page, a wait or a stream.
func refused(t *testing.T, h http.Handler, query, want string) {
	t.Helper()
	paths := []string{
		"/events?" + query, "/events?wait=60&" + query, "/events/stream?" + query,
		"/events?limit=1&" + query,
	}
	if after, ofCursor := strings.CutPrefix(query, "after="); ofCursor {
		paths = append(paths, "/history?"+query, "/history?external_id=a&"+query)
		if _, err := strconv.ParseInt(after, 10, 64); err == nil && after[0] != '-' {
			require.Contains(t, redeliver(t, h, after), want)
		}
	}
	for _, path := range paths {
		response := begin(t.Context(), h, path)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), want, path)
	}
}

// redeliver has the events behind a cursor sent again.
func redeliver(t *testing.T, h http.Handler, after string) string {
	body := strings.NewReader(`{"after":"` + after + `","until":"1000"}`)
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/events/redeliver", body)
	r.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	return recorder.Body.String()
}

// A cursor that the log has not given yet is refused in every call: who reads behind it would be deaf until
// the log has reached it.
func TestACursorThatIsAheadOfItsLog(t *testing.T) {
	r := newLoggingRange(3)
	r.id.Store(7)
	h := r.newAPI(t, newReaders(0))
	for _, cursor := range []string{
		"4", "99999999999", "999999999999999999",
		endpoint.LogCursor{Log: 7, Number: 4}.String(),
	} {
		refused(t, h, "after="+cursor, `"fields":{"after":"is ahead of every cursor`)
		response := begin(t.Context(), h, "/events/stream?after=1", "Last-Event-ID", cursor)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), `"fields":{"Last-Event-ID":"is ahead of every cursor`, cursor)
	}
	for _, cursor := range []string{"", "x", "-1", "1.5", "latest1", strings.Repeat("9", 40)} {
		refused(t, h, "after="+cursor,
			`"fields":{"after":"must be a cursor from an earlier answer, 0 for the beginning or latest"}`)
	}
}

// A cursor of another log is refused with where to go on: what it says of this one is an accident.
func TestACursorOfAnotherLog(t *testing.T) {
	r := newLoggingRange(3)
	r.id.Store(7)
	r.trimmed = 1
	h := r.newAPI(t, newReaders(0))
	oldest := endpoint.LogCursor{Log: 7, Number: 1}.String()
	for _, number := range []uint64{0, 2, 99} {
		refused(t, h, "after="+endpoint.LogCursor{Log: 8, Number: number}.String(), `"code":"cursor_gone"`)
		refused(t, h, "after="+endpoint.LogCursor{Log: 8, Number: number}.String(), `"oldest":"`+oldest+`"`)
	}
	cursors, next := poll(t.Context(), t, h, "/events?after="+oldest)
	require.Equal(t, []string{
		endpoint.LogCursor{Log: 7, Number: 2}.String(),
		endpoint.LogCursor{Log: 7, Number: 3}.String(),
	}, cursors)
	require.Equal(t, endpoint.LogCursor{Log: 7, Number: 3}.String(), next)
	cursors, _ = poll(t.Context(), t, h, "/events?after=2")
	require.Equal(t, []string{endpoint.LogCursor{Log: 7, Number: 3}.String()}, cursors,
		"a number without a log, from before, is one of this log")
}

// A cursor behind which records are not kept any more is refused, so that nothing is skipped in silence. Who
// has asked for what is kept gets that.
func TestACursorBehindTheRetention(t *testing.T) {
	r := newLoggingRange(5)
	r.id.Store(7)
	r.trimmed = 3
	h := r.newAPI(t, newReaders(0))
	oldest := `"oldest":"` + endpoint.LogCursor{Log: 7, Number: 3}.String() + `"`
	for _, cursor := range []string{
		"1", "2", endpoint.LogCursor{Log: 7}.String(),
		endpoint.LogCursor{Log: 7, Number: 2}.String(),
	} {
		refused(t, h, "after="+cursor, oldest)
	}
	for _, query := range []string{"", "?after=0", "?after=3", "?after=" +
		endpoint.LogCursor{Log: 7, Number: 3}.String()} {
		cursors, _ := poll(t.Context(), t, h, "/events"+query)
		require.Len(t, cursors, 2, query)
	}
	r.trimmed = 5
	refused(t, h, "after=4", `"oldest":"`+endpoint.LogCursor{Log: 7, Number: 5}.String()+`"`)
	cursors, next := poll(t.Context(), t, h, "/events?after=5")
	require.Empty(t, cursors)
	require.Equal(t, endpoint.LogCursor{Log: 7, Number: 5}.String(), next)
}

// Who begins with the latest gets what happens from now on.
func TestReadersBeginWithTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoggingRange(3)
		h := r.newAPI(t, newReaders(0))
		cursors, next := poll(t.Context(), t, h, "/events?after=latest")
		require.Empty(t, cursors)
		require.Equal(t, "3", next)
		time.AfterFunc(time.Second, func() { r.save(1) })
		cursors, _ = poll(t.Context(), t, h, "/events?after=latest&wait=60")
		require.Equal(t, []string{"4"}, cursors)
		stream := readMessages(begin(t.Context(), h, "/events/stream?after=latest").Body)
		time.AfterFunc(time.Second, func() { r.save(1) })
		for {
			m, ok := stream()
			require.True(t, ok)
			if m.id != "" {
				require.Equal(t, "5", m.id)
				break
			}
		}
		close(r.ended)
		stream()
	})
}

// A stream ends when the store has lost records: its reader connects again, and is told.
func TestAStreamEndsWithItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoggingRange(1)
		r.id.Store(7)
		stream := readMessages(begin(t.Context(), r.newAPI(t, newReaders(0)), "/events/stream").Body)
		time.AfterFunc(time.Second, func() { r.id.Store(8); r.save(1) })
		var ids []string
		for m, ok := stream(); ok; m, ok = stream() {
			if m.id != "" {
				ids = append(ids, m.id)
			}
		}
		require.Equal(t, []string{endpoint.LogCursor{Log: 7, Number: 1}.String()}, ids)
	})
}

// Parameters that would filter nothing are faults.
func TestFiltersThatTheLogDoesNotHave(t *testing.T) {
	h := newLoggingRange(3).newAPI(t, newReaders(0))
	refused(t, h, "kinds=sessionStopped", `"fields":{"kinds":"is no parameter here`)
	text, err := io.ReadAll(begin(t.Context(), h, "/events/stream?webhook=books").Body)
	require.NoError(t, err)
	require.Contains(t, string(text), `"fields":{"webhook":"is no parameter here`)
	for _, path := range []string{"/events?webhook=nobody", "/events?webhook=nobody&wait=60"} {
		text, err := io.ReadAll(begin(t.Context(), h, path).Body)
		require.NoError(t, err)
		require.Contains(t, string(text), `"fields":{"webhook":"names no webhook of this range"}`)
	}
}

func TestTheWaitHasBounds(t *testing.T) {
	h := newLoggingRange(0).newAPI(t, newReaders(0))
	for _, wait := range []string{"61", "-1", "1.5", "x", ""} {
		response := begin(t.Context(), h, "/events?wait="+wait)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), `"fields":{"wait":"must be an integer from 0 to 60"}`, wait)
	}
}

// What can be refused is refused with a status: a stream that has begun can only end.
func TestAStreamWithoutAStore(t *testing.T) {
	r := newLoggingRange(3)
	r.err = lanes.ErrStoreUnavailable
	readers := newReaders(1)
	h := r.newAPI(t, readers)
	for range 2 {
		text, err := io.ReadAll(begin(t.Context(), h, "/events/stream").Body)
		require.NoError(t, err)
		require.Contains(t, string(text), `"code":"store_unavailable"`, "the slot is free again")
	}
}

// A gateway that stops answers who waits, and ends the streams.
func TestReadersEndWithTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, readers, closing := newLoggingRange(1), newReaders(0), make(chan struct{})
		readers.closing = closing
		h := r.newAPI(t, readers)
		stream := begin(t.Context(), h, "/events/stream?after=1")
		time.AfterFunc(time.Second, func() { close(closing) })
		cursors, next := poll(t.Context(), t, h, "/events?after=1&wait=60")
		require.Empty(t, cursors)
		require.Equal(t, "1", next)
		text, err := io.ReadAll(stream.Body)
		require.NoError(t, err)
		require.Equal(t, "retry: 1000\n\n", string(text))
	})
}

// A reader that waits goes on behind its page, however much there is behind that.
func TestAPollGoesOnBehindItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLoggingRange(5)
		h := r.newAPI(t, newReaders(0))
		cursors, next := poll(t.Context(), t, h, "/events?after=1&limit=2&wait=60")
		require.Equal(t, []string{"2", "3"}, cursors)
		require.Equal(t, "3", next)
	})
}

// A page ends at a mebibyte whatever limit was asked for, and the next one goes on behind it: nothing is
// missed, and nothing comes twice.
func TestAPageEndsAtAMebibyte(t *testing.T) {
	r := newLoggingRange(900)
	for i := range r.log {
		r.log[i].Event.Correlation = &lanes.Correlation{Metadata: map[string]string{"note": strings.Repeat("x", 3_000)}}
	}
	h := r.newAPI(t, newReaders(0))
	var seen []string
	next, pages := "0", 0
	for len(seen) < 900 {
		response := httptest.NewRecorder()
		h.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/events?limit=1000&after="+next, nil))
		require.Less(t, response.Body.Len(), endpoint.PageBytes+1_000)
		var page struct {
			Events []struct{ Cursor string }
			Next   string
		}
		require.NoError(t, json.Unmarshal(response.Body.Bytes(), &page))
		require.NotEmpty(t, page.Events)
		for _, event := range page.Events {
			seen = append(seen, event.Cursor)
		}
		next = page.Next
		pages++
	}
	for i, cursor := range seen {
		require.Equal(t, strconv.Itoa(i+1), cursor)
	}
	require.Equal(t, 3, pages)
}
