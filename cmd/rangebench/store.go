package main

import (
	"context"
	"sync"

	"rangegate/lanes/store"
)

// hangingStore is a store whose flushes can be made to wait.
type hangingStore struct {
	store.Store
	mu     sync.Mutex
	wanted bool
	held   chan struct{} // open while flushes wait
}

func (s *hangingStore) Flush(ctx context.Context, batch store.Batch) error {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Store.Flush(ctx, batch)
}

func (s *hangingStore) hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = true
	if s.held == nil {
		s.held = make(chan struct{})
	}
}

// mend lets them go, for good.
func (s *hangingStore) mend() {
	s.mu.Lock()
	s.wanted = false
	s.mu.Unlock()
	s.unhang()
}

// unhang lets them go.
func (s *hangingStore) unhang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

// hangAgain goes back to waiting, if that was wanted.
func (s *hangingStore) hangAgain() {
	s.mu.Lock()
	wanted := s.wanted
	s.mu.Unlock()
	if wanted {
		s.hang()
	}
}
