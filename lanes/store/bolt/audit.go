package bolt

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// findings are what is known of a file once it was gone through.
type findings struct {
	transaction uint64 // the last one
	journal     *journal
}

// audit looks for the damage that reading would not notice: pages that are gone or stand for others, records that are
// gone, entries that a lookup would miss. The records themselves are left to whoever reads them, so that one damaged
// entry of a log does not keep the whole store from opening.
func audit(file io.ReaderAt, size int64) (findings, error) {
	p, err := readHeaders(file)
	if err != nil {
		return findings{}, err
	}
	if size < p.end() {
		return findings{}, fmt.Errorf("it is cut short: %d bytes of %d", size, p.end())
	}
	a := auditor{pages: p, buckets: map[string][]byte{}, journal: &journal{layers: layers{}}}
	if err := p.walk(a.outermost, a.audit); err != nil {
		return findings{}, err
	}
	return findings{p.transaction, a.journal}, nil
}

// auditor goes through the buckets.
type auditor struct {
	*pages
	buckets   map[string][]byte // of the file, by their names
	format    format
	formatted bool // format was there
	journal   *journal
}

func (a *auditor) outermost(key, value []byte, isBucket bool) error {
	if !isBucket {
		return fmt.Errorf("%q is no bucket", key)
	}
	a.buckets[string(key)] = value
	return nil
}

// audit begins with the bucket that says of what version the others are. The journal comes before the ranges that it
// lies over.
func (a *auditor) audit() error {
	about, there := a.buckets[string(formatBucket)]
	if there {
		if err := a.bucket(about, a.ownFormat); err != nil {
			return err
		}
	}
	if !a.formatted {
		return errors.New("this is no store of rangegate")
	}
	if err := a.replay(a.buckets[string(journalBucket)]); err != nil {
		return fmt.Errorf("the journal: %w", err)
	}
	a.journal.state = a.format.state
	delete(a.buckets, string(formatBucket))
	delete(a.buckets, string(journalBucket))
	var ranges tally
	for _, name := range slices.Sorted(maps.Keys(a.buckets)) {
		own, err := a.rangeBucket(name, a.buckets[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		ranges = ranges.change(nil, own)
	}
	if a.format.Ranges != ranges {
		return fmt.Errorf("not the %d ranges that were written last, but %d", a.format.Ranges.Count, ranges.Count)
	}
	return nil
}

func (a *auditor) ownFormat(key, value []byte, _ bool) (err error) {
	if string(key) != string(formatKey) {
		return fmt.Errorf("%q is not known", key)
	}
	a.formatted = true
	a.format, err = decode[format](key, value)
	return err
}

// rangeBucket looks whether the range has what its meta record says, and gives that. One whose meta record cannot be read
// is left to Load, which then says so.
func (a *auditor) rangeBucket(name string, value []byte) (record []byte, err error) {
	id, err := uuid.Parse(strings.TrimPrefix(name, "range "))
	if err != nil || name != string(rangeKey(id)) {
		return nil, errors.New("it is no range")
	}
	if own, is := a.journal.layers.get(place{id, ownPlace}, metaKey); is {
		record = own.value
	}
	found := map[string]tally{}
	err = a.bucket(value, func(key, value []byte, isBucket bool) error {
		bucket := string(key)
		if bucket == string(metaKey) && !isBucket {
			if record == nil {
				record = value
			}
			return nil
		}
		if !isBucket {
			return fmt.Errorf("%q is no bucket", key)
		}
		found[bucket], err = a.records(place{id, bucket}, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	own, err := decode[meta](metaKey, record)
	if err != nil {
		return record, nil
	}
	if own.Range != id {
		return nil, errors.New("it is not that range")
	}
	for _, bucket := range append([]string{actsBucket}, buckets...) {
		has, there := found[bucket]
		if !there && (bucket == actsBucket || bucket == holdsBucket) { // which a range may be without
			has, there = a.journal.layers.added(place{id, bucket}), true
		}
		if !there || has != own.Records[bucket] {
			return nil, fmt.Errorf("not the %d %s that were written, but %d", own.Records[bucket].Count, bucket, has.Count)
		}
	}
	return record, nil
}

// records counts what a bucket has, with what lies over it.
func (a *auditor) records(at place, value []byte) (found tally, err error) {
	over := a.journal.layers
	found = over.added(at)
	return found, a.bucket(value, func(key, value []byte, isBucket bool) error {
		if isBucket {
			return fmt.Errorf("%s %x is a bucket", at.bucket, key)
		}
		if _, changed := over.get(at, key); !changed {
			found = found.change(nil, value)
		}
		return auditKey(at.bucket, key, value)
	})
}

// added is what the layer of a bucket has.
func (l layers) added(at place) (found tally) {
	if over := l[at]; over != nil {
		for _, changed := range over.changes {
			found = found.change(nil, changed.value)
		}
	}
	return found
}

// auditKey checks the keys that are looked up: one that is damaged would not be found. What is read in order finds the
// damage in the record.
func auditKey(bucket string, key, value []byte) error {
	if bucket != pendingBucket && bucket != sessionsBucket {
		return nil
	}
	if _, err := unseal(key, value); err != nil {
		return fmt.Errorf("%s %x: %w", bucket, key, err)
	}
	return nil
}
