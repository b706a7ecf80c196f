package bolt

import (
	"bytes"
	"fmt"
	"slices"
)

// replay reads the journal of a file that is audited; nil is no bucket.
func (a *auditor) replay(bucket []byte) error {
	known := a.format.Generations
	found := make([]tally, len(known))
	generation := func(number, value []byte, isBucket bool) error {
		i := slices.IndexFunc(known, func(g generation) bool { return bytes.Equal(cursorKey(g.Number), number) })
		if i < 0 || !isBucket {
			return fmt.Errorf("%x is none of its generations", number)
		}
		return a.bucket(value, func(key, value []byte, isBucket bool) error {
			if isBucket {
				return fmt.Errorf("change %x is a bucket", key)
			}
			found[i] = found[i].change(nil, value)
			known[i].bytes += len(value)
			return a.redo(key, value, known[i].Number)
		})
	}
	if bucket != nil {
		if err := a.bucket(bucket, generation); err != nil {
			return err
		}
	}
	for i, g := range known {
		if found[i] != g.Changes {
			return fmt.Errorf("not the %d changes that were written, but %d", g.Changes.Count, found[i].Count)
		}
	}
	return nil
}

// redo puts a change over its bucket. Those of a generation come in the order in which they were written.
func (a *auditor) redo(number, record []byte, generation uint64) error {
	at, key, value, err := readJournaled(number, record)
	if err != nil {
		return fmt.Errorf("change %x: %w", number, err)
	}
	a.journal.layers.put(at, key, change{bytes.Clone(value), generation})
	return nil
}
