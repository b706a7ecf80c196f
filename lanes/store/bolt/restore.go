package bolt

import (
	"context"
	"fmt"

	"rangegate/lanes/store"
)

// Restore writes a whole range that the file does not have, all of it or nothing, and trims nothing of it: ErrExists.
func (s *Store) Restore(ctx context.Context, whole store.Batch) error {
	encoded, err := recordsOf(whole)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	return s.submit(ctx, func(tx *fileTx) (verdict, failure error) {
		if findRange(tx.Tx, whole.Range) != nil {
			return fmt.Errorf("store %s: %w: %s", s.path, store.ErrExists, whole.Range), nil
		}
		r, err := tx.makeRange(whole.Range)
		if err != nil {
			return nil, err
		}
		r.meta.Epoch, r.meta.N = whole.Epoch, whole.N
		r.write(whole, encoded)
		return nil, tx.save(r)
	})
}
