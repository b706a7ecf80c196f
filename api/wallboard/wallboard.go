// Package wallboard is the wall board: every lane of a range on a display that hangs on a wall and that
// nobody touches. It shows and changes nothing. The page is in web/.
//
// A board authenticates with the key of its range, which its first address contains; then a cookie derived
// from the key replaces it. Whoever passes by reads it: no message has more than is shown, and customers'
// names only where the range is configured so.
package wallboard

import (
	"context"
	"embed"
	"net/http"
	"net/netip"

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

// Range is the part of a running range that a wall board reads.
type Range interface {
	Layout() lanes.Layout
	Now() lanes.Instant
	// Changes returns the lanes that have changed since that version, in display order, the current version,
	// and a channel that is closed when a lane or the holds change next. Since version 0 every lane has
	// changed.
	Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{})
	// Holds returns the holds in force.
	Holds() lanes.Holds
	// Ended is closed when the range stops here, or another process owns it.
	Ended() <-chan struct{}
}

// Board is how the boards of a range are configured.
type Board struct {
	Key   string
	Names bool // customers' names are shown, shortened
}

// Settings is what the wall boards are configured with.
type Settings struct {
	// Boards has the ranges that have boards.
	Boards map[uuid.UUID]Board
	// Range returns the running range with that id, or the reason why there is none: lanes.ErrStarting,
	// lanes.ErrNotOwner.
	Range  func(id uuid.UUID) (Range, error)
	Router *routing.Router // hands on what other nodes own; nil: this process serves every range
	// WrongKeys limits wrong keys. It outlives a reload.
	WrongKeys *screens.AttemptLimiter[netip.Prefix]
	Closing   <-chan struct{}  // closed when the gateway stops; open streams end
	Streams   prometheus.Gauge // number of open streams
}

// maxStreams is the maximum number of open streams of one range.
const maxStreams = 100

type screen struct {
	Settings
	streams *screens.SlotTable
	frames  map[uuid.UUID]*screens.FrameCache[laneView]
	files   screens.Files
	version string // of the files
	fail    endpoint.FailFunc
}

// page is the file that a board is.
const page = "board.html"

// Mount puts every route of the wall boards on the router.
func Mount(r chi.Router, a *endpoint.API, s Settings) {
	b := &screen{
		Settings: s, streams: screens.NewSlotTable(maxStreams), frames: map[uuid.UUID]*screens.FrameCache[laneView]{},
		files: screens.Load(web), fail: a.Fail,
	}
	b.version = b.files.Stamp(page)
	for id, board := range s.Boards {
		b.frames[id] = screens.NewFrameCache(viewer(board.Names))
	}
	r.Route("/board", func(r chi.Router) {
		r.Use(screens.Guard(a.Fail))
		r.Get("/assets/*", b.files.Handler(a.Fail))
		r.Route("/{range_id:[0-9a-fA-F-]{36}}", func(r chi.Router) {
			r.With(b.Router.Route(a.Fail, b.keyDestination)).Get("/", b.page)
			r.With(b.requireCookie, b.Router.Route(a.Fail, routing.OfRange(routing.Stream))).Get("/stream", b.stream)
		})
	})
}

// keyDestination returns the range of a page whose address has a key: its owner alone counts wrong ones.
// Every node serves the page itself.
func (b *screen) keyDestination(r *http.Request) (uuid.UUID, routing.Way) {
	board, found := b.find(r)
	if !found || !r.URL.Query().Has("key") {
		return uuid.Nil, routing.SignIn
	}
	return board.id, routing.SignIn
}

// rangeBoard is the configuration of a range's boards with the id of the range.
type rangeBoard struct {
	Board
	id uuid.UUID
}

func (b rangeBoard) key() screens.Key { return screens.Key{Kind: "board", ID: b.id, Secret: b.Key} }

// find returns the board that a request's path names.
func (b *screen) find(r *http.Request) (board rangeBoard, ok bool) {
	id, err := uuid.Parse(chi.URLParam(r, "range_id"))
	found, ok := b.Boards[id]
	return rangeBoard{found, id}, err == nil && ok
}

// authenticate returns the board that a request's path names. ok is false without its cookie.
func (b *screen) authenticate(r *http.Request) (board rangeBoard, ok bool) {
	board, ok = b.find(r)
	return board, ok && board.key().HasCookie(r)
}

type boardKey struct{}

// requireCookie refuses requests that do not come from a board of the range.
func (b *screen) requireCookie(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		board, ok := b.authenticate(r)
		if !ok {
			b.fail(w, r, endpoint.Refuse("unauthorized", "this is no wall board of that range", 0))
			return
		}
		request.SetRange(r.Context(), board.id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), boardKey{}, board)))
	})
}

// page serves the board. It redirects an address with the key, so that the key remains in no history and no log.
func (b *screen) page(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("key") {
		b.exchangeKey(w, r)
		return
	}
	board, ok := b.authenticate(r)
	if !ok {
		b.files.Refusal(w, "refused.html", http.StatusUnauthorized)
		return
	}
	request.SetRange(r.Context(), board.id)
	b.files.Page(page, b.fail)(w, r)
}

// exchangeKey checks the key in the address and sets the cookie.
func (b *screen) exchangeKey(w http.ResponseWriter, r *http.Request) {
	board, found := b.find(r)
	switch status := board.key().Exchange(w, r, found, b.WrongKeys); status {
	case http.StatusSeeOther:
		request.SetRange(r.Context(), board.id)
	case http.StatusUnauthorized:
		request.Log(r.Context()).Warn().Stringer("range_id", board.id).Msg("a wrong key of a wall board")
		fallthrough
	default:
		b.files.Refusal(w, "refused.html", status)
	}
}
