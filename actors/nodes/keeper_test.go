package nodes_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/nodes"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

const (
	// A lease of a node that a slow machine stops for a while goes on; where its end is waited for it is shorter.
	longTTL  = 10 * time.Second
	shortTTL = 2 * time.Second
	patience = time.Minute
	tick     = 20 * time.Millisecond
)

// node is one keeper with ranges that are only counted, on a real server.
type node struct {
	t      *testing.T
	keeper *nodes.Keeper
	shared *gate
	self   store.Node

	mu       sync.Mutex
	running  map[uuid.UUID]uint64
	inUse    map[uuid.UUID]bool
	dropped  int
	stopped  int
	started  int
	saved    int   // how often all were saved
	released int   // how often a range was
	undone   int   // so many of these a fail-over undoes
	refuses  error // of Start
	refusing string

	// Steps of a test in between; nil: none.
	onStart   func() // before a range is started
	onRunning func() // after it was read which ranges run, and before the keeper gets them
}

// gate stands between a keeper and the server. While it is closed the store is out of reach.
type gate struct {
	*redis.Nodes
	mu     sync.Mutex
	closed bool
	server string    // not empty: another one has the leases since
	lost   uuid.UUID // the node whose last renewals that one lacks
	watch  bool      // false: announcements are lost
	looked int       // how often the leases were read alone
	claims int       // while only claims have come to another server
	beside bool      // claims come to another server than renewals
}

var errOutOfReach = errors.New("out of reach")

func (g *gate) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errOutOfReach
	}
	return nil
}

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
}

func (g *gate) Renew(ctx context.Context, l store.Lease, ttl time.Duration) (store.Leases, error) {
	if err := g.err(); err != nil {
		return store.Leases{}, err
	}
	leases, err := g.Nodes.Renew(ctx, l, ttl)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.server != "" {
		leases.Server = g.server
		leases.Live = slices.DeleteFunc(leases.Live, func(l store.Lease) bool { return l.Run == g.lost })
	}
	return leases, err
}

// failOver has another server answer from now on, which lacks the lease of that node until it has renewed it.
func (g *gate) failOver(lacks uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.server, g.lost = "another", lacks
}

// Live is never out of reach.
func (g *gate) Live(ctx context.Context) ([]store.Lease, error) {
	g.mu.Lock()
	g.looked++
	g.mu.Unlock()
	return g.Nodes.Live(ctx)
}

func (g *gate) End(ctx context.Context, run uuid.UUID) error {
	if err := g.err(); err != nil {
		return err
	}
	return g.Nodes.End(ctx, run)
}

func (g *gate) Owners(ctx context.Context, ranges []uuid.UUID) ([]store.Ownership, error) {
	if err := g.err(); err != nil {
		return nil, err
	}
	return g.Nodes.Owners(ctx, ranges)
}

func (g *gate) Claim(ctx context.Context, by store.Claimant, expected []store.Ownership) []store.Claimed {
	if err := g.err(); err != nil {
		outcomes := make([]store.Claimed, len(expected))
		for i, e := range expected {
			outcomes[i] = store.Claimed{Ownership: e, Err: err}
		}
		return outcomes
	}
	g.mu.Lock()
	server, beside := g.server, g.beside
	if beside {
		g.claims++
	}
	g.mu.Unlock()
	if beside || server != "" && by.Server != server {
		return []store.Claimed{{Ownership: expected[0], Err: store.ErrAnotherServer}}
	}
	if server != "" {
		by.Server = "" // that of Redis, which answers for it
	}
	return g.Nodes.Claim(ctx, by, expected)
}

func (g *gate) SetOwner(ctx context.Context, from store.Ownership, to store.Node) (store.Ownership, bool, error) {
	if err := g.err(); err != nil {
		return from, false, err
	}
	return g.Nodes.SetOwner(ctx, from, to)
}

func (g *gate) Watch(ctx context.Context) <-chan store.Ownership {
	if !g.watch {
		return nil
	}
	heard := make(chan store.Ownership)
	go func() {
		defer close(heard)
		for change := range g.Nodes.Watch(ctx) {
			if g.err() != nil {
				continue
			}
			select {
			case heard <- change:
			case <-ctx.Done():
				return
			}
		}
	}()
	return heard
}

func (n *node) Start(_ context.Context, id uuid.UUID, epoch uint64) error {
	if n.onStart != nil {
		n.onStart()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuses != nil {
		return n.refuses
	}
	n.running[id] = epoch
	n.started++
	return nil
}

func (n *node) Stop(_ context.Context, id uuid.UUID) (release func(context.Context) error, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	owned := store.Ownership{Range: id, Epoch: n.running[id], Owner: n.self}
	delete(n.running, id)
	n.stopped++
	return func(ctx context.Context) error {
		free, _, err := n.shared.SetOwner(ctx, owned, store.Node{})
		n.mu.Lock()
		n.released++
		undone := n.released <= n.undone
		n.mu.Unlock()
		if undone {
			n.shared.failOver(uuid.Nil)
			_, _, err = n.shared.SetOwner(ctx, free, n.self)
		}
		return err
	}, nil
}

func (n *node) Drop(id uuid.UUID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.running, id)
	n.dropped++
}

func (n *node) CheckpointAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.saved++
}

func (n *node) Running() []nodes.Running {
	running := n.listRunning()
	if n.onRunning != nil {
		n.onRunning()
	}
	return running
}

func (n *node) listRunning() []nodes.Running {
	n.mu.Lock()
	defer n.mu.Unlock()
	var running []nodes.Running
	for id, epoch := range n.running {
		running = append(running, nodes.Running{Range: id, Epoch: epoch, InUse: n.inUse[id]})
	}
	return running
}

func (n *node) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *node) counts() (running, dropped, stopped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.running), n.dropped, n.stopped
}

// forgetCounts has what it drops and stops from now on counted.
func (n *node) forgetCounts() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dropped, n.stopped = 0, 0
}

// newNode makes a node that has not started yet.
func newNode(t *testing.T, server *redistest.Server, ttl time.Duration, name string) *node {
	t.Helper()
	s, err := redis.Open(t.Context(), server.URL(), store.Retention{
		Events: time.Hour, History: time.Hour,
		Names: time.Hour, Cap: 100,
	})
	require.NoError(t, err)
	connected := s.Nodes()
	t.Cleanup(func() { require.NoError(t, errors.Join(connected.Close(), s.Close())) })
	n := &node{
		t: t, shared: &gate{Nodes: connected, watch: true}, running: map[uuid.UUID]uint64{},
		inUse: map[uuid.UUID]bool{},
		self:  store.Node{Run: uuid.New(), Name: name, Address: name + ":7443"},
	}
	n.keeper = nodes.New(nodes.Config{
		Self: n.self, Version: "1", TTL: ttl, Store: n.shared, Ranges: n,
		Metrics: nodes.NewMetrics(prometheus.NewRegistry()),
		Refusing: func() string {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.refusing
		},
		Log: zerolog.New(zerolog.NewTestWriter(t)).With().Str("node", name).Logger(),
	})
	return n
}

func (n *node) start(ranges []uuid.UUID) *node {
	n.keeper.Start(ranges, "d")
	n.t.Cleanup(func() { n.stop() })
	return n
}

// startTogether starts nodes at the same time, and waits until each range is served by the best node for it: none is
// moved for balance after that.
func startTogether(
	t *testing.T, server *redistest.Server, ttl time.Duration, ranges []uuid.UUID, names ...string,
) []*node {
	t.Helper()
	var all []*node
	for _, name := range names {
		all = append(all, newNode(t, server, ttl, name))
	}
	for _, n := range all {
		n.start(ranges)
	}
	var self []store.Node
	for _, n := range all {
		self = append(self, n.self)
	}
	require.Eventually(t, func() bool { // the one that is first on a busy machine has others' ranges for a while
		count := 0
		for _, n := range all {
			running := n.Running()
			count += len(running)
			if slices.ContainsFunc(running, func(r nodes.Running) bool { return nodes.Best(self, r.Range) != n.self }) {
				return false
			}
		}
		return count == len(ranges)
	}, patience, tick)
	for _, n := range all {
		n.forgetCounts()
	}
	return all
}

// stop stops the node as SIGTERM does.
func (n *node) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	n.shared.set(false)
	require.NoError(n.t, n.keeper.Stop(ctx))
}

// rangesNumbered returns the ids of that many ranges, the same each time: which node has which follows from
// them.
func rangesNumbered(count int) []uuid.UUID {
	ids := make([]uuid.UUID, count)
	for i := range ids {
		ids[i] = uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(i)})
	}
	return ids
}

// served requires that each range comes to run on exactly one of the nodes.
func served(t *testing.T, ranges []uuid.UUID, all ...*node) {
	t.Helper()
	require.Eventually(t, func() bool {
		on := map[uuid.UUID]int{}
		for _, n := range all {
			for _, r := range n.Running() {
				on[r.Range]++
			}
		}
		for _, id := range ranges {
			if on[id] != 1 {
				return false
			}
		}
		return len(on) == len(ranges)
	}, patience, tick)
}

// routed requires that every node comes to know the owner of each range.
func routed(t *testing.T, all ...*node) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, n := range all {
			for _, r := range n.Running() {
				for _, asked := range all {
					owner, err := asked.keeper.Owner(r.Range)
					want := lanes.Owner{Here: asked == n, Name: n.self.Name, Address: n.self.Address, Epoch: r.Epoch}
					if err != nil || owner != want {
						return false
					}
				}
			}
		}
		return true
	}, patience, tick)
}

func ready(t *testing.T, all ...*node) {
	t.Helper()
	for _, n := range all {
		require.Eventually(t, func() bool { return n.keeper.Ready() == nil }, patience, tick)
	}
}

func TestNodesThatStartTogetherShareTheRanges(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(30)
	all := startTogether(t, server, longTTL, ranges, "a", "b", "c")
	routed(t, all...)
	ready(t, all...)
	for _, n := range all {
		running, dropped, _ := n.counts()
		require.Positive(t, running)
		require.Zero(t, dropped)
	}
}

// A node that is killed says nothing: its lease ends, and the others have its ranges.
func TestTheRangesOfADeadNodeAreTakenOver(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(20)
	both := startTogether(t, server, shortTTL, ranges, "a", "b")
	a, b := both[0], both[1]
	b.shared.set(true) // cut off from Redis: to the others it is the same
	require.Eventually(t, func() bool {
		running, _, _ := a.counts()
		return running == len(ranges)
	}, patience, tick)
	running, dropped, _ := b.counts()
	require.Positive(t, running, "who is cut off goes on: its writes are refused, and it may still close")
	require.Zero(t, dropped)
	before := running

	b.shared.set(false)
	require.Eventually(t, func() bool {
		_, dropped, _ := b.counts()
		return dropped == before
	}, patience, tick, "it lets go of what the other has claimed")
	served(t, ranges, a, b)
}

// The whole store stands still for many TTLs: nobody drops a range, and nobody takes one.
func TestAnOutageOfTheStoreMovesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(20)
	all := startTogether(t, server, shortTTL, ranges, "a", "b", "c")
	routed(t, all...)
	epochs := map[uuid.UUID]uint64{}
	for _, n := range all {
		for _, r := range n.Running() {
			epochs[r.Range] = r.Epoch
		}
	}
	server.Hang()
	time.Sleep(4 * shortTTL)
	routed(t, all...) // from memory
	server.Wake()
	time.Sleep(3 * shortTTL)
	for _, n := range all {
		_, dropped, stopped := n.counts()
		require.Zero(t, dropped+stopped)
		for _, r := range n.Running() {
			require.Equal(t, epochs[r.Range], r.Epoch, "nobody claimed anything")
		}
	}
	served(t, ranges, all...)
}

// After an outage every lease has ended, and one node is the first to be back: it leaves the others a TTL to
// renew theirs.
func TestTheFirstNodeAfterAnOutageWaitsForTheOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(20)
	both := startTogether(t, server, longTTL, ranges, "a", "b")
	a, b := both[0], both[1]
	inA, _, _ := a.counts()
	time.Sleep(longTTL) // a may take over what it likes
	a.shared.set(true)
	b.shared.set(true)
	time.Sleep(longTTL + shortTTL)
	a.shared.set(false)
	require.Eventually(t, func() bool {
		live, err := a.shared.Live(t.Context())
		return err == nil && len(live) == 1
	}, patience, tick, "for a moment a is alone")
	time.Sleep(longTTL / 20)
	b.shared.set(false)
	time.Sleep(longTTL + shortTTL)
	still, dropped, _ := a.counts()
	require.Equal(t, inA, still)
	require.Zero(t, dropped)
	inB, dropped, _ := b.counts()
	require.Equal(t, len(ranges)-inA, inB)
	require.Zero(t, dropped)
}

// A fail-over loses the last renewals: nobody counts as dead by that, and what is acknowledged is saved to
// the new server.
func TestAfterAFailOverOwnersHaveTheTimeToRenew(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(20)
	both := startTogether(t, server, longTTL, ranges, "a", "b")
	a, b := both[0], both[1]
	inA, _, _ := a.counts()
	time.Sleep(longTTL) // a may take over what it likes
	a.shared.failOver(b.self.Run)
	time.Sleep(longTTL / 20)
	a.shared.failOver(uuid.Nil)
	require.Eventually(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.saved > 0
	}, patience, tick)
	time.Sleep(longTTL + shortTTL)
	still, _, _ := a.counts()
	require.Equal(t, inA, still)
	inB, dropped, _ := b.counts()
	require.Equal(t, len(ranges)-inA, inB)
	require.Zero(t, dropped)
}

// The renewals of a node go on at the server of before, and its claims come to the new one: it does not ask again and
// again.
func TestANodeBetweenTwoServersWaits(t *testing.T) {
	t.Parallel()
	n := newNode(t, redistest.Start(t), shortTTL, "a")
	n.shared.beside = true
	claimed := func() int {
		n.shared.mu.Lock()
		defer n.shared.mu.Unlock()
		return n.shared.claims
	}
	n.keeper.Start(rangesNumbered(1), "d")
	require.Eventually(t, func() bool { return claimed() > 0 }, patience, tick)
	time.Sleep(4 * shortTTL)
	claims := claimed()
	n.shared.mu.Lock()
	n.shared.beside = false
	n.shared.mu.Unlock()
	require.Less(t, claims, 40, "in four TTLs, in each of which it renews five times")
	require.Eventually(t, func() bool { running, _, _ := n.counts(); return running == 1 }, patience, tick)
	require.NoError(t, n.keeper.Stop(t.Context()))
}

// The store is empty afterwards, or names an owner of before. Owners name themselves once they have refilled
// it, and nobody is faster.
func TestAStoreThatForgetsItsOwnersHearsOfThemAgain(t *testing.T) {
	for what, names := range map[string]store.Node{
		"it names nobody":        {},
		"it names one of before": {Run: uuid.New(), Name: "dead", Address: "dead:7443"},
	} {
		t.Run(what, func(t *testing.T) { forgetOwners(t, names) })
	}
}

func forgetOwners(t *testing.T, names store.Node) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(8)
	both := startTogether(t, server, longTTL, ranges, "a", "b")
	a, b := both[0], both[1]
	before := append(a.Running(), b.Running()...)
	for _, r := range before {
		record := store.Ownership{Range: r.Range, Epoch: r.Epoch, Owner: a.self}
		if _, err := a.keeper.Refresh(t.Context(), r.Range); err == nil {
			if owner, _ := a.keeper.Owner(r.Range); !owner.Here {
				record.Owner = b.self
			}
		}
		_, changed, err := a.shared.Nodes.SetOwner(t.Context(), record, names)
		require.NoError(t, err)
		require.True(t, changed)
	}
	require.Eventually(t, func() bool {
		owners, err := a.shared.Owners(t.Context(), ranges)
		require.NoError(t, err)
		for _, o := range owners {
			if o.Owner == names {
				return false
			}
		}
		return true
	}, patience, tick)
	require.ElementsMatch(t, before, append(a.Running(), b.Running()...), "the same node, in the same epoch")
}

// A node that joins gets its share a few at a time, and what is in use stays.
func TestANodeThatJoinsGetsAFewAtATime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(24)
	a := newNode(t, server, shortTTL, "a").start(ranges)
	served(t, ranges, a)
	a.set(func() {
		for _, id := range ranges[:12] {
			a.inUse[id] = true
		}
	})
	b := newNode(t, server, shortTTL, "b").start(ranges)
	// Who owns them is read at one instant: what is claimed and has not started yet is not between the two any more.
	least := len(ranges)
	require.Eventually(t, func() bool {
		owners, err := a.shared.Owners(t.Context(), ranges)
		if err != nil {
			return false
		}
		unowned := 0
		for _, o := range owners {
			if o.Owner == (store.Node{}) {
				unowned++
			}
		}
		least = min(least, len(ranges)-unowned)
		inA, _, _ := a.counts()
		inB, _, _ := b.counts()
		return unowned == 0 && inB >= 2 && inA+inB == len(ranges)
	}, patience, time.Millisecond)
	require.GreaterOrEqual(t, least, len(ranges)-4)
	for _, r := range b.Running() {
		require.NotContains(t, ranges[:12], r.Range)
	}
}

func TestAStopReleasesEverything(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(20)
	both := startTogether(t, server, longTTL, ranges, "a", "b")
	a, b := both[0], both[1]
	time.Sleep(longTTL) // both may take over
	b.keeper.Pause()
	b.stop()
	running, dropped, _ := b.counts()
	require.Zero(t, running+dropped)
	require.Eventually(t, func() bool {
		running, _, _ := a.counts()
		return running == len(ranges)
	}, patience, tick)
	live, err := a.shared.Live(t.Context())
	require.NoError(t, err)
	require.Len(t, live, 1, "its lease is over")
}

// A range that takes longer to start than the stop may take: the others take over what is left.
func TestAStopThatCannotWaitLetsTheLeaseRunOut(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := newNode(t, server, shortTTL, "a")
	starting, goOn := make(chan struct{}), make(chan struct{})
	a.onStart = sync.OnceFunc(func() { close(starting); <-goOn })
	a.keeper.Start(rangesNumbered(1), "d")
	<-starting
	defer func() {
		close(goOn)
		require.NoError(t, a.keeper.Stop(t.Context()))
	}()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, a.keeper.Stop(ended))
	require.Eventually(t, func() bool {
		live, err := a.shared.Live(t.Context())
		return err == nil && len(live) == 0
	}, patience, tick)
}

func TestADrainMovesEverythingWhileTheNodeServes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(20)
	both := startTogether(t, server, longTTL, ranges, "a", "b")
	a, b := both[0], both[1]
	b.set(func() {
		for id := range b.running {
			b.inUse[id] = true
		}
	})
	b.keeper.Drain()
	require.Eventually(t, func() bool {
		running, _, _ := a.counts()
		return running == len(ranges)
	}, patience, tick)
	ready(t, a, b)
}

// One range that is drained goes to the other node, also in use, and stays there; drained there it comes back. A node
// without another one, or whose only other one drains, keeps its range and says why.
func TestOneRangeIsDrained(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(20)
	both := startTogether(t, server, longTTL, ranges, "a", "b")
	a, b := both[0], both[1]
	var id uuid.UUID
	a.set(func() {
		for running := range a.running {
			id = running
		}
		a.inUse[id] = true
	})
	runsAt := func(n *node) func() bool {
		return func() bool {
			owner, err := n.keeper.Owner(id)
			runs := func(r nodes.Running) bool { return r.Range == id }
			return err == nil && owner.Here && slices.ContainsFunc(n.Running(), runs)
		}
	}
	_, err := b.keeper.DrainRange(id)
	require.ErrorIs(t, err, lanes.ErrNotOwner)
	before, _, _ := a.counts()
	to, err := a.keeper.DrainRange(id)
	require.NoError(t, err)
	require.Equal(t, "b", to)
	require.Eventually(t, runsAt(b), patience, tick)
	after, _, _ := a.counts()
	require.Equal(t, before-1, after)
	ready(t, a, b)
	to, err = b.keeper.DrainRange(id)
	require.NoError(t, err)
	require.Equal(t, "a", to)
	require.Eventually(t, runsAt(a), patience, tick)

	b.keeper.Drain()
	require.Eventually(t, func() bool {
		running, _, _ := a.counts()
		return running == len(ranges)
	}, patience, tick)
	_, err = a.keeper.DrainRange(id)
	require.ErrorIs(t, err, nodes.ErrNoOtherNode)
	require.True(t, runsAt(a)())
}

// A fail-over undoes the release of a range, and only the node that has released it can save again what was lost with
// that: it does, and releases it again, before anybody claims it.
func TestAReleaseThatAFailOverUndoesIsRepeated(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(1)
	both := startTogether(t, server, shortTTL, ranges, "a", "b")
	from, to := both[0], both[1]
	if len(from.Running()) == 0 {
		from, to = to, from
	}
	from.set(func() { from.undone, from.started = 1, 0 })
	_, err := from.keeper.DrainRange(ranges[0])
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(to.Running()) == 1 }, patience, tick)
	from.set(func() {
		require.Equal(t, 2, from.released)
		require.Zero(t, from.started, "it does not take back what lacks its last writes")
	})
}

// Announcements are a convenience.
func TestWithoutAnnouncementsOwnersAreReadOnceATTL(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(10)
	a, b := newNode(t, server, shortTTL, "a"), newNode(t, server, shortTTL, "b")
	a.shared.watch, b.shared.watch = false, false
	a.start(ranges)
	b.start(ranges)
	served(t, ranges, a, b)
	routed(t, a, b)
}

// A range that its best node cannot start is started by another one.
func TestARangeThatANodeCannotStartGoesToAnother(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(10)
	a, b := newNode(t, server, shortTTL, "a"), newNode(t, server, shortTTL, "b")
	a.refuses = errors.New("a record of it cannot be read here")
	a.start(ranges)
	b.start(ranges)
	require.Eventually(t, func() bool {
		running, _, _ := b.counts()
		return running == len(ranges)
	}, patience, tick)
}

// A start ends just after the keeper has read which ranges run: the range is served, and not claimed once
// more, which would fence it.
func TestARangeThatHasJustStartedIsNotClaimedAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(1)
	n := newNode(t, server, longTTL, "a")
	begun, goOn, decided := make(chan struct{}), make(chan struct{}), make(chan struct{})
	n.onStart = sync.OnceFunc(func() {
		close(begun)
		<-goOn
	})
	report := sync.OnceFunc(func() { close(decided) })
	var ended, inBetween bool
	var first []nodes.Running
	n.onRunning = func() { // by the goroutine that decides
		select {
		case <-begun:
		default:
			return
		}
		switch {
		case !inBetween && !ended:
			inBetween = true
			close(goOn)
			for n.keeper.Ready() != nil { // until the keeper knows that the start has ended
				time.Sleep(time.Millisecond)
			}
			first = n.listRunning()
			inBetween, ended = false, true
		case ended: // it has done what it decided then, and reads anew
			report()
		}
	}
	n.start(ranges)
	<-decided
	claimed, err := n.shared.Owners(t.Context(), ranges)
	require.NoError(t, err)
	require.Equal(t, []nodes.Running{{Range: ranges[0], Epoch: claimed[0].Epoch}}, first,
		"it has started in the newest epoch")
}

func TestANodeThatRefusesTakesNoRange(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ranges := rangesNumbered(10)
	a, b := newNode(t, server, longTTL, "a"), newNode(t, server, longTTL, "b")
	a.refusing = "its clock differs by 3 s from that of the store"
	a.start(ranges)
	b.start(ranges)
	served(t, ranges, b)
	running, _, _ := a.counts()
	require.Zero(t, running)
	routed(t, a, b)
}

// The configuration changes on one node after the other: new ranges are served, removed ones are let go.
func TestAChangeOfTheConfiguration(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	all := rangesNumbered(9)
	before, added := all[:6], all[6:]
	both := startTogether(t, server, longTTL, before, "a", "b")
	a, b := both[0], both[1]
	after := append(before[2:], added...)
	for _, n := range []*node{a, b} {
		require.NoError(t, n.keeper.Exclusively(t.Context(), func() {
			for _, gone := range before[:2] {
				_, err := n.Stop(t.Context(), gone)
				require.NoError(t, err)
			}
			n.keeper.Configure(after, "d2")
		}))
	}
	served(t, after, a, b)
	require.Eventually(t, func() bool {
		owners, err := a.shared.Owners(t.Context(), before[:2])
		require.NoError(t, err)
		return owners[0].Owner == store.Node{} && owners[1].Owner == store.Node{}
	}, patience, tick, "nobody owns what nobody has")
	_, err := a.keeper.Owner(before[0])
	require.ErrorIs(t, err, lanes.ErrNotOwner)
}

func TestOwnersOfRangesThatNobodyHas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := newNode(t, server, longTTL, "a")
	_, err := a.keeper.Owner(uuid.New())
	require.ErrorIs(t, err, lanes.ErrNotOwner)
	_, err = a.keeper.Refresh(t.Context(), uuid.New())
	require.ErrorIs(t, err, lanes.ErrNotOwner)
	require.ErrorContains(t, a.keeper.Ready(), "does not hold its lease")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	server.Hang()
	defer server.Wake()
	_, err = a.keeper.Refresh(ended, uuid.New())
	require.ErrorIs(t, err, context.Canceled)
}

// A node that has started since the newest renewal is found in the store. Names of nobody cost it one read a
// second.
func TestANodeThatHasJustStartedIsKnown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := startTogether(t, server, longTTL, rangesNumbered(3), "a")[0]
	knows := func(name string) bool {
		return a.keeper.Knows(t.Context(), func(l store.Lease) bool { return l.Name == name })
	}
	require.True(t, knows("a"))
	require.Zero(t, a.shared.looked, "it is in memory")
	a.shared.set(true) // no renewal tells it of the others
	newNode(t, server, longTTL, "b").start(nil)
	require.Eventually(t, func() bool { return knows("b") }, patience, tick)
	for range 100 {
		require.True(t, knows("b"), "also at once after it was found")
	}

	before, began := a.shared.looked, time.Now()
	for range 1000 {
		require.False(t, knows("c"))
	}
	require.LessOrEqual(t, a.shared.looked-before, 1+int(time.Since(began).Seconds()))
}
