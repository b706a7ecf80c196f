package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/test/linear"
	"rangegate/test/support"
)

// lane is a lane with everything that its clients have asked of it; the long one together with the spare one,
// for its session moves.
type lane struct {
	r      *rangeFixture
	number int

	history linear.History

	mu     sync.Mutex
	newest string // the session that a client has created last
}

func (l *lane) id() string { return l.r.laneID(l.number) }

// place returns on which of its lanes that one is.
func (l *lane) place(id string) (number int, found bool) {
	if l.number == longLane && id == l.r.laneID(spareLane) {
		return spareLane, true
	}
	return l.number, id == l.id()
}

var beginning = time.Now()

func now() time.Duration { return time.Since(beginning) }

// client makes requests about lanes, one at a time. Each attempt goes to a node of its own choice: any node
// answers for any range.
type client struct {
	*cluster
	number int
	probe  bool // it keeps to the nodes that have to serve every range
	random *rand.Rand
	http   *http.Client
	keys   int
	turn   int   // of the node that a probe asks next
	only   *node // if not nil: no other is asked
}

// attemptTimeout is longer than a node waits for a lane or for another node (5 s), so that the outcome is the
// node's to say.
const attemptTimeout = 8 * time.Second

func (c *cluster) newClient(number int) *client {
	return &client{
		cluster: c, number: number, random: rand.New(rand.NewPCG(c.seed, uint64(number)+1)),
		http: &http.Client{Timeout: attemptTimeout, Transport: &http.Transport{
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     time.Minute,
		}},
	}
}

// choose chooses one of the nodes that answer. nil: none does.
func (c *client) choose() *node {
	if c.only != nil {
		return c.only
	}
	order := c.random.Perm(len(c.nodes))
	if c.probe { // one after the other, so that each is asked before any is asked again
		c.turn++
		order = []int{c.turn % len(c.nodes), (c.turn + 1) % len(c.nodes), (c.turn + 2) % len(c.nodes)}
	}
	for _, i := range order {
		if c.nodes[i].answers() && (!c.probe || c.avoided.Load() != c.nodes[i]) {
			return c.nodes[i]
		}
	}
	return nil
}

// ask makes a request about the range through that node.
func (c *client) ask(n *node, r *rangeFixture, method, path, body string,
	headers ...string,
) (got linear.Answer, err error) {
	newest := r.newest.Load()
	at := support.Client{API: n.current().API + support.V2, Range: r.id(), Token: r.token(), HTTP: c.http}
	if got.Answer, err = at.Do(method, path, body, headers...); err != nil {
		return got, err
	}
	if got.Epoch, err = linear.OwnerEpoch(got.Answer); err != nil {
		c.fault("%s %s of range %d: %v", method, path, r.number, err)
	}
	r.see(got.Epoch)
	got.Outdated = got.Epoch < newest
	return got, nil
}

// command makes a request until its outcome is definite, at one node after the other, and records it. It gives up when
// ctx ends.
func (c *client) command(ctx context.Context, l *lane, asked linear.Call) linear.Reply {
	c.keys++
	key := fmt.Sprintf("key-%d-%d-%d", c.seed, c.number, c.keys)
	path, body := asked.Request(l.r.laneID, l.r.groupID())
	got := linear.Client{
		Number: c.number, Now: now,
		Pause: func() time.Duration {
			return 20*time.Millisecond + time.Duration(c.random.Int64N(int64(80*time.Millisecond)))
		},
		Fault: func(format string, about ...any) {
			c.fault("range %d lane %d: "+format, append([]any{l.r.number, l.number}, about...)...)
		},
	}.Command(ctx, &l.history, asked, func() (linear.Answer, error) {
		n := c.choose()
		if n == nil {
			return linear.Answer{}, linear.ErrNotSent
		}
		return c.ask(n, l.r, http.MethodPost, path, body, "Idempotency-Key", key)
	})
	if asked.Kind == "create" && got.Outcome == linear.Done {
		l.setNewest(got.State.Session)
	}
	return got
}

// read reads the lane through any node, and records what it has seen unless it is outdated.
func (c *client) read(l *lane) {
	n := c.choose()
	if n == nil {
		return
	}
	sent := now()
	seen, outdated, ok := c.look(n, l)
	switch {
	case !ok:
	case outdated:
		c.outdatedReads.Add(1)
	default:
		l.record(c, linear.Call{Kind: "read"}, linear.Reply{Outcome: linear.Done, State: seen},
			linear.Span{Lo: sent, Hi: now()})
	}
}

// look reads the lane through that node.
func (c *client) look(n *node, l *lane) (seen linear.State, outdated, ok bool) {
	if c.random.IntN(2) == 0 {
		var sessions []support.Session
		outdated, ok = c.list(n, l.r, "/sessions", &sessions)
		for _, s := range sessions {
			if place, found := l.place(s.Lane); found {
				return linear.State{Session: s.ID, Minutes: s.Minutes, Lane: place}, outdated, ok
			}
		}
		return linear.State{}, outdated, ok
	}
	var statuses []support.LaneStatus
	outdated, ok = c.list(n, l.r, "/lanes/status", &statuses)
	for _, s := range statuses {
		if place, found := l.place(s.Lane); found && s.Session != nil {
			return linear.State{Session: *s.Session, Phase: s.Phase, Lane: place}, outdated, ok
		}
	}
	return linear.State{}, outdated, ok
}

// list reads a list. ok is false if there was no answer that has it.
func (c *client) list(n *node, r *rangeFixture, path string, into any) (outdated, ok bool) {
	answered, err := c.ask(n, r, http.MethodGet, path, "")
	ok = err == nil && answered.Status == http.StatusOK && json.Unmarshal([]byte(answered.Body), into) == nil
	return answered.Outdated, ok
}

const (
	busyRanges  = 12 // whose first lane clients contend for
	busyClients = 16
)

// work has clients contend for lanes until it is stopped, or judge stops it.
func (c *cluster) work() (stop func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var working sync.WaitGroup
	var contended []*lane
	for _, r := range c.ranges[:busyRanges] {
		contended = append(contended, r.lanes[busyLane])
	}
	for n := range busyClients {
		working.Go(func() { c.newClient(n).work(ctx, contended) })
	}
	c.stopWork = func() {
		cancel()
		working.Wait()
	}
	return c.stopWork
}

// work makes requests about the lanes until ctx ends.
func (c *client) work(ctx context.Context, contended []*lane) {
	for support.Wait(ctx, 30*time.Millisecond+time.Duration(c.random.Int64N(int64(70*time.Millisecond)))) {
		l := contended[c.random.IntN(len(contended))]
		session := l.getNewest()
		switch dice := c.random.IntN(100); {
		case dice < 36:
			c.read(l)
		case dice < 38:
			moved := l.r.lanes[longLane]
			c.command(ctx, moved, linear.Call{
				Kind: "move", Session: moved.getNewest(),
				Lane: longLane + c.random.IntN(2),
			})
		case dice < 40:
			c.buy(ctx, l)
		case session == "" || dice < 50:
			c.command(ctx, l, linear.Call{Kind: "create", Lane: l.number, Minutes: 60 + c.random.IntN(60)})
		case dice < 70:
			c.command(ctx, l, linear.Call{Kind: "modify", Session: session, Minutes: 1 + c.random.IntN(3)})
		case dice < 82:
			c.command(ctx, l, linear.Call{Kind: "pause", Session: session})
		case dice < 94:
			c.command(ctx, l, linear.Call{Kind: "resume", Session: session})
		default:
			c.command(ctx, l, linear.Call{Kind: "stop", Session: session})
		}
	}
}

// buyPatience is longer than a purchase may wait for its link, its save and the integrator. What becomes of
// it later is not known.
const buyPatience = 10 * time.Second

// buy has the customer buy time at the lane, and records it unless it was refused.
func (c *client) buy(ctx context.Context, l *lane) {
	controller, id, began := c.hardware.controller(l.r.number, l.number), uuid.New(), now()
	before := controller.Shown().Session
	bought := linear.Call{Kind: "buy", Session: before.String(), Minutes: 1 + c.random.IntN(3)}
	if before == uuid.Nil || controller.Buy(id, lanes.Item{ID: lanes.TimeItem, Qty: bought.Minutes}) != nil {
		return
	}
	if after := controller.Shown().Session; after != before { // whichever of them was on the lane when it was bought
		l.recordOpen(c, bought, linear.Reply{Outcome: linear.Maybe}, began)
		if after != uuid.Nil {
			bought.Session = after.String()
			l.recordOpen(c, bought, linear.Reply{Outcome: linear.Maybe}, began)
		}
		return
	}
	for support.Wait(ctx, 5*time.Millisecond) && now()-began < buyPatience {
		shown := controller.Shown()
		if shown.Session != before {
			break
		}
		if shown.Purchase == nil || shown.Purchase.ID != id {
			continue
		}
		switch shown.Purchase.Phase {
		case lanes.Accepted:
			l.r.see(c.hardware.epoch(l.r.number, l.number)) // no later read by an owner before that one has it
			l.record(c, bought, linear.Reply{Outcome: linear.Done}, linear.Span{Lo: began, Hi: now()})
			return
		case lanes.Declined:
			return
		case lanes.Pending, lanes.Unresolved: // the next owner may have asked the integrator, or not
		}
	}
	l.recordOpen(c, bought, linear.Reply{Outcome: linear.Maybe}, began)
}

func (l *lane) getNewest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest
}

func (l *lane) setNewest(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest = session
}

func (l *lane) record(c *client, asked linear.Call, got linear.Reply, at linear.Span) {
	l.history.Record(c.number, asked, got, at)
}

func (l *lane) recordOpen(c *client, asked linear.Call, got linear.Reply, began time.Duration) {
	l.record(c, asked, got, linear.Span{Lo: began, Hi: linear.Forever})
}
