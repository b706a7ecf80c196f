package storetest

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func damaged(s *fixture) {
	for i, record := range []string{
		"", "{", "\x00\x00\x00\x00", `{"v":1}{"v":1}`, `{"cursor":1}`,
		`{"v":1,"wrong":true}`,
	} {
		overwritten(s, fmt.Sprint("damage ", i), []byte(record), "")
	}
}

func newer(s *fixture) {
	overwritten(s, "newer", fmt.Appendf(nil, `{"v":%d}`, store.Version+1), "newer version")
}

// overwritten replaces one record of each kind by data, in a range of its own. A read of it names the record and the
// reason; other reads succeed.
func overwritten(s *fixture, damage string, data []byte, reason string) {
	lane, session := uuid.New(), uuid.New()
	load := func(o *owner) error { return errorOf(s.store.Load(s.Context(), o.rangeEpoch())) }
	events := func(o *owner) error { return errorOf(s.store.Events(s.Context(), o.rangeEpoch(), 0, 10)) }
	history := func(o *owner) error { return errorOf(s.store.History(s.Context(), o.rangeEpoch(), 0, 10)) }
	acts := func(o *owner) error { return errorOf(s.store.Acts(s.Context(), o.rangeEpoch(), 0, 10)) }
	lookup := func(o *owner) error { return errorOf(s.store.Ended(s.Context(), o.rangeEpoch(), session)) }
	for _, broken := range []struct {
		kind     Kind
		name     string
		fails    func(*owner) error
		succeeds func(*owner) error
	}{
		{Checkpoint, "", load, events},
		{Lane, lane.String(), load, events},
		{Key, "a-key", load, history},
		{Holds, "holds", load, lookup},
		{Event, "1", load, history}, // pending
		{Event, "1", events, history},
		{Event, "2", events, load}, // not pending
		{Ended, "1", history, load},
		{Ended, "1", lookup, events},
		{Act, "1", acts, load},
		{Act, "2", acts, history},
	} {
		o := s.claim(uuid.New())
		batch := o.batch()
		batch.Checkpoint = &lanes.Checkpoint{At: at(0), Boot: "b"}
		batch.Lanes = []lanes.Snapshot{occupied(lane, "Jo Smith"), free(uuid.New())}
		batch.Events = []lanes.Logged{pending(1), delivered(pending(2))}
		batch.Ended = []lanes.Ended{ended(1, "Ann Lee")}
		batch.Ended[0].Session.ID = session
		batch.Acts = []lanes.Act{act(1, "sam"), act(2, "kim")}
		batch.Keys = []lanes.KeptAnswer{answer("a-key")}
		batch.Holds = new(holds("Ann Lee"))
		o.flush(batch)
		s.reopen(func() {
			s.bench.Overwrite(s.T, Record{Range: o.rangeID, Kind: broken.kind, Name: broken.name}, data)
		})

		about := fmt.Sprintf("%s %s: %s", broken.kind, broken.name, damage)
		require.NoError(s, broken.succeeds(o), about)
		var corrupt *store.CorruptError
		require.ErrorAs(s, broken.fails(o), &corrupt, about)
		assert.Contains(s, corrupt.Where, s.bench.Where(), about)
		assert.Contains(s, corrupt.Record, o.rangeID.String(), about)
		assert.Contains(s, corrupt.Record, broken.name, about)
		require.ErrorContains(s, corrupt.Unwrap(), reason, about)
	}
}

func errorOf[T any](_ T, err error) error { return err }
