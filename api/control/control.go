package control

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/api/control/web"
	"rangegate/api/endpoint"
	"rangegate/api/screens"
)

// Settings is what the control screen is made of.
type Settings struct {
	// Staff is who may sign in, by range: names and the argon2id hashes of their PINs. A range with nobody has no control
	// screen.
	Staff map[uuid.UUID]map[string]string
	Seen  *Seen
	// Range is the running range with that id, or why there is none: lanes.ErrStarting, lanes.ErrNotOwner.
	Range func(id uuid.UUID) (Range, error)
	// Network is whose address it is that a request comes from.
	Network func(remote string) netip.Prefix
	// Note is told which range a request is for.
	Note func(ctx context.Context, rangeID uuid.UUID)
	// Log is for what is to be said of a request.
	Log     func(ctx context.Context) *zerolog.Logger
	Closing <-chan struct{}  // closed when the gateway stops: open streams end
	Streams prometheus.Gauge // that are open
}

// streamsAtMost are open at a time for one range.
const streamsAtMost = 500

// screen is the control screen of every range.
type screen struct {
	Settings
	sessions *sessions
	door     *door
	streams  map[uuid.UUID]screens.Places
	frames   map[uuid.UUID]*frames
	fail     screens.Fail
}

// Mount puts every route of the control screen on the router.
func Mount(r chi.Router, a *endpoint.API, s Settings) {
	c := &screen{
		Settings: s, sessions: newSessions(s.Staff, s.Seen), door: newDoor(s.Staff),
		streams: map[uuid.UUID]screens.Places{}, frames: map[uuid.UUID]*frames{}, fail: a.Fail,
	}
	for id := range s.Staff {
		c.streams[id] = make(screens.Places, streamsAtMost)
		c.frames[id] = &frames{}
	}
	files := screens.Load(web.Files)
	page := c.used(files.Page("page.html", a.Fail))
	r.Route("/control", func(r chi.Router) {
		r.Use(screens.Guard(a.Fail), visited)
		r.Get("/", page)
		r.Get("/{range_id:[0-9a-fA-F-]{36}}", page)
		r.Get("/assets/*", files.Handler(a.Fail))
		a.Mount(r, "/sign-in", []endpoint.Endpoint{c.signInEndpoint()})
		r.Group(func(r chi.Router) {
			r.Use(c.signedIn)
			r.Post("/sign-out", c.signOut)
			r.Get("/stream", c.stream)
			r.Get("/history.csv", c.historyCSV)
		})
		a.Mount(r, "/api", c.endpoints(), c.signedIn)
	})
}

func (c *screen) endpoints() []endpoint.Endpoint {
	var all []endpoint.Endpoint
	for _, some := range [][]endpoint.Endpoint{
		c.sessionEndpoints(), c.laneEndpoints(), c.purchaseEndpoints(), c.recordEndpoints(), c.healthEndpoints(),
	} {
		all = append(all, some...)
	}
	return all
}

// notRunning are the codes of a range that is not there.
var notRunning = []string{"unauthorized", "starting", "not_owner"}

// staffed is the range of who is signed in, and their name.
func (c *screen) staffed(ctx context.Context) (Range, string, error) {
	of := sessionOf(ctx)
	r, err := c.Range(of.rangeID)
	return r, of.name, err
}

// visit is a request and where its answer goes, for the endpoint that sets a cookie.
type visit struct {
	w http.ResponseWriter
	r *http.Request
}

type visitKey struct{}

func visited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, visit{w, r})))
	})
}
