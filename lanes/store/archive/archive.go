// Package archive carries ranges from one store to another in a file of JSON lines. Each record is as readable as in the
// store:
//
//	{"kind":"archive","record":{"v":4,"at":"2026-11-21T09:00:00Z"}}
//	{"kind":"range","range":"1111…","record":{"v":4,"epoch":7,"n":12,"last_event":40,"last_ended":17,"last_act":3}}
//	{"kind":"checkpoint","range":"1111…","record":{"v":4,…}}
//	… of kind lane, key, holds, event, ended and act, and then the next range …
//	{"kind":"end","record":{"v":4,"ranges":1,"records":75,"sha256":"…"}}
//
// A file without the last line was cut short; its SHA-256, of all bytes before it, shows a flipped bit. The version is that
// of the records (store.Version): a newer file is refused.
package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Source is a store to read from.
type Source interface {
	// Ranges returns the ranges that the store has records of.
	Ranges(ctx context.Context) ([]uuid.UUID, error)
	// Read visits every record of the range: the store.RangeMeta first, the event log, the history and the acts of staff
	// by cursor. It continues after a record that cannot be read, and ends with the error of visit.
	Read(ctx context.Context, rangeID uuid.UUID, visit func(store.Record) error) error
}

// Target is a store to write to.
type Target interface {
	Ranges(ctx context.Context) ([]uuid.UUID, error)
	// Restore writes a range, all of it or nothing: store.ErrExists for one that the store has.
	Restore(ctx context.Context, whole store.Batch) error
}

// line is one line of the file.
type line struct {
	Kind   string          `json:"kind"`
	Range  *uuid.UUID      `json:"range,omitempty"`
	Record json.RawMessage `json:"record"`
}

func (l line) write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(l)
}

// Kinds of lines that belong to no range.
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

// recordKind is a kind of a range's records.
type recordKind struct {
	name   string
	match  func(value any) bool
	decode func(record []byte) (any, error)
}

var recordKinds = []recordKind{
	kindFor[store.RangeMeta]("range"),
	kindFor[lanes.Checkpoint]("checkpoint"),
	kindFor[lanes.Snapshot]("lane"),
	kindFor[lanes.KeptAnswer]("key"),
	kindFor[lanes.Holds]("holds"),
	kindFor[lanes.Logged]("event"),
	kindFor[lanes.Ended]("ended"),
	kindFor[lanes.Act]("act"),
}

func kindFor[T any](name string) recordKind {
	return recordKind{
		name:   name,
		match:  func(value any) bool { _, ok := value.(T); return ok },
		decode: func(record []byte) (any, error) { return store.Decode[T](record) },
	}
}

func kindOf(value any) string {
	for _, kind := range recordKinds {
		if kind.match(value) {
			return kind.name
		}
	}
	panic(fmt.Sprintf("a store has visited a %T", value)) // a defect of that store
}

func decode(name string, record []byte) (any, error) {
	for _, kind := range recordKinds {
		if kind.name == name {
			return kind.decode(record)
		}
	}
	return nil, fmt.Errorf("a record of the kind %q is not known", name)
}

// Contents are the numbers of a range's records.
type Contents struct {
	Range    uuid.UUID
	Meta     store.RangeMeta
	LastSeen time.Time // of its checkpoint; zero without one

	Lanes     int
	Sessions  int // lanes with a session
	Purchases int // that wait for staff or for an answer
	Keys      int
	Holds     int // in force
	Events    int
	Pending   int // events without an attempt
	Ended     int
	Acts      int // of staff
	Records   int

	event, ended, act uint64 // the last cursors
	seen              map[string]bool
}

const metaRecord = "the range's record"

// add counts a record. A record that contradicts an earlier one is an error.
func (c *Contents) add(value any) error {
	c.Records++
	switch v := value.(type) {
	case store.RangeMeta:
		c.Meta = v
		return c.once(metaRecord)
	case lanes.Checkpoint:
		c.LastSeen = v.At.Wall
		return c.once("checkpoint")
	case lanes.Snapshot:
		c.Lanes++
		c.Purchases += len(v.Purchases())
		if v.Session != nil {
			c.Sessions++
			if err := c.once("session " + v.Session.ID.String()); err != nil {
				return err
			}
		}
		return c.once("lane " + v.ID.String())
	case lanes.KeptAnswer:
		c.Keys++
		return c.once("key " + v.Name)
	case lanes.Holds:
		c.Holds = len(v.InForce)
		return c.once("holds")
	case lanes.Logged:
		c.Events++
		if v.Attempt == nil {
			c.Pending++
		}
		return ascend(&c.event, v.Cursor)
	case lanes.Ended:
		c.Ended++
		return ascend(&c.ended, v.Cursor)
	case lanes.Act:
		c.Acts++
		return ascend(&c.act, v.Cursor)
	}
	return nil
}

// once returns an error when the record was added before.
func (c *Contents) once(record string) error {
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	if c.seen[record] {
		return fmt.Errorf("%s occurs twice", record)
	}
	c.seen[record] = true
	return nil
}

func ascend(last *uint64, cursor uint64) error {
	if cursor <= *last {
		return fmt.Errorf("its cursor %d follows %d", cursor, *last)
	}
	*last = cursor
	return nil
}

// checkComplete returns an error when the meta record is missing, or has a last cursor below one that was given: the
// gateway would give that cursor again.
func (c *Contents) checkComplete() error {
	switch m := c.Meta; {
	case !c.seen[metaRecord]:
		return errors.New("the range's record is missing")
	case c.event > m.LastEvent:
		return fmt.Errorf("the last event is %d, and the range's record says %d", c.event, m.LastEvent)
	case c.ended > m.LastEnded:
		return fmt.Errorf("the last ended session is %d, and the range's record says %d", c.ended, m.LastEnded)
	case c.act > m.LastAct:
		return fmt.Errorf("the last act is %d, and the range's record says %d", c.act, m.LastAct)
	}
	return nil
}
