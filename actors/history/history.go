package history

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/commit"
	"rangegate/actors/logline"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/trace"
)

// Store is what is read of a store. Its methods are those of store.Store.
type Store interface {
	Confirm(ctx context.Context, of store.RangeEpoch) error
	Ended(ctx context.Context, of store.RangeEpoch, session uuid.UUID) (lanes.Ended, error)
	Answer(ctx context.Context, of store.RangeEpoch, name string) (lanes.KeptAnswer, error)
	Events(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Logged, error)
	History(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Ended, error)
	HistoryOf(ctx context.Context, of store.RangeEpoch, externalID string, after uint64,
		limit int) ([]lanes.Ended, error)
	Acts(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Act, error)
}

// Committer is what a Reader needs to know of the writes. Its methods are those of commit.Committer.
type Committer interface {
	Ending(session uuid.UUID) (ended lanes.Ended, found bool)
	Follow() (saved uint64, follower *commit.Follower)
	LogID() uint64
	SavedEvent() uint64
	SavedEnded() uint64
	LastCursors() (event, ended, act uint64)
	IsFenced() bool
	RangeEpoch() store.RangeEpoch
	Checkpoint()
}

// Deps is what a Reader needs of its range.
type Deps struct {
	Store     Store
	Committer Committer
	Log       zerolog.Logger
	Fenced    func() // is called when the store has a newer epoch; does not block
}

// Reader reads what one range has saved. Its methods may be called from any goroutine, and wait until their
// context ends at the latest. Each of those may return lanes.ErrNotOwner (another process has claimed the
// range), lanes.ErrStoreUnavailable (also where the store lacks what is durable), lanes.ErrTimeout and, if the
// client gave up, context.Canceled. Cursors rise; 0 is before the first record.
type Reader struct{ deps Deps }

// New returns a Reader.
func New(deps Deps) *Reader { return &Reader{deps} }

// Entries reads at most limit entries of the event log behind the cursor as they are stored, oldest first, of
// those that are known to be durable: no entry appears before one that was returned.
func (r *Reader) Entries(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error) {
	entries, err := r.deps.Store.Events(ctx, r.of(), after, limit)
	entries, err = page(ctx, r, entries, err)
	return upTo(r.deps.Committer.SavedEvent(), entries), err
}

// upTo drops entries whose flush is not acknowledged yet: they could be lost.
func upTo(saved uint64, entries []lanes.Logged) []lanes.Logged {
	for len(entries) > 0 && entries[len(entries)-1].Cursor > saved {
		entries = entries[:len(entries)-1]
	}
	return entries
}

// FollowEvents returns the highest cursor of the event log that is durable, and a function for one goroutine
// that returns what is saved after it: the next events in the order of their cursors, in a slice that nobody
// may change, or, without any, a channel that is closed as soon as there are some. It reads no store.
func (r *Reader) FollowEvents() (saved uint64, next func() (events []lanes.Logged, wake <-chan struct{})) {
	saved, follower := r.deps.Committer.Follow()
	return saved, follower.Next
}

// LogID names the event log and the history, so that a cursor of another one is known: see commit.Committer.
func (r *Reader) LogID() uint64 { return r.deps.Committer.LogID() }

// Saved returns the highest cursors of the event log and of the history that are durable.
func (r *Reader) Saved() (event, ended uint64) {
	return r.deps.Committer.SavedEvent(), r.deps.Committer.SavedEnded()
}

// Latest returns the highest cursors of the event log, the history and the acts of staff, to read them from their ends.
func (r *Reader) Latest(context.Context) (event, ended, act uint64) {
	return r.deps.Committer.LastCursors()
}

// EventsKeptBehind returns the cursor behind which the event log is whole: what was before it is not kept any more.
func (r *Reader) EventsKeptBehind(ctx context.Context) (uint64, error) {
	saved := r.deps.Committer.SavedEvent() // before the read: what is saved meanwhile is behind it
	oldest, err := r.deps.Store.Events(ctx, r.of(), 0, 1)
	switch {
	case err != nil:
		return 0, r.failed(ctx, err)
	case len(oldest) == 0:
		return saved, nil
	}
	return min(saved, oldest[0].Cursor-1), nil
}

// HistoryKeptBehind is EventsKeptBehind of the history.
func (r *Reader) HistoryKeptBehind(ctx context.Context) (uint64, error) {
	saved := r.deps.Committer.SavedEnded()
	oldest, err := r.deps.Store.History(ctx, r.of(), 0, 1)
	switch {
	case err != nil:
		return 0, r.failed(ctx, err)
	case len(oldest) == 0:
		return saved, nil
	}
	return min(saved, oldest[0].Cursor-1), nil
}

// History reads at most limit ended sessions behind the cursor, oldest first.
func (r *Reader) History(ctx context.Context, after uint64, limit int) ([]lanes.Ended, error) {
	ended, err := r.deps.Store.History(ctx, r.of(), after, limit)
	return page(ctx, r, ended, err)
}

// HistoryOf reads at most limit ended sessions behind the cursor that have the external id, oldest first.
func (r *Reader) HistoryOf(ctx context.Context, externalID string, after uint64, limit int) ([]lanes.Ended, error) {
	ended, err := r.deps.Store.HistoryOf(ctx, r.of(), externalID, after, limit)
	return page(ctx, r, ended, err)
}

// Acts reads at most limit acts of staff behind the cursor, oldest first.
func (r *Reader) Acts(ctx context.Context, after uint64, limit int) ([]lanes.Act, error) {
	acts, err := r.deps.Store.Acts(ctx, r.of(), after, limit)
	return page(ctx, r, acts, err)
}

// EndedSession returns a session that is on no lane, as it ended, with lanes.ErrSessionEnded; zero if its
// record cannot be read. Error: lanes.ErrSessionNotFound.
func (r *Reader) EndedSession(ctx context.Context, id uuid.UUID) (lanes.Ended, error) {
	if ending, found := r.deps.Committer.Ending(id); found {
		return ending, lanes.ErrSessionEnded
	}
	ended, err := r.deps.Store.Ended(ctx, r.of(), id)
	var corrupt *store.CorruptError
	switch {
	case r.deps.Committer.IsFenced():
		return lanes.Ended{}, lanes.ErrNotOwner
	case err == nil:
		return ended, lanes.ErrSessionEnded
	case errors.As(err, &corrupt): // it has ended, and nobody can ever learn more of it
		r.deps.Log.Error().Stringer("session_id", id).Err(err).Msg("the record of an ended session cannot be read")
		return lanes.Ended{}, lanes.ErrSessionEnded
	case errors.Is(err, store.ErrNotFound):
		return lanes.Ended{}, lanes.ErrSessionNotFound
	}
	return lanes.Ended{}, r.failed(ctx, err)
}

// SessionEnd returns when a session that is on no lane has ended; zero if its record cannot be read. Error:
// lanes.ErrSessionNotFound.
func (r *Reader) SessionEnd(ctx context.Context, session uuid.UUID) (time.Time, error) {
	ended, err := r.EndedSession(ctx, session)
	if errors.Is(err, lanes.ErrSessionEnded) {
		return ended.At, nil
	}
	return time.Time{}, err
}

// Answer reads the kept answer to a request. Error: lanes.ErrNotSaved where the store has lost it, or lacks what is
// durable: the request is in force all the same.
func (r *Reader) Answer(ctx context.Context, name string) (lanes.KeptAnswer, error) {
	kept, err := r.deps.Store.Answer(ctx, r.of(), name)
	isLost := errors.Is(err, store.ErrNotFound) || err == nil && kept.IsLost()
	if isLost && !r.deps.Committer.IsFenced() {
		r.line(ctx, zerolog.ErrorLevel).Msg("the store has lost the answer to a request that is in force")
		return lanes.KeptAnswer{}, lanes.ErrNotSaved
	}
	switch failure := r.outcome(ctx, err); {
	case errors.Is(err, store.ErrRolledBack) && errors.Is(failure, lanes.ErrStoreUnavailable):
		return lanes.KeptAnswer{}, lanes.ErrNotSaved
	case failure != nil:
		return lanes.KeptAnswer{}, failure
	}
	return kept, nil
}

// Confirm returns nil once the store has confirmed that nobody has claimed the range since.
func (r *Reader) Confirm(ctx context.Context) error {
	return r.outcome(ctx, r.deps.Store.Confirm(ctx, r.of()))
}

// of is taken right before a read: whatever is durable by then is among what the store reads.
func (r *Reader) of() store.RangeEpoch { return r.deps.Committer.RangeEpoch() }

// page returns what was read, or the error for the client.
func page[T any](ctx context.Context, r *Reader, records []T, err error) ([]T, error) {
	if err := r.outcome(ctx, err); err != nil {
		return nil, err
	}
	return records, nil
}

// outcome returns the error of a read for the client. It is ErrNotOwner also where the read has succeeded and
// another process is known by now to own the range.
func (r *Reader) outcome(ctx context.Context, err error) error {
	switch {
	case r.deps.Committer.IsFenced():
		return lanes.ErrNotOwner
	case err != nil:
		return r.failed(ctx, err)
	}
	return nil
}

// failed logs a failed read and returns the error for the client. It is no failure of the store if the client
// gave the read up, whose error is context.Canceled, or if the request's time was over. The range is dropped
// where the store has a newer epoch.
func (r *Reader) failed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, store.ErrFenced):
		r.deps.Fenced()
		return lanes.ErrNotOwner
	case errors.Is(err, store.ErrRolledBack):
		r.deps.Committer.Checkpoint() // it gets again what it has lost, rather than with the next change
	case errors.Is(ctx.Err(), context.Canceled):
		r.line(ctx, zerolog.DebugLevel).Err(err).Msg("a read from the store was given up by its client")
		return context.Canceled
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		r.line(ctx, zerolog.WarnLevel).Err(err).Msg("a read from the store took longer than its request may")
		return lanes.ErrTimeout
	}
	r.line(ctx, zerolog.ErrorLevel).Err(err).Msg("the store could not be read")
	if errors.Is(err, context.DeadlineExceeded) { // of the store's own
		return lanes.ErrTimeout
	}
	return lanes.ErrStoreUnavailable
}

// line begins a line about the request that the context is of.
func (r *Reader) line(ctx context.Context, level zerolog.Level) *zerolog.Event {
	return logline.Traced(r.deps.Log.WithLevel(level), trace.ID(ctx))
}
