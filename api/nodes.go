package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/routing"
	"rangegate/lanes"
)

// Nodes are the nodes that share a store, this one among them.
type Nodes interface {
	// List returns the living nodes by name, as this one knows them, and how many ranges no living node owns.
	List() (nodes []Node, unowned int)
	// Drain makes this node give its ranges to the others, and take none until it is started again.
	Drain()
	// DrainRange makes this node give one of its ranges to another one, whose name it returns, and not take it again
	// until this node is started again. Errors: ErrNoOtherNode, ErrTooManyDrained, lanes.ErrNotOwner,
	// lanes.ErrStoreUnavailable.
	DrainRange(id uuid.UUID) (to string, err error)
	// Forget ends what the store still says of a node that is dead: the others may take its ranges at once.
	// It returns how many it owned. Errors: ErrNodeAlive, those of the store.
	Forget(ctx context.Context, name string) (ranges int, err error)
}

// Node is a living node.
type Node struct {
	Name, Address, Version string
	Here                   bool
	Digest                 string    // of the ranges in its configuration
	DigestSince            time.Time // when it first had this digest
	Ranges                 int       // that it owns
	Draining               bool
	Refusing               string // why it takes no ranges; empty: it takes them
}

// The codes of the nodes' endpoints.
const (
	nodeAlive    = "node_alive"
	nodeNotFound = "node_not_found"
	noOtherNode  = "no_other_node"
	noNodes      = "no_nodes"
	drainedMany  = "too_many_drained"
)

// ErrNodeAlive means that the node that is to be forgotten still renews its lease.
var ErrNodeAlive = endpoint.Refusal(nodeAlive)

// Why a range is not drained.
var (
	ErrNoOtherNode    = endpoint.Refusal(noOtherNode)
	ErrTooManyDrained = endpoint.Refusal(drainedMany)
)

type nodesView struct {
	Nodes   []nodeView `json:"nodes"`
	Unowned int        `json:"ranges_unowned"`
}

type nodeView struct {
	Name        string `json:"name"`
	Address     string `json:"address"`
	Here        bool   `json:"here"` // it has answered this request
	Version     string `json:"version"`
	Digest      string `json:"configuration"`
	DigestSince string `json:"configuration_since"`
	Ranges      int    `json:"ranges"`
	Draining    bool   `json:"draining"`
	Refusing    string `json:"refusing"`
}

type forgottenView struct {
	Ranges int `json:"ranges"`
}

func (s Operations) nodeEndpoints() []endpoint.Endpoint {
	name := func(in *endpoint.Input) string { return in.PathText("name", 253, "Name of the node") }
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/", 200, "The living nodes", endpoint.NoInput, s.listNodes),
		endpoint.Handle("POST", "/{name}/drain", 204, "Make a node give its ranges to the others", name, s.drainNode),
		endpoint.Handle("POST", "/{name}/forget", 200, "Let the others take the ranges of a dead node at once",
			name, s.forgetNode),
	}
}

func (s Operations) listNodes(context.Context, endpoint.Empty) (nodesView, error) {
	nodes, unowned := s.Nodes.List()
	return nodesView{Unowned: unowned, Nodes: endpoint.Views(nodes, func(n Node) nodeView {
		return nodeView{
			n.Name, n.Address, n.Here, n.Version, n.Digest, endpoint.Stamp(n.DigestSince), n.Ranges,
			n.Draining, n.Refusing,
		}
	})}, nil
}

// ofNode is the owner of a request to drain a node: that node. Every node serves the others.
func (s Operations) ofNode(r *http.Request) (owner lanes.Owner, found bool) {
	name, drains := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/nodes/"), "/drain")
	if !drains {
		return owner, false
	}
	nodes, _ := s.Nodes.List()
	for _, n := range nodes {
		if n.Name == name {
			return lanes.Owner{Here: n.Here, Name: n.Name, Address: n.Address}, true
		}
	}
	return owner, false
}

// drainNode drains this node; routing has handed on what is for another one.
func (s Operations) drainNode(ctx context.Context, name string) (endpoint.Empty, error) {
	nodes, _ := s.Nodes.List()
	for _, n := range nodes {
		if n.Name == name && n.Here {
			s.Nodes.Drain()
			request.Log(ctx).Info().Str("who", operatorOf(ctx)).Str("from", request.Of(ctx).Client).
				Msg("this node is drained by an operator")
			return endpoint.Empty{}, nil
		}
	}
	return endpoint.Empty{}, endpoint.Refusal(nodeNotFound)
}

// drainRange drains one range of this node; routing has handed on what another one owns.
func (s Operations) drainRange(ctx context.Context, id uuid.UUID) (to string, err error) {
	if s.Nodes == nil {
		return "", endpoint.Refusal(noNodes)
	}
	to, err = s.Nodes.DrainRange(id)
	if err == nil {
		request.Log(ctx).Info().Str("who", operatorOf(ctx)).Str("from", request.Of(ctx).Client).
			Stringer("range_id", id).Str("to", to).
			Msg("a range is drained by an operator")
	}
	return to, err
}

func (s Operations) forgetNode(ctx context.Context, name string) (forgottenView, error) {
	ranges, err := s.Nodes.Forget(ctx, name)
	if err == nil {
		request.Log(ctx).Info().Str("who", operatorOf(ctx)).Str("from", request.Of(ctx).Client).Str("node", name).
			Int("ranges", ranges).
			Msg("a dead node is forgotten")
	}
	return forgottenView{ranges}, err
}

// routeNodes hands requests about a node on to it.
func (s Operations) routeNodes(fail endpoint.FailFunc) func(http.Handler) http.Handler {
	return s.Router.RouteToNode(fail, routing.Operation, s.ofNode)
}
