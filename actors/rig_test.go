package actors

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock/clocktest"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
)

// rig is a gateway with one range: a real SQLite file, simulated hardware, and a clock that tests set. It lives in a
// synctest bubble: time passes only when everything has come to rest (see pass).
type rig struct {
	*testing.T
	*Range // the one that runs now

	clock    *clocktest.Clock
	hardware *sim.Driver
	settings Settings
	group    uuid.UUID
	path     string
	store    *hookedStore
	gateway  *Gateway
	registry *prometheus.Registry
	log      zerolog.Logger
}

const testSlots = 16 // deliveries at a time

type option func(*rig)

func withLanes(n int) option {
	return func(g *rig) { g.settings.Layout.Lanes = places(n) }
}
func withGrace(grace time.Duration) option { return func(g *rig) { g.settings.Grace = grace } }
func withWebhook(w Webhook) option         { return func(g *rig) { g.settings.Webhook = w } }
func withDriver(d link.Driver) option      { return func(g *rig) { g.settings.Driver = d } }
func withLog(log zerolog.Logger) option    { return func(g *rig) { g.log = log } }

// withClosedLane closes a lane for sale.
func withClosedLane(i int) option {
	return func(g *rig) { g.settings.Layout.Lanes[i].Accessible = false }
}

// inFakeTime tells a story with a rig whose range runs, every link up.
func inFakeTime(t *testing.T, story func(*testing.T, *rig), options ...option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { story(t, startRig(t, options...)) })
}

// startRig must be called inside a synctest bubble. The range has two lanes unless withLanes says otherwise.
func startRig(t *testing.T, options ...option) *rig {
	t.Helper()
	g := &rig{T: t, clock: clocktest.New(), group: uuid.New(), path: filepath.Join(t.TempDir(), "range.db"), log: zerolog.Nop()}
	g.hardware = sim.New(func() lanes.Instant { return g.clock.Now() })
	g.settings = Settings{Grace: 30 * time.Second, Driver: g.hardware, Delivery: Delivery{Slots: testSlots, Queue: 10_000}, Layout: lanes.Layout{
		Range: uuid.New(), Name: "Test range", Purchasing: true,
		Groups: []lanes.Group{{ID: g.group, Name: "Public"}}, Lanes: places(2),
	}}
	g.store = &hookedStore{}
	for _, set := range options {
		set(g)
	}
	g.start()
	t.Cleanup(func() {
		g.store.hook(nil)
		g.shutDown()
		g.pass(2 * time.Second) // a timer of the actor library, where something was sent to an actor that has stopped
	})
	return g
}

func places(n int) []lanes.Place {
	places := make([]lanes.Place, n)
	for i := range places {
		places[i] = lanes.Place{ID: uuid.New(), Name: fmt.Sprintf("Lane %d", i+1), Accessible: true}
	}
	return places
}

// start brings the range up on what the file holds, and waits until it is ready and its links are up.
func (g *rig) start() {
	g.Helper()
	require.NoError(g, g.tryStart())
	synctest.Wait()
	require.True(g, g.gateway.Ready(1), "the range is ready")
}

// tryStart brings the range up without waiting for its lanes. When that fails, the store is closed again.
func (g *rig) tryStart() error {
	g.Helper()
	g.openStore()
	g.registry = prometheus.NewRegistry()
	g.gateway = NewGateway(g.clock, g.store, metrics.New(g.registry), g.log)
	g.registry.MustRegister(g.gateway.Gauges())
	if err := g.gateway.StartRange(g.Context(), g.settings); err != nil {
		g.shutDown()
		return err
	}
	g.Range = g.gateway.ranges[g.settings.Layout.Range]
	return nil
}

func (g *rig) openStore() {
	g.Helper()
	file, err := sqlite.Open(g.path, store.Retention{
		Events: 30 * 24 * time.Hour, History: 90 * 24 * time.Hour, Names: 30 * 24 * time.Hour, Cap: 1_000_000,
	})
	require.NoError(g, err)
	g.store.Store = file
}

// shutDown stops the gateway and closes the file. The hardware goes on.
func (g *rig) shutDown() {
	g.Helper()
	if g.gateway == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stopping := g.gateway
	g.gateway = nil
	require.NoError(g, stopping.Stop(ctx))
	require.NoError(g, g.store.Close())
}

func (g *rig) restart() {
	g.Helper()
	g.shutDown()
	g.start()
}

// pass lets d of time pass, and everything that is due in it happen.
func (g *rig) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// flushHook stands before a store: it flushes, or answers in the store's place, or waits.
type flushHook func(ctx context.Context, batch store.Batch, flush func() error) error

// hookedStore is a store whose flushes a test can watch, hold up or fail. The hook stays over a restart.
type hookedStore struct {
	store.Store
	hooked atomic.Pointer[flushHook]
}

// hook sets the hook for the flushes from now on; nil takes it away.
func (s *hookedStore) hook(h flushHook) { s.hooked.Store(&h) }

func (s *hookedStore) Flush(ctx context.Context, batch store.Batch) error {
	if h := s.hooked.Load(); h != nil && *h != nil {
		return (*h)(ctx, batch, func() error { return s.Store.Flush(ctx, batch) })
	}
	return s.Store.Flush(ctx, batch)
}
