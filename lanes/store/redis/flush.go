package redis

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// Flush writes the batch, all of it or nothing. It is durable as far as the server's settings make it so (Warnings).
func (s *Store) Flush(ctx context.Context, batch store.Batch) error {
	if err := s.begin(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	defer s.underWay.Done()
	w, err := newWrite(batch, s.retention, s.replicas)
	if err != nil {
		return fmt.Errorf("%w: range %s: %w", store.ErrRefused, batch.Range, err)
	}
	a, err := s.write(ctx, w, batch.Range)
	if err != nil {
		return err
	}
	return s.verdict(batch, a)
}

// write hands the write to the range's flusher and waits for its answer, or for the end of the context.
func (s *Store) write(ctx context.Context, w *write, rangeID uuid.UUID) (answer, error) {
	if ctx.Err() != nil {
		return nil, unsent(ctx)
	}
	select {
	case s.flusherOf(rangeID).queue <- w:
	case <-ctx.Done():
		return nil, unsent(ctx)
	}
	select {
	case r := <-w.reply:
		if r.err != nil {
			return nil, s.failed(r.err)
		}
		return r.answer, nil
	case <-ctx.Done():
		if w.take() {
			return nil, unsent(ctx)
		}
		return nil, fmt.Errorf("redis server %s: it has not answered yet: %w", s.where, context.Cause(ctx))
	}
}

func unsent(ctx context.Context) error {
	return fmt.Errorf("%w: it was not sent: %w", store.ErrRefused, context.Cause(ctx))
}

func (s *Store) flusherOf(rangeID uuid.UUID) *flusher {
	return s.flushers[int(rangeID[len(rangeID)-1])%len(s.flushers)]
}

// verdict is what the script's answer means.
func (s *Store) verdict(b store.Batch, a answer) error {
	if err := s.fault(a); err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	switch a.text(0) {
	case "applied", "repeated":
		return nil
	case "fenced":
		return fmt.Errorf("range %s, flush (%d, %d), stored (%s, %s): %w",
			b.Range, b.Epoch, b.N, a.text(1), a.text(2), store.ErrFenced)
	case "rolled back":
		return fmt.Errorf("range %s, flush (%d, %d), stored (%s, %s): %w",
			b.Range, b.Epoch, b.N, a.text(1), a.text(2), store.ErrRolledBack)
	}
	return fmt.Errorf("redis server %s: the script answered %q", s.where, a)
}
