package ownership

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/actors/nodes"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/simulation/memory"
)

// backend is a store that a trace is replayed on.
type backend struct {
	store.Store
	nodes nodes.Store
	// keep has a replica take what the store has now. It becomes the server when failOver is called.
	keep func() (failOver func())
}

var retention = store.Retention{Events: time.Hour, History: time.Hour, Names: time.Hour, Cap: 1000}

func TestTheStoreInMemoryDoesWhatTheModelSays(t *testing.T) {
	replayAll(t, 40, func() backend {
		server := memory.NewServer()
		s := server.Open(retention)
		return backend{Store: s, nodes: s.Nodes(), keep: server.Copy}
	})
}

func TestRedisDoesWhatTheModelSays(t *testing.T) {
	server := redistest.Start(t)
	s, err := redis.Open(t.Context(), server.URL(), retention)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	shared := s.Nodes()
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	replayAll(t, 10, func() backend {
		require.NoError(t, client.FlushAll(t.Context()).Err())
		return backend{Store: s, nodes: shared, keep: func() func() { return dump(t, client) }}
	})
}

// dump keeps every key, with its value.
func dump(t *testing.T, client *goredis.Client) (restore func()) {
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	values := map[string]string{}
	for _, key := range keys {
		values[key], err = client.Dump(t.Context(), key).Result()
		require.NoError(t, err)
	}
	return func() {
		require.NoError(t, client.FlushAll(t.Context()).Err())
		for key, value := range values {
			require.NoError(t, client.Restore(t.Context(), key, 0, value).Err())
		}
	}
}

func replayAll(t *testing.T, seeds int, open func() backend) {
	if soaking() {
		seeds *= 25
	}
	steps := 0
	answers := map[string]int{}
	for seed := 1; seed <= seeds; seed++ {
		for _, defines := range [][]string{WithLeases(seed), WithoutLeases(seed)} {
			r := newReplay(t, seed, open())
			for _, step := range Trace(t, seed, defines) {
				r.do(step)
			}
			steps += len(r.done)
			for answer, count := range r.answers {
				answers[answer] += count
			}
		}
	}
	t.Logf("%d steps of %d traces, flushes by their answer: %v", steps, 2*seeds, answers)
	for _, answer := range answersToFlush[1:4] {
		require.Positive(t, answers[answer], answer)
	}
}

// replay does the steps of a trace to a store. The model's epochs are small numbers: real has those of the store.
type replay struct {
	t        *testing.T
	ctx      context.Context
	seed     int
	backend  backend
	rangeID  uuid.UUID
	real     map[int]uint64
	runs     map[int]store.Node // by number: 1 and more; 0 is nobody
	life     [3]int
	failOver func()
	done     []string
	// server is the one that has answered a renewal since the newest of so many fail-overs.
	server    string
	failOvers int
	answers   map[string]int // to flushes
}

// answersToFlush are those of the model, by its numbers.
var answersToFlush = []string{1: "applied", 2: "repeated", 3: "fenced", 4: "rolled back"}

// newReplay is a store in which run 1 owns the range in epoch 2, as in the model.
func newReplay(t *testing.T, seed int, b backend) *replay {
	r := &replay{
		t: t, ctx: t.Context(), seed: seed, backend: b, rangeID: uuid.New(),
		real: map[int]uint64{}, runs: map[int]store.Node{0: {}}, answers: map[string]int{},
	}
	for run, name := range []string{"a", "b", "c", "a", "b", "c"} {
		node := store.Node{Run: uuid.New(), Name: name, Address: name + ":1"}
		r.runs[run+1] = node
	}
	r.claim(1, store.Ownership{Range: r.rangeID}, 2, 0)
	_, err := b.nodes.Renew(r.ctx, store.Lease{Node: r.runs[1], Digest: "d"}, time.Hour)
	require.NoError(t, err)
	return r
}

// fail prints both sides.
func (r *replay) fail(model string, code any) {
	r.t.Helper()
	last := r.done[max(0, len(r.done)-40):]
	require.Fail(r.t, "model and store differ", "seed %d\n%s\nmodel: %s\nstore: %+v", r.seed,
		strings.Join(last, "\n"), model, code)
}

// span is how far the model's epochs are apart in the store. A claim may add up to 4095 to the time.
const span = 5000

var opening = time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)

// claim claims the range for a run. The model gives the epoch, or 0 for taken.
func (r *replay) claim(run int, expected store.Ownership, epoch, seen int) {
	by := store.Claimant{
		Node: r.runs[run], Now: opening.Add(time.Duration(epoch*span) * time.Millisecond),
		Server: r.server,
	}
	if seen != r.failOvers {
		by.Server = "a server of before"
	}
	claimed := r.backend.nodes.Claim(r.ctx, by, []store.Ownership{expected})[0]
	if seen != r.failOvers {
		require.ErrorIs(r.t, claimed.Err, store.ErrAnotherServer)
		require.Zero(r.t, epoch)
		return
	}
	require.NoError(r.t, claimed.Err)
	if claimed.Taken != (epoch == 0) {
		r.fail(fmt.Sprint("the new epoch, 0 for taken, is ", epoch), claimed)
	}
	if epoch == 0 {
		return
	}
	for _, given := range r.real {
		require.NotEqual(r.t, given, claimed.Epoch, "an epoch is given twice")
	}
	from := uint64(by.Now.UnixMilli())
	if claimed.Epoch < from || claimed.Epoch >= from+span {
		r.fail(fmt.Sprint("the new epoch begins at ", from), claimed)
	}
	r.real[epoch] = claimed.Epoch
}

// owner is who owns the range by the model's numbers.
func (r *replay) owner(epoch, run int) store.Ownership {
	return store.Ownership{Range: r.rangeID, Epoch: r.real[epoch], Owner: r.runs[run]}
}

// setOwner names another owner, and the model says whether that is done.
func (r *replay) setOwner(from store.Ownership, to int, changed bool) {
	_, done, err := r.backend.nodes.SetOwner(r.ctx, from, r.runs[to])
	require.NoError(r.t, err)
	if done != changed {
		r.fail("the owner is changed: "+strconv.FormatBool(changed), done)
	}
}

// flush writes a batch with these changes, each a lane of the range. The model gives the answer.
func (r *replay) flush(epoch, n, changes int, refill bool, answer int) {
	batch := store.Batch{Range: r.rangeID, Epoch: r.real[epoch], N: uint64(n), Refill: refill, Now: opening}
	for change := range 2 {
		if changes&(1<<change) != 0 {
			batch.Lanes = append(batch.Lanes, lanes.Snapshot{Lane: lanes.Lane{ID: lane(change)}, Boot: "boot"})
		}
	}
	if refill {
		batch.Holds = &lanes.Holds{}
	}
	r.answers[answersToFlush[answer]]++
	err := r.backend.Flush(r.ctx, batch)
	if expected := []error{1: nil, 2: nil, 3: store.ErrFenced, 4: store.ErrRolledBack}[answer]; !errors.Is(err,
		expected) {
		r.fail("the answer to the flush is "+answersToFlush[answer], err)
	}
}

func lane(change int) uuid.UUID { return uuid.UUID{15: byte(change + 1)} }

// has compares the record and the changes that are saved with the model's. data is -1 where the step does not say it.
func (r *replay) has(epoch, run, data int) {
	owners, err := r.backend.nodes.Owners(r.ctx, []uuid.UUID{r.rangeID})
	require.NoError(r.t, err)
	if epoch >= 0 && owners[0].Epoch != r.real[epoch] || run >= 0 && owners[0].Owner != r.runs[run] {
		r.fail(fmt.Sprintf("the range is owned by run %d in epoch %d, which is %+v", run, epoch,
			r.owner(max(0, epoch), max(0, run))), owners[0])
	}
	if data < 0 {
		return
	}
	loaded, err := r.backend.Load(r.ctx, store.InAnyEpoch(r.rangeID))
	require.NoError(r.t, err)
	saved := 0
	for _, snapshot := range loaded.Lanes {
		saved |= 1 << (snapshot.ID[15] - 1)
	}
	if saved != data {
		r.fail(fmt.Sprintf("saved are %b", data), fmt.Sprintf("%b", saved))
	}
}

// run is the number of a node's present run.
func (r *replay) run(node int) int { return node + 1 + len(r.life)*r.life[node] }

// do does one step of the model to the store, and compares what the store answers and has then.
func (r *replay) do(s Step) {
	r.done = append(r.done, s.Line)
	n := s.Numbers
	switch s.Kind {
	case "read", "letgo": // node, range = epoch, owner
		r.has(n[2], n[3], -1)
	case "name": // node, range, if epoch, owner
		r.setOwner(r.owner(n[2], n[3]), r.run(n[0]), true)
	case "disown": // node, range, if epoch, owner = changed, epoch, owner
		r.setOwner(r.owner(n[2], n[3]), 0, n[4] == 1)
		r.has(n[5], n[6], -1)
	case "fail", "released":
		r.setOwner(r.owner(n[2], n[3]), 0, n[4] == 1)
		r.has(n[5], n[6], -1)
	case "claim", "claim_lost": // node, range, if epoch, owner = given, epoch, owner, server that was seen
		r.claim(r.run(n[0]), r.owner(n[2], n[3]), n[4], n[7])
		r.has(n[5], n[6], -1)
	case "late_claim": // range, run, if epoch, owner = given, epoch, owner, server that was seen
		r.claim(n[1], r.owner(n[2], n[3]), n[4], n[7])
		r.has(n[5], n[6], -1)
	case "load": // node, range, epoch = data
		_, err := r.backend.Load(r.ctx, store.RangeEpoch{Range: r.rangeID, Epoch: r.real[n[2]]})
		require.NoError(r.t, err)
		r.has(-1, -1, n[3])
	case "load_refused": // node, range, epoch = fenced
		_, err := r.backend.Load(r.ctx, store.RangeEpoch{Range: r.rangeID, Epoch: r.real[n[2]]})
		require.ErrorIs(r.t, err, []error{store.ErrRolledBack, store.ErrFenced}[n[3]])
	case "flush": // node, range, epoch, n, data, refill = answer, epoch, n, data
		r.flush(n[2], n[3], n[4], n[5] == 1, n[6])
		r.has(n[7], -1, n[9])
	case "late_flush": // range, run, epoch, n, data, refill = answer, epoch, n, data
		r.flush(n[2], n[3], n[4], n[5] == 1, n[6])
		r.has(n[7], -1, n[9])
	case "confirm": // node, range, epoch, n = answer
		of := store.RangeEpoch{Range: r.rangeID, Epoch: r.real[n[2]], N: uint64(n[3])}
		err := r.backend.Confirm(r.ctx, of)
		if expected := []error{nil, store.ErrFenced, store.ErrRolledBack}[n[4]]; !errors.Is(err, expected) {
			r.fail(fmt.Sprint("the answer to who confirms: ", expected), err)
		}
	case "renew": // node = server, leases, draining, continued, gap
		r.renew(n[0], n[2], n[3], n[4] == 1)
	case "ended": // run
		require.NoError(r.t, r.backend.nodes.End(r.ctx, r.runs[n[0]].Run))
	case "start": // node
		r.life[n[0]]++
	case "replica":
		r.failOver = r.backend.keep()
	case "failover":
		r.failOver()
		r.failOvers, r.server = r.failOvers+1, ""
	}
}

// renew renews the lease of a node. The model says which runs have a lease then, and which of them drain.
func (r *replay) renew(node, leases, draining int, continued bool) {
	self := r.run(node)
	answer, err := r.backend.nodes.Renew(r.ctx, store.Lease{
		Node: r.runs[self], Digest: "d", Draining: draining&(1<<(self-1)) != 0,
	}, time.Hour)
	require.NoError(r.t, err)
	r.server = answer.Server
	live, drain := 0, 0
	for _, l := range answer.Live {
		for run, node := range r.runs {
			if run > 0 && node == l.Node {
				live |= 1 << (run - 1)
				if l.Draining {
					drain |= 1 << (run - 1)
				}
			}
		}
	}
	if live != leases || drain != draining || answer.Continued != continued {
		r.fail(fmt.Sprintf("leases %b, draining %b, continued %v", leases, draining, continued), answer)
	}
}
