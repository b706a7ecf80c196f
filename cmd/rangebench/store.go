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
	held   chan struct{} // not closed while flushes wait
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

// release continues the flushes for good.
func (s *hangingStore) release() {
	s.mu.Lock()
	s.wanted = false
	s.mu.Unlock()
	s.resume()
}

// resume continues the flushes.
func (s *hangingStore) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

// hangIfWanted makes flushes wait again, if that was wanted.
func (s *hangingStore) hangIfWanted() {
	s.mu.Lock()
	wanted := s.wanted
	s.mu.Unlock()
	if wanted {
		s.hang()
	}
}
