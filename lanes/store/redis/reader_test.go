package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

func reader(t *testing.T, url string) *redis.Reader {
	t.Helper()
	r, err := redis.OpenReader(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// readRange reads a range: how many records are readable, and the faults of the others.
func readRange(t *testing.T, r *redis.Reader, id uuid.UUID) (good int, bad []string) {
	t.Helper()
	require.NoError(t, r.Read(t.Context(), id, func(record store.Record) error {
		if record.Err != nil {
			bad = append(bad, fmt.Sprint(record.Name, ": ", record.Err))
			return nil
		}
		good++
		return nil
	}))
	return good, bad
}

// history returns a batch with an ended session and the attempt of the event before.
func (o *owner) history() store.Batch {
	b := o.next()
	b.Keys = []lanes.KeptAnswer{{Name: fmt.Sprint("key-", b.N)}}
	ended := lanes.Ended{Cursor: b.N, At: b.Now}
	ended.Session.ID, ended.Session.Customer = uuid.NewSHA1(o.lane, []byte{byte(b.N)}), "Jo Smith"
	b.Ended = []lanes.Ended{ended}
	b.Acts = []lanes.Act{{Cursor: b.N, At: b.Now, Who: "sam", What: "stop"}}
	b.Events[0].Attempt = &lanes.Attempt{At: b.Now, Status: 204}
	return b
}

// Beside the process that owns the range, a reader reads its logs page by page, as they are by then, and fences nobody.
func TestPagesAreReadBesideAnOwner(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, r := open(t, server.URL()), reader(t, server.URL())
	o := own(t, s)
	for n := uint64(1); n <= 4; n++ {
		require.NoError(t, s.Flush(t.Context(), o.history()))
		o.n++
		meta, err := r.Meta(t.Context(), o.rangeID)
		require.NoError(t, err)
		require.Equal(t, store.RangeMeta{Epoch: o.epoch, N: n, LastEvent: meta.LastEvent, LastEnded: n, LastAct: n},
			meta)
		for after := range meta.LastEvent {
			want, err := s.Events(t.Context(), o.rangeEpoch(), after, 2)
			require.NoError(t, err)
			got, err := r.Events(t.Context(), o.rangeID, after, 2)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		ended, err := r.History(t.Context(), o.rangeID, n-1, 10)
		require.NoError(t, err)
		require.Len(t, ended, 1)
		acts, err := r.Acts(t.Context(), o.rangeID, 0, 10)
		require.NoError(t, err)
		require.Len(t, acts, int(n))
	}
	_, err := r.Meta(t.Context(), uuid.New())
	require.ErrorIs(t, err, store.ErrNotFound)
}

// Every damaged or foreign record is visited as a fault, and hides no other record.
func TestEveryRecordThatCannotBeReadIsVisited(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin, s, r := client(t, server.URL()), open(t, server.URL()), reader(t, server.URL())
	o := own(t, s)
	for range 4 {
		require.NoError(t, s.Flush(t.Context(), o.history()))
		o.n++
	}
	require.NoError(t, o.flush(t.Context()))
	wholeCount, bad := readRange(t, r, o.rangeID)
	require.Empty(t, bad)
	require.Equal(t, 1+1+1+1+4+4+5+4, wholeCount, "meta, checkpoint, holds, lanes, keys, ended sessions, events, acts")

	whole := dump(t, admin, "*")
	session := uuid.NewSHA1(o.lane, []byte{2}).String()
	padded := func(cursor int) string { return fmt.Sprintf("%020d", cursor) }
	at := func(n int) string { return fmt.Sprint(opening.Add(time.Duration(n) * time.Second).UnixMilli()) }
	for name, c := range map[string]struct {
		command *goredis.Cmd
		fault   string
		lost    int // records that cannot be read beside the one
	}{
		"a lane": {
			fault:   "lane " + o.lane.String() + ": ",
			command: goredis.NewCmd(t.Context(), "hset", o.keys("lanes"), o.lane.String(), "x"),
		},
		"a lane under another name": {
			fault: "it is stored under another", lost: -1,
			command: goredis.NewCmd(t.Context(), "hset", o.keys("lanes"), uuid.NewString(),
				whole[o.keys("lanes")].(map[string]string)[o.lane.String()]),
		},
		"a key": {
			fault:   `idempotency key "key-2": `,
			command: goredis.NewCmd(t.Context(), "hset", o.keys("answers"), "key-2", `{"v":99}`),
		},
		"a key under another name": {
			fault:   "it is stored under another",
			command: goredis.NewCmd(t.Context(), "hset", o.keys("answers"), "key-2", `{"v":1,"name":"key-3"}`),
		},
		"an event": {fault: "event 3: ", command: goredis.NewCmd(t.Context(), "hset", o.keys("events"),
			"3", `{"v":1`)},
		"an event that is gone": {
			fault:   "event 3: there is no such record",
			command: goredis.NewCmd(t.Context(), "hdel", o.keys("events"), "3"),
		},
		"another event": {
			fault:   "event 3: it is stored under another",
			command: goredis.NewCmd(t.Context(), "hset", o.keys("events"), "3", `{"v":1,"cursor":4}`),
		},
		"an event in no order": {
			fault:   "event 5: it is pending, and there is no such event",
			command: goredis.NewCmd(t.Context(), "zrem", o.keys("events:order"), padded(5)+":"+at(5)+":"),
		},
		"pending twice": {
			fault:   "event 3: it was attempted, and is in the set",
			command: goredis.NewCmd(t.Context(), "zadd", o.keys("pending"), "0", padded(3)),
		},
		"no longer pending": {
			fault:   "event 5: it is pending, and is not in the set",
			command: goredis.NewCmd(t.Context(), "zrem", o.keys("pending"), padded(5)),
		},
		"pending and gone": {
			fault: "event 99: it is pending, and there is no such event", lost: -1,
			command: goredis.NewCmd(t.Context(), "zadd", o.keys("pending"), "0", padded(99)),
		},
		"an order entry": {
			fault: "event 8: there is no such record", lost: -1,
			command: goredis.NewCmd(t.Context(), "zadd", o.keys("events:order"), "0", padded(8)+":x:"),
		},
		"an ended session": {
			fault:   "ended session 2: ",
			command: goredis.NewCmd(t.Context(), "hset", o.keys("history"), "2", `{}`),
		},
		"a session not found": {
			fault:   "session " + session + " would not be found",
			command: goredis.NewCmd(t.Context(), "hdel", o.keys("sessions"), session),
		},
		"an act": {
			fault: "act 7: ", lost: -1,
			command: goredis.NewCmd(t.Context(), "zadd", o.keys("acts"), "0", padded(7)+":"+at(7)+":{"),
		},
		"an act elsewhere": {
			fault: "act 7: it is stored under another", lost: -1,
			command: goredis.NewCmd(t.Context(), "zadd", o.keys("acts"), "0", padded(7)+":"+at(7)+
				`:{"v":2,"cursor":8}`),
		},
		"no act": {
			fault: "acts: not what was written: ", lost: -1,
			command: goredis.NewCmd(t.Context(), "zadd", o.keys("acts"), "0", "x"),
		},
		"the holds": {fault: "holds: ", command: goredis.NewCmd(t.Context(), "hset", o.keys("meta"),
			"holds", `{"v":1,"x":2}`)},
		"the checkpoint": {fault: "checkpoint: ", command: goredis.NewCmd(t.Context(), "hset", o.keys("meta"),
			"checkpoint", ``)},
		"the epoch": {
			fault: "its epoch is no number", lost: 1,
			command: goredis.NewCmd(t.Context(), "hset", o.keys("meta"), "epoch", `x`),
		},
		"no meta": {
			fault: "it is gone", lost: 2,
			command: goredis.NewCmd(t.Context(), "del", o.keys("meta")),
		},
		"another layout": {
			fault: fmt.Sprintf("its format is 99, this gateway reads up to %d", store.Version),
			lost:  wholeCount - 1, command: goredis.NewCmd(t.Context(), "hset", o.keys("meta"), "layout", `99`),
		},
		"a key of another type": {
			fault:   "lanes: it holds something else",
			command: goredis.NewCmd(t.Context(), "set", o.keys("lanes"), "x"),
		},
		"an order of another type": {
			fault: "history:order: it holds something else", lost: 3,
			command: goredis.NewCmd(t.Context(), "set", o.keys("history:order"), "x"),
		},
	} {
		require.NoError(t, admin.FlushAll(t.Context()).Err())
		restore(t, admin, whole)
		require.NoError(t, admin.Process(t.Context(), c.command), name)
		good, bad := readRange(t, r, o.rangeID)
		require.Len(t, bad, 1, name)
		assert.Contains(t, bad[0], c.fault, name)
		assert.Equal(t, wholeCount-1-c.lost, good, name)
	}
}

// The commands that the package documents are enough to check, export and import; scan and rename are not
// needed to serve.
func TestAUserThatExportsAndImports(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	user := []any{"ACL", "SETUSER", "importer", "on", ">secret", "resetkeys", "~rangegate:*", "-@all"}
	for _, command := range strings.Fields("ping select eval evalsha type hget hmget hgetall hscan hset hdel hincrby " +
		"zadd zrem zcard zrange zrangebylex del config|get info bgrewriteaof scan rename") {
		user = append(user, "+"+command)
	}
	admin := client(t, server.URL())
	require.NoError(t, admin.Do(t.Context(), user...).Err())
	url := "redis://importer:secret@" + server.Addr() + "/1"
	s := open(t, url)
	whole := store.Batch{Range: uuid.UUID{1}, Epoch: 7, LastEvent: 90, Lanes: []lanes.Snapshot{{Boot: "boot"}}}
	require.NoError(t, s.Restore(t.Context(), whole))
	ids, err := reader(t, url).Ranges(t.Context())
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{{1}}, ids)
	_, bad := readRange(t, reader(t, url), uuid.UUID{1})
	require.Empty(t, bad)

	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "importer", "-rename").Err())
	whole.Range = uuid.UUID{2}
	require.ErrorContains(t, s.Restore(t.Context(), whole), "RENAME")
	ids, err = s.Ranges(t.Context())
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{{1}}, ids, "nothing of the other was written")
}

func TestAReaderThatCannotConnect(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Stop()
	_, err := redis.OpenReader(t.Context(), "redis://gateway:secret@"+server.Addr())
	require.ErrorContains(t, err, server.Addr())
	require.NotContains(t, err.Error(), "secret")
	_, err = redis.OpenReader(t.Context(), "redis://user:sec/ret@127.0.0.1")
	require.ErrorContains(t, err, "redis://user:password@host:6379/0")
}
