package actors

import "time"

// Bounds of what a range remembers of what it saved of late.
const (
	tailTerm = time.Minute
	tailSize = 4096
)

// tail is what was saved of late in a log, by cursor. A store that fails over to a replica loses the last seconds of what
// it acknowledged: it gets them again from here.
type tail[T any] struct {
	order []saving
	by    map[uint64]T
}

// saving is when a record was saved first.
type saving struct {
	cursor uint64
	at     time.Duration // on the clock that nobody sets
}

// put takes a record that is saved, or is saved anew.
func (t *tail[T]) put(cursor uint64, record T, now time.Duration) {
	if t.by == nil {
		t.by = map[uint64]T{}
	}
	if _, known := t.by[cursor]; !known {
		t.order = append(t.order, saving{cursor, now})
	}
	t.by[cursor] = record
	for len(t.order) > tailSize || len(t.order) > 0 && now-t.order[0].at > tailTerm {
		delete(t.by, t.order[0].cursor)
		t.order = t.order[1:]
	}
}

// all is in the order in which the records were saved first.
func (t *tail[T]) all() []T {
	records := make([]T, 0, len(t.order))
	for _, s := range t.order {
		records = append(records, t.by[s.cursor])
	}
	return records
}
