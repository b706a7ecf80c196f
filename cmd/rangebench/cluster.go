package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"rangegate/actors/clock"
	"rangegate/cmd/rangebench/figures"
	"rangegate/cmd/rangecluster/localcluster"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	driver "rangegate/lanes/link/websocket"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
)

// cluster measures two nodes, as real processes: what a request costs that enters at another node than the
// range's owner, what the link of a controller takes that dials the other node, and how long the ranges of a
// node that dies are not served.
type cluster struct {
	Ranges int           `default:"1000" help:"How many ranges, for the take-over."`
	Lanes  int           `default:"100" help:"How many lanes each has, with a running session on every one."`
	TTL    time.Duration `default:"5s" help:"How long a node that is not heard of keeps its ranges."`
	Calls  int           `default:"6000" help:"How many requests each turn makes."`
	Turns  int           `default:"5" help:"How often each way is measured, by turns."`
}

// The goals. The hop is an HTTP exchange more: what the owner does by itself is the limit, and is done in either case.
const (
	hopCPU       = 2. // processor time of all nodes together, through another node against directly
	takeOverTTLs = 3. // until every range is served again
	relayedBytes = 32 << 10
)

// Run prints the figures.
func (c cluster) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return errors.Join(c.hop(ctx), c.takeOver(ctx))
}

// servers are nodes and their Redis, until close.
type servers struct {
	*localcluster.Cluster
	disk      *disk
	kept      *redis.Store
	directory *redis.Nodes
	callers   *peer
}

func (c cluster) serve(ctx context.Context, ranges, lanes, dialed int) (s *servers, err error) {
	s = &servers{}
	if s.disk, err = newDisk(redisStore); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.Cluster, err = localcluster.New(ctx, localcluster.Settings{
		Dir: s.disk.dir, Redis: s.disk.server.Address, Nodes: 2, Ranges: ranges, Lanes: lanes,
		Dialed: dialed, TTL: c.TTL,
	}); err != nil {
		return s, err
	}
	keep := store.Retention{Events: 24 * time.Hour, History: 24 * time.Hour, Names: 24 * time.Hour, Cap: 1_000_000}
	if s.kept, err = redis.Open(ctx, "redis://"+s.disk.server.Address+"/0", keep); err != nil {
		return s, err
	}
	s.directory = s.kept.Nodes()
	s.callers, err = newPeer("callers")
	return s, err
}

func (s *servers) close() (err error) {
	if s.Cluster != nil {
		s.StopAll()
	}
	if s.callers != nil {
		err = errors.Join(err, s.callers.close())
	}
	if s.directory != nil {
		err = errors.Join(err, s.directory.Close())
	}
	if s.kept != nil {
		err = errors.Join(err, s.kept.Close())
	}
	return errors.Join(err, s.disk.remove())
}

// owners returns the owner of every range, by number; nil where the owner is no node that runs.
func (s *servers) owners(ctx context.Context) ([]*localcluster.Node, error) {
	var all []uuid.UUID
	for n := range s.Ranges {
		all = append(all, localcluster.RangeID(n))
	}
	owned, err := s.directory.Owners(ctx, all)
	if err != nil {
		return nil, err
	}
	owners := make([]*localcluster.Node, len(owned))
	for i, o := range owned {
		for _, n := range s.Nodes {
			if state, _ := n.State(); n.Name == o.Owner.Name && state == "runs" {
				owners[i] = n
			}
		}
	}
	return owners, nil
}

// waitOwners waits until every range is owned by one of the nodes, and the owners have not changed for that long.
func (s *servers) waitOwners(ctx context.Context, unchanged time.Duration) (owners []*localcluster.Node, err error) {
	since := time.Now()
	for {
		present, err := s.owners(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(present, owners) || slices.Contains(present, nil) {
			owners, since = present, time.Now()
		}
		if time.Since(since) >= unchanged && !slices.Contains(present, nil) {
			return owners, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// hopRanges are enough that both nodes have some. dialedLanes are those of each whose controllers dial.
const hopRanges, dialedLanes = 40, 25

// hop measures requests directly at the owner and through the other node, by turns, then links through the
// other node.
func (c cluster) hop(ctx context.Context) (err error) {
	s, err := c.serve(ctx, hopRanges, 4, dialedLanes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.StartAll(ctx, s.Nodes...); err != nil {
		return err
	}
	owners, err := s.waitOwners(ctx, 8*c.TTL)
	if err != nil {
		return err
	}
	owner, other := s.Nodes[0], s.Nodes[1]
	number := slices.Index(owners, owner)
	if number < 0 || !slices.Contains(owners, other) {
		return errors.New("a node owns no range")
	}
	session, err := s.sell(owner, number)
	if err != nil {
		return err
	}
	fmt.Printf("%d requests a turn with %d clients, at the owner and at the other node, by turns\n", c.Calls, clients)
	var failed []error
	for _, kind := range []struct {
		name     string
		requests calls
	}{
		{"GET", repeated(calls{Method: http.MethodGet, Status: http.StatusOK}, c.Calls, "/sessions/"+session)},
		{"modify", repeated(calls{Method: http.MethodPost, Status: http.StatusNoContent}, c.Calls,
			"/sessions/"+session+"/modify?time=1", "/sessions/"+session+"/modify?time=-1")},
	} {
		var direct, through []float64
		for range c.Turns {
			for _, way := range []struct {
				node *localcluster.Node
				into *[]float64
			}{{owner, &direct}, {other, &through}} {
				cost, err := s.cost(way.node, number, kind.requests)
				if err != nil {
					return err
				}
				*way.into = append(*way.into, cost)
			}
		}
		atOwner, atOther := median(direct), median(through)
		fmt.Printf("  %-8s CPU of both nodes for one request: %4.0f µs directly, %4.0f µs through the other node\n",
			kind.name, atOwner, atOther)
		failed = append(failed, bound(kind.name+", through / directly", atOther/atOwner, hopCPU))
	}
	return errors.Join(append(failed, s.relay(ctx, owners, owner, other))...)
}

// relay lets the controllers of the owner's lanes dial the other node, and prints what a link takes of that
// node's memory.
func (s *servers) relay(ctx context.Context, owners []*localcluster.Node, owner, other *localcluster.Node) error {
	machine, err := clock.NewSystem()
	if err != nil {
		return err
	}
	var served []lanesim.Lane
	for number, has := range owners {
		for lane := range s.Dialed {
			if id := localcluster.DialedID(number, lane); has == owner {
				served = append(served, lanesim.Lane{ID: id, Key: localcluster.LinkKey, Dial: "ws://" +
					other.Dial + driver.LanePath + id.String()})
			}
		}
	}
	before, err := other.InUse(ctx)
	if err != nil {
		return err
	}
	controllers, err := lanesim.New(lanesim.Settings{Now: machine.Now}, served...)
	if err != nil {
		return err
	}
	defer controllers.Close()
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		relayed, err := other.RelayedLinks(limited)
		if err != nil {
			return err
		}
		if relayed == len(served) {
			break
		}
		select {
		case <-limited.Done():
			return fmt.Errorf("%d of %d links are relayed: %w", relayed, len(served), limited.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	after, err := other.InUse(ctx)
	if err != nil {
		return err
	}
	each := float64(after-before) / float64(len(served))
	fmt.Printf("  %d links of controllers that dial the other node take %.1f KB of its heap and stacks each\n",
		len(served), each/1e3)
	return bound("memory of a relayed link, in 32 KB", each/relayedBytes, 1)
}

func median(all []float64) float64 { return figures.Percentile(all, 50) }

// repeated makes that many requests for the paths, by turns.
func repeated(requests calls, many int, paths ...string) calls {
	for n := range many {
		requests.Paths = append(requests.Paths, prefix+paths[n%len(paths)])
	}
	return requests
}

// sell sells a session on the first lane of the range, at its owner.
func (s *servers) sell(owner *localcluster.Node, number int) (session string, err error) {
	how, err := s.call(owner, number, calls{
		Method: http.MethodPost, Status: http.StatusCreated, Clients: 1, Paths: []string{prefix + "/sessions"},
		Bodies: []string{fmt.Sprintf(`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":240}`,
			localcluster.LaneID(number, 0), localcluster.GroupID(number))},
	})
	if err != nil {
		return "", err
	}
	var view struct {
		ID string `json:"session_id"`
	}
	return view.ID, errors.Join(json.Unmarshal([]byte(how.Body), &view))
}

// call sends the requests for one range to a node.
func (s *servers) call(to *localcluster.Node, number int, requests calls) (callResult, error) {
	requests.Header = map[string]string{
		"range-id": localcluster.RangeID(number).String(),
		"token":    localcluster.Token(number),
	}
	requests.Address, requests.Clients = to.Address, cmp.Or(requests.Clients, clients)
	var how callResult
	if err := s.callers.question(requests, &how); err != nil {
		return callResult{}, err
	}
	if how.Wrong != "" {
		return callResult{}, fmt.Errorf("a request was not answered %d: %s", requests.Status, how.Wrong)
	}
	return how, nil
}

// cost is the processor time of both nodes for one of the requests, in µs.
func (s *servers) cost(at *localcluster.Node, number int, requests calls) (float64, error) {
	before, err := s.used()
	if err != nil {
		return 0, err
	}
	if _, err := s.call(at, number, requests); err != nil {
		return 0, err
	}
	after, err := s.used()
	return float64((after - before).Microseconds()) / float64(len(requests.Paths)), err
}

func (s *servers) used() (sum time.Duration, err error) {
	for _, n := range s.Nodes {
		used, err := n.CPU()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// expect sends the requests from this process, and fails when one is answered otherwise.
func (c calls) expect() (callResult, error) {
	how, err := c.send()
	if err == nil && how.Wrong != "" {
		err = errors.New(how.Wrong)
	}
	return how, err
}

// takeOver kills one of two nodes that serve many ranges with running sessions, and waits until the other one
// has them all. Beside it stands, from the same run, what both nodes take to start on all ranges.
func (c cluster) takeOver(ctx context.Context) (err error) {
	s, err := c.serve(ctx, c.Ranges, c.Lanes, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	clock, err := clock.NewSystem()
	if err != nil {
		return err
	}
	fmt.Printf("%d ranges of %d lanes, with a running session on every lane, ttl %s\n", c.Ranges, c.Lanes, c.TTL)
	planting, bounded := errgroup.WithContext(ctx)
	planting.SetLimit(8)
	for n := range c.Ranges {
		planting.Go(func() error {
			layout := lanes.Layout{Range: localcluster.RangeID(n), Groups: []lanes.Group{{ID: localcluster.GroupID(n)}}}
			for lane := range c.Lanes {
				layout.Lanes = append(layout.Lanes, lanes.Place{ID: localcluster.LaneID(n, lane)})
			}
			return seed{layout: layout, sessions: c.Lanes, deadline: deadlineInAnHour(clock)}.plant(bounded, s.kept,
				clock)
		})
	}
	if err := planting.Wait(); err != nil {
		return err
	}
	begun := time.Now()
	if err := s.StartAll(ctx, s.Nodes...); err != nil {
		return err
	}
	if _, err := s.waitOwners(ctx, 0); err != nil {
		return err
	}
	started := time.Since(begun)
	owners, err := s.waitOwners(ctx, 4*c.TTL)
	if err != nil {
		return err
	}
	lost := 0
	for _, owner := range owners {
		if owner == s.Nodes[0] {
			lost++
		}
	}
	if lost == 0 {
		return errors.New("the node that is to die owns no range")
	}
	killed := time.Now()
	if err := s.Nodes[0].Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if err := s.Nodes[0].Wait(30 * time.Second); err != nil {
		return err
	}
	if _, err := s.waitOwners(ctx, 0); err != nil {
		return err
	}
	claimed := time.Since(killed)
	if err := s.waitServed(ctx, owners); err != nil {
		return err
	}
	served := time.Since(killed)
	fmt.Printf("  both nodes started on all %d ranges in %.1f s; %d of them were of the node that died\n", c.Ranges,
		started.Seconds(), lost)
	fmt.Printf("  the last one was claimed after %.1f s, and served after %.1f s\n", claimed.Seconds(),
		served.Seconds())
	return bound("take-over, in TTLs", served.Seconds()/c.TTL.Seconds(), takeOverTTLs)
}

// waitServed waits until the node that is left answers for every range that the other one had, with its sessions.
func (s *servers) waitServed(ctx context.Context, before []*localcluster.Node) error {
	working, bounded := errgroup.WithContext(ctx)
	working.SetLimit(32)
	for number, owner := range before {
		if owner != s.Nodes[0] {
			continue
		}
		working.Go(func() error {
			for {
				how, err := calls{
					Address: s.Nodes[1].Address, Clients: 1, Method: http.MethodGet, Status: http.StatusOK,
					Paths: []string{prefix + "/sessions"},
					Header: map[string]string{
						"range-id": localcluster.RangeID(number).String(),
						"token":    localcluster.Token(number),
					},
				}.expect()
				if found := strings.Count(how.Body, `"session_id"`); err == nil && found != s.Lanes {
					return fmt.Errorf("range %d has %d sessions of %d", number, found, s.Lanes)
				} else if err == nil {
					return nil
				}
				select {
				case <-bounded.Done():
					return err
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	return working.Wait()
}
