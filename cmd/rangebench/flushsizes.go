package main

import (
	"context"
	"sync"

	"rangegate/lanes/store"
)

// saving is the sizes of the records that one change saves.
type saving []struct {
	bucket string
	bytes  int
}

// flushSizes is a store that measures the last flush, except one with only a checkpoint.
type flushSizes struct {
	store.Store
	mu  sync.Mutex
	had saving
}

func (s *flushSizes) Flush(ctx context.Context, batch store.Batch) error {
	s.mu.Lock()
	weighed := len(s.had) > 0 || len(batch.Lanes) == 0
	s.mu.Unlock()
	if !weighed {
		records, err := recordsOf(batch)
		if err != nil {
			return err
		}
		var had saving
		for _, r := range records {
			had = append(had, struct {
				bucket string
				bytes  int
			}{r.bucket, len(r.value)})
		}
		s.mu.Lock()
		s.had = had
		s.mu.Unlock()
	}
	return s.Store.Flush(ctx, batch)
}

// empty forgets the last flush.
func (s *flushSizes) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.had = nil
}

func (s *flushSizes) read() saving {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.had
}
