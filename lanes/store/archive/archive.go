// Package archive carries ranges from one store to another in a file of JSON lines. Each record is as
// readable as in the store:
//
//	{"kind":"archive","record":{"v":4,"at":"2026-11-21T09:00:00Z"}}
//	{"kind":"range","range":"1111…","record":{"v":4,"epoch":7,"n":12,"last_event":40,"last_ended":17,"last_act":3}}
//	{"kind":"checkpoint","range":"1111…","record":{"v":4,…}}
//	… of kind lane, key, holds, event, ended and act, and then the next range …
//	{"kind":"end","record":{"v":4,"ranges":1,"records":75,"sha256":"…"}}
//
// A file without the last line was cut short; its SHA-256, of all bytes before it, shows a flipped bit. The
// version is that of the records (store.Version): a newer file is refused.
package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Source is a store to read from.
type Source interface {
	// Ranges returns the ranges that the store has records of.
	Ranges(ctx context.Context) ([]uuid.UUID, error)
	// Read visits every record of the range: the store.RangeMeta first, the event log, the history and the
	// acts of staff by cursor. It continues after a record that cannot be read, and ends with the error of
	// visit.
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
	add    func(whole *store.Batch, value any)
}

var recordKinds = []recordKind{
	kindFor("range", func(b *store.Batch, m store.RangeMeta) {
		b.Epoch, b.N, b.LastEvent, b.LastEnded, b.LastAct = m.Epoch, m.N, m.LastEvent, m.LastEnded, m.LastAct
	}),
	kindFor("checkpoint", func(b *store.Batch, c lanes.Checkpoint) {
		c.LogID, c.Place = 0, "" // an export may be older than what readers of the log have read
		b.Checkpoint = &c
	}),
	kindFor("lane", func(b *store.Batch, lane lanes.Snapshot) { b.Lanes = append(b.Lanes, lane) }),
	kindFor("key", func(b *store.Batch, kept lanes.KeptAnswer) { b.Keys = append(b.Keys, kept) }),
	kindFor("holds", func(b *store.Batch, holds lanes.Holds) { b.Holds = &holds }),
	kindFor("event", func(b *store.Batch, event lanes.Logged) { b.Events = append(b.Events, event) }),
	kindFor("ended", func(b *store.Batch, ended lanes.Ended) { b.Ended = append(b.Ended, ended) }),
	kindFor("act", func(b *store.Batch, act lanes.Act) { b.Acts = append(b.Acts, act) }),
}

func kindFor[T any](name string, add func(whole *store.Batch, value T)) recordKind {
	return recordKind{
		name:   name,
		match:  func(value any) bool { _, ok := value.(T); return ok },
		decode: func(record []byte) (any, error) { return store.Decode[T](record) },
		add:    func(whole *store.Batch, value any) { add(whole, value.(T)) },
	}
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
		if v.Pending() {
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

// Export writes everything that the store has. It ends at a record that cannot be read: what an export omits
// is lost with the store.
func Export(ctx context.Context, source Source, now time.Time, output io.Writer) ([]Contents, error) {
	ids, err := source.Ranges(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{output: bufio.NewWriter(output), sum: sha256.New()}
	if err := w.line(headKind, nil, head{At: now.UTC()}); err != nil {
		return nil, err
	}
	ranges, records := make([]Contents, 0, len(ids)), 0
	for _, id := range ids {
		c, err := w.exportRange(ctx, source, id)
		if err != nil {
			return nil, fmt.Errorf("range %s: %w", id, err)
		}
		ranges, records = append(ranges, c), records+c.Records
	}
	last := end{Ranges: len(ranges), Records: records, Sum: hex.EncodeToString(w.sum.Sum(nil))}
	return ranges, errors.Join(w.line(endKind, nil, last), w.output.Flush())
}

type writer struct {
	output *bufio.Writer
	sum    hash.Hash // of everything written
}

func (w *writer) exportRange(ctx context.Context, source Source, id uuid.UUID) (Contents, error) {
	c := Contents{Range: id}
	err := source.Read(ctx, id, func(r store.Record) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := r.Err
		if err == nil {
			err = c.add(r.Value)
		}
		if err == nil {
			kind := slices.IndexFunc(recordKinds, func(k recordKind) bool { return k.match(r.Value) })
			err = w.line(recordKinds[kind].name, &id, r.Value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		return nil
	})
	if err == nil {
		err = c.checkComplete()
	}
	return c, err
}

func (w *writer) line(kind string, rangeID *uuid.UUID, value any) error {
	record, err := store.Encode(value)
	if err != nil {
		return err
	}
	return line{Kind: kind, Range: rangeID, Record: record}.write(io.MultiWriter(w.output, w.sum))
}

// maxCheckTries limits how often Check reads a range that a gateway writes to meanwhile.
const maxCheckTries = 3

// Check reads everything of the range. faults are records that cannot be read or contradict others; err means that the
// store could not be read to the end.
func Check(ctx context.Context, source Source, rangeID uuid.UUID) (c Contents, faults []error, err error) {
	for range maxCheckTries {
		c, faults, err = checkOnce(ctx, source, rangeID)
		if !errors.Is(err, store.ErrChanging) {
			break
		}
	}
	return c, faults, err
}

func checkOnce(ctx context.Context, source Source, rangeID uuid.UUID) (Contents, []error, error) {
	c := Contents{Range: rangeID}
	var faults []error
	err := source.Read(ctx, rangeID, func(r store.Record) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fault := r.Err
		if r.Value != nil {
			fault = errors.Join(fault, c.add(r.Value))
		}
		if fault != nil {
			faults = append(faults, fmt.Errorf("%s: %w", r.Name, fault))
		}
		return nil
	})
	if fault := c.checkComplete(); fault != nil && len(faults) == 0 { // otherwise it follows from the faults
		faults = append(faults, fault)
	}
	return c, faults, err
}

// Archive is a file that was read to the end and is complete.
type Archive struct {
	file   io.ReadSeeker
	Ranges []Contents
}

// Open reads the whole file. Any fault, from its first line to its last, is an error.
func Open(file io.ReadSeeker) (*Archive, error) {
	a := &Archive{file: file}
	err := a.read(func(c Contents, _ store.Batch) error {
		a.Ranges = append(a.Ranges, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Import writes every range of the file to the store, each completely or not at all, and calls written after each. It
// writes nothing when the store has one of them: store.ErrExists.
//
// It raises the epoch of a range, as a claim does: a gateway that still serves the range from this store is fenced.
func (a *Archive) Import(ctx context.Context, target Target, now time.Time, written func(Contents)) error {
	ids, err := target.Ranges(ctx)
	if err != nil {
		return err
	}
	var existing []string
	for _, c := range a.Ranges {
		if slices.Contains(ids, c.Range) {
			existing = append(existing, c.Range.String())
		}
	}
	if len(existing) > 0 {
		return fmt.Errorf("%w, and nothing was written: %s", store.ErrExists, strings.Join(existing, ", "))
	}
	return a.read(func(c Contents, whole store.Batch) error {
		whole.Epoch, whole.N = max(whole.Epoch+1, uint64(max(0, now.UnixMilli()))), 0
		if err := target.Restore(ctx, whole); err != nil {
			return fmt.Errorf("range %s: %w", c.Range, err)
		}
		written(c)
		return nil
	})
}

// read gives every range of the file. The file was checked completely only when read returns without an error.
func (a *Archive) read(give func(Contents, store.Batch) error) error {
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := &reader{input: bufio.NewReader(a.file), sum: sha256.New(), give: give, ranges: map[string]bool{}}
	for !r.ended {
		l, err := r.next()
		if err == nil {
			err = r.addLine(l)
		}
		if r.giveErr != nil {
			return r.giveErr
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", r.number, err)
		}
	}
	if _, err := r.input.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("data follows the last line"), err)
	}
	return nil
}

// errCut means that the file lacks its last line.
var errCut = errors.New("it was cut short: its last line is missing")

type reader struct {
	input   *bufio.Reader
	sum     hash.Hash // of the lines before this one
	version []byte    // in the first line, which the sum covers
	give    func(Contents, store.Batch) error
	number  int // of the line
	text    []byte
	ranges  map[string]bool // that have begun
	records int
	ended   bool
	giveErr error

	contents Contents // of the range that is read
	whole    store.Batch
	inRange  bool
}

// maxLine is the maximum length of a line in bytes. The longest line that is written is the record of a
// range, with some 100 bytes for each lane.
const maxLine = 64 << 20

// readLine reads a line with its newline. Errors: errCut if the input ends before the line does, and another one if the
// line is longer than most bytes.
func readLine(input *bufio.Reader, most int) (text []byte, err error) {
	for {
		part, err := input.ReadSlice('\n')
		if len(text)+len(part) > most {
			return nil, fmt.Errorf("it is longer than %d bytes", most)
		}
		text = append(text, part...)
		switch {
		case err == nil:
			return text, nil
		case errors.Is(err, io.EOF):
			return nil, errCut
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (r *reader) next() (l line, err error) {
	r.number++
	r.sum.Write(r.text)
	if r.text, err = readLine(r.input, maxLine); err != nil {
		return l, err
	}
	decoder := json.NewDecoder(bytes.NewReader(r.text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&l)
	switch {
	case r.number == 1 && (err != nil || l.Kind != headKind):
		return l, errors.New("this is no file that was exported from a store")
	case err != nil:
		return l, fmt.Errorf("it is not what was written: %w", err)
	}
	return l, nil
}

func (r *reader) addLine(l line) error {
	switch {
	case r.number == 1:
		r.version, _, _ = bytes.Cut(l.Record, []byte(","))
		_, err := store.Decode[head](l.Record)
		return err
	case l.Kind == endKind:
		return r.end(l)
	case l.Range == nil:
		return errors.New("it names no range")
	}
	kind := slices.IndexFunc(recordKinds, func(k recordKind) bool { return k.name == l.Kind })
	if kind < 0 {
		return fmt.Errorf("a record of the kind %q is not known", l.Kind)
	}
	value, err := recordKinds[kind].decode(l.Record)
	if err != nil {
		return err
	}
	if _, begins := value.(store.RangeMeta); begins {
		if err := r.endRange(); err != nil {
			return err
		}
		if r.ranges[l.Range.String()] {
			return fmt.Errorf("range %s occurs twice", l.Range)
		}
		r.inRange, r.ranges[l.Range.String()] = true, true
		r.contents = Contents{Range: *l.Range}
		r.whole = store.Batch{Range: *l.Range}
	}
	if !r.inRange || *l.Range != r.contents.Range {
		return fmt.Errorf("it belongs to range %s, and is not among its records", l.Range)
	}
	r.records++
	recordKinds[kind].add(&r.whole, value)
	return r.contents.add(value)
}

// endRange gives the range that was read.
func (r *reader) endRange() error {
	if !r.inRange {
		return nil
	}
	r.inRange = false
	if err := r.contents.checkComplete(); err != nil {
		return fmt.Errorf("range %s: %w", r.contents.Range, err)
	}
	r.giveErr = r.give(r.contents, r.whole)
	return r.giveErr
}

// end checks the numbers and the sum in the last line, and then gives the last range.
func (r *reader) end(l line) error {
	last, err := store.Decode[end](l.Record)
	if err != nil {
		return err
	}
	if err := r.checkLastLine(l, last); err != nil {
		return err
	}
	if last.Ranges != len(r.ranges) || last.Records != r.records {
		return fmt.Errorf("%d ranges and %d records were written, and there are %d and %d",
			last.Ranges, last.Records, len(r.ranges), r.records)
	}
	if sum := hex.EncodeToString(r.sum.Sum(nil)); sum != last.Sum {
		return errors.New("the lines before it are not what was written: their sum differs")
	}
	r.ended = true
	return r.endRange()
}

// checkLastLine compares the last line, which no sum covers, byte by byte with what an export of the first
// line's version writes: other bytes may decode to the same JSON.
func (r *reader) checkLastLine(l line, last end) error {
	record, err := store.Encode(last)
	if err != nil {
		return err
	}
	_, wantFields, _ := bytes.Cut(record, []byte(","))
	version, fields, _ := bytes.Cut(l.Record, []byte(","))
	var text bytes.Buffer
	if err := l.write(&text); err != nil {
		return err
	}
	if !bytes.Equal(version, r.version) || !bytes.Equal(fields, wantFields) || !bytes.Equal(text.Bytes(), r.text) {
		return errors.New("it is not what was written")
	}
	return nil
}
