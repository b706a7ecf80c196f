package storetest

import (
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func survivesReopening(s *fixture) {
	o := s.claim(uuid.New())
	batch := o.batch()
	batch.Checkpoint = &lanes.Checkpoint{At: at(time.Minute), Boot: "7d5e36ac", LogID: lanes.MaxLogID, Place: "a file"}
	batch.Lanes = []lanes.Snapshot{occupied(uuid.New(), "Jo Smith"), free(uuid.New()), uncleared(uuid.New())}
	batch.Events = []lanes.Logged{pending(3), delivered(pending(5)), pending(6)}
	batch.Ended = []lanes.Ended{ended(2, "Ann Lee"), ended(4, "")}
	batch.Acts = []lanes.Act{act(3, "sam"), act(8, "")}
	batch.Keys = []lanes.KeptAnswer{answer("k-1"), answer("k-2")}
	batch.Holds = new(holds("Ann Lee"))
	o.flush(batch)

	want := saved{
		Recovered: normalize(store.Recovered{
			Checkpoint: *batch.Checkpoint, Lanes: batch.Lanes, Keys: batch.Keys, Holds: *batch.Holds,
			Pending:   []lanes.Logged{batch.Events[0], batch.Events[2]},
			LastEvent: 6, LastEnded: 4, LastAct: 8,
		}),
		Events:  batch.Events,
		History: batch.Ended,
		Acts:    batch.Acts,
	}
	assert.Equal(s, want, o.saved())
	s.reopen()
	assert.Equal(s, want, o.saved())
}

func recordsAreReplaced(s *fixture) {
	o := s.claim(uuid.New())
	lane, other := uuid.New(), free(uuid.New())
	first := o.batch()
	first.Checkpoint = &lanes.Checkpoint{At: at(0), Boot: "before"}
	first.Lanes = []lanes.Snapshot{occupied(lane, "Jo Smith"), other}
	first.Keys = []lanes.KeptAnswer{answer("k")}
	o.flush(first)

	second := o.batch()
	second.Checkpoint = &lanes.Checkpoint{At: at(time.Hour), Boot: "after"}
	second.Lanes = []lanes.Snapshot{free(lane)}
	second.Keys = []lanes.KeptAnswer{answer("k")}
	second.Keys[0].Status = 204
	o.flush(second)
	o.flush(o.batch()) // an empty batch changes no record

	want := store.Recovered{
		Checkpoint: *second.Checkpoint, Lanes: []lanes.Snapshot{second.Lanes[0], other}, Keys: second.Keys,
	}
	assert.Equal(s, normalize(want), o.load())
}

// texts are valid UTF-8 that is hard to encode in JSON.
var texts = []string{
	"", " ", "O'Brien & <sons>", `back\slash "quoted"`, "line\r\nbreak\ttab\x00nul\x7f", "\u2028\u2029\ufeff\ufffd",
	"Зоя Щукина", "山田太郎", "👩‍👩‍👧‍👦", "e\u0301 \u202eright to left", "\U0010ffff",
}

func survivesExactly(s *fixture) {
	o := s.claim(uuid.New())
	batch := o.batch()
	for i, name := range texts {
		lane := occupied(uuid.New(), name)
		lane.Boot, lane.Log = name, lanes.Log{ID: name, Seq: math.MaxUint64}
		lane.Session.Left, lane.Session.Rested = math.MaxInt64, math.MinInt64
		lane.Session.Facts = math.MaxUint64
		batch.Lanes = append(batch.Lanes, lane)
		lane.Help.At, lane.Sale = opening.Add(time.Duration(i)), lanes.Sale(name)
		batch.Ended = append(batch.Ended, ended(uint64(i+1), name))
		batch.Acts = append(batch.Acts, act(uint64(i+1), name))
		batch.Acts[i].What, batch.Acts[i].Detail = name, name
		key := answer("key" + name)
		key.Body = name
		batch.Keys = append(batch.Keys, key)
	}
	latest := ended(math.MaxUint64, "the last cursor there is")
	latest.At = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	batch.Ended = append(batch.Ended, latest)
	last := act(math.MaxUint64, "sam")
	last.At = latest.At
	batch.Acts = append(batch.Acts, last)
	batch.Events = []lanes.Logged{delivered(pending(math.MaxInt64)), pending(math.MaxUint64)}
	batch.Events[0].Simulated = true
	batch.Events[0].Attempt.Error = "dial tcp: \"no\" <host>"
	o.flush(batch)
	s.reopen()

	got := o.saved()
	want := normalize(store.Recovered{Lanes: batch.Lanes, Keys: batch.Keys})
	assert.Equal(s, want.Lanes, got.Recovered.Lanes)
	assert.Equal(s, want.Keys, got.Recovered.Keys)
	assert.Equal(s, batch.Ended, got.History)
	assert.Equal(s, batch.Events, got.Events)
	assert.Equal(s, batch.Acts, got.Acts)
	assert.Equal(s, uint64(math.MaxUint64), got.Recovered.LastEvent)
	assert.Equal(s, uint64(math.MaxUint64), got.Recovered.LastEnded)
	assert.Equal(s, uint64(math.MaxUint64), got.Recovered.LastAct)
}

func unwritableBatch(s *fixture) {
	o := s.claim(uuid.New())
	first := o.batch()
	first.Lanes = []lanes.Snapshot{occupied(uuid.New(), "Jo Smith")}
	first.Holds = new(holds("Ann Lee"))
	o.flush(first)
	before := o.saved()

	whole := func() store.Batch {
		batch := o.batch()
		batch.Checkpoint = &lanes.Checkpoint{At: at(0), Boot: "b"}
		batch.Lanes = []lanes.Snapshot{free(first.Lanes[0].ID), occupied(uuid.New(), "Ann Lee")}
		batch.Events = []lanes.Logged{pending(1), delivered(pending(2))}
		batch.Ended = []lanes.Ended{ended(1, "Jo Smith")}
		batch.Acts = []lanes.Act{act(1, "sam"), act(2, "sam")}
		batch.Keys = []lanes.KeptAnswer{answer("k")}
		batch.Holds = new(holds("Jo Smith"))
		return batch
	}
	noRecord := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) // JSON has no such time
	for name, spoil := range map[string]func(*store.Batch){
		"checkpoint": func(b *store.Batch) { b.Checkpoint.At.Wall = noRecord },
		"lane":       func(b *store.Batch) { b.Lanes[1].Session.Created.Wall = noRecord },
		"event":      func(b *store.Batch) { b.Events[1].Event.At = noRecord },
		"ended":      func(b *store.Batch) { b.Ended[0].At = noRecord },
		"key":        func(b *store.Batch) { b.Keys[0].At = noRecord },
		"act":        func(b *store.Batch) { b.Acts[1].At = noRecord },
		"hold":       func(b *store.Batch) { b.Holds.InForce[1].Since = noRecord },
		"lift":       func(b *store.Batch) { b.Holds.Lifted[0].At = noRecord },
	} {
		batch := whole()
		spoil(&batch)
		require.ErrorIs(s, o.try(batch), store.ErrRefused, name)
		assert.Equal(s, before, o.saved(), name)
	}
	s.reopen()
	assert.Equal(s, before, o.saved())

	o.flush(whole()) // its n was not used up
	assert.NotEqual(s, before, o.saved())
}

func keysAreDeleted(s *fixture) {
	o := s.claim(uuid.New())
	batch := o.batch()
	batch.Keys = []lanes.KeptAnswer{answer("a"), answer("b"), answer("c")}
	o.flush(batch)

	batch = o.batch()
	batch.Keys = []lanes.KeptAnswer{answer("d")}
	batch.Forget = []string{"a", "c", "never there"}
	o.flush(batch)
	want := []lanes.KeptAnswer{answer("b"), answer("d")}
	assert.Equal(s, want, o.load().Keys)
	s.reopen()
	assert.Equal(s, want, o.load().Keys)
}
