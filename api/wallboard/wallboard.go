// Package wallboard is the wall board: every lane of a range on a display that hangs on a wall and that
// nobody touches. It shows and changes nothing. The page is in web/.
//
// A board authenticates with the key of its range, which its first address contains; then a cookie derived
// from the key replaces it. Whoever passes by reads it: no message has more than is shown, and customers'
// names only where the range is configured so.
package wallboard

import (
	"embed"
	"net/http"
	"net/netip"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/api/endpoint"
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
	keys    screens.Keyed
	version string // of the files
	fail    endpoint.FailFunc
}

// Mount puts every route of the wall boards on the router.
func Mount(r chi.Router, a *endpoint.API, s Settings) {
	b := &screen{
		Settings: s, streams: screens.NewSlotTable(maxStreams), frames: map[uuid.UUID]*screens.FrameCache[laneView]{},
		keys: screens.Keyed{
			Kind: "board", IDName: "range_id", Name: "wall board", Refusal: "this is no wall board of that range",
			Files: screens.Load(web), Page: "board.html", WrongKeys: s.WrongKeys, Fail: a.Fail,
			Find: func(id uuid.UUID) (rangeID uuid.UUID, key string, found bool) {
				board, found := s.Boards[id]
				return id, board.Key, found
			},
		},
		fail: a.Fail,
	}
	b.version = b.keys.Files.Stamp(b.keys.Page)
	for id, board := range s.Boards {
		b.frames[id] = screens.NewFrameCache(viewer(board.Names))
	}
	r.Route("/board", func(r chi.Router) {
		r.Use(screens.Guard(a.Fail))
		r.Get("/assets/*", b.keys.Files.Handler(a.Fail))
		r.Route("/{range_id:[0-9a-fA-F-]{36}}", func(r chi.Router) {
			r.With(b.Router.Route(a.Fail, b.keyDestination)).Get("/", b.keys.ServePage)
			r.With(b.keys.RequireCookie, b.Router.Route(a.Fail, routing.OfRange(routing.Stream))).
				Get("/stream", b.stream)
		})
	})
}

// keyDestination returns the range that compares the key in the address of a page, if it has one.
func (b *screen) keyDestination(r *http.Request) (uuid.UUID, routing.Way) {
	return b.keys.RangeOfKey(r), routing.SignIn
}
