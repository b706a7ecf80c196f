// Package control is the control screen: staff sign in with name and PIN, see every lane of their range, and
// control it. The page is in web/.
//
// A signed cookie holds who is signed in, see sessions.go. So staff can declare a ceasefire while the store
// is down, also right after the gateway was started.
package control

import (
	"context"
	"embed"
	"maps"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/api/endpoint"
	"rangegate/api/routing"
	"rangegate/api/screens"
	"rangegate/api/staffops"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
	"rangegate/webhook"
)

//go:embed web/*.html web/*.css web/*.js web/*.svg
var web embed.FS

// Range is the part of a running range that the control screen uses. staff is the name of the signed-in user,
// for the record.
type Range interface {
	staffops.Range
	Now() lanes.Instant
	// Changes returns the lanes that have changed since that version, in display order, the current version,
	// and a channel that is closed when a lane or the holds change next. Since version 0 every lane has
	// changed.
	Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{})
	Health() lanes.Health
	// Ended is closed when the range stops here, or another process owns it.
	Ended() <-chan struct{}

	// Session returns an active session. Errors: lanes.ErrSessionEnded, lanes.ErrSessionNotFound,
	// lanes.ErrStoreUnavailable.
	Session(ctx context.Context, id uuid.UUID) (*lanes.SessionView, error)
	StaffCreate(ctx context.Context, staff string, lane uuid.UUID, c lanes.Create) (*lanes.SessionView, error)
	StaffOn(ctx context.Context, staff string, session uuid.UUID, c lanes.Command) (*lanes.SessionView, error)
	// StaffReopen goes on with an ended session on a free lane.
	StaffReopen(ctx context.Context, staff string, session, lane uuid.UUID) (*lanes.SessionView, error)
	StaffScheduleStart(ctx context.Context, staff string, sessions []uuid.UUID,
		at lanes.Instant) (lanes.StartView, error)
	StaffDeleteStart(ctx context.Context, staff string, start uuid.UUID) error
	StaffMove(ctx context.Context, staff string, session, to uuid.UUID, afterClosing bool) (*lanes.SessionView, error)
	StaffLane(ctx context.Context, staff string, lane uuid.UUID, c lanes.Command) error

	// Record saves that staff signed in or out, or that somebody tried to. It does not block.
	Record(ctx context.Context, staff, what string)

	// Deliveries, History and Acts return at most limit records after the cursor, oldest first; 0 is before
	// the first. Of an event that goes to several webhooks there is a delivery to each.
	Deliveries(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error)
	History(ctx context.Context, after uint64, limit int) ([]lanes.Ended, error)
	Acts(ctx context.Context, after uint64, limit int) ([]lanes.Act, error)
	// StaffRedeliver has an event sent to the webhook again.
	StaffRedeliver(ctx context.Context, staff string, cursor uint64) error
	// Latest returns the highest cursor of each.
	Latest(ctx context.Context) (lastEvent, lastEnded, lastAct uint64)
}

// RangeStaff are the staff of a range, by name. A range without staff has no control screen.
type RangeStaff struct {
	Name    string // of the range
	Members map[string]Member
	// OfficersRelease states that only officers end a ceasefire over the range.
	OfficersRelease bool
}

// Member is one of the staff.
type Member struct {
	PINHash string // argon2id
	Officer bool
}

// Settings is what the control screens are configured with.
type Settings struct {
	Staff    map[uuid.UUID]RangeStaff
	Sessions *Sessions
	Attempts *Attempts
	// Range returns the running range with that id, or the reason why there is none: lanes.ErrStarting,
	// lanes.ErrNotOwner.
	Range func(id uuid.UUID) (Range, error)
	// hands on what other nodes own; nil: this process serves every range
	Router      *routing.Router
	ShooterPath func(rangeID, session uuid.UUID) string // of the page on which a session's shooter sees the time
	Closing     <-chan struct{}                         // closed when the gateway stops; open streams end
	Streams     prometheus.Gauge                        // number of open streams
	Refused     prometheus.Counter                      // counts tables that were refused as too many
	// Turn waits until a part of a table may be read and encoded: a range has one at a time. Error: the end of ctx.
	Turn func(ctx context.Context) (done func(), err error)
}

const (
	maxStreams = 500         // open streams of one range
	maxTables  = 4           // histories of one range that are being sent as tables
	tableWait  = time.Second // for one of them to end, before another is refused
)

// screen is the control screen of every range.
type screen struct {
	Settings
	auth    *authenticator
	signIns *signInLimiter
	streams *screens.SlotTable
	tables  *screens.SlotTable
	frames  map[uuid.UUID]*screens.FrameCache[laneView]
	walkIns map[uuid.UUID]*walkIns
	fail    endpoint.FailFunc
}

// Mount puts every route of the control screen on the router.
func Mount(r chi.Router, a *endpoint.API, s Settings) {
	staff := map[member]Member{}
	for id, r := range s.Staff {
		for name, configured := range r.Members {
			staff[member{id, name}] = configured
		}
	}
	s.Attempts.configure(s.Staff)
	c := &screen{
		Settings: s, signIns: newSignInLimiter(staff, s.Attempts),
		streams: screens.NewSlotTable(maxStreams), tables: screens.NewSlotTable(maxTables),
		frames: map[uuid.UUID]*screens.FrameCache[laneView]{}, walkIns: map[uuid.UUID]*walkIns{}, fail: a.Fail,
	}
	c.auth = newAuthenticator(staff, s.Sessions, c.ceasefireSince)
	for id := range s.Staff {
		c.frames[id], c.walkIns[id] = screens.NewFrameCache(viewOf), &walkIns{}
	}
	files := screens.Load(web)
	page := c.refreshSession(files.Page("page.html", a.Fail))
	r.Route("/control", func(r chi.Router) {
		r.Use(screens.Guard(a.Fail), withExchange)
		r.Get("/", page)
		r.Get("/{range_id:[0-9a-fA-F-]{36}}", page)
		r.Get("/assets/*", files.Handler(a.Fail))
		a.Mount(r, "/ranges", []endpoint.Endpoint{endpoint.Handle("GET", "/", 200,
			"The ranges that have a control screen", readRangeName, c.rangesNamed)})
		a.Mount(r, "/sign-in", []endpoint.Endpoint{endpoint.Handle("POST", "/", 204, "Sign in", readSignIn, c.signIn)},
			c.Router.Route(a.Fail, c.signInDestination))
		a.Mount(r, "/sign-in/{range_id:[0-9a-fA-F-]{36}}/ceasefire", []endpoint.Endpoint{
			endpoint.Handle("GET", "/", 200, "Whether a ceasefire is in force", readRange, c.ceasefireState),
			endpoint.Handle("PUT", "/", 200, "Begin one, in a browser in which staff have signed in",
				readCeasefireBegin, c.beginCeasefire),
		}, c.Router.Route(a.Fail, c.ceasefireDestination))
		r.Group(func(r chi.Router) {
			r.Use(c.requireSession)
			r.With(c.route(routing.Request)).Post("/sign-out", c.signOut)
			r.With(c.route(routing.Stream)).Get("/stream", c.stream)
			r.With(c.route(routing.Stream)).Get("/history.csv", c.historyCSV)
			r.With(c.route(routing.Request)).Get("/sessions/{session_id}/qr.svg", c.sessionQR)
		})
		a.Mount(r, "/api", slices.Concat(c.sessionEndpoints(), c.startEndpoints(), c.laneEndpoints(),
			c.recordEndpoints()), c.requireSession, c.Router.Route(a.Fail, destination))
	})
}

// route is the middleware behind requireSession that hands requests on to the node that owns the user's range.
func (c *screen) route(way routing.Way) func(http.Handler) http.Handler {
	return c.Router.Route(c.fail, routing.OfRange(way))
}

// destination is that of a signed-in user's request to an endpoint below /api.
func destination(r *http.Request) (uuid.UUID, routing.Way) {
	way := routing.Request
	switch name := path.Base(r.URL.Path); {
	case name == "holds":
		way = routing.Hold
	case v2.Closes(name):
		way = routing.Closing
	}
	return routing.OfRange(way)(r)
}

// staffRange is the range of a signed-in user.
type staffRange struct {
	Range
	staff    string // the user's name
	releases bool   // the user may end a ceasefire over the range
	refused  refusedView
	walkIns  *walkIns
}

// rangeOf returns the running range of the user who sent the request.
func (c *screen) rangeOf(ctx context.Context) (staffRange, error) {
	s := sessionOf(ctx)
	r, err := c.Range(s.rangeID)
	count, last := c.Attempts.refusedLately(s.rangeID)
	return staffRange{
		r, s.name, c.releases(s.member),
		refusedView{count, endpoint.OptionalStamp(&last)},
		c.walkIns[s.rangeID],
	}, err
}

// releases is true if the user may end a ceasefire over the range.
func (c *screen) releases(m member) bool {
	return !c.Staff[m.rangeID].OfficersRelease || c.auth.staff[m].Officer
}

// healthView is the state of the range's links, store, events, timers and actors, and the sign-ins that were refused.
type healthView struct {
	Links    map[lanes.LinkState]int   `json:"links"`
	Insecure int                       `json:"insecure_links"` // lanes whose link can be taken over from its network
	Lanes    []linkView                `json:"lanes"`
	Store    storeView                 `json:"store"`
	Events   eventsView                `json:"events"`
	Timers   map[string]float64        `json:"timers"`
	Actors   map[string]map[string]int `json:"actors"`
	// Uncleared is how many lanes are not clear after the time of their session.
	Uncleared int `json:"lanes_not_clear"`
	// Turns are what lanes wait between sessions.
	Turns turnsView `json:"turns"`
	// SignIns are those that were refused in the last 24 hours.
	SignIns refusedView `json:"refused_sign_ins"`
}

// turnsView is about lanes that wait for their next session, and about the newest turn of each in the last 12 hours.
type turnsView struct {
	Waiting int     `json:"lanes_waiting"`
	Longest float64 `json:"longest_minutes"` // of those
	Turns   int     `json:"turns"`
	Median  float64 `json:"median_minutes"` // of those turns
}

type refusedView struct {
	Count int     `json:"count"`
	Last  *string `json:"last"` // null: none since the gateway was started
}

type linkView struct {
	Lane      uuid.UUID       `json:"lane_id"`
	Name      string          `json:"name"`
	Link      lanes.LinkState `json:"link"`
	Since     string          `json:"since"`
	Restarts  int             `json:"restarts"`
	LastError string          `json:"last_error"`
}

type storeView struct {
	Writable bool `json:"writable"`
	Unsaved  int  `json:"unsaved"`
}

// eventsView is how far the webhooks are behind.
type eventsView struct {
	Waiting  int     `json:"waiting"`
	Retrying int     `json:"retrying"`
	LevelAt  *string `json:"level_at"` // null while none is tried again
}

func health(_ context.Context, r staffRange, _ endpoint.Empty) (healthView, error) {
	h := r.Health()
	restarts := map[string]int{} // {} instead of null if nothing was restarted
	maps.Copy(restarts, h.Restarts)
	return healthView{
		Links: h.Links, Insecure: h.Insecure,
		Lanes: endpoint.Views(h.Lanes, func(l lanes.LinkHealth) linkView {
			return linkView{l.Lane, l.Name, l.Link, endpoint.Stamp(l.Since), l.Restarts, l.LastError}
		}),
		Store:  storeView{h.Writable, h.Unsaved},
		Events: eventsView{h.Waiting, h.Retrying, endpoint.OptionalStamp(&h.LevelAt)},
		Timers: map[string]float64{"late_p99_ms": float64(h.LateP99.Microseconds()) / 1000},
		Actors: map[string]map[string]int{"restarts": restarts}, Uncleared: h.Uncleared, SignIns: r.refused,
		Turns: turnsView{
			h.Turns.Waiting, webhook.Minutes(h.Turns.Longest), h.Turns.Turns,
			webhook.Minutes(h.Turns.Median),
		},
	}, nil
}
