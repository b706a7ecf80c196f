// Package archive carries ranges from one store to another as a file of JSON lines, each a record that is as readable
// as in the store itself:
//
//	{"kind":"archive","record":{"v":4,"at":"2026-11-21T09:00:00Z"}}
//	{"kind":"range","range":"1111…","record":{"v":4,"epoch":7,"n":12,"last_event":40,"last_ended":17,"last_act":3}}
//	{"kind":"checkpoint","range":"1111…","record":{"v":4,…}}
//	… of kind lane, key, holds, event, ended and act, and then the next range …
//	{"kind":"end","record":{"v":4,"ranges":1,"records":75,"sha256":"…"}}
//
// The last line is what a file that was cut short is without, and its sum, of all bytes before it, is what a flipped
// bit is noticed by. The version is that of the records (store.Version): a file of a newer one is refused.
package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Source is a store that is read as a whole.
type Source interface {
	// Ranges are all that the store has something of.
	Ranges(ctx context.Context) ([]uuid.UUID, error)
	// Read tells of every record of the range: how it stands first of all, the event log, the history and what staff did
	// by their cursors. It goes on behind a record that cannot be read, and ends with the error of visit.
	Read(ctx context.Context, rangeID uuid.UUID, visit func(store.Record) error) error
}

// Target is a store that ranges are carried to.
type Target interface {
	Ranges(ctx context.Context) ([]uuid.UUID, error)
	// Restore writes a whole range, all of it or nothing: store.ErrExists when it is there.
	Restore(ctx context.Context, whole store.Batch) error
}

// line is one line of the file.
type line struct {
	Kind   string          `json:"kind"`
	Range  *uuid.UUID      `json:"range,omitempty"`
	Record json.RawMessage `json:"record"`
}

// Kinds of lines beside those of the ranges.
const (
	headKind = "archive"
	endKind  = "end"
)

type head struct {
	At time.Time `json:"at"`
}

type end struct {
	Ranges  int    `json:"ranges"`
	Records int    `json:"records"`
	Sum     string `json:"sha256"`
}

// kindOf names the kind of a range's record.
func kindOf(value any) string {
	switch value.(type) {
	case store.RangeMeta:
		return "range"
	case lanes.Checkpoint:
		return "checkpoint"
	case lanes.Snapshot:
		return "lane"
	case lanes.KeptAnswer:
		return "key"
	case lanes.Holds:
		return "holds"
	case lanes.Logged:
		return "event"
	case lanes.Ended:
		return "ended"
	case lanes.Act:
		return "act"
	}
	panic(fmt.Sprintf("a store has told of a %T", value)) // a defect of that store
}

// decode reads a range's record.
func decode(kind string, record []byte) (any, error) {
	switch kind {
	case "range":
		return store.Decode[store.RangeMeta](record)
	case "checkpoint":
		return store.Decode[lanes.Checkpoint](record)
	case "lane":
		return store.Decode[lanes.Snapshot](record)
	case "key":
		return store.Decode[lanes.KeptAnswer](record)
	case "holds":
		return store.Decode[lanes.Holds](record)
	case "event":
		return store.Decode[lanes.Logged](record)
	case "ended":
		return store.Decode[lanes.Ended](record)
	case "act":
		return store.Decode[lanes.Act](record)
	}
	return nil, fmt.Errorf("a record of the kind %q is not known", kind)
}
