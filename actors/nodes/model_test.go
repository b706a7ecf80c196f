package nodes

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/test/ownership"
)

// What a node decides in random traces of the model (test/ownership) is what decide says, and what the model knows of
// its lease is what lease.go knows.
func TestANodeDecidesWhatTheModelSays(t *testing.T) {
	seeds := 60
	if os.Getenv("ROUNDS") != "" { // make soak
		seeds = 1000
	}
	decisions := map[int]int{}
	for seed := 1; seed <= seeds; seed++ {
		m := newModelNodes(t, seed)
		for _, step := range ownership.Trace(t, seed, ownership.WithLeases(seed)) {
			m.do(step, decisions)
		}
	}
	t.Logf("decisions by kind: %v", decisions)
}

// modelActions are what a node does next, in the model's numbers.
var modelActions = []string{
	"nothing", "let go", "name", "release", "disown", "claim again",
	"claim unowned", "take over",
}

// modelNodes are the nodes of a trace: their leases, and the clock of each.
type modelNodes struct {
	t       *testing.T
	seed    int
	rangeID uuid.UUID
	leases  [3]lease
	clocks  [3]time.Time
	life    [3]int
	trace   []string
}

func newModelNodes(t *testing.T, seed int) *modelNodes {
	m := &modelNodes{t: t, seed: seed, rangeID: uuid.New()}
	for i := range m.clocks {
		m.clocks[i] = start
	}
	// Node 0 has held its lease for long.
	m.leases[0].renewed(start.Add(-ttl), start.Add(-ttl), m.lease(1, false),
		store.Leases{Live: []store.Lease{m.lease(1, false)}, Server: "0"})
	m.leases[0].renewed(start, start, m.lease(1, false), store.Leases{
		Live: []store.Lease{m.lease(1, false)}, Server: "0",
		Continued: true,
	})
	return m
}

func (m *modelNodes) run(node int) int { return node + 1 + len(m.life)*m.life[node] }

// owner is the node with that number of its run; 0 is nobody.
func (m *modelNodes) owner(run int) store.Node {
	if run == 0 {
		return store.Node{}
	}
	return m.lease(run, false).Node
}

func (m *modelNodes) lease(run int, draining bool) store.Lease {
	l := newLease(fmt.Sprint("run ", run), "d", 0)
	l.Draining = draining
	return l
}

func (m *modelNodes) do(s ownership.Step, decisions map[int]int) {
	m.trace = append(m.trace, s.Line)
	n := s.Numbers
	switch s.Kind {
	case "renew": // node = server, leases, draining, continued, gap
		node, self := n[0], m.run(n[0])
		answer := store.Leases{Continued: n[4] == 1, Server: fmt.Sprint(n[1]), ServerIsNew: n[1] > 0}
		for run := 1; run <= 6; run++ {
			if n[2]&(1<<(run-1)) != 0 {
				answer.Live = append(answer.Live, m.lease(run, n[3]&(1<<(run-1)) != 0))
			}
		}
		l := &m.leases[node]
		l.renewed(m.clocks[node], m.clocks[node], m.lease(self, n[3]&(1<<(self-1)) != 0), answer)
		m.same(n[5] == 1, l.lost, "there was a gap")
	case "ttl": // node: for a TTL its renewals have been continued
		l := &m.leases[n[0]]
		m.clocks[n[0]] = m.clocks[n[0]].Add(ttl)
		now := m.clocks[n[0]]
		l.renewed(now, now, store.Lease{}, store.Leases{Live: l.all, Server: l.server, Continued: true})
	case "renewal_fails":
		m.leases[n[0]].failed()
	case "ended": // the node, if it lives, knows by its clock that it was slow
		for node := range m.leases {
			if m.run(node) == n[0] {
				m.clocks[node] = m.clocks[node].Add(ttl)
			}
		}
	case "crash":
		m.leases[n[0]] = lease{}
	case "start":
		m.life[n[0]]++
	case "decides":
		decisions[n[2]]++
		m.decides(n)
	}
}

// decides compares what the node knows and does. The numbers: node, range = action, record: epoch, owner, dead,
// here: epoch, busy, lease: draining, failed, others, may claim, may take over, gives it away.
func (m *modelNodes) decides(n []int) {
	node, self := n[0], m.run(n[0])
	l, now := &m.leases[node], m.clocks[node].Add(ttl/renewals)
	v := view{
		self: m.owner(self).Run, ttl: ttl, leases: l.all, mayClaim: l.mayClaim(now, ttl),
		mayTakeOver: l.mayTakeOver(now, ttl),
	}
	m.same(n[11] == 1, v.mayClaim, "it may claim")
	m.same(n[12] == 1, v.mayTakeOver, "it may take over")
	others := false
	for _, candidate := range candidates(l.all) {
		others = others || candidate.Run != v.self
	}
	m.same(n[10] == 1, others, "another node takes ranges")
	r := rangeView{
		Ownership: store.Ownership{Range: m.rangeID, Epoch: uint64(n[3]), Owner: m.owner(n[4])}, ownerDead: n[5] == 1,
		here: n[6] > 0, epoch: uint64(n[6]), busy: n[7] == 1, waits: n[9] == 1,
		unowned: time.Hour, // the turn of each node has come: the model leaves the choice open
	}
	if n[3] > 0 || r.here { // else the keeper has not read the record yet
		v.ranges = []rangeView{r}
	}
	if n[13] == 1 {
		m.drain(&v)
	}
	p := decide(v)
	decided := 0
	switch {
	case len(p.letGo) > 0:
		decided = 1
	case len(p.name) > 0:
		decided = 2
	case len(p.release) > 0:
		decided = 3
	case len(p.disown) > 0:
		decided = 4
	case len(p.claim) > 0:
		decided = map[string]int{again: 5, unowned: 6, takeOver: 7}[p.claim[0].reason]
	}
	m.same(modelActions[n[2]], modelActions[decided], "what it does next")
}

// drain has the node's own lease say that it has given the range away.
func (m *modelNodes) drain(v *view) {
	v.leases = slices.Clone(v.leases)
	for i := range v.leases {
		if v.leases[i].Run == v.self {
			v.leases[i].Drained = []store.Drained{{Range: m.rangeID, Epoch: 1}}
		}
	}
}

// same prints both sides where model and code differ.
func (m *modelNodes) same(model, code any, what string) {
	m.t.Helper()
	if model != code {
		last := m.trace[max(0, len(m.trace)-40):]
		for _, line := range last {
			m.t.Log(line)
		}
		require.Fail(m.t, "model and code differ", "seed %d, %s\nmodel: %v\ncode: %v", m.seed, what, model, code)
	}
}
