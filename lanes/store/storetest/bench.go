// Package storetest is the suite of tests that every store passes: the contract of store.Store, one test for
// each promise.
package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// Bench opens the store under test, and damages its data. The data are empty at first.
type Bench interface {
	// Open opens the store on the present data. The suite has closed the store before.
	Open(t *testing.T, r store.Retention) store.Store
	// Where returns the file or server that a *store.CorruptError must name.
	Where() string
	// Overwrite replaces a saved record by data. No store is open.
	Overwrite(t *testing.T, record Record, data []byte)
	// Copy copies all data; restore replaces the data by the copy. No store is open during either.
	Copy(t *testing.T) (restore func())
	// Wipe removes all data. No store is open.
	Wipe(t *testing.T)
}

// Record names one record of a range.
type Record struct {
	Range uuid.UUID
	Kind  Kind
	Name  string // the lane's id, the cursor in decimal, the key's name, or "holds"; empty for the checkpoint
}

// Kind is the kind of a record.
type Kind string

// The kinds of records in every store.
const (
	Checkpoint Kind = "checkpoint"
	Lane       Kind = "lane"
	Event      Kind = "event"
	Ended      Kind = "ended session"
	Act        Kind = "act"
	Key        Kind = "key"
	Holds      Kind = "holds"
)

// Run runs every test in sequence, each on a fresh bench.
func Run(t *testing.T, fresh func(t *testing.T) Bench) {
	for _, c := range []struct {
		name string
		test func(*fixture)
	}{
		{"a range that was never flushed has nothing", freshRange},
		{"a claim raises the epoch, whatever the clock says", claimRaisesEpoch},
		{"a claim keeps what was saved", claimKeepsData},
		{"an ended context claims, reads and writes nothing", endedContext},

		{"a flushed batch is read back, also after reopening", survivesReopening},
		{"a record is replaced", recordsAreReplaced},
		{"text and numbers survive exactly", survivesExactly},
		{"nothing of a batch that cannot be encoded is written", unwritableBatch},
		{"keys are deleted", keysAreDeleted},
		{"holds remain until others are flushed", holdsRemain},
		{"the record of holds survives exactly", holdsSurviveExactly},

		{"a repeat is not written again", repeat},
		{"a flush that skips one finds the store rolled back", skipped},
		{"an older epoch is fenced", fenced},
		{"an older epoch reads nothing", fencedReads},
		{"a store that lacks a flush reads nothing", readsOfWhatIsLost},
		{"a wiped store is refilled", wiped},
		{"an older copy of the data is refilled", olderCopy},
		{"a refill drops what the range no longer has", refillReplaces},
		{"a refill is fenced like any flush", refillFenced},

		{"an attempted event is no longer pending", attempted},
		{"the event log is read page by page", pagesOfEvents},
		{"the history is read page by page", pagesOfHistory},
		{"an ended session is found by its id, in its range", endedByID},
		{"what a POS knows a session by survives exactly", correlationsSurvive},
		{"ended sessions are found by their external id, in their range", historyByExternalID},
		{"the acts of staff are read page by page", pagesOfActs},
		{"an act that is flushed twice is stored once", actsFlushedTwice},

		{"ranges do not see each other", rangesAreSeparate},
		{"many ranges flush at once", concurrentFlushes},

		{"expired records are trimmed, some in each flush", trimsExpired},
		{"records over the cap are trimmed, the oldest first", trimsExcess},
		{"no pending event is trimmed, nor one behind it", pendingRemains},
		{"names are trimmed before their sessions", namesAreTrimmed},
		{"names that a refill writes again are trimmed", namesOfARefillAreTrimmed},
		{"external ids are trimmed with their sessions", externalIDsAreTrimmed},
		{"the names of staff remain", staffNamesRemain},
		{"cursors never fall, although all records were trimmed", cursorsNeverFall},

		{"a damaged record is named", damaged},
		{"a record of a newer version is named", newer},

		{"any sequence gives what a simple model gives", behavesLikeTheModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &fixture{T: t, bench: fresh(t), retention: generous}
			s.store = s.bench.Open(t, s.retention)
			t.Cleanup(func() { _ = s.store.Close() })
			c.test(s)
		})
	}
}

// generous trims nothing that a test writes.
var generous = store.Retention{
	Events: 100 * day, History: 100 * day, Names: 100 * day, Cap: 1_000_000,
}

const day = 24 * time.Hour
