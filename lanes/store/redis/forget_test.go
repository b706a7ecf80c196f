package redis_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/storetest"
)

func TestForgetOnARealServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	storetest.RunForget(t, func(t *testing.T) storetest.Bench {
		b := bench{address: server.Addr(), admin: client(t, server.URL())}
		b.Wipe(t)
		return b
	})
}

func TestForgetOnMiniredis(t *testing.T) {
	t.Parallel()
	storetest.RunForget(t, func(t *testing.T) storetest.Bench {
		address := miniredis.RunT(t).Addr()
		return bench{address: address, admin: client(t, "redis://"+address)}
	})
}

// asSaved is what the owner has saved last.
func (o *owner) asSaved() store.RangeMeta { return store.RangeMeta{Epoch: o.epoch, N: o.n} }

func forget(o *owner) error {
	return o.store.Forget(o.t.Context(), o.rangeID, o.asSaved(), opening)
}

// named is a batch with the name in everything that has room for it.
func (o *owner) named(name string) store.Batch {
	b := o.history()
	b.Checkpoint.Boot = name
	b.Holds = new(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, name, opening))
	b.Lanes[0].Session = &lanes.Session{ID: uuid.New(), Customer: name}
	b.Events[0].Attempt.Error = name
	b.Ended[0].Session.Customer = name
	b.Ended[0].Session.Correlation = &lanes.Correlation{ExternalID: name}
	b.Acts[0].Who = name
	b.Keys[0].Name, b.Keys[0].Body = fmt.Sprint(name, b.N), name
	return b
}

// No key of the server has anything of a forgotten range but its epoch, nor has what an import left behind
// that was killed. The other ranges are as they were.
func TestNoKeyHasAnythingOfAForgottenRange(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin, s := client(t, server.URL()), open(t, server.URL())
	left, kept := own(t, s), own(t, s)
	for range 30 {
		left.save(left.named("Jo Smith"))
		kept.save(kept.named("Ann Lee"))
	}
	aside := "rangegate:aside:{" + left.rangeID.String() + "}:"
	require.NoError(t, admin.HSet(t.Context(), aside+"names", "1", "Jo Smith").Err())
	require.NoError(t, admin.HSet(t.Context(), aside+"meta", "epoch", "1").Err())
	others := dump(t, admin, "*{"+kept.rangeID.String()+"}*")
	require.Len(t, others, 11, "all keys but that of pending events")

	require.NoError(t, s.Forget(t.Context(), left.rangeID, left.asSaved(), opening))
	all := dump(t, admin, "*")
	meta, found := all[left.keys("meta")].(map[string]string)
	require.True(t, found)
	epoch := fmt.Sprint(left.epoch + 1)
	require.Equal(t, map[string]string{
		"layout": fmt.Sprint(store.Version), "epoch": epoch, "n": "0", "forgotten_at": epoch,
	}, meta)
	delete(all, left.keys("meta"))
	require.Equal(t, others, all)
	require.NotContains(t, fmt.Sprint(all), "Jo Smith")
	require.NotContains(t, fmt.Sprint(all), left.rangeID.String())

	r := reader(t, server.URL())
	ids, err := r.Ranges(t.Context())
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{kept.rangeID}, ids)
	_, err = r.Meta(t.Context(), left.rangeID)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorIs(t, r.Read(t.Context(), left.rangeID, nil), store.ErrNotFound)
	next := own(t, s)
	require.NoError(t, admin.Set(t.Context(), next.keys("meta"), "text", 0).Err())
	ids, err = r.Ranges(t.Context())
	require.NoError(t, err)
	require.Len(t, ids, 2, "one whose meta holds something else is named, for whoever checks it")
}

// A range of a node that is alive is not forgotten. The lease of a dead owner ends, and another node that
// claims the range begins with nothing.
func TestARangeOfALivingNodeIsNotForgotten(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin, s := client(t, server.URL()), open(t, server.URL())
	n := nodesOf(t, s)
	a, b := newNode("a"), newNode("b")
	for _, node := range []store.Node{a, b} {
		_, err := n.Renew(t.Context(), store.Lease{Node: node}, time.Minute)
		require.NoError(t, err)
	}
	held := claimFor(t, n, a, store.Ownership{Range: uuid.New()})
	o := &owner{t: t, store: s, rangeID: held.Range, epoch: held.Epoch}
	o.save(o.named("Jo Smith"))
	before := dump(t, admin, "*")
	err := forget(o)
	require.ErrorIs(t, err, store.ErrOwned)
	require.ErrorContains(t, err, ": a")
	require.Equal(t, before, dump(t, admin, "*"))

	require.NoError(t, n.End(t.Context(), a.Run))
	require.NoError(t, forget(o))
	owners, err := n.Owners(t.Context(), []uuid.UUID{o.rangeID})
	require.NoError(t, err)
	require.Equal(t, store.Ownership{Range: o.rangeID, Epoch: o.epoch + 1}, owners[0])
	_, changed, err := n.SetOwner(t.Context(), held, a)
	require.NoError(t, err)
	require.False(t, changed, "who wakes up does not own it")
	outcome := n.Claim(t.Context(), store.Claimant{Node: a, Now: opening}, []store.Ownership{held})[0]
	require.NoError(t, outcome.Err)
	require.True(t, outcome.Taken)
	late := o.named("Jo Smith")
	late.Refill = true
	require.ErrorIs(t, s.Flush(t.Context(), late), store.ErrFenced)
	next := claimFor(t, n, b, owners[0])
	require.Greater(t, next.Epoch, owners[0].Epoch)
	loaded, err := s.Load(t.Context(), store.InAnyEpoch(o.rangeID))
	require.NoError(t, err)
	require.Zero(t, loaded.Checkpoint)
	require.Empty(t, loaded.Lanes)
}

// The append-only file has what was removed until it is rewritten: the server's folder has nothing of it
// afterwards, also where a rewrite was under way that had begun before.
func TestNoBytesOfAForgottenRangeStayInTheAppendOnlyFile(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	o := own(t, open(t, server.URL()))
	for range 30 {
		o.save(o.named("Jo Smith"))
	}
	settings, err := admin.ConfigGet(t.Context(), "dir").Result()
	require.NoError(t, err)
	count := func() (found int) {
		t.Helper()
		require.NoError(t, filepath.WalkDir(settings["dir"], func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			found += bytes.Count(content, []byte("Jo Smith"))
			return err
		}))
		return found
	}
	require.Greater(t, count(), 30)
	require.NoError(t, admin.BgRewriteAOF(t.Context()).Err())
	require.NoError(t, forget(o))
	require.Zero(t, count())

	o = own(t, open(t, server.URL()))
	o.save(o.named("Jo Smith"))
	require.NoError(t, admin.ConfigSet(t.Context(), "appendonly", "no").Err())
	require.NoError(t, forget(o))
}

// The commands that the package documents are enough; unlink is not needed to serve.
func TestAUserThatForgets(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	user := []any{"ACL", "SETUSER", "forgetter", "on", ">secret", "resetkeys", "~rangegate:*", "-@all"}
	for _, command := range strings.Fields(rights + " scan unlink time") {
		user = append(user, "+"+command)
	}
	admin := client(t, server.URL())
	require.NoError(t, admin.Do(t.Context(), user...).Err())
	s := open(t, "redis://forgetter:secret@"+server.Addr())
	o := own(t, s)
	o.save(o.named("Jo Smith"))
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "forgetter", "-unlink").Err())
	before := dump(t, admin, "*")
	require.ErrorContains(t, forget(o), "unlink")
	require.Equal(t, before, dump(t, admin, "*"))
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "forgetter", "+unlink").Err())
	require.NoError(t, forget(o))
	require.NotContains(t, fmt.Sprint(dump(t, admin, "*")), "Jo Smith")
}

// In a cluster the range, its staging keys and the leases are on different servers.
func TestARangeIsForgottenInACluster(t *testing.T) {
	t.Parallel()
	masters := startCluster(t, 2)
	s := open(t, masters.url(""))
	n := nodesOf(t, s)
	node := newNode("a")
	_, err := n.Renew(t.Context(), store.Lease{Node: node}, time.Minute)
	require.NoError(t, err)
	for range 8 { // on either
		held := claimFor(t, n, node, store.Ownership{Range: uuid.New()})
		o := &owner{t: t, store: s, rangeID: held.Range, epoch: held.Epoch}
		o.save(o.named("Jo Smith"))
		require.ErrorIs(t, forget(o), store.ErrOwned)
		_, changed, err := n.SetOwner(t.Context(), held, store.Node{})
		require.NoError(t, err)
		require.True(t, changed)
		require.NoError(t, forget(o))
	}
	for _, m := range masters {
		require.NotContains(t, fmt.Sprint(dump(t, m.admin, "*")), "Jo Smith")
	}
	ids, err := s.Ranges(t.Context())
	require.NoError(t, err)
	require.Empty(t, ids)
}

// It is durable as a flush is: too few replicas make the outcome unknown, and a repeat asks them again.
func TestForgettingWaitsForReplicas(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	redistest.StartReplica(t, master)
	admin := client(t, master.URL())
	require.Eventually(t, func() bool {
		return info(t, admin, "replication", "connected_slaves") == "1"
	}, patience, tick)
	o := own(t, open(t, master.URL()))
	o.save(o.named("Jo Smith"))
	waiting, err := redis.Open(t.Context(), master.URL()+"?wait_replicas=2&read_timeout=1s", retention)
	require.NoError(t, err)
	defer func() { require.NoError(t, waiting.Close()) }()
	o.store = waiting
	require.ErrorContains(t, forget(o), "1 of the 2 replicas")
	o.store = open(t, master.URL()+"?wait_replicas=1")
	require.NoError(t, forget(o))
}
