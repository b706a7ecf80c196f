package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/clock"
	"rangegate/actors/nodes"
	"rangegate/api"
	"rangegate/api/routing"
	"rangegate/cmd/rangegate/certificate"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// newRouter returns what hands requests on to the other nodes; nil without nodes.
func (g *Gateway) newRouter(c *config.Nodes) *routing.Router {
	node, ok := g.ownership.(shared)
	if !ok {
		return nil
	}
	settings := routing.Settings{
		Name: c.Name, Directory: node.keeper, Dial: g.settings.Outside.Dial,
		Metrics: routing.NewMetrics(g.registry), Tracer: g.tracer, Log: g.log,
	}
	if redis, ok := g.clock.(*clock.Shared); ok {
		settings.Clock = redis
	}
	if watcher := g.certificates.nodes; watcher != nil {
		settings.TLS = watcher.ClientConfig
	}
	return routing.New(settings)
}

// listenForNodes serves what the other nodes hand on. None of them is limited as one host is, and a relayed
// link is under no limit here.
func (g *Gateway) listenForNodes(l listening, socket net.Listener) *server {
	l = l.with(g.certificates.nodes, func(netip.Addr) bool { return true })
	l.links = true
	acceptor := &routing.Acceptor{
		Requests: http.HandlerFunc(g.serveRequests), Operations: http.HandlerFunc(g.serveOperations),
		Links: g.controllers, Other: api.NoPaths(g.log),
		Metrics: g.router.Metrics,
	}
	if node, ok := g.ownership.(shared); ok && g.certificates.nodes != nil {
		// Whoever has a certificate of the authority can cause these lines.
		log := g.log.Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Second})
		acceptor.Believes = func(r *http.Request, entry string) bool { return node.believes(r, entry, log) }
	}
	return l.serve(socket, acceptor)
}

// believes is true if the certificate of the connection is valid for the host that the living node with this name
// advertises. Another certificate of the same authority, such as a lane controller's, is not that of a node.
func (s shared) believes(r *http.Request, entry string, log zerolog.Logger) bool {
	shown := r.TLS.PeerCertificates[0] // the handshake has verified it
	believed := s.keeper.Knows(r.Context(), func(node store.Lease) bool {
		host, _, err := net.SplitHostPort(node.Address)
		return err == nil && node.Name == entry && shown.VerifyHostname(host) == nil
	})
	if !believed {
		log.Warn().Str("from", r.RemoteAddr).Str("entry", entry).Strs("names", certificate.Names(shown)).
			Msg("a request that claims to be handed on is refused: its certificate is not valid for the host of " +
				"a living node of that name")
	}
	return believed
}

// operatedNodes returns nil without nodes.
func (g *Gateway) operatedNodes() api.Nodes {
	if node, ok := g.ownership.(shared); ok {
		return operatedNodes{node}
	}
	return nil
}

// operatedNodes are the nodes as operators see and change them.
type operatedNodes struct{ shared }

// List implements api.Nodes.
func (o operatedNodes) List() (living []api.Node, unowned int) {
	owned := map[string]int{}
	for _, id := range rangeIDs(o.current.Load().config) {
		owner, err := o.keeper.Owner(id)
		if err != nil {
			unowned++
			continue
		}
		owned[owner.Name]++
	}
	for _, l := range o.keeper.Nodes() {
		living = append(living, api.Node{
			Name: l.Name, Address: l.Address, Version: l.Version, Here: l.Run == o.keeper.Self.Run, Digest: l.Digest,
			DigestSince: l.DigestSince,
			Ranges:      owned[l.Name], Draining: l.Draining, Refusing: l.Refusing,
		})
	}
	slices.SortFunc(living, func(a, b api.Node) int { return strings.Compare(a.Name, b.Name) })
	return living, unowned
}

// Drain implements api.Nodes.
func (o operatedNodes) Drain() { o.keeper.Drain() }

// DrainRange implements api.Nodes.
func (o operatedNodes) DrainRange(id uuid.UUID) (to string, err error) {
	to, err = o.keeper.DrainRange(id)
	switch {
	case errors.Is(err, nodes.ErrNoOtherNode):
		err = api.ErrNoOtherNode
	case errors.Is(err, nodes.ErrTooManyDrained):
		err = api.ErrTooManyDrained
	}
	return to, err
}

// Forget implements api.Nodes. A range that is claimed meanwhile stays its new owner's.
func (o operatedNodes) Forget(ctx context.Context, name string) (ranges int, err error) {
	defer func() {
		if err != nil && !errors.Is(err, api.ErrNodeAlive) {
			o.log.Warn().Err(err).Str("node", name).Msg("a dead node could not be forgotten")
			err = lanes.ErrStoreUnavailable
		}
	}()
	living, err := o.shared.shared.Live(ctx)
	if err != nil {
		return 0, err
	}
	for _, l := range living {
		if l.Name == name {
			return 0, api.ErrNodeAlive
		}
	}
	owners, err := o.shared.shared.Owners(ctx, rangeIDs(o.current.Load().config))
	if err != nil {
		return 0, err
	}
	var released []store.Ownership
	for _, owner := range owners {
		if owner.Owner.Name != name {
			continue
		}
		current, changed, err := o.shared.shared.SetOwner(ctx, owner, store.Node{})
		if err != nil {
			return len(released), err
		}
		if changed {
			released = append(released, current)
		}
	}
	if len(released) == 0 {
		return 0, nil
	}
	return len(released), o.shared.shared.Announce(ctx, released)
}
