// Package store says what a snapshot store is. Each folder below it is one. Every store passes the suite in storetest.
//
// A store keeps, for each range: the pair (epoch, n) of its last flush, a checkpoint, a snapshot of every lane, the
// event log, the history of ended sessions and of what staff did, the answers kept for idempotency keys, and the record of
// its holds.
//
// One mechanism is fence, answer to an unknown outcome, and failover: a flush carries (epoch, n) and is applied only
// when the stored pair is (epoch, n-1).
//
//	stored pair            what it means                              Flush answers
//	(epoch, n-1)           as expected                                nil: applied now
//	(epoch, n or higher)   committed already, a safe repeat           nil: nothing is written again
//	a higher epoch         another process owns the range             ErrFenced
//	anything lower         the store has lost acknowledged flushes    ErrRolledBack, unless the batch is a Refill
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Store keeps what brings ranges back after a crash. Its methods are safe for concurrent use; those that take a
// context end with it. An error of Flush that is none of the ones below leaves the outcome unknown: flushing the
// same batch again settles it.
type Store interface {
	// Claim takes the range for this process: its epoch is the stored one + 1, or now in Unix milliseconds if that
	// is more, so that a store that was lost never lowers it. From then on older epochs are fenced. n starts at 0.
	Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (epoch uint64, err error)
	// Load reads what is needed to bring the range back. A record that cannot be read is a *CorruptError.
	Load(ctx context.Context, rangeID uuid.UUID) (Recovered, error)
	// Flush writes the batch, all of it or nothing, and does not return before it is durable.
	Flush(ctx context.Context, batch Batch) error
	// Ended looks a session up in the history: ErrNotFound.
	Ended(ctx context.Context, rangeID, session uuid.UUID) (lanes.Ended, error)
	// Events reads the event log behind the cursor, oldest first. 0 is before the first.
	Events(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Logged, error)
	// History reads the ended sessions behind the cursor, oldest first. 0 is before the first.
	History(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Ended, error)
	// Acts reads what staff did behind the cursor, oldest first. 0 is before the first.
	Acts(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Act, error)
	// Close waits for what is under way and releases everything. The store cannot be used afterwards.
	Close() error
}

// Batch is what one flush of a range writes.
type Batch struct {
	Range    uuid.UUID
	Epoch, N uint64
	// Refill makes a store that has lost acknowledged flushes whole again: the batch has every lane, every key and the
	// holds, which take the place of those that are stored, and is applied although the stored pair is lower than
	// expected. A higher epoch still fences it.
	Refill bool

	Now        time.Time // by which old records are trimmed
	Checkpoint *lanes.Checkpoint
	Lanes      []lanes.Snapshot
	Events     []lanes.Logged // by cursor: a new one is appended, one that is there is replaced (its attempt)
	Ended      []lanes.Ended  // appended; cursors ascend
	Acts       []lanes.Act    // likewise
	Keys       []lanes.KeptAnswer
	Forget     []string     // names of keys whose term is over
	Holds      *lanes.Holds // nil: as they are stored, in a Refill too

	// The highest cursors ever given, where that is more than Events, Ended and Acts have: what they belonged to may be
	// gone already. They never lower what is stored.
	LastEvent, LastEnded, LastAct uint64
}

// Recovered is a range as it was saved. A range that was never flushed has none of it.
type Recovered struct {
	Checkpoint lanes.Checkpoint
	Lanes      []lanes.Snapshot
	Pending    []lanes.Logged // events whose Attempt is nil, oldest first
	Keys       []lanes.KeptAnswer
	Holds      lanes.Holds // zero where none were ever flushed: the store may be older than they are
	LastEvent  uint64      // the highest cursor ever given in the event log, trimmed ones included
	LastEnded  uint64      // likewise in the history
	LastAct    uint64      // likewise of what staff did
}

// Retention bounds what is kept of a range. Trimming is part of the flushes, a little at a time; an event that is
// still pending is not trimmed, nor any behind it.
type Retention struct {
	Events  time.Duration // how long an event stays in the log
	History time.Duration // how long an ended session stays in the history, and what staff did
	Names   time.Duration // how long the history keeps customers' names; those of staff stay
	Cap     int           // at most so many events, so many ended sessions, and so many acts of staff, of a range
}

// The answers of a store that are not failures of it.
var (
	ErrNotFound = errors.New("not in the store")
	// ErrFenced: another process has claimed the range; this one must let go of it.
	ErrFenced = errors.New("the range was claimed by another process")
	// ErrRolledBack: the store has lost acknowledged flushes.
	ErrRolledBack = errors.New("the store has lost acknowledged writes")
	// ErrRefused: the store did not take the flush; nothing of it was written, or ever will be.
	ErrRefused = errors.New("the store refused the write")
)

// CorruptError is a record that cannot be read: damaged, or written by a newer version.
type CorruptError struct {
	Where  string // the file, or the server
	Record string // the record in it
	Err    error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: record %s: %v", e.Where, e.Record, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }
