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

	"rangegate/lanes"
	"rangegate/lanes/store"
)

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

func (r *reader) next() (l line, err error) {
	r.number++
	r.sum.Write(r.text)
	r.text, err = r.input.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return l, errCut
	}
	if err != nil {
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
	value, err := decode(l.Kind, l.Record)
	if err != nil {
		return err
	}
	if meta, ok := value.(store.RangeMeta); ok {
		if err := r.endRange(); err != nil {
			return err
		}
		if r.ranges[l.Range.String()] {
			return fmt.Errorf("range %s occurs twice", l.Range)
		}
		r.inRange, r.ranges[l.Range.String()] = true, true
		r.contents = Contents{Range: *l.Range}
		r.whole = store.Batch{
			Range: *l.Range, Epoch: meta.Epoch, N: meta.N,
			LastEvent: meta.LastEvent, LastEnded: meta.LastEnded, LastAct: meta.LastAct,
		}
	}
	if !r.inRange || *l.Range != r.contents.Range {
		return fmt.Errorf("it belongs to range %s, and is not among its records", l.Range)
	}
	r.records++
	addRecord(&r.whole, value)
	return r.contents.add(value)
}

func addRecord(whole *store.Batch, value any) {
	switch v := value.(type) {
	case lanes.Checkpoint:
		whole.Checkpoint = &v
	case lanes.Snapshot:
		whole.Lanes = append(whole.Lanes, v)
	case lanes.KeptAnswer:
		whole.Keys = append(whole.Keys, v)
	case lanes.Holds:
		whole.Holds = &v
	case lanes.Logged:
		whole.Events = append(whole.Events, v)
	case lanes.Ended:
		whole.Ended = append(whole.Ended, v)
	case lanes.Act:
		whole.Acts = append(whole.Acts, v)
	}
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

// checkLastLine compares the last line, which no sum covers, byte by byte with what an export of the first line's version
// writes: other bytes may decode to the same JSON.
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
