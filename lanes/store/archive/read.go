package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// errCut: the file does not end as it was written.
var errCut = errors.New("it was cut short: its last line is missing")

// each reads a file and gives every range that it has, whole. All of it was checked only when it returns without an
// error.
func each(file io.Reader, give func(Contents, store.Batch) error) error {
	r := &reader{from: bufio.NewReader(file), sum: sha256.New(), give: give, ranges: map[string]bool{}}
	for !r.ended {
		l, err := r.next()
		if err == nil {
			err = r.take(l)
		}
		if r.refused != nil {
			return r.refused
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", r.number, err)
		}
	}
	if _, err := r.from.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("there is something behind the last line"), err)
	}
	return nil
}

type reader struct {
	from    *bufio.Reader
	sum     hash.Hash // of the lines before this one
	version []byte    // of the first line, which its sum has
	give    func(Contents, store.Batch) error
	number  int // of the line
	text    []byte
	ranges  map[string]bool // that were begun
	records int
	ended   bool
	refused error // by give

	contents Contents // of the range that is being read
	whole    store.Batch
	open     bool // there is such a range
}

func (r *reader) next() (l line, err error) {
	r.number++
	r.sum.Write(r.text)
	r.text, err = r.from.ReadBytes('\n')
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

func (r *reader) take(l line) error {
	switch {
	case r.number == 1:
		r.version, _, _ = bytes.Cut(l.Record, []byte(","))
		_, err := store.Decode[head](l.Record)
		return err
	case l.Kind == endKind:
		return r.end(l)
	case l.Range == nil:
		return errors.New("it says not which range it belongs to")
	}
	value, err := decode(l.Kind, l.Record)
	if err != nil {
		return err
	}
	if standing, is := value.(store.RangeMeta); is {
		if err := r.close(); err != nil {
			return err
		}
		if r.ranges[l.Range.String()] {
			return fmt.Errorf("range %s is there twice", l.Range)
		}
		r.open, r.ranges[l.Range.String()] = true, true
		r.contents = Contents{Range: *l.Range}
		r.whole = store.Batch{
			Range: *l.Range, Epoch: standing.Epoch, N: standing.N,
			LastEvent: standing.LastEvent, LastEnded: standing.LastEnded, LastAct: standing.LastAct,
		}
	}
	if !r.open || *l.Range != r.contents.Range {
		return fmt.Errorf("it belongs to range %s, and stands elsewhere", l.Range)
	}
	r.records++
	put(&r.whole, value)
	return r.contents.add(value)
}

// put adds the record to the range.
func put(whole *store.Batch, value any) {
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

// close gives the range that was read.
func (r *reader) close() error {
	if !r.open {
		return nil
	}
	r.open = false
	if err := r.contents.together(); err != nil {
		return fmt.Errorf("range %s: %w", r.contents.Range, err)
	}
	r.refused = r.give(r.contents, r.whole)
	return r.refused
}

// end compares what was read with what was written. What stands before the last range is whole by then, and that range
// is given only afterwards.
func (r *reader) end(l line) error {
	last, err := store.Decode[end](l.Record)
	if err != nil {
		return err
	}
	if err := r.exactly(l, last); err != nil {
		return err
	}
	if last.Ranges != len(r.ranges) || last.Records != r.records {
		return fmt.Errorf("%d ranges and %d records were written, and there are %d and %d",
			last.Ranges, last.Records, len(r.ranges), r.records)
	}
	if sum := hex.EncodeToString(r.sum.Sum(nil)); sum != last.Sum {
		return errors.New("what stands before it is not what was written: its sum is another one")
	}
	r.ended = true
	return r.close()
}

// exactly is an error unless the last line, which is in no sum, is to the letter what an export writes, in the version that
// the first line is of: other letters may read the same as JSON.
func (r *reader) exactly(l line, last end) error {
	record, err := store.Encode(last)
	if err != nil {
		return err
	}
	_, wanted, _ := bytes.Cut(record, []byte(","))
	version, fields, _ := bytes.Cut(l.Record, []byte(","))
	var text bytes.Buffer
	if err := l.write(&text); err != nil {
		return err
	}
	if !bytes.Equal(version, r.version) || !bytes.Equal(fields, wanted) || !bytes.Equal(text.Bytes(), r.text) {
		return errors.New("it is not what was written")
	}
	return nil
}
