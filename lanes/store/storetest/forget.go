package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/archive"
)

// RunForget runs the tests of store.Forgetter in sequence, each on a fresh bench, whose store is also an
// archive.Target.
func RunForget(t *testing.T, fresh func(t *testing.T) Bench) {
	for _, c := range []struct {
		name string
		test func(*forgetFixture)
	}{
		{"a forgotten range has nothing, and the others all that they had", forgetsOneRange},
		{"an owner of before neither writes to a forgotten range nor refills it", forgottenFences},
		{"a forgotten range begins anew in a higher epoch", forgottenBeginsAnew},
		{"a range that was written to meanwhile is not forgotten", changedIsNotForgotten},
		{"a range that was never there is not found", unknownIsNotForgotten},
		{"a range may be forgotten again", forgetsAgain},
		{"a forgotten range may be restored, in a higher epoch", forgottenIsRestored},
		{"an ended context forgets nothing", endedContextForgetsNothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &forgetFixture{&fixture{T: t, bench: fresh(t), retention: generous}}
			s.store = s.bench.Open(t, s.retention)
			t.Cleanup(func() { _ = s.store.Close() })
			c.test(s)
		})
	}
}

type forgetFixture struct{ *fixture }

// forgetter is what the store under test has beyond a store.Store.
type forgetter interface {
	store.Forgetter
	archive.Target
}

func (s *forgetFixture) forgetter() forgetter { return s.store.(forgetter) }

// forget forgets the range as its owner has saved it last.
func (s *forgetFixture) forget(o *owner, now time.Time) error {
	return s.forgetter().Forget(s.Context(), o.rangeID, store.RangeMeta{Epoch: o.epoch, N: o.n}, now)
}

func (s *forgetFixture) ranges() []uuid.UUID {
	s.Helper()
	ids, err := s.forgetter().Ranges(s.Context())
	require.NoError(s, err)
	return ids
}

// fill flushes three batches with records of each kind, and returns the last one.
func (o *owner) fill() (last store.Batch) {
	o.Helper()
	for cursor := range uint64(3) {
		last = o.filled(cursor + 1)
		last.Checkpoint = &lanes.Checkpoint{At: at(time.Hour), Boot: "boot", LogID: 7}
		last.Ended[0].Session.Correlation = &lanes.Correlation{ExternalID: "receipt"}
		o.flush(last)
	}
	return last
}

// requireNothing requires that nothing of the range can be read, in any epoch; last is what was flushed last.
func (s *forgetFixture) requireNothing(rangeID uuid.UUID, last store.Batch) {
	s.Helper()
	o := &owner{fixture: s.fixture, rangeID: rangeID, epoch: store.InAnyEpoch(rangeID).Epoch}
	require.Equal(s, saved{
		Recovered: normalize(store.Recovered{}), Events: []lanes.Logged{}, History: []lanes.Ended{},
		Acts: []lanes.Act{},
	}, o.saved())
	_, err := s.store.Ended(s.Context(), o.rangeEpoch(), last.Ended[0].Session.ID)
	require.ErrorIs(s, err, store.ErrNotFound)
	_, err = s.store.Answer(s.Context(), o.rangeEpoch(), last.Keys[0].Name)
	require.ErrorIs(s, err, store.ErrNotFound)
	require.Empty(s, o.historyOf("receipt"))
}

func forgetsOneRange(s *forgetFixture) {
	before, forgotten, behind := s.claim(uuid.New()), s.claim(uuid.New()), s.claim(uuid.New())
	before.fill()
	last := forgotten.fill()
	behind.fill()
	want := []saved{before.saved(), behind.saved()}
	require.Len(s, s.ranges(), 3)

	require.NoError(s, s.forget(forgotten, opening))
	for range 2 {
		require.ElementsMatch(s, []uuid.UUID{before.rangeID, behind.rangeID}, s.ranges())
		require.Equal(s, want, []saved{before.saved(), behind.saved()})
		s.requireNothing(forgotten.rangeID, last)
		s.reopen()
	}
	before.flush(before.filled(4))
	behind.flush(behind.filled(4))
}

// An owner that was suspended holds the whole range in its memory. A store that has nothing of a range, nor
// its epoch, would have it refilled.
func forgottenFences(s *forgetFixture) {
	former := s.claim(uuid.New())
	former.fill()
	frozen := s.claim(former.rangeID)
	last := frozen.filled(4)
	frozen.flush(last)
	require.NoError(s, s.forget(frozen, opening.Add(-time.Hour)), "the clock was put back")

	for range 2 {
		for _, o := range []*owner{former, frozen} {
			late := o.filled(9)
			require.ErrorIs(s, o.try(late), store.ErrFenced)
			late.Refill = true
			require.ErrorIs(s, o.try(late), store.ErrFenced)
			late.N = 1
			require.ErrorIs(s, o.try(late), store.ErrFenced, "a repeat")
			require.ErrorIs(s, s.store.Confirm(s.Context(), o.rangeEpoch()), store.ErrFenced)
			_, err := s.store.Events(s.Context(), o.rangeEpoch(), 0, 10)
			require.ErrorIs(s, err, store.ErrFenced)
		}
		s.requireNothing(frozen.rangeID, last)
		require.Empty(s, s.ranges())
		s.reopen()
	}
}

func forgottenBeginsAnew(s *forgetFixture) {
	former := s.claim(uuid.New())
	last := former.fill()
	require.NoError(s, s.forget(former, opening.Add(time.Hour)))
	next := s.claimAt(former.rangeID, opening)
	assert.Greater(s, next.epoch, uint64(opening.Add(time.Hour).UnixMilli()))
	s.requireNothing(next.rangeID, last)
	require.Equal(s, []uuid.UUID{next.rangeID}, s.ranges(), "somebody has claimed it")

	next.flush(next.filled(1))
	want := next.saved()
	assert.Equal(s, uint64(1), want.Recovered.LastEvent)
	require.ErrorIs(s, former.try(former.filled(4)), store.ErrFenced)
	s.reopen()
	assert.Equal(s, want, next.saved())
	require.NoError(s, s.forget(next, opening))
	s.requireNothing(next.rangeID, last)
	require.Empty(s, s.ranges())
}

func changedIsNotForgotten(s *forgetFixture) {
	o := s.claim(uuid.New())
	o.fill()
	for _, as := range []store.RangeMeta{
		{}, {Epoch: o.epoch, N: o.n - 1}, {Epoch: o.epoch, N: o.n + 1}, {Epoch: o.epoch - 1, N: o.n},
	} {
		want := o.saved()
		require.ErrorIs(s, s.forgetter().Forget(s.Context(), o.rangeID, as, opening), store.ErrChanging)
		require.Equal(s, want, o.saved())
		o.flush(o.filled(o.n + 1)) // it was not fenced
	}
	claimed := s.claim(o.rangeID)
	require.ErrorIs(s, s.forget(o, opening), store.ErrChanging, "somebody has claimed it meanwhile")
	require.NoError(s, s.forget(claimed, opening))
}

func unknownIsNotForgotten(s *forgetFixture) {
	other := s.claim(uuid.New())
	unknown := &owner{fixture: s.fixture, rangeID: uuid.New()}
	require.ErrorIs(s, s.forget(unknown, opening), store.ErrNotFound)
	require.Equal(s, []uuid.UUID{other.rangeID}, s.ranges())
	epoch, err := s.store.Claim(s.Context(), unknown.rangeID, time.Unix(0, 0))
	require.NoError(s, err)
	require.Equal(s, uint64(1), epoch, "nothing was written of it")
}

// A command that was killed is run again, and knows nothing of the range any more.
func forgetsAgain(s *forgetFixture) {
	o := s.claim(uuid.New())
	last := o.fill()
	require.NoError(s, s.forget(o, opening))
	for range 2 {
		s.reopen()
		require.NoError(s, s.forgetter().Forget(s.Context(), o.rangeID, store.RangeMeta{}, opening))
		s.requireNothing(o.rangeID, last)
		late := o.filled(4)
		late.Refill = true
		require.ErrorIs(s, o.try(late), store.ErrFenced)
	}
}

func forgottenIsRestored(s *forgetFixture) {
	former := s.claim(uuid.New())
	last := former.fill()
	require.NoError(s, s.forget(former, opening))
	last.Epoch, last.N = 7, 0 // the clock was not set
	last.LastEvent, last.LastEnded, last.LastAct = 3, 3, 3
	require.NoError(s, s.forgetter().Restore(s.Context(), last))
	require.ErrorIs(s, s.forgetter().Restore(s.Context(), last), store.ErrExists)
	require.Equal(s, []uuid.UUID{former.rangeID}, s.ranges())
	late := former.filled(4)
	late.Refill = true
	require.ErrorIs(s, former.try(late), store.ErrFenced)

	next := s.claim(former.rangeID)
	require.Greater(s, next.epoch, former.epoch)
	require.Equal(s, last.Ended, next.history())
	require.Equal(s, last.Ended, next.historyOf("receipt"))
	require.Equal(s, last.Events, next.load().Pending)
	next.flush(next.filled(4))
}

func endedContextForgetsNothing(s *forgetFixture) {
	o := s.claim(uuid.New())
	o.fill()
	want := o.saved()
	canceled, cancel := context.WithCancel(s.Context())
	cancel()
	err := s.forgetter().Forget(canceled, o.rangeID, store.RangeMeta{Epoch: o.epoch, N: o.n}, opening)
	require.ErrorIs(s, err, context.Canceled)
	require.Equal(s, want, o.saved())
	o.flush(o.filled(4))
}
