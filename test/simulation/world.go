package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/test/linear"
	"rangegate/test/simulation/memory"
)

// world is everything in one simulation.
type world struct {
	t           *testing.T
	plan        plan
	begun       time.Time
	server      *memory.Server
	network     *network
	controllers map[uuid.UUID]*sim.Driver // one for each lane
	integrator  *integrator
	machines    []*machine
	ranges      []*rangeOf
	judge       *judge
	config      config.Config
	running     sync.WaitGroup // gateways, also dead ones until their goroutines have found out
	http        *http.Client

	lives chan struct{} // of one: taken by a fault that may cost a gateway its ranges, and while none may

	mu     sync.Mutex
	random *rand.Rand
	faulty bool
	calm   bool
	slow   time.Duration // the longest delay of the store; 0: none but the network's
	disk   time.Duration // what each write takes the store at least
	hung   chan struct{} // the store stands still until it is closed; nil: it does not
	cut    map[uuid.UUID]bool
	defect uuid.UUID      // of the lane whose driver panics; uuid.Nil: none
	trail  []string       // what happened, a line each
	lost   [][2]time.Time // what was written in between was lost by a fail-over
	failed bool

	loadFails atomic.Bool  // the next load of a range that was claimed gets no answer
	givenAway atomic.Int64 // counts up when a range is released
	recalling sync.Map     // range → the epoch of its newest claim, until that is flushed in
}

// plan is what a seed makes a simulation of.
type plan struct {
	seed  uint64
	nodes int // machines that share the ranges; 1: one gateway that is the only one
	load  time.Duration
	retry time.Duration // for so long events are sent again that failed; 0: they are not
}

// rangeOf is one range with what its clients know. Its first lanes are judged by the answers of their
// clients: lane 0, and the pair 1 and 2, between which a session moves. On the next two everything happens,
// holds too. The last two are for relays.
type rangeOf struct {
	number    int
	id        uuid.UUID
	token     string
	group     string
	bay       uuid.UUID
	lanes     []uuid.UUID
	histories [2]linear.History

	mu     sync.Mutex
	newest uint64            // the highest epoch that an answer has shown
	sold   map[string]string // the newest session, by the name of its history
}

const (
	laneCount = 7
	moveFrom  = 1 // and the next one
	wildFrom  = 3 // the first of those on which everything happens
	relayFrom = 5 // the first of those for relays
)

func newWorld(t *testing.T, p plan) *world {
	w := &world{
		t: t, plan: p, begun: time.Now(), server: memory.NewServer(), random: rand.New(rand.NewPCG(p.seed, 0)),
		cut: map[uuid.UUID]bool{}, lives: make(chan struct{}, 1),
	}
	w.network = &network{world: w, listeners: map[string]*listener{}}
	w.judge = newJudge(w)
	w.integrator = &integrator{world: w}
	w.config = w.configure()
	w.controllers = map[uuid.UUID]*sim.Driver{}
	for _, r := range w.ranges {
		for _, lane := range r.lanes {
			w.controllers[lane] = sim.New(w.now)
			w.controllers[lane].Observe(func(epoch uint64, shown sim.Shown) { w.judge.shown(epoch, lane, shown) })
		}
	}
	for n := range p.nodes {
		w.machines = append(w.machines, newMachine(n))
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return w.network.dial(ctx, nil, address)
		},
	}
	w.http = &http.Client{Timeout: 8 * time.Second, Transport: transport}
	return w
}

// now is the time of the controllers: the true one.
func (w *world) now() lanes.Instant {
	return lanes.Instant{Wall: time.Now().UTC().Round(0), Mono: time.Since(w.begun) + time.Hour}
}

// controller is the hardware of a lane.
func (w *world) controller(lane uuid.UUID) *sim.Controller {
	return w.controllers[lane].Controller(lane)
}

// configure makes the configuration that all gateways read.
func (w *world) configure() config.Config {
	c := config.Playground(laneCount, w.t.TempDir(), "", "http://integrator")
	c.Log.Level = config.Warn
	demo := c.Ranges[0]
	c.Ranges = nil
	for n := range 2 {
		r := demo
		of := &rangeOf{
			number: n, id: numbered("11111111", n), group: demo.Groups[0].ID.String(),
			bay: numbered("55555555", n), sold: map[string]string{},
		}
		of.token = numbered("22222222", n).String()
		r.ID, r.Name, r.Tokens = of.id, fmt.Sprint("Range ", n),
			[]config.RangeToken{{Token: config.Secret(of.token), Scope: config.ScopeSell}}
		r.Products, r.Staff, r.Board = nil, nil, nil
		webhook := *demo.Webhook
		if w.plan.retry > 0 {
			webhook.Retry = &config.Retry{For: w.plan.retry}
		}
		if n == 0 {
			r.Warnings, webhook.Kinds = warnings, config.EventKinds
		}
		r.Grace, r.GraceForAll = grace, n == forAll
		r.Webhook = &webhook
		r.Bays = []config.Bay{
			{ID: numbered("66666666", n), Name: "Judged"},
			{ID: of.bay, Name: "Wild"},
			{ID: numbered("77777777", n), Name: "Relays"},
		}
		r.Lanes = nil
		for i := range laneCount {
			lane := demo.Lanes[i]
			lane.ID, lane.ScreenKey, lane.Bay = numbered("44444444", n*100+i), "", r.Bays[0].ID
			switch {
			case i >= relayFrom:
				lane.Bay = r.Bays[2].ID
			case i >= wildFrom:
				lane.Bay = of.bay
			}
			r.Lanes = append(r.Lanes, lane)
			of.lanes = append(of.lanes, lane.ID)
		}
		c.Ranges = append(c.Ranges, r)
		w.ranges = append(w.ranges, of)
	}
	return c
}

func numbered(start string, n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("%s-1111-4111-8111-%012d", start, n))
}

// start starts the gateway on a machine, and again until it serves or the machine is killed.
func (w *world) start(m *machine) {
	l := m.life()
	c := w.config
	c.HTTP.Address, c.Operations.Address = m.host+":8080", m.host+":9090"
	if w.plan.nodes > 1 {
		c.Nodes = &config.Nodes{Name: m.name, Address: m.host + ":7443", TTL: config.MinNodesTTL}
	}
	c.Store.SQLite = filepath.Join("unused", m.name)
	outside := gateway.Outside{
		Listen: func(address string) (net.Listener, error) { return w.network.listen(m, address) },
		Store: func(
			_ context.Context, c config.Store, _ prometheus.Registerer, _ zerolog.Logger,
		) (gateway.Stores, error) {
			return w.stores(m, store.Retention(c.Retention)), nil
		},
		Clock:    m.clk,
		Lanes:    &links{world: w, machine: m, life: l},
		Webhooks: &way{integrator: w.integrator, machine: m, life: l},
		Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
			return w.network.dial(ctx, m, address)
		},
	}
	w.running.Go(func() {
		defer close(l.over)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { // ends the start, too
			select {
			case <-l.ended:
			case <-l.stopped:
			case <-ctx.Done():
			}
			cancel()
		}()
		for {
			g, err := gateway.New(ctx, gateway.Settings{
				Config: c, Version: "simulated", Outside: outside, Log: zerolog.New(logOf{w, m, l}),
				Read: func() (config.Config, error) { return c, nil },
			})
			if err == nil {
				l.serves.Store(true)
				w.trace("%s serves", m.name)
				<-ctx.Done()
				w.trace("%s ends", m.name)
				// While the store fails, a stop may not save what it has to: nobody was told that it is saved.
				if err := g.Close(); err != nil && !l.killed() && !w.isFaulty() {
					w.fail("%s did not stop in order: %v", m.name, err)
				}
				return
			}
			w.trace("%s does not start: %v", m.name, err)
			if sleep(ctx, 200*time.Millisecond) != nil {
				return
			}
		}
	})
}

// logOf puts the log of a gateway into the trace.
type logOf struct {
	world   *world
	machine *machine
	life    *life
}

func (o logOf) Write(line []byte) (int, error) {
	if !o.life.killed() {
		o.world.trace("%s says %s", o.machine.name, line)
	}
	return len(line), nil
}

// trace adds a line to the trail, for whoever reads what was found.
func (w *world) trace(format string, about ...any) {
	line := fmt.Sprintf("%12v ", time.Since(w.begun)) + fmt.Sprintf(format, about...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trail = append(w.trail, line)
}

// fail adds what may not be.
func (w *world) fail(format string, about ...any) {
	w.trace("FOUND: "+format, about...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = true
}

// draw returns a number below n.
func (w *world) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

// chance is true in so many of a hundred cases, while there are faults.
func (w *world) chance(percent int) bool {
	return w.isFaulty() && w.draw(100) < percent
}

func (w *world) isFaulty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faulty
}

// upTo draws a time below the longest. Hardly two are the same, so that things happen one after the other.
func (w *world) upTo(longest time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.random.Int64N(int64(longest)))
}

// lag is how long something is on its way through the network.
func (w *world) lag() time.Duration {
	if w.chance(3) {
		return w.upTo(time.Second)
	}
	return 100*time.Microsecond + w.upTo(2*time.Millisecond)
}

// readFault and writeFault draw what becomes of a call of the store.
func (w *world) readFault() storeFault {
	f := w.writeFault()
	if f.end == refused {
		f.end = answered
	}
	return f
}

// storeDelay bounds how long after its sending a call arrives at the store.
const storeDelay = 40 * time.Second

func (w *world) writeFault() storeFault {
	f := storeFault{before: w.lag(), after: w.lag(), end: answered}
	w.mu.Lock()
	slow, faulty := w.slow, w.faulty && !w.calm
	f.before += w.disk
	w.mu.Unlock()
	if !faulty {
		return f
	}
	if slow > 0 {
		f.before, f.after = w.upTo(slow), w.upTo(slow)
	}
	switch dice := w.draw(100); {
	case dice < 3:
		f.end = refused
	case dice < 6:
		f.end = answerLost
	case dice < 8:
		f.end = callLost
	case dice < 9:
		f.before = w.upTo(storeDelay) // it arrives when nobody waits for it any more, perhaps after a claim
	}
	return f
}

// awaitStore waits while the store stands still.
func (w *world) awaitStore() {
	for {
		w.mu.Lock()
		hung := w.hung
		w.mu.Unlock()
		if hung == nil {
			return
		}
		<-hung
	}
}

// isRecalling reports whether a range was claimed and nothing is saved in that epoch yet.
func (w *world) isRecalling() bool {
	found := false
	w.recalling.Range(func(any, any) bool {
		found = true
		return false
	})
	return found
}

// setCalm has the store take every call at once, without a fault, while it is on.
func (w *world) setCalm(calm bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = calm
}

// defective is true for a lane whose driver panics.
func (w *world) defective(lane uuid.UUID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.defect == lane
}

// cutOff is true while nothing gets through between a controller and any gateway.
func (w *world) cutOff(lane uuid.UUID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut[lane]
}
