package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/metrics"
	"rangegate/api"
	"rangegate/api/request"
	"rangegate/api/routing"
	"rangegate/config"
	"rangegate/lanes/link/websocket"
)

// newAcceptor makes what the controllers of incoming lanes dial. It lives as long as the process: a link
// stays up over a reload.
func (g *Gateway) newAcceptor() *websocket.Acceptor {
	metrics.FromZero(g.counts.Incoming, websocket.Outcomes...)
	// Whoever reaches the address can cause these lines.
	log := g.log.Sample(&zerolog.BurstSampler{Burst: 20, Period: time.Second})
	return websocket.NewAcceptor(websocket.AcceptorSettings{
		Now: g.clock.Now, RoundTrip: g.counts.RoundTrip,
		Admit: func() int {
			if c := g.current.Load().config.Controllers; c != nil {
				return c.Admit
			}
			return 1
		},
		Here: func(lane uuid.UUID) error {
			id, ok := g.rangeOfController(lane)
			if !ok {
				return websocket.ErrUnknownLane
			}
			_, err := g.actors.Range(id)
			return err
		},
		Network: request.ClientNetwork,
		Linked:  func(r *http.Request) { request.Authenticated(r.Context()) },
		Attempted: func(attempt websocket.Attempt, outcome string, err error) {
			g.counts.Incoming.WithLabelValues(outcome).Inc()
			line := log.Debug()
			switch outcome {
			case websocket.OutcomeContested: // the lane logs it
				return
			case websocket.OutcomeUnknown, websocket.OutcomeRefused:
				line = log.Warn()
			}
			if id, ok := g.rangeOfController(attempt.Lane); ok && line != nil {
				line = line.Str("lane", laneName(g.current.Load().config, id, attempt.Lane))
			}
			line.Stringer("lane_id", attempt.Lane).Str("from", attempt.From).Str("outcome", outcome).Err(err).
				Msg("a controller dialled")
		},
	})
}

// rangeOfController returns the range of a lane whose controller dials.
func (g *Gateway) rangeOfController(lane uuid.UUID) (rangeID uuid.UUID, ok bool) {
	rangeID, ok = g.current.Load().incoming[lane]
	return rangeID, ok
}

// serveControllers is the handler of the address that controllers dial.
func (g *Gateway) serveControllers(w http.ResponseWriter, r *http.Request) {
	api.Proxies(g.current.Load().config.Controllers.Proxies()).IdentifyClient(g.controllers).ServeHTTP(w, r)
}

// ofController is the destination of a controller that dials. One of an unknown lane is answered here.
func (g *Gateway) ofController(r *http.Request) (uuid.UUID, routing.Way) {
	lane, ok := websocket.LaneOf(r)
	if !ok {
		return uuid.Nil, routing.Link
	}
	id, _ := g.rangeOfController(lane)
	return id, routing.Link
}

// refuseController tells a controller whose range nobody serves at the moment to dial again, and another node
// that this one does not own the range.
func refuseController(w http.ResponseWriter, _ *http.Request, err error) {
	if errors.Is(err, routing.ErrWrongNode) {
		http.Error(w, "this node does not own the range", http.StatusMisdirectedRequest)
		return
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "the lane is not served at the moment", http.StatusServiceUnavailable)
}

// listenForControllers listens for controllers, where the configuration says so.
func (g *Gateway) listenForControllers(context.Context) error {
	c := g.current.Load().config.Controllers
	if c == nil {
		return nil
	}
	l := g.listening.with(g.certificates.controllers, g.isControllerProxy)
	l.links = true
	server, err := listen(c.Address, http.HandlerFunc(g.serveControllers), l)
	if err != nil {
		return errors.Join(errors.New("controllers.address"), err)
	}
	g.addresses.Controllers = server.url
	g.onClose(func() error {
		server.close(drainOperations)
		return nil
	})
	return nil
}

// incomingLanes returns the range of every lane whose controller dials.
func incomingLanes(c config.Config) map[uuid.UUID]uuid.UUID {
	incoming := map[uuid.UUID]uuid.UUID{}
	for _, r := range c.Ranges {
		for _, lane := range r.Lanes {
			if lane.Incoming() {
				incoming[lane.ID] = r.ID
			}
		}
	}
	return incoming
}
