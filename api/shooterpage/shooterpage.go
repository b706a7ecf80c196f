// Package shooterpage is the page of a shooter's own telephone: the lane's name, the time left, and whether a
// ceasefire is in force. Whoever has the address of a session's page may see it, and can change nothing.
// Staff hand it out as a QR code. The page is in web/.
package shooterpage

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/routing"
	"rangegate/api/screens"
	"rangegate/lanes"
)

//go:embed web/*.html web/*.css web/*.js
var web embed.FS

// Range is the part of a running range that the page uses.
type Range interface {
	Now() lanes.Instant
	// SessionChange returns the lane that the session is on, the version of its newest change, and a channel
	// that is closed at its next one. When the session moves, that lane changes. found is false for a session
	// that is on no lane.
	SessionChange(session uuid.UUID) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool)
	// SessionEnd returns when a session that is on no lane has ended. Errors: lanes.ErrSessionNotFound,
	// lanes.ErrStoreUnavailable.
	SessionEnd(ctx context.Context, session uuid.UUID) (time.Time, error)
	// Ended is closed when the range stops here, or another process owns it.
	Ended() <-chan struct{}
}

// Settings is what the page is configured with.
type Settings struct {
	Addresses Addresses
	// Range returns the running range with that id, or the reason why there is none: lanes.ErrStarting,
	// lanes.ErrNotOwner.
	Range  func(id uuid.UUID) (Range, error)
	Router *routing.Router // hands on what other nodes own; nil: this process serves every range
	// WrongAddresses limits addresses that this gateway has not made. It outlives a reload.
	WrongAddresses *screens.AttemptLimiter[netip.Prefix]
	Closing        <-chan struct{}  // closed when the gateway stops; open streams end
	Streams        prometheus.Gauge // number of open streams
}

const (
	// MaxWrongAddresses is the maximum number of wrong addresses a minute for a client's network.
	MaxWrongAddresses = 30
	// maxStreams and maxOfSession are the maximum number of open streams of one range, and of one session.
	maxStreams   = 1000
	maxOfSession = 6
	// afterEnd is how long after its end a session's page still says that it has ended. Later there is none.
	afterEnd = 30 * time.Minute
)

// Gone is the code of the refusal of a page that is not there, or not any more.
const Gone = "page_gone"

type page struct {
	Settings
	files   screens.Files
	streams *screens.SlotTable
	fail    endpoint.FailFunc

	mu        sync.Mutex
	bySession map[uuid.UUID]int // open streams
}

// Mount puts every route of the page on the router.
func Mount(r chi.Router, a *endpoint.API, s Settings) {
	p := &page{
		Settings: s, files: screens.Load(web), streams: screens.NewSlotTable(maxStreams), fail: a.Fail,
		bySession: map[uuid.UUID]int{},
	}
	r.Route("/my", func(r chi.Router) {
		r.Use(screens.Guard(a.Fail))
		r.Get("/assets/*", p.files.Handler(a.Fail))
		r.Get("/{token}", p.page)
		r.With(p.requireAddress, p.Router.Route(a.Fail, p.destination)).Get("/{token}/stream", p.stream)
	})
}

// page serves the page, which has no data, at every address that this gateway has made.
func (p *page) page(w http.ResponseWriter, r *http.Request) {
	if _, err := p.find(r); err != nil {
		status := http.StatusNotFound
		var refusal interface{ RetryAfter() time.Duration }
		if errors.As(err, &refusal) && refusal.RetryAfter() > 0 {
			status = http.StatusTooManyRequests
			endpoint.SetRetryAfter(w, refusal.RetryAfter())
		}
		p.files.Refusal(w, "gone.html", status)
		return
	}
	p.files.Page("my.html", p.fail)(w, r)
}

// find returns the session of the request's page. Wrong addresses are limited by network, never right ones:
// the guests of a range share one.
func (p *page) find(r *http.Request) (of shownSession, err error) {
	of, ok := p.Addresses.parse(chi.URLParam(r, "token"))
	if ok {
		return of, nil
	}
	if wait, ok := p.WrongAddresses.Reserve(request.ClientNetwork(r)); !ok {
		return of, screens.TooManyAttempts(wait)
	}
	return of, endpoint.Refusal(Gone)
}

type shownKey struct{}

// requireAddress refuses requests at addresses that this gateway has not made.
func (p *page) requireAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of, err := p.find(r)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), shownKey{}, of)))
	})
}

// destination returns the range of a request behind requireAddress: its owner knows the session.
func (p *page) destination(r *http.Request) (uuid.UUID, routing.Way) {
	return r.Context().Value(shownKey{}).(shownSession).rangeID, routing.Stream
}

// message is all that a page shows: no customer, and no id by which something could be changed.
type message struct {
	Now     string `json:"now"`
	Lane    string `json:"lane"`
	State   string `json:"state"`
	Running bool   `json:"running"` // the time left counts down
	LeftMS  int64  `json:"left_ms"`
	screens.Marks
	// OpenEnd is nil where the session has none.
	OpenEnd *screens.OpenEnd `json:"open_end,omitempty"`
}

// The states of a session, beside those of its phase: a ceasefire holds it, or holds it before it has begun;
// its time is used up and it may still be extended, or it goes on with an open end; it has ended.
const (
	stateCeasefire = "ceasefire"
	stateBarred    = "barred"
	stateGrace     = "grace"
	stateBeyond    = "beyond"
	stateEnded     = "ended"
)

func messageOf(s lanes.LaneStatus, now lanes.Instant) message {
	m := message{Now: endpoint.Stamp(now.Wall), Lane: s.Name, State: stateEnded}
	session := s.Lane.Session
	if session == nil {
		return m
	}
	m.State, m.Running, m.LeftMS = string(session.Phase), session.Phase == lanes.Running,
		session.Remaining(now).Milliseconds()
	m.Marks, m.OpenEnd = screens.MarksOf(s.Lane), screens.OpenEndOf(s.Lane, now)
	switch {
	case session.Phase == lanes.Waiting && s.Lane.Held:
		m.State = stateBarred
	case session.Phase != lanes.Waiting && s.Lane.Held, session.Phase == lanes.Paused && session.ByHold:
		m.State = stateCeasefire
	case session.InGrace():
		m.State = stateGrace
	case session.Phase == lanes.Running && session.HasOpenEnd() && session.Remaining(now) == 0:
		m.State = stateBeyond
	}
	return m
}

// stream sends the session: first `picture`, then `change` after every change, and `beat` in between. It
// follows the session to another lane, and ends after it has said that the session has ended.
func (p *page) stream(w http.ResponseWriter, r *http.Request) {
	of := r.Context().Value(shownKey{}).(shownSession)
	release, ok := p.acquire(of)
	if !ok {
		p.fail(w, r, screens.Overloaded("pages of this session, or of this range, are open"))
		return
	}
	defer release()
	running, err := p.Range(of.rangeID)
	if err == nil {
		err = exists(r.Context(), running, of.session)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.Streams.Inc()
	defer p.Streams.Dec()
	ended, seen, nextEvent := false, uint64(0), "picture"
	screens.Feed{
		Next: func() (string, any, <-chan struct{}) {
			status, version, wake, found := running.SessionChange(of.session)
			if ended || found && version == seen {
				return "", nil, wake
			}
			event := nextEvent
			seen, nextEvent, ended = version, "change", !found
			return event, messageOf(status, running.Now()), wake
		},
		Beat: func() (time.Time, bool) {
			current, err := p.Range(of.rangeID)
			return running.Now().Wall, err == nil && current == running && !ended
		},
		Ended: running.Ended(), Closing: p.Closing,
	}.Follow(w, r)
}

// exists returns nil for a session that is on a lane, or has ended lately. Every other one has no page any more.
func exists(ctx context.Context, r Range, session uuid.UUID) error {
	if _, _, _, found := r.SessionChange(session); found {
		return nil
	}
	at, err := r.SessionEnd(ctx, session)
	if _, _, _, found := r.SessionChange(session); found { // it has just begun
		return nil
	}
	if errors.Is(err, lanes.ErrSessionNotFound) || err == nil && r.Now().Wall.Sub(at) > afterEnd {
		return endpoint.Refusal(Gone)
	}
	return err
}

// acquire takes a place for a stream. ok is false if there is none, of the range or of the session.
func (p *page) acquire(of shownSession) (release func(), ok bool) {
	slots := p.streams.Of(of.rangeID)
	if !slots.TryAcquire() {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySession[of.session] >= maxOfSession {
		slots.Release()
		return nil, false
	}
	p.bySession[of.session]++
	return func() {
		slots.Release()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.bySession[of.session]--; p.bySession[of.session] == 0 {
			delete(p.bySession, of.session)
		}
	}, true
}
