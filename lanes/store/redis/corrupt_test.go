package redis_test

import (
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
)

func TestARecordThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	s := open(t, server.URL())

	newer := strconv.Itoa(store.Version + 1)
	for name, damage := range map[string]struct {
		key, field, value string
		read              func(o *owner) error
	}{
		"lane, damaged": {"lanes", "LANE", "{", load},
		"lane, newer":   {"lanes", "LANE", `{"v":99}`, load},
		"checkpoint":    {"meta", "checkpoint", "[]", load},
		"holds":         {"meta", "holds", "{", load},
		"holds, newer":  {"meta", "holds", `{"v":99}`, load},
		"last event":    {"meta", "last_event", "many", load},
		"last act":      {"meta", "last_act", "many", load},
		"layout, newer": {"meta", "layout", newer, load},
		"answer":        {"answers", "a key", "{", load},
		"pending event": {"events", "1", "{", load},
		"event, newer":  {"events", "1", `{"v":99}`, events},
		"ended session": {"history", "1", "{", history},
		"epoch":         {"meta", "epoch", "-", claim},
		"epoch, flush":  {"meta", "epoch", "-", flush},
		"layout, claim": {"meta", "layout", newer, claim},
		"layout, log":   {"meta", "layout", newer, events},
		"layout, ended": {"meta", "layout", newer, lookup},
		"layout, flush": {"meta", "layout", newer, flush},
		"layout, none":  {"meta", "layout", "x", claim},
	} {
		t.Run(name, func(t *testing.T) {
			o := own(t, s)
			batch := o.next()
			batch.Keys = []lanes.KeptAnswer{{Name: "a key"}}
			batch.Ended = []lanes.Ended{{Cursor: 1, At: opening, Session: lanes.Session{Customer: "Jo Smith"}}}
			require.NoError(t, s.Flush(t.Context(), batch))
			o.n++

			key := o.keys(damage.key)
			field := damage.field
			if field == "LANE" {
				field = o.lane.String()
			}
			require.NoError(t, admin.HSet(t.Context(), key, field, damage.value).Err())

			var corrupt *store.CorruptError
			require.ErrorAs(t, damage.read(o), &corrupt)
			require.Contains(t, corrupt.Where, server.Addr())
			require.Contains(t, corrupt.Record, key)
			if damage.key != "meta" {
				require.Contains(t, corrupt.Record, field)
			}
		})
	}
}

// Another program has written a key of the range. No flush may fail on it halfway.
func TestAKeyOfAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	s := open(t, server.URL())
	for _, name := range []string{
		"meta", "lanes", "answers", "events", "events:order", "pending", "history", "history:order",
		"sessions", "names",
		"acts",
	} {
		t.Run(name, func(t *testing.T) {
			o := own(t, s)
			key := o.keys(name)
			require.NoError(t, admin.Set(t.Context(), key, "mine", 0).Err())
			before := dump(t, admin, o.keys("*"))

			err := o.flush(t.Context())
			var corrupt *store.CorruptError
			require.ErrorAs(t, err, &corrupt)
			require.ErrorIs(t, err, store.ErrRefused)
			require.Equal(t, key, corrupt.Record)
			require.Equal(t, before, dump(t, admin, o.keys("*")))
		})
	}
}

// A damaged order entry stops trimming and reading; flushes succeed.
func TestADamagedOrderDoesNotBreakFlushes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	o := own(t, open(t, server.URL()))
	for _, order := range []string{"events:order", "history:order", "pending", "acts"} {
		key := o.keys(order)
		require.NoError(t, admin.Do(t.Context(), "ZADD", key, "0", "!").Err())
		require.NoError(t, admin.Do(t.Context(), "ZADD", key, "0", "x").Err())
	}
	batch := o.next()
	batch.Acts = []lanes.Act{{Cursor: 1, At: opening}}
	require.NoError(t, o.store.Flush(t.Context(), batch))
	var corrupt *store.CorruptError
	require.ErrorAs(t, load(o), &corrupt)
	_, err := o.store.Acts(t.Context(), o.rangeEpoch(), 0, 10)
	require.ErrorAs(t, err, &corrupt)
}

func load(o *owner) error {
	_, err := o.store.Load(o.t.Context(), o.rangeEpoch())
	return err
}

func events(o *owner) error {
	_, err := o.store.Events(o.t.Context(), o.rangeEpoch(), 0, 10)
	return err
}

func history(o *owner) error {
	_, err := o.store.History(o.t.Context(), o.rangeEpoch(), 0, 10)
	return err
}

func lookup(o *owner) error {
	_, err := o.store.Ended(o.t.Context(), o.rangeEpoch(), uuid.New())
	return err
}

func claim(o *owner) error {
	_, err := o.store.Claim(o.t.Context(), o.rangeID, opening)
	return err
}

func flush(o *owner) error { return o.flush(o.t.Context()) }
