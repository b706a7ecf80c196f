// Package history reads what a range has saved: its event log, its ended sessions, the acts of its staff, and
// kept answers.
//
// # Door
//
//	Entries, FollowEvents        the event log, a page or as it grows
//	History, HistoryOf, Acts     ended sessions and acts of staff, a page at a time
//	EndedSession, SessionEnd     one session that is on no lane
//	Answer                       what a request was answered whose idempotency key is used again
//	LogID, Saved, Latest, EventsKeptBehind, HistoryKeptBehind   where cursors stand
//	Confirmed                    nobody has claimed the range meanwhile
//
// # Order of a read
//
//	asked       the store reads in the epoch of this process
//	fenced      the store has a higher epoch, or the committer has heard of one meanwhile: ErrNotOwner, and the range is dropped
//	durable     of the event log only what is known to be durable is returned
//	failed      logged once; the client gets a code
//
// Attempts that are being made are no matter of this package: package delivery shows them.
package history
