package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/test/support"
)

// lane is a lane with everything that its clients have asked of it; the long one together with the spare one,
// for its session moves.
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
		http: &http.Client{Timeout: attemptTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}},
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

// answer is what a client was answered. It is outdated if its owner is not the newest one that was known
// before the request began: since then the range has had another owner, and what this one shows may be of
// before.
type answer struct {
	support.Answer
	epoch    uint64 // of the owner that has answered; 0 if none has
	outdated bool
}

// ask makes a request about the range through that node.
func (c *client) ask(n *node, r *rangeFixture, method, path, body string, headers ...string) (got answer, err error) {
	newest := r.newest.Load()
	at := support.Client{API: n.current().API + support.V2, Range: r.id(), Token: r.token(), HTTP: c.http}
	if got.Answer, err = at.Do(method, path, body, headers...); err != nil {
		return got, err
	}
	if text := got.Header.Get("range-epoch"); text != "" {
		if got.epoch, err = strconv.ParseUint(text, 10, 64); err != nil {
			c.fault("%s %s of range %d: the header range-epoch is no number: %q", method, path, r.number, text)
		}
	}
	if got.epoch == 0 && got.Status/100 == 2 {
		c.fault("%s %s of range %d: %d, without the header range-epoch", method, path, r.number, got.Status)
	}
	r.see(got.epoch)
	got.outdated = got.epoch < newest
	return got, nil
}

// command makes a request until its outcome is definite, with the same key at one node after the other, and
// records it. It gives up when ctx ends. Its reply is that of the last attempt.
func (c *client) command(ctx context.Context, l *lane, asked call) reply {
	c.keys++
	key := fmt.Sprintf("key-%d-%d-%d", c.seed, c.number, c.keys)
	began, uncertain := now(), attempts{}
	for {
		sent := now()
		answered, err := c.send(l, asked, key)
		got := interpret(answered.Answer, err)
		switch {
		case got.outcome == maybe && got.code == "not_sent":
		case got.outcome == inForce, got.outcome == maybe:
			uncertain.add(answered.epoch, sent)
		case got.outcome == done:
			if asked.kind == "create" {
				l.setNewest(got.state.session)
			}
			if answered.outdated && answered.Header.Get("idempotency-replayed") == "" {
				c.fault("range %d lane %d: %+v was acknowledged in epoch %d, after a newer one was known", l.r.number, l.number, asked, answered.epoch)
			}
			uncertain.record(c, l, asked, now())
			l.record(c, asked, got, span{began, now()})
			return got
		case got.outcome == refused && transient[got.code]:
		default:
			if answered.outdated {
				c.fault("range %d lane %d: %+v was refused in epoch %d, after a newer one was known: %+v", l.r.number, l.number, asked, answered.epoch, got)
			}
			if len(uncertain) == 0 {
				l.record(c, asked, got, span{sent, now()})
				return got
			}
			got.outcome = maybe // an earlier attempt may have happened, or be under way
			uncertain.record(c, l, asked, forever)
			l.recordOpen(c, asked, got, began)
			return got
		}
		if !wait(ctx, 20*time.Millisecond+time.Duration(c.random.Int64N(int64(80*time.Millisecond)))) {
			if len(uncertain) > 0 {
				got.outcome = maybe
				uncertain.record(c, l, asked, forever)
				l.recordOpen(c, asked, got, began)
			}
			return got
		}
	}
}

// attempts are those of a request whose answer was lost, or which was in force and not saved when it was
// answered: the first one for each epoch that was answered, 0 where no owner has.
type attempts map[uint64]time.Duration

func (a attempts) add(epoch uint64, sent time.Duration) {
	if _, found := a[epoch]; !found {
		a[epoch] = sent
	}
}

// record records that each of them may have been in force on the lane for a while, until end at the latest,
// and may have been lost with its owner. What closes nothing is in force once it is saved, and not before.
func (a attempts) record(c *client, l *lane, asked call, end time.Duration) {
	if asked.kind != "pause" && asked.kind != "stop" {
		return
	}
	for _, sent := range a {
		l.record(c, asked, reply{outcome: inForce}, span{sent, end})
	}
}

// transient are the refusals that end by themselves. Nothing was changed, and the request is made again.
var transient = map[string]bool{"store_unavailable": true, "starting": true, "overloaded": true, "not_owner": true, "lane_not_usable": true}

func (c *client) send(l *lane, asked call, key string) (answer, error) {
	n := c.choose()
	if n == nil {
		return answer{}, errNoNode
	}
	switch asked.kind {
	case "create":
		return c.ask(n, l.r, http.MethodPost, "/sessions", fmt.Sprintf(
			`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":%d,"enable_purchasing":true}`, l.id(), l.r.groupID(), asked.minutes),
			"Idempotency-Key", key)
	case "modify":
		return c.ask(n, l.r, http.MethodPost, fmt.Sprintf("/sessions/%s/modify?time=%d", asked.session, asked.minutes), "", "Idempotency-Key", key)
	}
	path := "/sessions/" + asked.session + "/" + asked.kind
	if asked.kind == "move" {
		path += "?lane_id=" + l.r.laneID(asked.lane)
	}
	return c.ask(n, l.r, http.MethodPost, path, "", "Idempotency-Key", key)
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
		l.record(c, call{kind: "read"}, reply{outcome: done, state: seen}, span{sent, now()})
	}
}

// look reads the lane through that node.
func (c *client) look(n *node, l *lane) (seen state, outdated, ok bool) {
	if c.random.IntN(2) == 0 {
		var sessions []support.Session
		outdated, ok = c.list(n, l.r, "/sessions", &sessions)
		for _, s := range sessions {
			if place, found := l.place(s.Lane); found {
				return state{session: s.ID, minutes: s.Minutes, lane: place}, outdated, ok
			}
		}
		return state{}, outdated, ok
	}
	var statuses []support.LaneStatus
	outdated, ok = c.list(n, l.r, "/lanes/status", &statuses)
	for _, s := range statuses {
		if place, found := l.place(s.Lane); found && s.Session != nil {
			return state{session: *s.Session, phase: s.Phase, lane: place}, outdated, ok
		}
	}
	return state{}, outdated, ok
}

// list reads a list. ok is false if there was no answer that has it.
func (c *client) list(n *node, r *rangeFixture, path string, into any) (outdated, ok bool) {
	answered, err := c.ask(n, r, http.MethodGet, path, "")
	ok = err == nil && answered.Status == http.StatusOK && json.Unmarshal([]byte(answered.Body), into) == nil
	return answered.outdated, ok
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

// buyPatience is longer than a purchase may wait for its link, its save and the integrator. What becomes of
// it later is not known.
const buyPatience = 10 * time.Second

// buy has the customer buy time at the lane, and records it unless it was refused.
func (c *client) buy(ctx context.Context, l *lane) {
	controller, id, began := c.hardware.controller(l.r.number, l.number), uuid.New(), now()
	before := controller.Shown().Session
	bought := call{kind: "buy", session: before.String(), minutes: 1 + c.random.IntN(3)}
	if before == uuid.Nil || controller.Buy(id, lanes.Item{ID: lanes.TimeItem, Qty: bought.minutes}) != nil {
		return
	}
	if after := controller.Shown().Session; after != before { // whichever of them was on the lane when it was bought
		l.recordOpen(c, bought, reply{outcome: maybe}, began)
		if after != uuid.Nil {
			bought.session = after.String()
			l.recordOpen(c, bought, reply{outcome: maybe}, began)
		}
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
			l.r.see(c.hardware.epoch(l.r.number, l.number)) // no later read by an owner before that one has it
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
