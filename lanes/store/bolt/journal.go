package bolt

import (
	"fmt"
	"slices"
	"sync"
)

// journal is what has been written of late. A transaction appends its changes to the journal's bucket, where they lie
// side by side in a few pages, whatever lanes and ranges they are of; to write each to its own bucket would touch a page
// for nearly every one. Until they get there (fold.go) they lie over the buckets, in memory, and whoever reads sees them.
//
// Its bucket has one bucket a generation, number → (number → change, as change.go says). At most two are there: while the
// older one is folded, the newer one is appended to.
type journal struct {
	mu     sync.RWMutex // held for reading while the file is read, and for writing by the writer while it changes layers
	layers layers
	state
	fold    fold
	pace    pace
	written bool // since the file was opened: what is only read stays as it is
}

// state is what the file says of the journal.
type state struct {
	Generations []generation `json:"generations,omitempty"` // the older one first
}

type generation struct {
	Number  uint64 `json:"number"`
	Changes tally  `json:"changes"`
	bytes   int
}

// newest is the generation that is appended to. The journal's numbers ascend, and are never given twice while there is
// any.
func (s *state) newest() *generation {
	if len(s.Generations) == 0 {
		s.Generations = []generation{{Number: 1}}
	}
	return &s.Generations[len(s.Generations)-1]
}

// next begins another generation.
func (s *state) next() {
	s.Generations = append(s.Generations, generation{Number: s.newest().Number + 1})
}

// full tells whether some of it should be in the buckets. Only the writer asks.
func (j *journal) full() bool {
	return j.written && j.over()
}

func (j *journal) over() bool {
	return len(j.Generations) == 2 || len(j.Generations) == 1 && j.Generations[0].bytes >= j.pace.at
}

// copied is the state for a transaction to change.
func (s *state) copied() state { return state{slices.Clone(s.Generations)} }

// journalize appends what the transaction changes, and brings some of what is older to the buckets.
func (tx *fileTx) journalize() error {
	if err := tx.settle(); err != nil {
		return err
	}
	if tx.journal.over() && len(tx.format.Generations) == 1 {
		tx.format.next()
	}
	changed, err := tx.append()
	if err != nil {
		return err
	}
	step := 2 * changed
	if changed == 0 {
		step = tx.journal.pace.step
	}
	if err := tx.foldSome(step); err != nil {
		return fmt.Errorf("%w: %w", errFolding, err)
	}
	return nil
}

// settle writes a range that is new to its buckets at once: nothing of it lies side by side with anything, and a range that
// is carried here may be large.
func (tx *fileTx) settle() error {
	for _, at := range tx.changes.places() {
		if !slices.Contains(tx.made, at.rangeID) {
			continue
		}
		b, err := tx.bucketOf(at)
		if err != nil {
			return err
		}
		for _, key := range tx.changes.keys(at, nil) {
			if err := write(b, []byte(key), tx.changes[at].changes[key].value); err != nil {
				return err
			}
		}
		delete(tx.changes, at)
	}
	return nil
}

func (tx *fileTx) append() (changed int, err error) {
	if len(tx.changes) == 0 {
		return 0, nil
	}
	all, err := tx.CreateBucketIfNotExists(journalBucket)
	if err != nil {
		return 0, err
	}
	newest := tx.format.newest()
	b, err := all.CreateBucketIfNotExists(cursorKey(newest.Number))
	if err != nil {
		return 0, err
	}
	b.FillPercent = 1 // nothing comes between
	for _, at := range tx.changes.places() {
		for _, key := range tx.changes.keys(at, nil) {
			now := tx.changes[at].changes[key]
			number := cursorKey(uint64(newest.Changes.Count))
			record := journaled(number, at, key, now.value)
			if err := b.Put(number, record); err != nil {
				return 0, err
			}
			newest.Changes = newest.Changes.change(nil, record)
			newest.bytes += len(record)
			tx.changes[at].changes[key] = change{now.value, newest.Number}
			changed++
		}
	}
	return changed, nil
}

// took: the transaction is durable.
func (j *journal) took(tx *fileTx) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state, j.fold, j.written = tx.format.state, tx.fold, true
	for _, folded := range tx.folded {
		j.layers.drop(folded.at, folded.key)
	}
	for at, over := range tx.changes {
		for _, key := range tx.changes.keys(at, nil) {
			j.layers.put(at, key, over.changes[key])
		}
	}
}
