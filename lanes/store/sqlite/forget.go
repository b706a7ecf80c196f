package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

var _ store.Forgetter = (*Store)(nil)

// Forget implements store.Forgetter, in one transaction. Close then overwrites the bytes of what was removed.
func (s *Store) Forget(ctx context.Context, rangeID uuid.UUID, as store.RangeMeta, now time.Time) error {
	s.claims.Delete(rangeID)
	return s.submit(ctx, func(tx *transaction) (rejection, failure error) {
		state, err := tx.rangeOf(rangeID)
		switch {
		case err != nil:
			return rejectUnlessDisk(err)
		case state == nil:
			return fmt.Errorf("store %s: range %s: %w", s.path, rangeID, store.ErrNotFound), nil
		case state.isForgotten(): // the process that has done it may have ended before Close
			s.forgot = true
			return nil, nil
		case state.Epoch != as.Epoch || state.N != as.N:
			return fmt.Errorf("store %s: range %s: %w", s.path, rangeID, store.ErrChanging), nil
		}
		if err := tx.forget(state, now); err != nil {
			return nil, err
		}
		s.forgot = true
		return nil, nil
	})
}

// forget deletes the rows of the range, and of its record everything but the epoch, which rises.
func (tx *transaction) forget(state *rangeState, now time.Time) error {
	if err := tx.deleteLanes(state); err != nil {
		return err
	}
	tables := []string{"keys", "holds", "events", "ended", "acts"}
	switch exists, err := hasExternalIDs(tx.writer); {
	case err != nil:
		return err
	case exists:
		tables = append(tables, "external_ids")
	}
	for _, table := range tables {
		if err := execute(tx.writer, "DELETE FROM "+table+" WHERE range = ?", state.number); err != nil {
			return err
		}
	}
	epoch := max(state.Epoch+1, uint64(max(0, now.UnixMilli())))
	*state = *newRangeState(state.path, state.Range, state.number, state.checksum)
	state.Epoch, state.ForgottenAt = epoch, epoch
	return tx.save(state)
}

// overwriteFree makes the file anew, through its WAL, without the pages and the gaps that are free: they may
// have the bytes of what was removed, also long before. What it reads is in a temporary file meanwhile, not
// in memory.
func (f *file) overwriteFree() error {
	f.stopAudit() // it would keep the WAL from being emptied
	f.stopAudit = func() {}
	err := executeOnce(f.writer, "PRAGMA temp_store = FILE")
	if err == nil {
		err = executeOnce(f.writer, "VACUUM")
	}
	if err == nil {
		err = f.emptyWAL()
	}
	if err != nil {
		return fmt.Errorf("overwriting what was removed: %w", withDiskError(f.path, err))
	}
	return nil
}
