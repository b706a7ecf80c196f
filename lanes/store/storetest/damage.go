package storetest

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func damaged(s *stage) {
	for i, record := range []string{"", "{", "\x00\x00\x00\x00", `{"v":1}{"v":1}`, `{"cursor":1}`, `{"v":1,"wrong":true}`} {
		overwritten(s, fmt.Sprint("damage ", i), []byte(record), "")
	}
}

func newer(s *stage) {
	overwritten(s, "newer", fmt.Appendf(nil, `{"v":%d}`, store.Version+1), "newer version")
}

// overwritten puts data in place of each kind of record, one range for each. What reads it names it and gives the
// reason; what does not read it goes on.
func overwritten(s *stage, damage string, data []byte, reason string) {
	lane, session := uuid.New(), uuid.New()
	load := func(o *owner) error { return second(s.store.Load(s.Context(), o.rangeID)) }
	events := func(o *owner) error { return second(s.store.Events(s.Context(), o.rangeID, 0, 10)) }
	history := func(o *owner) error { return second(s.store.History(s.Context(), o.rangeID, 0, 10)) }
	acts := func(o *owner) error { return second(s.store.Acts(s.Context(), o.rangeID, 0, 10)) }
	lookup := func(o *owner) error { return second(s.store.Ended(s.Context(), o.rangeID, session)) }
	for _, broken := range []struct {
		kind   Kind
		name   string
		breaks func(*owner) error
		spares func(*owner) error
	}{
		{Checkpoint, "", load, events},
		{Lane, lane.String(), load, events},
		{Key, "a-key", load, history},
		{Holds, "holds", load, lookup},
		{Event, "1", load, history}, // it is pending
		{Event, "1", events, history},
		{Event, "2", events, load}, // it is not
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
		require.NoError(s, broken.spares(o), about)
		var corrupt *store.CorruptError
		require.ErrorAs(s, broken.breaks(o), &corrupt, about)
		assert.Contains(s, corrupt.Where, s.bench.Where(), about)
		assert.Contains(s, corrupt.Record, o.rangeID.String(), about)
		assert.Contains(s, corrupt.Record, broken.name, about)
		require.ErrorContains(s, corrupt.Unwrap(), reason, about)
	}
}

func second[T any](_ T, err error) error { return err }
