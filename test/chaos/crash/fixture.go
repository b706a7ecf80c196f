package crash

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// fixture is one range with its clients, through all the processes of its gateway.
type fixture struct {
	t        *testing.T
	seed     uint64
	rng      *rand.Rand
	store    string // as in the configuration
	gateways []*support.Gateway
	gateway  posClient // to the current process
	down     span
	clients  []*client

	hardware  *hardware
	receiver  *support.Receiver // nil: the range has no webhook
	contested bool              // gateways take the range from one another
	log       []event           // the event log, as far as it was read
	counters  counters
	made      atomic.Int64    // requests that were answered
	widths    []time.Duration // how exactly deadlines were known before they were compared

	mu     sync.Mutex
	faults []string
	stills []func() time.Duration // of each process of the gateway, how long it stood still at most
}

// newFixture makes its choices by a seed, which it logs. SEED repeats the choices, but not their timing.
func newFixture(t *testing.T, store string) *fixture {
	seed := uint64(number(t, "SEED", rand.IntN(1_000_000)))
	t.Logf("SEED=%d", seed)
	x := &fixture{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), store: store,
		hardware: powerUp(t, seed), receiver: support.NewReceiver(t),
	}
	x.hardware.stillness = x.stillness
	x.receiver.Respond(support.Unreliable(seed))
	for n := range clientCount {
		x.clients = append(x.clients, newClient(x, n))
	}
	return x
}

// start starts a process of the gateway, and waits until it is ready.
func (x *fixture) start() {
	x.t.Helper()
	x.useGateway(x.connect(x.config(x.hardware.addresses()).Serve(x.t)))
}

// stillness is the longest time that any process of the gateway has stood still, or the machine: what happens on a lane
// may come so much later.
func (x *fixture) stillness() (longest time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, still := range x.stills {
		longest = max(longest, still())
	}
	return longest
}

// useGateway has the clients use another gateway from now on.
func (x *fixture) useGateway(gateway posClient) {
	x.down.hi = now()
	x.gateway = gateway
	x.gateways = append(x.gateways, gateway.process)
	x.counters.count("starts")
	for _, c := range x.clients {
		c.forgetForce()
	}
}

func (x *fixture) process() *support.Gateway { return x.gateways[len(x.gateways)-1] }

// kill ends the gateway as kill -9 does.
func (x *fixture) kill() {
	x.process().Kill()
	x.down.lo = now()
	x.gateway.hangUp()
}

// terminate tells the gateway to stop, and returns its exit code.
func (x *fixture) terminate() (code int) {
	code = x.process().Terminate()
	x.down.lo = now()
	x.gateway.hangUp()
	return code
}

// load runs a function while all clients and shooters work.
func (x *fixture) load(while func()) {
	x.t.Helper()
	ctx, cancel := context.WithCancel(x.t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	gateway := x.gateway
	for _, c := range x.clients {
		work.Go(func() { c.work(ctx, gateway, mostRequests) })
	}
	for _, s := range x.hardware.shooters {
		work.Go(func() { s.shoot(ctx) })
	}
	work.Go(func() { x.follow(ctx, gateway) })
	while()
}

const followEvery = 50 * time.Millisecond

// follow reads the event log as it grows.
func (x *fixture) follow(ctx context.Context, gateway posClient) {
	for support.Wait(ctx, followEvery) {
		var after uint64
		if len(x.log) > 0 {
			after = x.log[len(x.log)-1].Cursor
		}
		read, err := gateway.events(after)
		x.log = append(x.log, read...)
		if err != nil && gateway.process.Ended() {
			return
		}
	}
}

// waitRequests waits until the clients have made that many more requests, or a few more: however fast the
// machine is, so much is done.
func (x *fixture) waitRequests(fewest, most int) {
	x.t.Helper()
	made, last := x.made.Load(), x.made.Load()+int64(fewest+x.rng.IntN(most-fewest+1))
	for limit := now() + 5*time.Minute; x.made.Load() < last; support.Wait(x.t.Context(), time.Millisecond) {
		if now() > limit {
			x.fault("%d of %d requests were made within five minutes", x.made.Load()-made, last-made)
			return
		}
	}
}

// waitRandom waits for a random time: as long as something is broken.
func (x *fixture) waitRandom(shortest, longest time.Duration) {
	support.Wait(x.t.Context(), shortest+time.Duration(x.rng.Int64N(int64(longest-shortest))))
}

// runningClient is the nth client whose session is running.
func (x *fixture) runningClient(n int) *client {
	for _, c := range x.clients {
		if c.current == nil || c.current.phase != running {
			continue
		}
		if n--; n < 0 {
			return c
		}
	}
	require.Fail(x.t, "too few sessions are running")
	return nil
}

// waitExpired waits until that many of the running sessions have expired.
func (x *fixture) waitExpired(sessions int) {
	var deadlines []time.Duration
	for _, c := range x.clients {
		for _, s := range c.sessions {
			if s.phase == running && s.deadline.hi > now() && c.unanswered(s) == nil {
				deadlines = append(deadlines, s.deadline.hi)
			}
		}
	}
	slices.Sort(deadlines)
	if len(deadlines) > 0 {
		support.Wait(x.t.Context(), deadlines[min(sessions, len(deadlines))-1]+settling-now())
	}
}

// rounds is the number of rounds: tested in a test run, and in the soak a share of ROUNDS, which is how often
// the gateway is killed.
func rounds(t *testing.T, tested, share int) int {
	if soaked := number(t, "ROUNDS", 0); soaked > 0 {
		return max(1, soaked/share)
	}
	return tested
}

// number reads a variable of the environment.
func number(t *testing.T, variable string, otherwise int) int {
	text, set := os.LookupEnv(variable)
	if !set {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, variable)
	return n
}
