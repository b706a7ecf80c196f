package bolt

import (
	"errors"
	"fmt"
	"io"
)

// audit looks for the damage that reading would not notice: pages that are gone or stand for others, records that are
// gone, entries that a lookup would miss. The records themselves are left to whoever reads them, so that one damaged
// entry of a log does not keep the whole store from opening. It gives the last transaction.
func audit(file io.ReaderAt, size int64) (transaction uint64, err error) {
	p, err := readHeaders(file)
	if err != nil {
		return 0, err
	}
	if size < p.end() {
		return 0, fmt.Errorf("it is cut short: %d bytes of %d", size, p.end())
	}
	a := auditor{pages: p}
	if err := p.walk(a.outermost); err != nil {
		return 0, err
	}
	if !a.formatted {
		return 0, errors.New("this is no store of rangegate")
	}
	if a.format.Ranges != a.ranges {
		return 0, fmt.Errorf("not the %d ranges that were written last, but %d", a.format.Ranges.Count, a.ranges.Count)
	}
	return p.transaction, nil
}

// auditor goes through the buckets.
type auditor struct {
	*pages
	format    format
	formatted bool // format was there
	ranges    tally
}

func (a *auditor) outermost(key, value []byte, isBucket bool) error {
	switch {
	case !isBucket:
		return fmt.Errorf("%q is no bucket", key)
	case string(key) == string(formatBucket):
		return a.bucket(value, a.ownFormat)
	default:
		return a.rangeBucket(key, value)
	}
}

func (a *auditor) ownFormat(key, value []byte, _ bool) (err error) {
	if string(key) != string(formatKey) {
		return fmt.Errorf("%q is not known", key)
	}
	a.formatted = true
	a.format, err = decode[format](key, value)
	return err
}

// rangeBucket looks whether the range has what its meta record says. One whose meta record cannot be read is left to
// Load, which then says so.
func (a *auditor) rangeBucket(name, value []byte) error {
	var own meta
	var unreadable error
	found := map[string]tally{holdsBucket: {}, actsBucket: {}} // which a range may be without
	err := a.bucket(value, func(key, value []byte, isBucket bool) error {
		bucket := string(key)
		if bucket == string(metaKey) && !isBucket {
			a.ranges = a.ranges.change(nil, value)
			own, unreadable = decode[meta](key, value)
			return nil
		}
		if !isBucket {
			return fmt.Errorf("%q is no bucket", key)
		}
		found[bucket] = tally{}
		return a.bucket(value, func(key, value []byte, isBucket bool) error {
			if isBucket {
				return fmt.Errorf("%s %x is a bucket", bucket, key)
			}
			found[bucket] = found[bucket].change(nil, value)
			return auditKey(bucket, key, value)
		})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if unreadable != nil {
		return nil
	}
	if string(name) != string(rangeKey(own.Range)) {
		return fmt.Errorf("%q is no range, or not that one", name)
	}
	for _, bucket := range append([]string{actsBucket}, buckets...) {
		if has, there := found[bucket]; !there || has != own.Records[bucket] {
			return fmt.Errorf("%s: not the %d %s that were written, but %d", name, own.Records[bucket].Count, bucket, has.Count)
		}
	}
	return nil
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
