package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

// Flush writes the batch, all of it or nothing. The settings of the server decide how durable it is (Warnings).
func (s *Store) Flush(ctx context.Context, batch store.Batch) error {
	if err := s.begin(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	defer s.calls.Done()
	w, err := newFlush(batch, s.retention, s.replicas)
	if err != nil {
		return fmt.Errorf("%w: range %s: %w", store.ErrRefused, batch.Range, err)
	}
	r, err := s.write(ctx, w, batch.Range)
	if err != nil {
		return err
	}
	return s.flushError(batch, r)
}

// write queues the write at the range's flusher, and waits for the reply or for the end of ctx.
func (s *Store) write(ctx context.Context, w *write, rangeID uuid.UUID) (reply, error) {
	if ctx.Err() != nil {
		return nil, notSent(ctx)
	}
	select {
	case s.flusherOf(rangeID).queue <- w:
	case <-ctx.Done():
		return nil, notSent(ctx)
	}
	select {
	case result := <-w.result:
		if result.err != nil {
			return nil, s.writeError(result.err)
		}
		return result.reply, nil
	case <-ctx.Done():
		if w.acquire() {
			return nil, notSent(ctx)
		}
		return nil, fmt.Errorf("redis server %s: no reply yet: %w", s.address, context.Cause(ctx))
	}
}

func notSent(ctx context.Context) error {
	return fmt.Errorf("%w: it was not sent: %w", store.ErrRefused, context.Cause(ctx))
}

func (s *Store) flusherOf(rangeID uuid.UUID) *flusher {
	return s.flushers[int(rangeID[len(rangeID)-1])%len(s.flushers)]
}

// flushError returns the error in the reply of flush.lua, or nil.
func (s *Store) flushError(b store.Batch, r reply) error {
	if err := s.replyError(r); err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	switch r.text(0) {
	case "applied", "repeated":
		return nil
	case "fenced":
		return fmt.Errorf("range %s, flush (%d, %d), stored (%s, %s): %w",
			b.Range, b.Epoch, b.N, r.text(1), r.text(2), store.ErrFenced)
	case "rolled back":
		return fmt.Errorf("range %s, flush (%d, %d), stored (%s, %s): %w",
			b.Range, b.Epoch, b.N, r.text(1), r.text(2), store.ErrRolledBack)
	}
	return fmt.Errorf("redis server %s: the script replied %q", s.address, r)
}

// writeError is the error of a write whose script has not replied. It wraps store.ErrRefused when nothing was written
// and nothing will be; any other error leaves the outcome unknown.
func (s *Store) writeError(err error) error {
	if isRefused(err) {
		return fmt.Errorf("redis server %s: %w: %w", s.address, store.ErrRefused, err)
	}
	return fmt.Errorf("redis server %s: it is not known whether it has written: %w", s.address, err)
}

// isRefused reports whether the server did not run the script, or stopped it before its first write.
//
//	no connection, or none free           nothing was sent
//	error reply                           the server did not run the script: LOADING, NOAUTH, CLUSTERDOWN, MOVED …
//	error reply that names the script     a command in it failed. A server that refuses writes (OOM, READONLY …) refuses
//	                                      the first one. After any other error the outcome is unknown.
//	timeout, broken connection            the server may have run the script, or may still do so
func isRefused(err error) bool {
	var unsent *notConnectedError
	if errors.As(err, &unsent) {
		return true
	}
	for _, poolError := range []error{goredis.ErrPoolTimeout, goredis.ErrPoolExhausted, goredis.ErrClosed} {
		if errors.Is(err, poolError) {
			return true
		}
	}
	var errorReply goredis.Error
	if !errors.As(err, &errorReply) {
		return false
	}
	if !strings.Contains(errorReply.Error(), flushScript.Hash()) {
		return true
	}
	code, _, _ := strings.Cut(errorReply.Error(), " ")
	return slices.Contains([]string{"OOM", "READONLY", "MISCONF", "NOREPLICAS", "MASTERDOWN"}, code)
}
