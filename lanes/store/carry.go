package store

import "errors"

// What is below is how a store is read and filled as a whole, to check it or to carry its ranges to another one. No
// gateway needs it to serve.

// RangeMeta is what a range says of itself, beside its checkpoint and its holds.
type RangeMeta struct {
	Epoch     uint64 `json:"epoch"`
	N         uint64 `json:"n"`
	LastEvent uint64 `json:"last_event"` // as in Recovered
	LastEnded uint64 `json:"last_ended"`
	LastAct   uint64 `json:"last_act"`
}

// Record is one record of a range, or what stands in its place.
type Record struct {
	Name  string // for people: "lane 44444444-…", "event 17"
	Value any    // a RangeMeta, or a lanes.Checkpoint, Snapshot, KeptAnswer, Holds, Logged, Ended or Act; nil: it cannot be read
	Err   error  // why it cannot be read, or would not be found where it has to be
}

var (
	// ErrExists: a range that is to be carried to a store is there already.
	ErrExists = errors.New("the store has the range already")
	// ErrChanging: what was read of a range is not of one instant.
	ErrChanging = errors.New("the range was written to while it was read: stop the gateway that serves it")
)
