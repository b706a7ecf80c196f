package actors

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/bolt"
)

// rig is a gateway with one range: a real bolt file, simulated hardware, and a clock that tests set. It lives in a
// synctest bubble: time passes only when everything has come to rest (see pass).
type rig struct {
	*testing.T
	*Range // the one that runs now

	clock    *handClock
	hardware *sim.Driver
	settings Settings
	group    uuid.UUID
	path     string
	store    *hookedStore
	gateway  *Gateway
	registry *prometheus.Registry
	log      zerolog.Logger
}

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
	g := &rig{T: t, clock: newHandClock(), group: uuid.New(), path: filepath.Join(t.TempDir(), "range.db"), log: zerolog.Nop()}
	g.hardware = sim.New(func() lanes.Instant { return g.clock.Now() })
	g.settings = Settings{Grace: 30 * time.Second, Driver: g.hardware, Layout: lanes.Layout{
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
	g.gateway = NewGateway(g.clock, g.store, NewMetrics(g.registry), g.log)
	if err := g.gateway.StartRange(g.Context(), g.settings); err != nil {
		g.shutDown()
		return err
	}
	g.Range, _ = g.gateway.Range(g.settings.Layout.Range)
	return nil
}

func (g *rig) openStore() {
	g.Helper()
	file, err := bolt.Open(g.path, store.Retention{
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
	require.NoError(g, g.gateway.Stop(ctx))
	require.NoError(g, g.store.Close())
	g.gateway = nil
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

// request is the context of a request, which waits for its answer as long as the API does.
func (g *rig) request() context.Context {
	ctx, cancel := context.WithTimeout(g.Context(), 5*time.Second)
	g.Cleanup(cancel)
	return ctx
}

// lane is the id of the i-th lane, counted from 0.
func (g *rig) lane(i int) uuid.UUID { return g.settings.Layout.Lanes[i].ID }

// controller is the hardware of the i-th lane.
func (g *rig) controller(i int) *sim.Controller { return g.hardware.Controller(g.lane(i)) }

// open tells whether the fire line of the i-th lane is open.
func (g *rig) open(i int) bool { return g.controller(i).Shown().Open }

// sale is what a POS asks for: minutes that run at once.
func (g *rig) sale(minutes int) lanes.Create {
	return lanes.Create{Session: uuid.New(), Group: g.group, Customer: "Jo Smith", Minutes: minutes, AutoStart: true}
}

// create sells minutes on the i-th lane, which run at once. It comes back when the hardware has heard of it.
func (g *rig) create(i, minutes int) uuid.UUID {
	g.Helper()
	return g.sell(i, g.sale(minutes))
}

// book sells minutes on the i-th lane, which run once the customer enters.
func (g *rig) book(i, minutes int) uuid.UUID {
	g.Helper()
	sale := g.sale(minutes)
	sale.AutoStart = false
	return g.sell(i, sale)
}

func (g *rig) sell(i int, sale lanes.Create) uuid.UUID {
	g.Helper()
	view, err := g.Create(g.request(), g.lane(i), sale, nil)
	require.NoError(g, err)
	require.Equal(g, sale.Session, view.ID)
	synctest.Wait()
	return view.ID
}

// enter is the customer entering the i-th lane.
func (g *rig) enter(i int) {
	g.Helper()
	require.NoError(g, g.controller(i).Enter())
	synctest.Wait()
}

// command gives a command to the session, which must take it. It comes back when the hardware has heard of it.
func (g *rig) command(session uuid.UUID, command lanes.Command) *lanes.SessionView {
	g.Helper()
	view, err := g.On(g.request(), session, command, nil)
	require.NoError(g, err, command.Name())
	synctest.Wait()
	return view
}

func (g *rig) modify(session uuid.UUID, minutes int) *lanes.SessionView {
	g.Helper()
	return g.command(session, lanes.Modify{Session: session, Minutes: minutes})
}

func (g *rig) pause(session uuid.UUID) *lanes.SessionView {
	g.Helper()
	return g.command(session, lanes.Pause{Session: session})
}

func (g *rig) resume(session uuid.UUID) *lanes.SessionView {
	g.Helper()
	return g.command(session, lanes.Resume{Session: session})
}

func (g *rig) stop(session uuid.UUID) *lanes.SessionView {
	g.Helper()
	return g.command(session, lanes.Stop{Session: session, By: lanes.ByPOS})
}

// left is the time left of an active session.
func (g *rig) left(session uuid.UUID) time.Duration {
	g.Helper()
	view, err := g.Session(g.Context(), session)
	require.NoError(g, err)
	return view.Remaining
}

// ended is the session on record.
func (g *rig) ended(session uuid.UUID) lanes.Ended {
	g.Helper()
	record, err := g.store.Ended(g.Context(), g.settings.Layout.Range, session)
	require.NoError(g, err)
	return record
}

// happened is the kinds of the session's events, in the order of the log.
func (g *rig) happened(session uuid.UUID) []lanes.Kind {
	g.Helper()
	log, err := g.Events(g.Context(), 0, 1_000_000)
	require.NoError(g, err)
	var kinds []lanes.Kind
	for _, logged := range log {
		if logged.Event.Session == session {
			kinds = append(kinds, logged.Event.Kind)
		}
	}
	return kinds
}

// onBoard is the sessions that are shown as active, in the order of their lanes.
func (g *rig) onBoard() []uuid.UUID {
	var ids []uuid.UUID
	for _, view := range g.Sessions() {
		ids = append(ids, view.ID)
	}
	return ids
}

// toLane gives the actor of the i-th lane a message, and comes back when everything is at rest.
func (g *rig) toLane(i int, message any) {
	g.send(g.pid, &toLane{g.lane(i), message})
	synctest.Wait()
}

// begin does something beside the story, up to where it waits. How it ended comes through the channel.
func (g *rig) begin(do func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	synctest.Wait()
	return ended
}

// tryCreate sells minutes on the i-th lane, if it can be.
func (g *rig) tryCreate(i, minutes int) error {
	_, err := g.Create(g.request(), g.lane(i), g.sale(minutes), nil)
	return err
}

func (g *rig) tryModify(session uuid.UUID, minutes int) error {
	_, err := g.On(g.request(), session, lanes.Modify{Session: session, Minutes: minutes}, nil)
	return err
}

// tryMove takes the session to the i-th lane, if it can be.
func (g *rig) tryMove(session uuid.UUID, i int) error {
	_, err := g.Move(g.request(), session, g.lane(i), nil)
	return err
}

// holdFlushes lets the flushes from now on wait until release is called, or the story ends.
func (g *rig) holdFlushes() (release func()) {
	held := make(chan struct{})
	g.store.hook(func(_ context.Context, _ store.Batch, flush func() error) error {
		<-held
		return flush()
	})
	release = sync.OnceFunc(func() {
		g.store.hook(nil)
		close(held)
	})
	g.Cleanup(release)
	return release
}

// handClock is the machine's two clocks. They follow the scheduler's time until a test sets them.
type handClock struct {
	begun time.Time

	mu      sync.Mutex
	stepped time.Duration // the wall clock was set by so much
	slept   time.Duration // the machine was suspended for so long: both clocks go on, the scheduler does not
	booted  time.Duration // of begun, by the boot clock
	boot    int
}

func newHandClock() *handClock { return &handClock{begun: time.Now(), booted: time.Hour} }

func (c *handClock) Now() lanes.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	ran := time.Since(c.begun) + c.slept
	return lanes.Instant{Wall: c.begun.Add(ran + c.stepped).UTC().Round(0), Mono: c.booted + ran}
}

func (c *handClock) Boot() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("boot-%d", c.boot)
}

// step sets the wall clock.
func (c *handClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stepped += d
}

// suspend makes the machine sleep.
func (c *handClock) suspend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept += d
}

// reboot starts the boot clock again from a minute, under another name.
func (c *handClock) reboot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot++
	c.booted = time.Minute - (time.Since(c.begun) + c.slept)
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
