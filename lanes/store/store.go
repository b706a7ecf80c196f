// Package store is the contract of a snapshot store. The folders sqlite and redis implement it, and pass the
// suite in storetest.
//
// A store has, for each range: the pair (epoch, n) of its last flush, a checkpoint, a snapshot of every lane,
// the event log, the history of ended sessions, the acts of staff, the idempotency keys with their answers,
// and the holds.
//
// One mechanism fences old owners, resolves unknown outcomes and detects lost data: a flush carries (epoch,
// n) and is applied only when the stored pair is (epoch, n-1).
//
//	stored pair            what it means                              Flush answers
//	(epoch, n-1)           as expected                                nil: applied now
//	(epoch, n or higher)   committed already: a safe repeat           nil: nothing is written again
//	a higher epoch         another process owns the range             ErrFenced
//	anything lower         the store has lost acknowledged flushes    ErrRolledBack, unless the batch is a Refill
//
// A read carries the pair of the newest acknowledged flush (RangeEpoch), and is answered where the store has that one
// or a later one of the same epoch. After a fail-over a read may meet the server that was the master before: what that
// one lacks is never taken for what is not there.
package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Store stores what brings ranges back after a crash. Its methods are safe for concurrent use, and return
// when their context ends. After an error of Flush that is none of those below, the outcome is unknown: a
// repeat of the same batch resolves it.
type Store interface {
	// Claim claims the range for this process. The new epoch is the stored one + 1, or now in Unix
	// milliseconds if that is more, so that the epoch rises even when the store has lost its data. Older
	// epochs are fenced. n starts at 0.
	Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (epoch uint64, err error)
	// Flush writes the batch, all of it or nothing, and returns when it is durable.
	Flush(ctx context.Context, batch Batch) error

	// The methods below read for a process that has claimed the range in that epoch. ErrFenced when the
	// stored epoch is higher, so that nobody answers by what he knows and reads of a range that another
	// process has by then. ErrRolledBack when the stored pair is lower: until a Refill, or until the read
	// reaches the server that has the flushes.

	// Load reads what brings the range back. A record that cannot be read is a *CorruptError.
	Load(ctx context.Context, of RangeEpoch) (Recovered, error)
	// Confirm reads nothing but the pair. nil: no other process had claimed the range when the store was
	// asked.
	Confirm(ctx context.Context, of RangeEpoch) error
	// Ended finds a session in the history: ErrNotFound.
	Ended(ctx context.Context, of RangeEpoch, session uuid.UUID) (lanes.Ended, error)
	// Answer reads a kept answer with its body: ErrNotFound.
	Answer(ctx context.Context, of RangeEpoch, name string) (lanes.KeptAnswer, error)
	// Events reads the event log behind the cursor, oldest first. 0 is before the first.
	Events(ctx context.Context, of RangeEpoch, after uint64, limit int) ([]lanes.Logged, error)
	// History reads the ended sessions behind the cursor, oldest first. 0 is before the first.
	History(ctx context.Context, of RangeEpoch, after uint64, limit int) ([]lanes.Ended, error)
	// HistoryOf is History of the sessions with that external id, which is not empty. Sessions without it are
	// not read.
	HistoryOf(ctx context.Context, of RangeEpoch, externalID string, after uint64, limit int) ([]lanes.Ended, error)
	// Acts reads the acts of staff behind the cursor, oldest first. 0 is before the first.
	Acts(ctx context.Context, of RangeEpoch, after uint64, limit int) ([]lanes.Act, error)

	// Close waits for calls that have begun, and releases everything. The store cannot be used afterwards.
	Close() error
}

// RangeEpoch is a range in the epoch in which a process has claimed it, and N is that of the newest flush that was
// acknowledged to it in that epoch, 0 before the first.
type RangeEpoch struct {
	Range    uuid.UUID
	Epoch, N uint64
}

// anyEpoch is an epoch that no claim reaches.
const anyEpoch = math.MaxUint64

// InAnyEpoch is the range for whoever owns none and only looks on.
func InAnyEpoch(rangeID uuid.UUID) RangeEpoch { return RangeEpoch{Range: rangeID, Epoch: anyEpoch} }

// IsAny reports whether the range is read whoever has claimed it.
func (of RangeEpoch) IsAny() bool { return of.Epoch == anyEpoch }

// Check returns nil where a store with the pair (epoch, n) answers the read, or ErrFenced, or ErrRolledBack.
func (of RangeEpoch) Check(epoch, n uint64) error {
	var reason error
	switch {
	case of.IsAny():
	case epoch > of.Epoch:
		reason = ErrFenced
	case epoch < of.Epoch, n < of.N:
		reason = ErrRolledBack
	}
	if reason == nil {
		return nil
	}
	return fmt.Errorf("range %s, read at (%d, %d), stored (%d, %d): %w", of.Range, of.Epoch, of.N, epoch, n, reason)
}

// Batch is what one flush of a range writes.
type Batch struct {
	Range    uuid.UUID
	Epoch, N uint64
	// Refill restores a store that has lost acknowledged flushes: the batch has every lane and the holds,
	// which replace the stored ones, and every key, and is applied although the stored pair is lower than
	// expected. A higher epoch fences it.
	Refill bool
	// Release leaves the range without an owner, in the same write: a server that lacks something refuses both.
	// Only nodes own ranges.
	Release bool

	Now        time.Time // for trimming old records
	Checkpoint *lanes.Checkpoint
	Lanes      []lanes.Snapshot
	Events     []lanes.Logged     // a new cursor is appended; a stored one is replaced, for its attempt
	Ended      []lanes.Ended      // appended; cursors ascend
	Acts       []lanes.Act        // likewise
	Keys       []lanes.KeptAnswer // one that is InStore is written only where the store has lost it
	Forget     []string           // names of expired keys
	Holds      *lanes.Holds       // nil: unchanged, in a Refill too

	// The highest cursors ever given, where they are higher than those in Events, Ended and Acts: their
	// records may be trimmed. They never lower the stored ones.
	LastEvent, LastEnded, LastAct uint64
}

// Bounds of what a gateway remembers of each kind of record that it has flushed, to write it again in a
// Refill: a store that fails over to a replica loses the last seconds of what it acknowledged.
const (
	RefillTerm = time.Minute
	RefillSize = 4096 // records
)

// Recovered is a range as it was saved; zero for a range that was never flushed.
type Recovered struct {
	Checkpoint lanes.Checkpoint
	Lanes      []lanes.Snapshot
	Pending    []lanes.Logged     // events that are lanes.Logged.Pending, oldest first
	Keys       []lanes.KeptAnswer // all InStore
	Holds      lanes.Holds        // zero where none were flushed
	LastEvent  uint64             // the highest cursor ever given in the event log, trimmed ones included
	LastEnded  uint64             // likewise in the history
	LastAct    uint64             // likewise of the acts of staff
}

// Forgetter is a store that can remove a range.
type Forgetter interface {
	// Forget removes everything of a range but its id and its epoch, which rises as by a claim: an owner that
	// was suspended meanwhile is fenced, and cannot refill the range from its memory. Who claims the range
	// again begins with nothing, in a higher epoch. as is what the caller has read of the range: ErrChanging
	// where something was written since, ErrOwned where a node that is alive owns it, ErrNotFound for one
	// that was never there. The range was not changed then. After any other error a repeat finishes what was
	// begun: it removes what is left of a range that was forgotten before, whatever as is.
	Forget(ctx context.Context, rangeID uuid.UUID, as RangeMeta, now time.Time) error
}

// Placed is a store that can tell itself from its backups.
type Placed interface {
	// Place names the file. A backup of it has another name.
	Place() string
}

// Retention limits the records of a range. Each flush trims some of them. Trimming stops at a pending event.
type Retention struct {
	Events  time.Duration // of events in the log
	History time.Duration // of ended sessions and of acts of staff
	Names   time.Duration // of customers' names in the history; names of staff remain
	Cap     int           // of events, of ended sessions and of acts, each, in a range
}

// Errors that are not failures of the store.
var (
	// ErrNotFound means that the store does not have the record.
	ErrNotFound = errors.New("not in the store")
	// ErrFenced means that another process has claimed the range; this one must release it.
	ErrFenced = errors.New("the range was claimed by another process")
	// ErrRolledBack means that the store has lost acknowledged flushes.
	ErrRolledBack = errors.New("the store has lost acknowledged writes")
	// ErrRefused means that nothing of the flush was written, or will be.
	ErrRefused = errors.New("the store refused the write")
	// ErrExists means that the store has the range that is to be restored.
	ErrExists = errors.New("the store has the range already")
	// ErrChanging means that a gateway has written to the range while it was read.
	ErrChanging = errors.New("the range was written to while it was read: stop the gateway that serves it")
	// ErrOwned means that a node that is alive owns the range that is to be forgotten.
	ErrOwned = errors.New("a node that is alive owns the range: take the range out of its configuration, and reload it")
)

// CorruptError names a record that cannot be read: damaged, or written by a newer version.
type CorruptError struct {
	Where  string // the file, or the server
	Record string // the record in it
	Err    error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: record %s: %v", e.Where, e.Record, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// RangeMeta is a range's own record, apart from its checkpoint and its holds.
type RangeMeta struct {
	Epoch     uint64 `json:"epoch"`
	N         uint64 `json:"n"`
	LastEvent uint64 `json:"last_event"` // as in Recovered
	LastEnded uint64 `json:"last_ended"`
	LastAct   uint64 `json:"last_act"`
}

// Record is one record of a range, for checks and exports.
type Record struct {
	Name string // for people: "lane 44444444-…", "event 17"
	// RangeMeta, or a Checkpoint, Snapshot, KeptAnswer, Holds, Logged, Ended or Act of lanes; nil: unreadable
	Value any
	Err   error // why it cannot be read, or would not be found
}
