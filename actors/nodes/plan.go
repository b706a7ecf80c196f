package nodes

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// maxMoves is how many ranges a node has between itself and others at a time: each is without a service for a moment.
const maxMoves = 4

// Durations as multiples of the TTL.
const (
	settleTTLs  = 3 // the nodes and their digests are the same for that long before ranges are moved for balance
	nextRankTTL = 2 // a range that its best node does not take is the next one's after that long, and so on
)

// view is what a node knows of all nodes and ranges at one moment.
type view struct {
	self   uuid.UUID
	ttl    time.Duration
	leases []store.Lease // of live nodes, this one's included
	server string        // that has said so: it alone may carry out what is decided
	// mayClaim: this node holds its lease, and has seen the others. Where it lost the lease before, mayTakeOver too.
	mayClaim bool
	// mayTakeOver: it has renewed its lease for a full TTL without a gap. After an outage of the store this
	// gives every owner that is alive the time to renew.
	mayTakeOver bool
	settled     bool // the nodes have been the same, and this one has renewed its lease without a gap, for settleTTLs
	moving      int  // ranges on their way from here to other nodes
	ranges      []rangeView
}

// rangeView is one range as a node knows it.
type rangeView struct {
	store.Ownership
	ownerDead bool          // its owner has no lease any more
	unowned   time.Duration // for how long no live node has owned it, as far as it was seen here
	here      bool          // it runs here
	epoch     uint64        // in which it runs here
	busy      bool          // it starts or stops here
	inUse     bool          // it is under a hold, or a purchase is under way
	waits     bool          // this node failed to take it, and tries again later
	moved     bool          // this node gave it away lately and got it back
}

// The reasons of a claim.
const (
	unowned  = "unowned"   // nobody owned the range
	takeOver = "take_over" // its owner's lease has ended
	again    = "again"     // this run owns it and does not run it
)

// plan is what a node does next.
type plan struct {
	claim []claim
	letGo []uuid.UUID // another node has claimed it
	// it runs here, and the store names nobody, or an owner of before: a fail-over has lost who owns it
	name    []uuid.UUID
	disown  []uuid.UUID // this run owns it, and cannot run it
	release []uuid.UUID // it runs here, and another node is to run it
}

type claim struct {
	store.Ownership
	reason string
}

// decide says what the node does next. A pure function: nodes that know the same decide so that no two want
// the same range.
func decide(v view) plan {
	candidates := candidates(v.leases)
	self := slices.IndexFunc(v.leases, func(l store.Lease) bool { return l.Run == v.self })
	draining := self >= 0 && v.leases[self].Draining
	// A node with another configuration may have no lane for a session that runs here, and could not load its range.
	sameDigest := self >= 0 && v.leases[self].Digest == newestDigest(v.leases)
	taking := slices.ContainsFunc(candidates, func(n store.Node) bool { return n.Run == v.self })
	drained := drainsOf(v.leases)
	var p plan
	var leaving, leavingInUse, drainedInUse []uuid.UUID
	for _, r := range v.ranges {
		mine := r.Owner.Run == v.self
		switch {
		case r.busy:
		case r.here && r.Epoch > r.epoch:
			p.letGo = append(p.letGo, r.Range)
		case r.here && r.Epoch == r.epoch && !mine: // only this node releases it
			p.name = append(p.name, r.Range)
		case r.here:
			if !mine || len(candidates) == 0 || best(candidates, drained, r.Range).Run == v.self && !draining {
				continue
			}
			_, wanted := drained[r.Range][v.self] // an operator wants it elsewhere
			switch {
			case !draining && !wanted && (!v.settled || !sameDigest || r.moved):
			case r.inUse && wanted:
				drainedInUse = append(drainedInUse, r.Range)
			case r.inUse:
				leavingInUse = append(leavingInUse, r.Range)
			default:
				leaving = append(leaving, r.Range)
			}
		case mine && (draining || r.waits):
			p.disown = append(p.disown, r.Range)
		case !v.mayClaim || !taking || r.waits:
		case mine:
			p.claim = append(p.claim, claim{r.Ownership, again})
		case r.Owner == (store.Node{}) && turn(v, candidates, drained, r):
			p.claim = append(p.claim, claim{r.Ownership, unowned})
		case r.ownerDead && v.mayTakeOver && turn(v, candidates, drained, r):
			p.claim = append(p.claim, claim{r.Ownership, takeOver})
		}
	}
	leaving = append(leaving, drainedInUse...)
	if draining && len(leaving) == 0 { // what is in use goes last, and for balance alone never
		leaving = leavingInUse
	}
	if v.mayClaim { // while the lease is held: otherwise it is not known who is there to take them
		p.release = leaving[:min(len(leaving), max(0, maxMoves-v.moving))]
	}
	return p
}

// turn reports whether it is this node's turn to claim a range that nobody has.
func turn(v view, candidates []store.Node, drained drains, r rangeView) bool {
	rank := slices.IndexFunc(ranked(candidates, drained, r.Range), func(n store.Node) bool { return n.Run == v.self })
	return r.unowned >= time.Duration(rank)*nextRankTTL*v.ttl
}

// candidates are the nodes that may own ranges: alive, not draining, not refusing, with the newest digest
// among those.
func candidates(leases []store.Lease) []store.Node {
	newest := newestDigest(leases)
	var nodes []store.Node
	for _, l := range leases {
		if takes(l) && l.Digest == newest {
			nodes = append(nodes, l.Node)
		}
	}
	return nodes
}

// newestDigest is that of the candidates, and empty if there is none. A digest is as old as the first node that takes
// ranges and has it: one that starts with an old configuration does not make it new.
func newestDigest(leases []store.Lease) string {
	since := map[string]time.Time{}
	for _, l := range leases {
		if first, found := since[l.Digest]; takes(l) && (!found || l.DigestSince.Before(first)) {
			since[l.Digest] = l.DigestSince
		}
	}
	newest := ""
	for digest, at := range since {
		if newest == "" || cmp.Or(at.Compare(since[newest]), cmp.Compare(digest, newest)) > 0 {
			newest = digest
		}
	}
	return newest
}

func takes(l store.Lease) bool { return !l.Draining && l.Refusing == "" }

// drains has the epochs in which nodes have given ranges away, by range and run.
type drains map[uuid.UUID]map[uuid.UUID]uint64

// drainsOf returns what the nodes say of themselves.
func drainsOf(leases []store.Lease) drains {
	all := drains{}
	for _, l := range leases {
		for _, d := range l.Drained {
			if all[d.Range] == nil {
				all[d.Range] = map[uuid.UUID]uint64{}
			}
			all[d.Range][l.Run] = d.Epoch
		}
	}
	return all
}

// best is the node that is to own the range: rendezvous hashing, so that a node that comes or goes moves no
// range between others. A node that is started again, under its name, is the best one for the same ranges. A node that
// has given the range away comes behind all that have not, and the last one that has comes last: it owns the range only
// where there is no other.
func best(candidates []store.Node, drained drains, rangeID uuid.UUID) store.Node {
	return slices.MaxFunc(candidates, func(a, b store.Node) int { return drained.compare(a, b, rangeID) })
}

// ranked are the nodes, the best one for the range first.
func ranked(candidates []store.Node, drained drains, rangeID uuid.UUID) []store.Node {
	return slices.SortedFunc(slices.Values(candidates), func(a, b store.Node) int {
		return drained.compare(b, a, rangeID)
	})
}

func (d drains) compare(a, b store.Node, rangeID uuid.UUID) int {
	epochs := d[rangeID]
	return cmp.Or(cmp.Compare(epochs[b.Run], epochs[a.Run]), compareWeights(a, b, rangeID))
}

func compareWeights(a, b store.Node, rangeID uuid.UUID) int {
	return cmp.Or(cmp.Compare(weight(a.Name, rangeID), weight(b.Name, rangeID)), bytes.Compare(a.Run[:], b.Run[:]))
}

func weight(name string, rangeID uuid.UUID) uint64 {
	sum := sha256.Sum256(append(rangeID[:], name...))
	return binary.BigEndian.Uint64(sum[:])
}
