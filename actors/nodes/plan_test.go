package nodes

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes/store"
)

const ttl = 5 * time.Second

var start = time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)

func newLease(name, digest string, since time.Duration) store.Lease {
	run := uuid.NewSHA1(uuid.Nil, []byte(name))
	return store.Lease{
		Node: store.Node{Run: run, Name: name, Address: name + ":1"}, Digest: digest,
		DigestSince: start.Add(since),
	}
}

// leases draws up to six nodes, with up to three digests, some draining or refusing.
func leases(t *rapid.T) []store.Lease {
	all := make([]store.Lease, rapid.IntRange(1, 6).Draw(t, "nodes"))
	for i := range all {
		all[i] = newLease(fmt.Sprint("node ", i), rapid.SampledFrom([]string{"d1", "d2", "d3"}).Draw(t, "digest"),
			time.Duration(rapid.IntRange(0, 3).Draw(t, "since"))*time.Minute)
		all[i].Draining = rapid.IntRange(0, 4).Draw(t, "draining") == 0
		if rapid.IntRange(0, 4).Draw(t, "refusing") == 0 {
			all[i].Refusing = "its clock"
		}
	}
	return all
}

func ids(t *rapid.T, label string, n int) []uuid.UUID {
	drawn := make([]uuid.UUID, n)
	for i := range drawn {
		drawn[i] = uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%s %d %d", label, rapid.Uint32().Draw(t, label), i))
	}
	return drawn
}

// drain has some of the nodes give some of the ranges away.
func drain(t *rapid.T, live []store.Lease, ranges []uuid.UUID) {
	for i := range live {
		for _, id := range ranges {
			if rapid.IntRange(0, 3).Draw(t, "drained") == 0 {
				epoch := rapid.Uint64Range(1, 3).Draw(t, "epoch of the drain")
				live[i].Drained = append(live[i].Drained, store.Drained{Range: id, Epoch: epoch})
			}
		}
	}
}

// Nodes that know the same never want the same range, and somebody wants each that nobody has.
func TestOneNodeWantsAnUnownedRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := leases(t)
		dead := newLease("dead", "d1", 0)
		var ranges []rangeView
		all := ids(t, "range", 10)
		drain(t, live, all)
		for i, id := range all {
			r := rangeView{Ownership: store.Ownership{Range: id, Epoch: uint64(i)}}
			if i%2 == 0 {
				r.Owner, r.ownerDead = dead.Node, true
			}
			ranges = append(ranges, r)
		}
		wanted := map[uuid.UUID]int{}
		for _, l := range live {
			p := decide(view{self: l.Run, ttl: ttl, leases: live, mayClaim: true, mayTakeOver: true, ranges: ranges})
			for _, c := range p.claim {
				wanted[c.Range]++
				require.Contains(t, candidates(live), l.Node)
			}
		}
		for _, r := range ranges {
			if len(candidates(live)) > 0 {
				require.Equal(t, 1, wanted[r.Range])
			} else {
				require.Zero(t, wanted[r.Range], "nobody may")
			}
		}
	})
}

// What no node may do, whatever it knows.
func TestWhatIsNeverPlanned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := leases(t)
		self := rapid.SampledFrom(live).Draw(t, "self")
		dead := newLease("dead", "d1", 0)
		v := view{
			self: self.Run, ttl: ttl, leases: live, mayClaim: rapid.Bool().Draw(t, "may claim"),
			settled: rapid.Bool().Draw(t, "settled"),
			moving:  rapid.IntRange(0, 6).Draw(t, "moving"),
		}
		v.mayTakeOver = v.mayClaim && rapid.Bool().Draw(t, "may take over")
		byID := map[uuid.UUID]rangeView{}
		all := ids(t, "range", rapid.IntRange(1, 30).Draw(t, "ranges"))
		drain(t, live, all)
		v.leases, self = live, live[slices.IndexFunc(live, func(l store.Lease) bool { return l.Run == self.Run })]
		for _, id := range all {
			r := rangeView{Ownership: store.Ownership{Range: id, Epoch: uint64(rapid.IntRange(0, 3).Draw(t, "epoch"))}}
			flag := func(label string) bool { return rapid.Bool().Draw(t, label) }
			switch rapid.IntRange(0, 3).Draw(t, "owner") {
			case 0:
				r.Owner, r.ownerDead = dead.Node, true
			case 1:
				r.Owner = self.Node
			case 2:
				r.Owner = rapid.SampledFrom(live).Draw(t, "other").Node
			}
			r.here, r.epoch = flag("here"), uint64(rapid.IntRange(1, 3).Draw(t, "epoch here"))
			r.busy, r.inUse, r.waits, r.moved = flag("busy"), flag("in use"), flag("waits"), flag("moved")
			r.unowned = time.Duration(rapid.IntRange(0, 60).Draw(t, "unowned")) * time.Second
			v.ranges, byID[id] = append(v.ranges, r), r
		}
		p := decide(v)
		for _, c := range p.claim {
			r := byID[c.Range]
			require.True(t, v.mayClaim)
			require.False(t, r.here || r.busy || r.waits)
			require.False(t, self.Draining || self.Refusing != "")
			require.True(t, r.Owner == (store.Node{}) || r.Owner == self.Node || r.ownerDead && v.mayTakeOver,
				"a live owner keeps its range")
		}
		require.LessOrEqual(t, len(p.release), max(0, maxMoves-v.moving))
		for _, id := range p.release {
			r := byID[id]
			require.True(t, r.here && !r.busy && v.mayClaim)
			wanted := slices.ContainsFunc(self.Drained, func(d store.Drained) bool { return d.Range == id })
			newest := self.Digest == newestDigest(live)
			require.True(t, self.Draining || wanted || v.settled && newest && !r.inUse && !r.moved)
			others := slices.DeleteFunc(candidates(live), func(n store.Node) bool { return n.Run == self.Run })
			require.NotEmpty(t, others, "nobody would take it")
		}
		for _, id := range p.letGo {
			require.Greater(t, byID[id].Epoch, byID[id].epoch)
		}
	})
}

// However the ranges are spread at first, and however many nodes come, each range ends at its best node, and
// none is moved again. A node with another configuration than the newest keeps what it runs until it is reloaded too,
// unless it gives it away.
func TestRangesComeToRestAtTheirBestNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := leases(t)
		all := ids(t, "range", 20)
		drain(t, live, all)
		owners, kept := map[uuid.UUID]store.Node{}, map[uuid.UUID]bool{}
		for _, id := range all {
			if i := rapid.IntRange(-1, len(live)-1).Draw(t, "owner"); i >= 0 {
				owners[id] = live[i].Node
				_, wanted := drainsOf(live)[id][live[i].Run]
				kept[id] = live[i].Digest != newestDigest(live) && !live[i].Draining && !wanted
			}
		}
		before := maps.Clone(owners)
		rest(t, live, all, owners)
		for _, id := range all {
			if wanted := candidates(live); kept[id] || len(wanted) == 0 {
				require.Equal(t, before[id], owners[id])
			} else {
				require.Equal(t, best(wanted, drainsOf(live), id), owners[id])
			}
		}

		for i := range live { // every node is reloaded
			live[i].Digest, live[i].DigestSince = "d4", start.Add(time.Hour)
		}
		rest(t, live, all, owners)
		for _, id := range all {
			if wanted := candidates(live); len(wanted) > 0 {
				require.Equal(t, best(wanted, drainsOf(live), id), owners[id])
			}
		}
	})
}

// rest has the nodes move the ranges between them until none is moved any more.
func rest(t *rapid.T, live []store.Lease, all []uuid.UUID, owners map[uuid.UUID]store.Node) {
	for round := 0; ; round++ {
		require.Less(t, round, 50, "they never come to rest")
		changed := false
		for _, l := range live {
			v := view{self: l.Run, ttl: ttl, leases: live, mayClaim: true, settled: true}
			for _, id := range all {
				v.ranges = append(v.ranges, rangeView{Ownership: store.Ownership{
					Range: id, Epoch: 1,
					Owner: owners[id],
				}, here: owners[id] == l.Node, epoch: 1})
			}
			p := decide(v)
			for _, c := range p.claim {
				owners[c.Range], changed = l.Node, true
			}
			for _, id := range p.release {
				owners[id], changed = store.Node{}, true
			}
		}
		if !changed {
			return
		}
	}
}

// A node with another configuration may have no lane for a session that runs here: it gets nothing for balance. What
// is drained goes to it all the same.
func TestForBalanceARangeGoesOnlyToANodeWithTheSameConfiguration(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(self *store.Lease, id uuid.UUID)
		leaves bool
	}{
		"the same":            {func(self *store.Lease, _ uuid.UUID) { self.Digest = "d2" }, true},
		"older":               {func(*store.Lease, uuid.UUID) {}, false},
		"older, and refusing": {func(self *store.Lease, _ uuid.UUID) { self.Refusing = "its clock" }, false},
		"newest, and refusing": {func(self *store.Lease, _ uuid.UUID) {
			self.Digest, self.DigestSince, self.Refusing = "d3", start.Add(2*time.Hour), "its clock"
		}, false},
		"older, and draining": {func(self *store.Lease, _ uuid.UUID) { self.Draining = true }, true},
		"older, and the range is drained": {func(self *store.Lease, id uuid.UUID) {
			self.Drained = []store.Drained{{Range: id, Epoch: 1}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			reloaded, self := newLease("reloaded", "d2", time.Hour), newLease("self", "d1", 0)
			id := uuid.New()
			for best([]store.Node{reloaded.Node, self.Node}, nil, id) != reloaded.Node {
				id = uuid.New()
			}
			tt.change(&self, id)
			p := decide(view{
				self: self.Run, ttl: ttl, leases: []store.Lease{reloaded, self}, mayClaim: true, settled: true,
				ranges: []rangeView{{
					Ownership: store.Ownership{Range: id, Epoch: 1, Owner: self.Node}, here: true, epoch: 1,
				}},
			})
			require.Equal(t, tt.leaves, len(p.release) > 0)
		})
	}
}

func TestANodeThatGoesMovesNoRangeBetweenOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []store.Node
		for i := range rapid.IntRange(2, 8).Draw(t, "nodes") {
			all = append(all, newLease(fmt.Sprint("node ", i), "d", 0).Node)
		}
		gone := rapid.IntRange(0, len(all)-1).Draw(t, "gone")
		left := slices.Delete(slices.Clone(all), gone, gone+1)
		for _, id := range ids(t, "range", 50) {
			if before := best(all, nil, id); before != all[gone] {
				require.Equal(t, before, best(left, nil, id))
			} else {
				require.Equal(t, ranked(all, nil, id)[1], best(left, nil, id))
			}
		}
	})
}

func TestRangesSpreadEvenly(t *testing.T) {
	three := []store.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	count := map[string]int{}
	for i := range 3000 {
		count[best(three, nil, uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i))).Name]++
	}
	for _, n := range count {
		require.InDelta(t, 1000, n, 150)
	}
}

// Of a rolling change the newest configuration counts, and a node that starts with an old file does not make
// that one newer.
func TestTheNewestConfigurationIsServed(t *testing.T) {
	old, reloaded, restarted := newLease("old", "d1", 0), newLease("reloaded", "d2", time.Hour),
		newLease("restarted", "d1", 2*time.Hour)
	require.Equal(t, []store.Node{reloaded.Node}, candidates([]store.Lease{old, reloaded, restarted}))
	reloaded.Draining = true
	require.Equal(t, []store.Node{old.Node, restarted.Node}, candidates([]store.Lease{old, reloaded, restarted}),
		"who drains decides nothing")
}

// A range that its best node does not take, for whatever reason, is served all the same.
func TestTheNextNodeTakesWhatTheBestOneLeaves(t *testing.T) {
	live := []store.Lease{newLease("a", "d", 0), newLease("b", "d", 0), newLease("c", "d", 0)}
	id := uuid.New()
	order := ranked(candidates(live), nil, id)
	for rank, self := range order {
		wants := func(unowned time.Duration) bool {
			v := view{
				self: self.Run, ttl: ttl, leases: live, mayClaim: true,
				ranges: []rangeView{{Ownership: store.Ownership{Range: id}, unowned: unowned}},
			}
			return len(decide(v).claim) == 1
		}
		due := time.Duration(rank) * nextRankTTL * ttl
		require.True(t, wants(due))
		require.True(t, rank == 0 || !wants(due-1))
	}
}

func TestADrainLeavesWhatIsInUseForLast(t *testing.T) {
	draining, other := newLease("a", "d", 0), newLease("b", "d", 0)
	draining.Draining = true
	v := view{self: draining.Run, ttl: ttl, leases: []store.Lease{draining, other}, mayClaim: true}
	for i := range 3 {
		v.ranges = append(v.ranges, rangeView{Ownership: store.Ownership{
			Range: uuid.UUID{byte(i + 1)}, Epoch: 1,
			Owner: draining.Node,
		}, here: true, epoch: 1, inUse: i == 0})
	}
	require.Equal(t, []uuid.UUID{{2}, {3}}, decide(v).release)
	v.ranges = v.ranges[:1]
	require.Equal(t, []uuid.UUID{{1}}, decide(v).release)
	v.leases = v.leases[:1]
	require.Empty(t, decide(v).release, "there is nobody to take it")
}

// A range that an operator drains goes to the next node at once, whether anything is settled or it is in use, and no
// node gives it back. Two nodes that have given it away do so in turn; the only node that is left keeps it.
func TestADrainedRangeGoesToTheNextNode(t *testing.T) {
	live := []store.Lease{newLease("a", "d", 0), newLease("b", "d", 0), newLease("c", "d", 0)}
	id := uuid.New()
	order := ranked(candidates(live), nil, id)
	lease := func(of store.Node) *store.Lease {
		return &live[slices.IndexFunc(live, func(l store.Lease) bool { return l.Run == of.Run })]
	}
	owned := func(by store.Node, epoch uint64) view {
		return view{
			self: by.Run, ttl: ttl, leases: live, mayClaim: true, settled: true, ranges: []rangeView{{
				Ownership: store.Ownership{Range: id, Epoch: epoch, Owner: by},
				here:      true, epoch: epoch,
			}},
		}
	}
	claims := func(by store.Node) bool {
		v := owned(by, 0)
		v.ranges[0] = rangeView{Ownership: store.Ownership{Range: id}}
		return len(decide(v).claim) == 1
	}
	require.Empty(t, decide(owned(order[0], 1)).release)

	lease(order[0]).Drained = []store.Drained{{Range: id, Epoch: 1}}
	v := owned(order[0], 1)
	v.settled, v.ranges[0].inUse, v.ranges[0].moved = false, true, true
	require.Equal(t, []uuid.UUID{id}, decide(v).release)
	require.False(t, claims(order[0]))
	require.True(t, claims(order[1]))
	require.False(t, claims(order[2]))
	require.Empty(t, decide(owned(order[1], 2)).release, "it stays where it went")

	lease(order[1]).Drained = []store.Drained{{Range: id, Epoch: 2}}
	require.Equal(t, []uuid.UUID{id}, decide(owned(order[1], 2)).release)
	require.True(t, claims(order[2]))
	lease(order[2]).Drained = []store.Drained{{Range: id, Epoch: 3}}
	require.True(t, claims(order[0]), "all have given it away, and this one did so first")
	require.Equal(t, []uuid.UUID{id}, decide(owned(order[2], 3)).release)

	live = []store.Lease{*lease(order[2])}
	require.Empty(t, decide(owned(order[2], 3)).release, "there is no other node")
	require.True(t, claims(order[2]))
}
