// Package observer shows the gateway's actors to its operator: all ranges, one range, or one lane with its latest
// commands, and a table of every actor with what it does and what holds it up, as JSON and as a page. It names no
// customer, and showing sends no actor a message.
//
//	observer.go   what is mounted, and the lane
//	table.go      the look at all actors that observers share; which of them one observer sees, in which order
//	actors.go     the table as it is sent, once or as it changes
//	views.go      the overview of the ranges, and one lane
//	advisory.go   what an advisory is, and when something becomes one
//	conditions.go what is not as it should be, from a look at the actors and readings of the gateway
//	tracker.go    from conditions to advisories: begin, end, and one for many
//	advisories.go the advisories of this node: looked for once a second, logged, counted, and sent to whoever waits
//	records.go    how what a range has in its store is read, newest first
//	timeline.go   what is on record of a lane
//	snapshot.go   a lane as it would be saved
//	frames.go     the frames of a lane's link, live
//	requests.go   all that is on record of one request
//	controller.go the controller that a lane's link is up to
//	rangepage.go  the store, the webhooks and the owner of a range
//	actions.go    what operators do with an actor
//	maintenance.go backups and verifications of the store
//	log.go        the log of the process, followed
package observer

import (
	"context"
	"embed"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/routing"
	"rangegate/api/screens"
	"rangegate/lanes"
)

//go:embed web/*.html web/*.css web/*.js web/*.svg
var web embed.FS

// Range is the part of a running range that is shown.
type Range interface {
	Layout() lanes.Layout
	Actors() lanes.ActorHealth
	// Observed returns every actor of the range: its own, those of its webhooks, and each lane with its connection.
	Observed() iter.Seq[lanes.Observed]
	// ObservedLane returns the actors of one lane likewise; nil for a lane of another range.
	ObservedLane(lane uuid.UUID) []lanes.Observed
	// LaneActor returns the health of one of the range's lanes.
	LaneActor(lane uuid.UUID) (health lanes.LaneHealth, found bool)
	// Reconnect has the link to a lane's hardware made anew, on record for who. Errors: lanes.ErrLaneNotFound and those
	// that every method of a range may return.
	Reconnect(ctx context.Context, who string, lane uuid.UUID) error
	// UnparkLane has a parked lane tried again at once, on record for who. Errors: lanes.ErrNotParked, as Reconnect.
	UnparkLane(ctx context.Context, who string, lane uuid.UUID) error
	// RestartLane has a lane begin anew from its last saved state, on record for who. Errors: lanes.ErrLaneParked, as
	// Reconnect.
	RestartLane(ctx context.Context, who string, lane uuid.UUID) error
	// RedeliverEvents has the selected events sent to their webhook again, on record for who. Errors:
	// lanes.ErrWebhookNotConfigured, lanes.ErrWebhookGone, lanes.ErrOverloaded, lanes.ErrStoreUnavailable.
	RedeliverEvents(ctx context.Context, who string, selection lanes.EventSelection) (lanes.Redelivery, error)
	// NoteWebhookTest puts on record that who has had a webhook tested, and what came of it; an empty problem: it is
	// reached. Errors: those that every method of a range may return.
	NoteWebhookTest(ctx context.Context, who, webhook, problem string) error
	// NoteDebug puts on record that who has the range logged at debug for a while, or only a lane of it. Errors:
	// lanes.ErrLaneNotFound and those that every method of a range may return.
	NoteDebug(ctx context.Context, who string, lane uuid.UUID) error
	// NoteOperation puts on record that who does what to the whole range or to its store, such as lanes.DidBackup.
	// Errors: those that every method of a range may return.
	NoteOperation(ctx context.Context, who, what, detail string) error
	// Snapshot returns what would be saved of a lane now. It may name a customer.
	Snapshot(lane uuid.UUID) (snapshot lanes.Snapshot, found bool)
	// NoteNames puts on record that who reads the names in a lane's snapshot, with that session on it. Errors: as
	// NoteDebug.
	NoteNames(ctx context.Context, who string, lane, session uuid.UUID) error
	// FollowFrames begins to keep the frames of the link to a lane's hardware, redacted, until they are stopped, on
	// record for who. Errors: lanes.ErrTooManyFollowers, as NoteDebug.
	FollowFrames(ctx context.Context, who string, lane uuid.UUID) (lanes.FollowedFrames, error)
	// FindCommands returns the commands that match, of those that the lanes remember, oldest first.
	FindCommands(match func(lanes.Commanded) bool) []lanes.TracedCommand
	// KeptAnswer returns the first successful answer to the request with that idempotency key. found is false without
	// one, and while the request is under way. Errors: those of Records.
	KeptAnswer(ctx context.Context, key string) (kept lanes.KeptAnswer, found bool, err error)
	// StoreHealth returns how the range's store and webhooks are.
	StoreHealth() lanes.StoreHealth
	// LogID is that of the event log, which cursors name.
	LogID() uint64
	// LinkChanges returns the changes of a lane's link that are remembered, the newest first.
	LinkChanges(lane uuid.UUID) []lanes.LinkChange
	// Holds are those in force.
	Holds() lanes.Holds
	// ServedSince returns when this process began to load the range. It remembers nothing from before.
	ServedSince() time.Time
	Records
}

// Settings is what is shown, and who may see it.
type Settings struct {
	Ranges func() []uuid.UUID // the configured ones
	// Range returns the running range with that id, or the reason why there is none.
	Range func(id uuid.UUID) (Range, error)
	// Router hands on what is asked of one range that another node owns; nil: this process serves every range.
	Router *routing.Router
	// Waiting returns the number of messages in mailboxes, by kind of actor.
	Waiting func() map[string]int
	Who     func(context.Context) string // the name of the operator's token
	// ProbeWebhook connects to a webhook of a range, as the pre-flight does, until ctx has ended. An empty name is that
	// of the only one. Errors: lanes.ErrWebhookNotConfigured.
	ProbeWebhook func(ctx context.Context, rangeID uuid.UUID, webhook string) (WebhookProbe, error)
	// Maintenance is that of the store of this process; nil: it has none.
	Maintenance Maintenance
	// DrainRange makes this node give a range to another one, whose name it returns. Errors: the refusals of nodes,
	// lanes.ErrNotOwner, lanes.ErrStoreUnavailable.
	DrainRange func(ctx context.Context, id uuid.UUID) (to string, err error)
	// Advisories are those of this node; nil: it has none.
	Advisories *Advisories
	// Log is that of this process.
	Log     LogSettings
	Closing <-chan struct{} // closed when another configuration is in force, and when the gateway stops: streams end
}

// observerOf is the handlers.
type observerOf struct {
	Settings
	looks *looks
}

// Mount puts the observer under /observer and the JSON of older scripts under /actors, behind the guard. The page is
// public: it gets its data with the operator's token.
func Mount(r chi.Router, a *endpoint.API, settings Settings, guard func(http.Handler) http.Handler) {
	s := &observerOf{
		Settings: settings, looks: &looks{take: lookAtAll(settings.Ranges, settings.Range, settings.Router)},
	}
	if s.Advisories != nil {
		s.looks = &s.Advisories.looks
	}
	files := screens.Load(web)
	headers := screens.Guard(a.Fail)
	r.With(headers).Get("/screens/*", screens.SharedFiles().Handler(a.Fail))
	r.With(headers).Get("/assets/*", files.Handler(a.Fail))
	lane := func(path string) endpoint.Endpoint {
		return endpoint.Handle("GET", path, 200, "The actors of one lane, and its latest commands", readLane, s.lane)
	}
	a.Mount(r, "/actors", []endpoint.Endpoint{
		endpoint.Handle("GET", "/", 200, "The actors of all ranges, or of one", readRange, s.overview),
		lane("/{lane_id}"),
	}, headers, sendBrowsersToObserver, guard, s.Router.Route(a.Fail, s.ofQuery))
	if s.Advisories != nil {
		a.Mount(r, "/advisories", []endpoint.Endpoint{
			endpoint.HandleAwaited("GET", "/", 200, "What is not as it should be, and was not of late", readAdvisories,
				s.awaitAdvisories, s.advisories),
		}, headers, guard, s.Router.Route(a.Fail, s.ofAdvisoryQuery))
	}
	s.mountLog(r, a, headers, servePageToBrowsers(files.Page("page.html", a.Fail)), guard)
	a.Mount(r, "/observer", slices.Concat([]endpoint.Endpoint{
		endpoint.Handle("GET", "/", 200, "The actors of all ranges, or of one", readRange, s.overview),
		endpoint.Handle("GET", "/actors", 200, "Every actor, and what holds it up", readActors, s.actors),
		endpoint.Stream("/actors/stream", "The same, again whenever it is another one", "", readActors, s.follow),
		lane("/lanes/{lane_id}"),
		endpoint.Handle("GET", "/lanes/{lane_id}/timeline", 200, "What is on record of a lane, newest first",
			readTimeline, s.timeline),
		endpoint.Handle("GET", "/lanes/{lane_id}/snapshot", 200, "A lane as it would be saved", readSnapshot,
			s.snapshot),
		endpoint.Stream("/lanes/{lane_id}"+framesPath, "The frames of a lane's link, live for 10 minutes", "",
			readLaneOf, s.followFrames),
		endpoint.Handle("GET", "/range", 200, "The store, the webhooks and the owner of a range", readOneRange,
			s.store),
		endpoint.Handle("GET", "/requests", 200, "All that is on record of one request", readRequest, s.request),
		s.onLane("/reconnect", "Make the link to a lane's hardware anew", Range.Reconnect),
		s.onLane("/unpark", "Try a parked lane again at once", Range.UnparkLane),
		s.onLane("/restart", "Restart a lane from its last saved state", Range.RestartLane),
		endpoint.Handle("POST", "/redeliver", 202, "Send a part of a range's events again", readReplay, s.redeliver),
		endpoint.Handle("POST", "/webhooks/test", 200, "Connect to a webhook, and send nothing", readWebhook,
			s.testWebhook),
		endpoint.Handle("POST", "/drain", 202, "Give a range to another node", readDrained, s.drain),
	}, s.maintenanceEndpoints()), headers, streamToFollowers, servePageToBrowsers(files.Page("page.html", a.Fail)),
		guard, s.Router.Route(a.Fail, s.ofQuery))
}

// ofQuery is the destination of a request that names its range. What names none is answered of the ranges of this node.
func (s *observerOf) ofQuery(r *http.Request) (uuid.UUID, routing.Way) {
	way := routing.Operation
	if followsStream(r) || followsFrames(r) {
		way = routing.Observer
	}
	id, err := uuid.Parse(r.URL.Query().Get("range"))
	if err != nil || !slices.Contains(s.Ranges(), id) {
		return uuid.Nil, way
	}
	return id, way
}

func followsStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), endpoint.EventStream)
}

// streamToFollowers serves the stream to clients that accept server-sent events.
func streamToFollowers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if route := chi.RouteContext(r.Context()); followsStream(r) && route.RoutePath == "/actors" {
			route.RoutePath = "/actors/stream"
		}
		next.ServeHTTP(w, r)
	})
}

// isBrowser reports whether the client wants a page.
func isBrowser(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Add("Vary", "Accept")
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// servePageToBrowsers serves the page to clients that accept HTML.
func servePageToBrowsers(page http.HandlerFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isBrowser(w, r) {
				page(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// sendBrowsersToObserver sends browsers from the address that the page had to the one that it has.
func sendBrowsersToObserver(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isBrowser(w, r) {
			next.ServeHTTP(w, r)
			return
		}
		to := "/observer"
		if lane, err := uuid.Parse(strings.TrimPrefix(r.URL.Path, "/actors/")); err == nil {
			to += "/lanes/" + lane.String()
		}
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
}

func readRange(in *endpoint.Input) uuid.UUID {
	return in.QueryOptionalID("range", "The range; all of them when none is given")
}

func readLane(in *endpoint.Input) uuid.UUID { return in.PathID("lane_id", "Lane") }

// overview shows one range, or all of them for uuid.Nil.
func (s *observerOf) overview(_ context.Context, rangeID uuid.UUID) (overview, error) {
	if err := s.knows(rangeID); err != nil {
		return overview{}, err
	}
	ids := s.Ranges()
	if rangeID != uuid.Nil {
		ids = []uuid.UUID{rangeID}
	}
	all := newOverview(time.Now(), s.Waiting())
	for _, id := range ids {
		if owner, elsewhere := s.Router.Elsewhere(id); elsewhere {
			all.addElsewhere(id, owner.Name)
			continue
		}
		r, err := s.Range(id)
		if err != nil {
			all.addNotRunning(id, err)
			continue
		}
		all.add(id, r.Layout(), r.Actors())
	}
	return all.bounded(), nil
}

// lookAtAll returns the function that appends every actor of this node, range by range. A range that does not run here
// is one row.
func lookAtAll(
	ranges func() []uuid.UUID, rangeOf func(uuid.UUID) (Range, error), router *routing.Router,
) func(into []observed) []observed {
	return func(into []observed) []observed {
		for _, id := range ranges() {
			r, err := rangeOf(id)
			if err != nil {
				into = append(into, observed{notRunning(id, err, router), id, ""})
				continue
			}
			name := r.Layout().Name
			for actor := range r.Observed() {
				into = append(into, observed{actor, id, name})
			}
		}
		return into
	}
}

// notRunning is the row of a range that does not run here, for that reason.
func notRunning(id uuid.UUID, reason error, router *routing.Router) lanes.Observed {
	row := lanes.Observed{Kind: "range", State: elsewhere}
	if _, owned := router.Elsewhere(id); !owned {
		var detail string
		if row.State, detail = stateOf(reason); detail == "" {
			detail = reason.Error()
		}
		row.Why = &lanes.Why{Code: lanes.WhyNotRunning, Error: detail}
	}
	return row
}

// lane shows a lane of any range, with its actors.
func (s *observerOf) lane(_ context.Context, id uuid.UUID) (laneView, error) {
	r, rangeID, health := s.rangeOf(id)
	if r == nil {
		return laneView{}, lanes.ErrLaneNotFound
	}
	now, name := time.Now(), r.Layout().Name
	view := viewOf(now, rangeID, name, health)
	view.Controller = viewOfController(health.Link.Link, r.LinkChanges(id))
	for _, actor := range r.ObservedLane(id) {
		view.Actors = append(view.Actors, viewOfActor(now, observed{actor, rangeID, name}))
	}
	return view, nil
}

// rangeOf returns the range that has the lane, and how that is; nil if none does that runs here.
func (s *observerOf) rangeOf(lane uuid.UUID) (of Range, id uuid.UUID, health lanes.LaneHealth) {
	for _, id := range s.Ranges() {
		r, err := s.Range(id)
		if err != nil {
			continue
		}
		if health, found := r.LaneActor(lane); found {
			return r, id, health
		}
	}
	return nil, uuid.Nil, lanes.LaneHealth{}
}
