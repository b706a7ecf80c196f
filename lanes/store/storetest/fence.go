package storetest

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// filled returns the next batch with a record of each kind.
func (o *owner) filled(cursor uint64) store.Batch {
	batch := o.batch()
	batch.Lanes = []lanes.Snapshot{occupied(uuid.New(), "Jo Smith")}
	batch.Events = []lanes.Logged{pending(cursor)}
	batch.Ended = []lanes.Ended{ended(cursor, "Ann Lee")}
	batch.Acts = []lanes.Act{act(cursor, "sam")}
	batch.Keys = []lanes.KeptAnswer{answer(uuid.NewString())}
	batch.Holds = new(holds(uuid.NewString()))
	return batch
}

func repeat(s *fixture) {
	o := s.claim(uuid.New())
	first, second := o.filled(1), o.filled(2)
	second.N = 2
	o.flush(first)
	o.flush(second)
	want := o.saved()

	altered := o.filled(3) // its records do not matter: the pair says that it was written
	altered.N = 2
	for range 2 {
		require.NoError(s, o.try(second))
		require.NoError(s, o.try(altered))
		require.NoError(s, o.try(first), "one that came long before")
		altered.Refill = true
		require.NoError(s, o.try(altered), "a refill")
		altered.Refill = false
		assert.Equal(s, want, o.saved())
		s.reopen()
	}
	o.flush(o.filled(3))
}

func skipped(s *fixture) {
	o := s.claim(uuid.New())
	early := o.filled(1)
	early.N = 2
	require.ErrorIs(s, o.try(early), store.ErrRolledBack, "nothing was flushed yet")
	o.flush(o.filled(1))
	want := o.saved()

	for _, ahead := range []uint64{2, 3, 1000} {
		batch := o.filled(2)
		batch.N = o.n + ahead
		require.ErrorIs(s, o.try(batch), store.ErrRolledBack)
	}
	assert.Equal(s, want, o.saved())
	o.flush(o.filled(2))
}

func fenced(s *fixture) {
	first := s.claim(uuid.New())
	first.flush(first.filled(1))
	second := s.claim(first.rangeID)
	want := second.saved()

	require.ErrorIs(s, first.try(first.filled(2)), store.ErrFenced, "the new owner has flushed nothing yet")
	assert.Equal(s, want, second.saved())
	second.flush(second.filled(2))
	want = second.saved()
	repeated := first.filled(1)
	repeated.N = 1
	require.ErrorIs(s, first.try(repeated), store.ErrFenced, "a repeat of what was written")
	s.reopen()
	require.ErrorIs(s, first.try(first.filled(3)), store.ErrFenced)
	assert.Equal(s, want, second.saved())
	second.flush(second.filled(3))
}

// fencedReads checks that whoever has lost the range learns so by each read, also of what is not there.
func fencedReads(s *fixture) {
	first := s.claim(uuid.New())
	batch := first.filled(1)
	batch.Ended[0].Session.Correlation = correlated("a")
	first.flush(batch)
	reads := func(o *owner) map[string]error {
		of, ctx := o.rangeEpoch(), s.Context()
		return map[string]error{
			"the epoch":                   s.store.Confirm(ctx, of),
			"an ended session":            errorOf(s.store.Ended(ctx, of, batch.Ended[0].Session.ID)),
			"events":                      errorOf(s.store.Events(ctx, of, 0, 10)),
			"events behind the last":      errorOf(s.store.Events(ctx, of, 7, 10)),
			"the history":                 errorOf(s.store.History(ctx, of, 0, 10)),
			"sessions with that id":       errorOf(s.store.HistoryOf(ctx, of, "a", 0, 10)),
			"sessions with another id":    errorOf(s.store.HistoryOf(ctx, of, "b", 0, 10)),
			"acts":                        errorOf(s.store.Acts(ctx, of, 0, 10)),
			"a session that is not there": unlessNotFound(errorOf(s.store.Ended(ctx, of, uuid.New()))),
		}
	}
	for what, err := range reads(first) {
		require.NoError(s, err, what)
	}
	second := s.claim(first.rangeID)
	for range 2 {
		for what, err := range reads(first) {
			require.ErrorIs(s, err, store.ErrFenced, "%s: the new owner has flushed nothing yet", what)
		}
		for what, err := range reads(second) {
			require.NoError(s, err, what)
		}
		s.reopen()
	}
}

// readsOfWhatIsLost checks that a store which lacks a flush, or the claim itself, answers no read of the process that
// knows of it: an empty page would say that nothing was there.
func readsOfWhatIsLost(s *fixture) {
	o := s.claim(uuid.New())
	o.flush(o.filled(1))
	var older func()
	s.reopen(func() { older = s.bench.Copy(s.T) })
	batch := o.filled(2)
	batch.Ended[0].Session.Correlation = correlated("a")
	reads := func() map[string]error {
		of, ctx := o.rangeEpoch(), s.Context()
		return map[string]error{
			"the range":             errorOf(s.store.Load(ctx, of)),
			"the pair":              s.store.Confirm(ctx, of),
			"an ended session":      errorOf(s.store.Ended(ctx, of, batch.Ended[0].Session.ID)),
			"an answer":             errorOf(s.store.Answer(ctx, of, batch.Keys[0].Name)),
			"events":                errorOf(s.store.Events(ctx, of, 1, 10)),
			"the history":           errorOf(s.store.History(ctx, of, 1, 10)),
			"sessions with that id": errorOf(s.store.HistoryOf(ctx, of, "a", 0, 10)),
			"acts":                  errorOf(s.store.Acts(ctx, of, 1, 10)),
		}
	}
	lacks := func(what string) {
		for read, err := range reads() {
			require.ErrorIs(s, err, store.ErrRolledBack, "%s: %s", what, read)
		}
	}
	o.flush(batch)
	o.flush(o.batch())
	s.reopen(older)
	lacks("a flush")
	require.NoError(s, s.store.Confirm(s.Context(), store.RangeEpoch{Range: o.rangeID, Epoch: o.epoch, N: 1}),
		"of what the store has lost, nobody else is the owner")
	assert.Len(s, anyone(s, o.rangeID).events(), 1, "whoever only looks on")
	s.reopen(func() { s.bench.Wipe(s.T) })
	lacks("everything")
	o.n = 0
	lacks("the claim")

	o.n = 2
	batch.N, batch.Refill = 3, true
	o.flush(batch)
	for read, err := range reads() {
		require.NoError(s, err, read)
	}
}

func unlessNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func wiped(s *fixture) {
	o := s.claim(uuid.New())
	o.flush(o.filled(1))
	o.flush(o.filled(2))
	want := o.saved()
	s.reopen(func() { s.bench.Wipe(s.T) })

	require.ErrorIs(s, o.try(o.batch()), store.ErrRolledBack)
	assert.Empty(s, anyone(s, o.rangeID).load().Lanes)
	assert.Zero(s, anyone(s, o.rangeID).load().Holds)
	refill := o.batch()
	refill.Refill = true
	refill.Lanes, refill.Keys, refill.Holds = want.Recovered.Lanes, want.Recovered.Keys, &want.Recovered.Holds
	refill.Events, refill.Ended, refill.Acts = want.Events, want.History, want.Acts
	o.flush(refill)
	assert.Equal(s, want, o.saved())
	require.NoError(s, o.try(refill), "a repeat")

	o.flush(o.filled(3)) // n continues
	s.reopen()
	assert.Len(s, o.events(), 3)
	newer := s.claim(o.rangeID)
	assert.Greater(s, newer.epoch, o.epoch)
}

func olderCopy(s *fixture) {
	o := s.claim(uuid.New())
	lane := uuid.New()
	batch := o.filled(1)
	batch.Lanes = []lanes.Snapshot{occupied(lane, "Jo Smith")}
	o.flush(batch)
	var older func()
	s.reopen(func() { older = s.bench.Copy(s.T) })
	batch = o.filled(2)
	batch.Lanes = []lanes.Snapshot{free(lane)}
	batch.Events = append(batch.Events, delivered(o.events()[0]))
	o.flush(batch)
	want := o.saved()
	s.reopen(older)

	require.ErrorIs(s, o.try(o.batch()), store.ErrRolledBack)
	assert.Equal(s, uint64(1), anyone(s, o.rangeID).load().LastEvent)
	refill := o.batch()
	refill.Refill = true
	refill.Lanes, refill.Keys, refill.Holds = want.Recovered.Lanes, want.Recovered.Keys, &want.Recovered.Holds
	refill.Events, refill.Ended, refill.Acts = want.Events, want.History, want.Acts
	o.flush(refill)
	assert.Equal(s, want, o.saved())
	o.flush(o.filled(3))

	// A copy from before the claim: the epoch itself is lower.
	s.reopen(older)
	newer := s.claim(o.rangeID)
	newer.flush(newer.batch())
	s.reopen(older)
	require.ErrorIs(s, newer.try(newer.batch()), store.ErrRolledBack)
	refill = newer.batch()
	refill.Refill = true
	newer.flush(refill)
	require.ErrorIs(s, o.try(o.batch()), store.ErrFenced)
}

func refillReplaces(s *fixture) {
	o := s.claim(uuid.New())
	first := o.filled(1)
	first.Lanes = []lanes.Snapshot{occupied(uuid.New(), "Jo Smith"), free(uuid.New())}
	first.Checkpoint = &lanes.Checkpoint{At: at(time.Minute), Boot: "b"}
	o.flush(first)

	refill := o.batch()
	refill.N, refill.Refill = 9, true
	refill.Lanes = []lanes.Snapshot{free(first.Lanes[0].ID)}
	lost := answer("lost").Shed()
	refill.Keys = []lanes.KeptAnswer{answer("new"), first.Keys[0].Shed(), lost}
	refill.Holds = new(first.Holds.Lift(lanes.Scope{Kind: lanes.OverRange}, opening.Add(day)))
	o.flush(refill)
	lost.InStore = false
	want := store.Recovered{
		Checkpoint: *first.Checkpoint, Lanes: refill.Lanes,
		Keys: []lanes.KeptAnswer{answer("new"), first.Keys[0], lost}, Pending: first.Events,
		Holds: *refill.Holds, LastEvent: 1, LastEnded: 1, LastAct: 1,
	}
	assert.Equal(s, normalize(want), o.load())
	assert.Equal(s, first.Ended, o.history())
	assert.Equal(s, first.Acts, o.acts())
	refill.N, refill.Holds = o.n+1, nil
	o.flush(refill)
	_, err := o.store.Answer(s.Context(), o.rangeEpoch(), "never used")
	require.ErrorIs(s, err, store.ErrNotFound)
	assert.True(s, lost.IsLost())
	assert.Equal(s, normalize(want), o.load(), "holds that it does not have stay, rather than be lifted by it")
	o.flush(o.batch())
}

func refillFenced(s *fixture) {
	first := s.claim(uuid.New())
	first.flush(first.filled(1))
	second := s.claim(first.rangeID)
	want := second.saved()

	refill := first.filled(2)
	refill.Refill = true
	require.ErrorIs(s, first.try(refill), store.ErrFenced)
	refill.N = 100
	require.ErrorIs(s, first.try(refill), store.ErrFenced)
	assert.Equal(s, want, second.saved())
	second.flush(second.filled(2))
}
