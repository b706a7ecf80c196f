package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

func nodesOf(t *testing.T, s *redis.Store) *redis.Nodes {
	t.Helper()
	n := s.Nodes()
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

func newNode(name string) store.Node {
	return store.Node{Run: uuid.New(), Name: name, Address: name + ":7443"}
}

// claimFor claims a range for the node and requires that it is claimed.
func claimFor(t *testing.T, n *redis.Nodes, by store.Node, expected store.Ownership) store.Ownership {
	t.Helper()
	outcome := n.Claim(t.Context(), store.Claimant{Node: by, Now: opening}, []store.Ownership{expected})[0]
	require.NoError(t, outcome.Err)
	require.False(t, outcome.Taken, "%+v", outcome)
	return outcome.Ownership
}

func TestALeaseIsSeenByAllAndEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	one, two := nodesOf(t, open(t, server.URL())), nodesOf(t, open(t, server.URL()))
	a := store.Lease{Node: newNode("a"), Version: "1.0", Digest: "d1", Draining: true, Refusing: "its clock"}
	a.Drained = []store.Drained{{Range: uuid.New(), Epoch: 7}}
	b := store.Lease{Node: newNode("b"), Version: "1.1", Digest: "d2"}
	first, err := one.Renew(t.Context(), a, time.Minute)
	require.NoError(t, err)
	require.False(t, first.Continued)
	both, err := two.Renew(t.Context(), b, time.Minute)
	require.NoError(t, err)
	require.Len(t, both.Live, 2)
	for i := range both.Live {
		require.False(t, both.Live[i].DigestSince.IsZero())
	}
	a.DigestSince, b.DigestSince = first.Live[0].DigestSince, both.Live[1].DigestSince
	require.ElementsMatch(t, []store.Lease{a, b}, both.Live)

	again, err := two.Renew(t.Context(), b, 300*time.Millisecond)
	require.NoError(t, err)
	require.True(t, again.Continued)

	require.Eventually(t, func() bool {
		live, err := one.Live(t.Context())
		require.NoError(t, err)
		return len(live) == 1
	}, patience, tick, "a lease that is not renewed ends")
	back, err := two.Renew(t.Context(), b, time.Minute)
	require.NoError(t, err)
	require.False(t, back.Continued, "the others have counted it as dead")
	require.ElementsMatch(t, []store.Lease{a, b}, back.Live, "since when it has its digest, it says itself")

	require.NoError(t, two.End(t.Context(), a.Run))
	live, err := two.Live(t.Context())
	require.NoError(t, err)
	require.Equal(t, []store.Lease{b}, live)
}

func TestADigestIsAsOldAsItsFirstLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	n := nodesOf(t, open(t, server.URL()))
	a := store.Lease{Node: newNode("a"), Digest: "d1"}
	since := func() time.Time {
		leases, err := n.Renew(t.Context(), a, time.Minute)
		require.NoError(t, err)
		return leases.Live[0].DigestSince
	}
	first := since()
	time.Sleep(5 * time.Millisecond)
	require.Equal(t, first, since())
	a.Digest = "d2"
	second := since()
	require.True(t, second.After(first))
	require.Equal(t, second, since())
}

func TestARangeIsClaimedAsItWasRead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL())
	n := nodesOf(t, s)
	a, b := newNode("a"), newNode("b")
	never := store.Ownership{Range: uuid.New()}
	owners, err := n.Owners(t.Context(), []uuid.UUID{never.Range})
	require.NoError(t, err)
	require.Equal(t, []store.Ownership{never}, owners)

	byA := claimFor(t, n, a, never)
	require.Equal(t, uint64(opening.UnixMilli()), byA.Epoch)
	require.Equal(t, a, byA.Owner)
	late := n.Claim(t.Context(), store.Claimant{Node: b, Now: opening}, []store.Ownership{never})[0]
	require.NoError(t, late.Err)
	require.True(t, late.Taken)
	require.Equal(t, byA, late.Ownership, "it learns who was faster")

	byB := claimFor(t, n, b, byA)
	require.Greater(t, byB.Epoch, byA.Epoch)
	owners, err = n.Owners(t.Context(), []uuid.UUID{byB.Range, never.Range})
	require.NoError(t, err)
	require.Equal(t, []store.Ownership{byB, byB}, owners)
	require.ErrorIs(t, s.Flush(t.Context(), store.Batch{Range: byA.Range, Epoch: byA.Epoch, N: 1}), store.ErrFenced)
	require.NoError(t, s.Flush(t.Context(), store.Batch{Range: byB.Range, Epoch: byB.Epoch, N: 1}))

	current, changed, err := n.SetOwner(t.Context(), byA, store.Node{})
	require.NoError(t, err)
	require.False(t, changed, "who was fenced releases nothing")
	require.Equal(t, byB, current)
	released, changed, err := n.SetOwner(t.Context(), byB, store.Node{})
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, store.Ownership{Range: byB.Range, Epoch: byB.Epoch}, released)
	claimFor(t, n, a, released)

	_, err = s.Claim(t.Context(), byB.Range, opening)
	require.NoError(t, err)
	owners, err = n.Owners(t.Context(), []uuid.UUID{byB.Range})
	require.NoError(t, err)
	require.Equal(t, store.Node{}, owners[0].Owner, "a process that is the only one is no node")
}

// The last flush of an owner releases the range, where it is applied and nowhere else.
func TestTheLastFlushOfAnOwnerReleasesItsRange(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL())
	n := nodesOf(t, s)
	a, b := newNode("a"), newNode("b")
	held := claimFor(t, n, a, store.Ownership{Range: uuid.New()})
	owner := func() store.Node {
		owners, err := n.Owners(t.Context(), []uuid.UUID{held.Range})
		require.NoError(t, err)
		require.Equal(t, held.Epoch, owners[0].Epoch)
		return owners[0].Owner
	}
	last := store.Batch{Range: held.Range, Epoch: held.Epoch, N: 2, Release: true}
	require.ErrorIs(t, s.Flush(t.Context(), last), store.ErrRolledBack)
	require.Equal(t, a, owner(), "the server lacks something")
	require.NoError(t, s.Flush(t.Context(), store.Batch{Range: held.Range, Epoch: held.Epoch, N: 1}))
	require.NoError(t, s.Flush(t.Context(), last))
	require.Equal(t, store.Node{}, owner())

	before := held
	held = claimFor(t, n, b, store.Ownership{Range: held.Range, Epoch: held.Epoch})
	require.ErrorIs(t, s.Flush(t.Context(), store.Batch{
		Range: before.Range, Epoch: before.Epoch, N: 3, Release: true, Refill: true,
	}), store.ErrFenced)
	require.Equal(t, b, owner())
}

// Of a range that lost its records an owner is gone too: the one that refills it names itself again, and
// nobody else has come first.
func TestAnOwnerThatTheServerHasLostNamesItselfAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL())
	n := nodesOf(t, s)
	a := newNode("a")
	held := claimFor(t, n, a, store.Ownership{Range: uuid.New()})
	require.NoError(t, client(t, server.URL()).FlushAll(t.Context()).Err())
	none := store.Ownership{Range: held.Range, Epoch: held.Epoch}
	_, changed, err := n.SetOwner(t.Context(), none, a)
	require.NoError(t, err)
	require.False(t, changed, "it has not refilled it yet")
	require.NoError(t, s.Flush(t.Context(), store.Batch{Range: held.Range, Epoch: held.Epoch, N: 1, Refill: true}))
	_, changed, err = n.SetOwner(t.Context(), none, a)
	require.NoError(t, err)
	require.True(t, changed)
}

// The first claim lives on in its node's memory. Both begin at the same stored epoch, which is ahead of the second
// node's clock.
func TestAClaimThatAFailOverRolledBackHasAnotherEpochThanTheNext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL())
	n := nodesOf(t, s)
	a, b := newNode("a"), newNode("b")
	a.Run[0], b.Run[0] = 0x01, 0x02
	released := store.Ownership{Range: uuid.New()}
	var err error
	released.Epoch, err = s.Claim(t.Context(), released.Range, opening.Add(time.Minute))
	require.NoError(t, err)

	meta := "rangegate:{" + released.Range.String() + "}:meta"
	before := client(t, server.URL()).Dump(t.Context(), meta)
	require.NoError(t, before.Err())
	lost := claimFor(t, n, a, released)
	require.NoError(t, client(t, server.URL()).RestoreReplace(t.Context(), meta, 0, before.Val()).Err())
	next := claimFor(t, n, b, released)

	require.Greater(t, lost.Epoch, released.Epoch)
	require.Greater(t, next.Epoch, lost.Epoch)
	err = s.Flush(t.Context(), store.Batch{Range: lost.Range, Epoch: lost.Epoch, N: 1, Refill: true})
	require.ErrorIs(t, err, store.ErrFenced)
}

func TestAClaimCountsTheSessionsThatRun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL())
	n := nodesOf(t, s)
	held := claimFor(t, n, newNode("a"), store.Ownership{Range: uuid.New()})
	session := func(phase lanes.Phase, customer string) lanes.Snapshot {
		return lanes.Snapshot{Lane: lanes.Lane{ID: uuid.New(), Session: &lanes.Session{
			ID: uuid.New(), Phase: phase,
			Customer: customer,
		}}}
	}
	require.NoError(t, s.Flush(t.Context(), store.Batch{
		Range: held.Range, Epoch: held.Epoch, N: 1,
		Lanes: []lanes.Snapshot{
			session(lanes.Running, "Jo"), session(lanes.Paused, `"phase":"running"`), session(lanes.Running, "Ann"),
			{Lane: lanes.Lane{ID: uuid.New()}},
		},
	}))
	outcome := n.Claim(t.Context(), store.Claimant{Node: newNode("b"), Now: opening}, []store.Ownership{held})[0]
	require.NoError(t, outcome.Err)
	require.Equal(t, 2, outcome.Running)
}

// Whatever nodes expect, and however often they repeat: no epoch ever has two owners.
func TestAnEpochHasOneOwner(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL())
	n := nodesOf(t, s)
	rapid.Check(t, func(rt *rapid.T) {
		contenders := []store.Node{newNode("a"), newNode("b"), newNode("c")}
		id := uuid.New()
		known := []store.Ownership{{Range: id}} // what anybody has ever read of it
		owners := map[uint64]store.Node{}
		for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			type try struct {
				by       store.Node
				expected store.Ownership
			}
			tries := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) try {
				return try{rapid.SampledFrom(contenders).Draw(rt, "by"), rapid.SampledFrom(known).Draw(rt, "expected")}
			}), 1, 4).Draw(rt, "at once")
			outcomes := make(chan store.Claimed, len(tries))
			for _, c := range tries {
				go func() {
					outcomes <- n.Claim(context.Background(), store.Claimant{Node: c.by, Now: opening},
						[]store.Ownership{c.expected})[0]
				}()
			}
			won := 0
			for range tries {
				o := <-outcomes
				require.NoError(rt, o.Err)
				if !o.Taken {
					won++
					before, twice := owners[o.Epoch]
					require.False(rt, twice, "epoch %d: %v and %v", o.Epoch, before, o.Owner)
					owners[o.Epoch] = o.Owner
				}
				known = append(known, o.Ownership)
			}
			if rapid.Bool().Draw(rt, "released") {
				last := known[len(known)-1]
				current, _, err := n.SetOwner(context.Background(), last, store.Node{})
				require.NoError(rt, err)
				known = append(known, current)
			}
			require.LessOrEqual(rt, won, len(tries))
		}
	})
}

func TestNodesHearOfOwners(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	teller := nodesOf(t, open(t, server.URL()))
	ctx, cancel := context.WithCancel(t.Context())
	heard := nodesOf(t, open(t, server.URL())).Watch(ctx)
	elsewhere := nodesOf(t, open(t, strings.Replace(server.URL(), "/0", "", 1)+"/3")).Watch(ctx)
	announced := store.Ownership{Range: uuid.New(), Epoch: 7, Owner: newNode("a")}
	require.Eventually(t, func() bool {
		require.NoError(t, teller.Announce(t.Context(), []store.Ownership{announced}))
		select {
		case got := <-heard:
			return got == announced
		case <-time.After(tick):
			return false
		}
	}, patience, tick)
	cancel()
	for range heard {
	}
	for got := range elsewhere {
		require.Fail(t, "another database is another store", "%v", got)
	}
}

// A server that does not answer is met with an error, and the node's connections recover.
func TestNodesOutliveAServerThatHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	n := nodesOf(t, open(t, server.URL()))
	a := store.Lease{Node: newNode("a")}
	server.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := n.Renew(ctx, a, time.Minute)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = n.Owners(ctx, []uuid.UUID{uuid.New()})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	server.Wake()
	require.Eventually(t, func() bool {
		_, err := n.Renew(t.Context(), a, time.Minute)
		return err == nil
	}, patience, tick)
}

func TestNodesInACluster(t *testing.T) {
	t.Parallel()
	masters := startCluster(t, 2)
	for _, m := range masters {
		user := []any{
			"ACL", "SETUSER", "gateway", "on", ">secret", "resetkeys", "~rangegate:*", "resetchannels",
			"&rangegate:*", "-@all",
		}
		for _, command := range strings.Fields(rights + " cluster|slots command time publish subscribe") {
			user = append(user, "+"+command)
		}
		require.NoError(t, m.admin.Do(t.Context(), user...).Err())
	}
	n := nodesOf(t, open(t, strings.Replace(masters.url(""), "redis://", "redis://gateway:secret@", 1)))
	a := newNode("a")
	leases, err := n.Renew(t.Context(), store.Lease{Node: a}, time.Minute)
	require.NoError(t, err)
	require.Len(t, leases.Live, 1)
	var ids []uuid.UUID
	var expected []store.Ownership
	for range 20 {
		ids = append(ids, uuid.New())
		expected = append(expected, store.Ownership{Range: ids[len(ids)-1]})
	}
	for _, outcome := range n.Claim(t.Context(), store.Claimant{Node: a, Now: opening}, expected) {
		require.NoError(t, outcome.Err)
		require.False(t, outcome.Taken)
	}
	owners, err := n.Owners(t.Context(), ids)
	require.NoError(t, err)
	for i, o := range owners {
		require.Equal(t, ids[i], o.Range)
		require.Equal(t, a, o.Owner)
	}
	heard := n.Watch(t.Context())
	require.Eventually(t, func() bool {
		require.NoError(t, n.Announce(t.Context(), owners[:1]))
		select {
		case got := <-heard:
			return got == owners[0]
		case <-time.After(tick):
			return false
		}
	}, patience, tick)
}
