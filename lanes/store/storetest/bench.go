// Package storetest is the suite that every store passes: what store.Store says, told as stories.
package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// Bench is where the suite has a store, and how it does damage to it. Its data begin empty.
type Bench interface {
	// Open opens the store anew on the data as they are. The suite has closed the one before.
	Open(t *testing.T, r store.Retention) store.Store
	// Where is the file or server that a *store.CorruptError has to name.
	Where() string
	// Overwrite puts data where the record was saved. No store is open meanwhile.
	Overwrite(t *testing.T, record Record, data []byte)
	// Copy takes a copy of all data, which putBack puts in place of what is there by then. No store is open at either.
	Copy(t *testing.T) (putBack func())
	// Wipe removes all data. No store is open meanwhile.
	Wipe(t *testing.T)
}

// Record names one record of a range.
type Record struct {
	Range uuid.UUID
	Kind  Kind
	Name  string // the lane's id, the cursor in decimal, the key's name, or "holds"; empty for the checkpoint
}

// Kind is what a record holds.
type Kind string

// The kinds of records that every store keeps.
const (
	Checkpoint Kind = "checkpoint"
	Lane       Kind = "lane"
	Event      Kind = "event"
	Ended      Kind = "ended session"
	Act        Kind = "act"
	Key        Kind = "key"
	Holds      Kind = "holds"
)

// Run tells every story, one after the other, each on a fresh bench.
func Run(t *testing.T, fresh func(t *testing.T) Bench) {
	for _, story := range []struct {
		name string
		tell func(*stage)
	}{
		{"a range that was never flushed has nothing", freshRange},
		{"a claim raises the epoch, whatever the clock says", claimRaisesEpoch},
		{"a claim keeps what was saved", claimKeepsData},
		{"an ended context claims, reads and writes nothing", endedContext},

		{"what was flushed comes back, also after reopening", comesBack},
		{"a record that is there is written over", writtenOver},
		{"text and numbers come back whatever they are", comesBackExactly},
		{"a batch that cannot be written leaves no trace", noTrace},
		{"keys are forgotten", forgetsKeys},
		{"holds stay until others are flushed", holdsStay},
		{"the record of holds comes back exactly", holdsComeBackExactly},

		{"a repeat is not written again", repeat},
		{"a flush that skips one finds the store rolled back", skipped},
		{"an older epoch is fenced", fenced},
		{"a wiped store is refilled", wiped},
		{"an older copy of the data is refilled", putBack},
		{"a refill drops what the range no longer has", refillReplaces},
		{"a refill is fenced like any flush", refillFenced},

		{"an attempted event is no longer pending", attempted},
		{"the event log is read page by page", pagesOfEvents},
		{"the history is read page by page", pagesOfHistory},
		{"an ended session is found by its id, in its range", endedByID},
		{"what staff did is read page by page", pagesOfActs},
		{"an act that is flushed again stands once", actsAgain},

		{"ranges do not see each other", apart},
		{"many ranges flush at once", atOnce},

		{"what is over its term goes, a little at a time", overTerm},
		{"what is over the cap goes, the oldest first", overCap},
		{"no pending event goes, nor any behind it", pendingStays},
		{"names leave the history before the sessions", namesLeave},
		{"the names of staff stay", staffStay},
		{"cursors never go back, though all was trimmed", cursorsStay},

		{"a damaged record is named", damaged},
		{"a record of a newer version is named", newer},

		{"any sequence gives what a simple model gives", likeTheModel},
	} {
		t.Run(story.name, func(t *testing.T) {
			s := &stage{T: t, bench: fresh(t), retention: generous}
			s.store = s.bench.Open(t, s.retention)
			t.Cleanup(func() { _ = s.store.Close() })
			story.tell(s)
		})
	}
}

// generous trims nothing that a story writes.
var generous = store.Retention{
	Events: 100 * day, History: 100 * day, Names: 100 * day, Cap: 1_000_000,
}

const day = 24 * time.Hour
