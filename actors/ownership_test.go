package actors

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/actors/nodes"
	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

const (
	nodeTTL      = 3 * time.Second
	nodePatience = time.Minute
)

// nodeFixture is a gateway that shares the ranges of a real Redis with others, in real time.
type nodeFixture struct {
	*testing.T
	gateway  *Gateway
	keeper   *nodes.Keeper
	settings map[uuid.UUID]Settings
	frozen   frozenLease
}

// frozenLease stands between a keeper and the store: while it is frozen nothing is renewed, read or heard.
type frozenLease struct {
	*redis.Nodes
	mu sync.RWMutex
}

var errFrozen = errors.New("frozen")

func (f *frozenLease) wait(ctx context.Context) error {
	if f.mu.TryRLock() {
		f.mu.RUnlock()
		return nil
	}
	<-ctx.Done()
	return errFrozen
}

func (f *frozenLease) Renew(ctx context.Context, l store.Lease, ttl time.Duration) (store.Leases, error) {
	if err := f.wait(ctx); err != nil {
		return store.Leases{}, err
	}
	return f.Nodes.Renew(ctx, l, ttl)
}

func (f *frozenLease) Owners(ctx context.Context, ranges []uuid.UUID) ([]store.Ownership, error) {
	if err := f.wait(ctx); err != nil {
		return nil, err
	}
	return f.Nodes.Owners(ctx, ranges)
}

// Watch hears nothing: what is not heard is read once a TTL.
func (f *frozenLease) Watch(context.Context) <-chan store.Ownership { return nil }

func (f *nodeFixture) Start(ctx context.Context, id uuid.UUID, epoch uint64) error {
	return f.gateway.StartClaimed(ctx, f.settings[id], epoch)
}

func (f *nodeFixture) Stop(ctx context.Context, id uuid.UUID) (release func(context.Context) error, err error) {
	return f.gateway.StopRange(ctx, id)
}

func (f *nodeFixture) Drop(id uuid.UUID) { f.gateway.DropRange(id) }

// CheckpointAll implements nodes.Ranges.
func (f *nodeFixture) CheckpointAll() { f.gateway.CheckpointAll() }

func (f *nodeFixture) Running() []nodes.Running { return f.gateway.Running() }

func startNode(t *testing.T, server *redistest.Server, name string, settings ...Settings) *nodeFixture {
	t.Helper()
	s, err := redis.Open(t.Context(), server.URL(), store.Retention{
		Events: time.Hour, History: time.Hour,
		Names: time.Hour, Cap: 1000,
	})
	require.NoError(t, err)
	machine, err := clock.NewSystem()
	require.NoError(t, err)
	f := &nodeFixture{T: t, settings: map[uuid.UUID]Settings{}}
	f.frozen.Nodes = s.Nodes()
	f.gateway = NewGateway(machine, s, metrics.New(prometheus.NewRegistry()), zerolog.Nop())
	var ids []uuid.UUID
	for _, each := range settings {
		each.Driver = sim.New(machine.Now)
		ids, f.settings[each.Layout.Range] = append(ids, each.Layout.Range), each
	}
	f.keeper = nodes.New(nodes.Config{
		Self: store.Node{Run: uuid.New(), Name: name, Address: name + ":7443"}, TTL: nodeTTL,
		Store: &f.frozen, Ranges: f,
		Metrics: nodes.NewMetrics(prometheus.NewRegistry()), Log: zerolog.Nop(),
	})
	f.keeper.Start(ids, "d")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), nodePatience)
		defer cancel()
		require.NoError(t, errors.Join(f.keeper.Stop(ctx), f.gateway.Stop(ctx), f.frozen.Close(), s.Close()))
	})
	return f
}

// serves waits until the range runs on the node with every lane loaded.
func (f *nodeFixture) serves(id uuid.UUID) *Range {
	f.Helper()
	var r *Range
	require.Eventually(f, func() bool {
		var err error
		r, err = f.gateway.Range(id)
		return err == nil && r.Ready()
	}, nodePatience, 10*time.Millisecond)
	return r
}

func nodeSettings() (s Settings, group uuid.UUID) {
	group = uuid.New()
	return Settings{Grace: time.Minute, Receivers: oneReceiver(nil, testSlots, 10_000), Layout: lanes.Layout{
		Range: uuid.New(), Name: "Shared range", Groups: []lanes.Group{{ID: group, Name: "Public"}},
		Lanes: makePlaces(3),
	}}, group
}

// closedWebhook attempts nothing until it is opened: events wait.
type closedWebhook struct {
	open     chan struct{}
	mu       sync.Mutex
	received []uuid.UUID
}

func (w *closedWebhook) Attempt(ctx context.Context, event lanes.Logged, _ bool) (lanes.Attempt, lanes.Answer) {
	select {
	case <-w.open:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.received = append(w.received, event.Event.ID)
	return lanes.Attempt{Status: 200}, lanes.Answer{}
}

// What a range has comes along when its node is gone: sessions with their time, holds, keys, and events that wait.
func TestATakeOverBringsEverythingAlong(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	settings, group := nodeSettings()
	webhook := &closedWebhook{open: make(chan struct{})}
	settings.Receivers = oneReceiver(webhook, 1, 10_000)
	id, places := settings.Layout.Range, settings.Layout.Lanes
	a := startNode(t, server, "a", settings)
	before := a.serves(id)
	key := &lanes.Key{Name: "sale-1", Fingerprint: "f", Render: func(v *lanes.SessionView) (int, []byte) {
		return 201,
			[]byte(v.ID.String())
	}}
	sold, err := before.Create(t.Context(), places[0].ID, lanes.Create{
		Customer: "Jo", Group: group, Minutes: 60,
		Session: uuid.New(), AutoStart: true,
	}, key)
	require.NoError(t, err)
	waiting, err := before.Create(t.Context(), places[1].ID, lanes.Create{
		Customer: "Ann", Group: group, Minutes: 60,
		Session: uuid.New(),
	}, nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool { // again when a busy machine has not saved it in time
		reached, err := before.Hold(t.Context(), lanes.Scope{Kind: lanes.OverLane, ID: places[2].ID}, "sam")
		return err == nil && reached.Saved
	}, nodePatience, time.Millisecond)

	b := startNode(t, server, "b", settings)
	a.frozen.mu.Lock()
	after := b.serves(id)
	owner, err := b.keeper.Owner(id)
	require.NoError(t, err)
	require.True(t, owner.Here)
	require.Len(t, after.Sessions(), 2)
	view, err := after.Session(t.Context(), sold.ID)
	require.NoError(t, err)
	require.Equal(t, lanes.Running, view.Phase)
	require.True(t, after.Holds().Has(lanes.Scope{Kind: lanes.OverLane, ID: places[2].ID}))
	require.Positive(t, len(after.committer.Unattempted()), "events still wait")
	_, err = after.Create(t.Context(), places[0].ID, lanes.Create{
		Customer: "Jo", Group: group, Minutes: 60,
		Session: uuid.New(), AutoStart: true,
	}, key)
	var repeat *lanes.Repeat
	require.ErrorAs(t, err, &repeat, "a repeat of the sale at another node is that sale")
	_, body := repeat.Replay()
	require.Equal(t, sold.ID.String(), string(body))

	// The one that was frozen goes on: whatever it tries is refused by the store, and it lets go.
	_, err = before.Create(t.Context(), places[2].ID, lanes.Create{
		Customer: "Eve", Group: group, Minutes: 60,
		Session: uuid.New(),
	}, nil)
	require.Error(t, err)
	a.frozen.mu.Unlock()
	require.Eventually(t, func() bool {
		owner, err := a.keeper.Owner(id)
		return err == nil && !owner.Here && len(a.gateway.Running()) == 0
	}, nodePatience, 10*time.Millisecond)
	stopped, err := after.On(t.Context(), waiting.ID, lanes.Stop{Session: waiting.ID, By: lanes.ByPOS}, nil)
	require.NoError(t, err)
	require.Equal(t, waiting.ID, stopped.ID)
	close(webhook.open)
	require.Eventually(t, func() bool { return len(after.committer.Unattempted()) == 0 }, nodePatience,
		10*time.Millisecond)
	webhook.mu.Lock()
	defer webhook.mu.Unlock()
	seen := map[uuid.UUID]bool{}
	for _, event := range webhook.received {
		require.False(t, seen[event], "no event is attempted twice")
		seen[event] = true
	}
}

// Redis stands still for several TTLs: nobody drops a range, and a hold closes every lane at once.
func TestAnOutageOfRedisKeepsRangesAndHoldsThem(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	settings, group := nodeSettings()
	id, places := settings.Layout.Range, settings.Layout.Lanes
	a := startNode(t, server, "a", settings)
	r := a.serves(id)
	_, err := r.Create(t.Context(), places[0].ID, lanes.Create{
		Customer: "Jo", Group: group, Minutes: 60,
		Session: uuid.New(), AutoStart: true,
	}, nil)
	require.NoError(t, err)
	b := startNode(t, server, "b", settings)
	require.Eventually(t, func() bool { return b.keeper.Ready() == nil }, nodePatience, 10*time.Millisecond)

	server.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	reached, err := r.Hold(ctx, lanes.Scope{Kind: lanes.OverRange}, "sam")
	require.Truef(t, err == nil || errors.Is(err, lanes.ErrNotSaved) || errors.Is(err, lanes.ErrTimeout), "%v", err)
	_ = reached
	require.True(t, r.Holds().Has(lanes.Scope{Kind: lanes.OverRange}), "in force")
	time.Sleep(3 * nodeTTL)
	require.Len(t, a.gateway.Running(), 1)
	owner, err := b.keeper.Owner(id)
	require.NoError(t, err, "the others go on routing from memory")
	require.Equal(t, "a", owner.Name)
	server.Wake()
	time.Sleep(3 * nodeTTL)
	require.Len(t, a.gateway.Running(), 1)
	require.Empty(t, b.gateway.Running())
	require.Same(t, r, a.serves(id), "it was never dropped")
	require.Equal(t, owner.Epoch, r.committer.Epoch)
}

// A stop releases the ranges: the other node has them without waiting for a TTL, with all that was saved at
// the last moment.
func TestAStopGivesTheRangesToTheOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	settings, group := nodeSettings()
	id, places := settings.Layout.Range, settings.Layout.Lanes
	a := startNode(t, server, "a", settings)
	before := a.serves(id)
	sold, err := before.Create(t.Context(), places[0].ID, lanes.Create{
		Customer: "Jo", Group: group, Minutes: 60,
		Session: uuid.New(), AutoStart: true,
	}, nil)
	require.NoError(t, err)
	b := startNode(t, server, "b", settings)
	require.Eventually(t, func() bool { return b.keeper.Ready() == nil }, nodePatience, 10*time.Millisecond)
	require.NoError(t, a.keeper.Stop(t.Context()))
	after := b.serves(id)
	view, err := after.Session(t.Context(), sold.ID)
	require.NoError(t, err)
	require.Equal(t, lanes.Running, view.Phase)
	require.Greater(t, after.committer.Epoch, before.committer.Epoch)
	_, err = a.gateway.Range(id)
	require.Error(t, err)
}
