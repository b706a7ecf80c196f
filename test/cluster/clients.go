package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/test/support"
)

// lane is a lane with everything that its clients have asked of it; the long one together with the spare one, for its session moves.
type lane struct {
	r      *rangeFixture
	number int

	mu      sync.Mutex
	newest  string // the session that a client has created last
	history []porcupine.Operation
}

func (l *lane) id() string { return l.r.laneID(l.number) }

// place returns on which of its lanes that one is.
func (l *lane) place(id string) (number int, found bool) {
	if l.number == longLane && id == l.r.laneID(spareLane) {
		return spareLane, true
	}
	return l.number, id == l.id()
}

// span is what is known of an instant: not before lo, not after hi, since the beginning of the test's process.
type span struct{ lo, hi time.Duration }

var beginning = time.Now()

func now() time.Duration { return time.Since(beginning) }

// client makes requests about lanes, one at a time. Each attempt goes to a node of its own choice: any node answers for any range.
type client struct {
	*cluster
	number int
	probe  bool // it keeps to the nodes that have to serve every range
	random *rand.Rand
	http   *http.Client
	keys   int
	turn   int // of the node that a probe asks next
}

// attemptTimeout is longer than a node waits for a lane or for another node (5 s), so that the outcome is the node's to say.
const attemptTimeout = 8 * time.Second

func (c *cluster) newClient(number int) *client {
	return &client{
		cluster: c, number: number, random: rand.New(rand.NewPCG(c.seed, uint64(number)+1)),
		http: &http.Client{Timeout: attemptTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}},
	}
}

// any chooses one of the nodes that answer. nil: none does.
func (c *client) any() *node {
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

// at is a connection of the client to a range through that node.
func (c *client) at(n *node, r *rangeFixture) support.Client {
	return support.Client{API: n.current().API + support.V2, Range: r.id(), Token: r.token(), HTTP: c.http}
}

// command makes a request until its outcome is definite, with the same key at one node after the other, and records it. It gives up when
// ctx ends. Its reply is that of the last attempt. A refusal says that nothing was changed: it may be left out of the record, and the lane's
// later states show whether that was true.
func (c *client) command(ctx context.Context, l *lane, asked call) reply {
	c.keys++
	key := fmt.Sprintf("key-%d-%d-%d", c.seed, c.number, c.keys)
	began, uncertain := now(), false
	for {
		calm, sent := c.faultEpoch.Load(), now()
		answer, err := c.send(l, asked, key)
		got := interpret(answer, err)
		switch {
		case got.outcome == inForce:
			l.record(c, asked, got, span{sent, now()})
		case got.outcome == maybe && err != nil && got.code == "not_sent":
		case got.outcome == maybe:
			uncertain = true
		case got.outcome == done:
			if asked.kind == "create" {
				l.setNewest(got.state.session)
			}
			l.record(c, asked, got, span{began, now()})
			return got
		case got.outcome == refused && transient[got.code]:
		case got.outcome == refused && uncertain: // an earlier attempt may have happened, or be under way
			got.outcome = maybe
			l.recordOpen(c, asked, got, began)
			return got
		default:
			if c.calmSince(calm) {
				l.record(c, asked, got, span{sent, now()})
			}
			return got
		}
		if !wait(ctx, 20*time.Millisecond+time.Duration(c.random.Int64N(int64(80*time.Millisecond)))) {
			if uncertain {
				got.outcome = maybe
				l.recordOpen(c, asked, got, began)
			}
			return got
		}
	}
}

// transient are the refusals that end by themselves. Nothing was changed, and the request is made again.
var transient = map[string]bool{"store_unavailable": true, "starting": true, "overloaded": true, "not_owner": true, "lane_not_usable": true}

func (c *client) send(l *lane, asked call, key string) (support.Answer, error) {
	n := c.any()
	if n == nil {
		return support.Answer{}, errNoNode
	}
	at := c.at(n, l.r)
	switch asked.kind {
	case "create":
		return at.Do(http.MethodPost, "/sessions", fmt.Sprintf(
			`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":%d,"enable_purchasing":true}`, l.id(), l.r.groupID(), asked.minutes),
			"Idempotency-Key", key)
	case "modify":
		return at.Do(http.MethodPost, fmt.Sprintf("/sessions/%s/modify?time=%d", asked.session, asked.minutes), "", "Idempotency-Key", key)
	}
	path := "/sessions/" + asked.session + "/" + asked.kind
	if asked.kind == "move" {
		path += "?lane_id=" + l.r.laneID(asked.lane)
	}
	return at.Do(http.MethodPost, path, "", "Idempotency-Key", key)
}

var errNoNode = errors.New("no node answers")

// interpret says what an answer tells of the outcome.
func interpret(answer support.Answer, err error) reply {
	switch code := answer.Code(); {
	case errors.Is(err, errNoNode):
		return reply{outcome: maybe, code: "not_sent"}
	case err != nil:
		return reply{outcome: maybe, code: "no_answer"}
	case answer.Status/100 == 2:
		var created struct {
			ID string `json:"session_id"`
		}
		_ = json.Unmarshal([]byte(answer.Body), &created) // only a create has a body
		return reply{outcome: done, state: state{session: created.ID}}
	case code == "timeout" || answer.Status == http.StatusGatewayTimeout || code == "internal" || code == "":
		return reply{outcome: maybe, code: fmt.Sprint(answer.Status, " ", code)}
	case code == "not_saved":
		return reply{outcome: inForce, code: code}
	default: // WIRE.md: nothing was changed
		return reply{outcome: refused, code: code}
	}
}

// read reads the lane through any node, and records what it has seen unless a node may answer for a range that it has lost.
func (c *client) read(l *lane) {
	n := c.any()
	if n == nil {
		return
	}
	calm, sent := c.faultEpoch.Load(), now()
	seen, ok := c.look(n, l)
	if ok && c.calmSince(calm) {
		l.record(c, call{kind: "read"}, reply{outcome: done, state: seen}, span{sent, now()})
	}
}

// calmSince tells whether every node has known since then which ranges it has.
func (c *cluster) calmSince(epoch int64) bool { return epoch%2 == 0 && c.faultEpoch.Load() == epoch }

// look reads the lane through that node.
func (c *client) look(n *node, l *lane) (seen state, ok bool) {
	at := c.at(n, l.r)
	if c.random.IntN(2) == 0 {
		var sessions []support.Session
		if answer, err := at.Do(http.MethodGet, "/sessions", ""); err != nil || answer.Status != http.StatusOK || json.Unmarshal([]byte(answer.Body), &sessions) != nil {
			return state{}, false
		}
		for _, s := range sessions {
			if place, found := l.place(s.Lane); found {
				return state{session: s.ID, minutes: s.Minutes, lane: place}, true
			}
		}
		return state{}, true
	}
	var statuses []support.LaneStatus
	if answer, err := at.Do(http.MethodGet, "/lanes/status", ""); err != nil || answer.Status != http.StatusOK || json.Unmarshal([]byte(answer.Body), &statuses) != nil {
		return state{}, false
	}
	for _, s := range statuses {
		if place, found := l.place(s.Lane); found && s.Session != nil {
			return state{session: *s.Session, phase: s.Phase, lane: place}, true
		}
	}
	return state{}, true
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
	for wait(ctx, 30*time.Millisecond+time.Duration(c.random.Int64N(int64(70*time.Millisecond)))) {
		l := contended[c.random.IntN(len(contended))]
		session := l.getNewest()
		switch dice := c.random.IntN(100); {
		case dice < 36:
			c.read(l)
		case dice < 38:
			moved := l.r.lanes[longLane]
			c.command(ctx, moved, call{kind: "move", session: moved.getNewest(), lane: longLane + c.random.IntN(2)})
		case dice < 40:
			c.buy(ctx, l)
		case session == "" || dice < 50:
			c.command(ctx, l, call{kind: "create", lane: l.number, minutes: 60 + c.random.IntN(60)})
		case dice < 70:
			c.command(ctx, l, call{kind: "modify", session: session, minutes: 1 + c.random.IntN(3)})
		case dice < 82:
			c.command(ctx, l, call{kind: "pause", session: session})
		case dice < 94:
			c.command(ctx, l, call{kind: "resume", session: session})
		default:
			c.command(ctx, l, call{kind: "stop", session: session})
		}
	}
}

// buyPatience is longer than a purchase may wait for its link, its save and the integrator. What becomes of it later is not known.
const buyPatience = 10 * time.Second

// buy has the customer buy time at the lane, and records it unless it was refused.
func (c *client) buy(ctx context.Context, l *lane) {
	controller, id, began := c.hardware.controller(l.r.number, l.number), uuid.New(), now()
	before := controller.Shown().Session
	bought := call{kind: "buy", session: before.String(), minutes: 1 + c.random.IntN(3)}
	if before == uuid.Nil || controller.Buy(id, lanes.Item{ID: lanes.TimeItem, Qty: bought.minutes}) != nil {
		return
	}
	for wait(ctx, 5*time.Millisecond) && now()-began < buyPatience {
		shown := controller.Shown()
		if shown.Session != before {
			break
		}
		if shown.Purchase == nil || shown.Purchase.ID != id {
			continue
		}
		switch shown.Purchase.Phase {
		case lanes.Accepted:
			l.record(c, bought, reply{outcome: done}, span{began, now()})
			return
		case lanes.Declined:
			return
		case lanes.Pending, lanes.Unresolved: // the next owner may have asked the integrator, or not
		}
	}
	l.recordOpen(c, bought, reply{outcome: maybe}, began)
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

func (l *lane) record(c *client, asked call, got reply, at span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = append(l.history, porcupine.Operation{
		ClientId: c.number, Input: asked, Call: int64(at.lo), Output: got, Return: int64(at.hi),
	})
}

// forever is the end of an operation that may still happen.
const forever = 1 << 62

func (l *lane) recordOpen(c *client, asked call, got reply, began time.Duration) {
	l.record(c, asked, got, span{began, forever})
}

// wait returns false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
