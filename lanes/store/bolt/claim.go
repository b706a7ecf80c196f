package bolt

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// Claim takes the range for this process. It goes the way of the flushes, which also keeps it from a file whose last
// commit failed. A range that Load could not read is not claimed: a gateway that cannot start, and is started again and
// again, leaves it as it is.
func (s *Store) Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (uint64, error) {
	var epoch uint64
	err := s.submit(ctx, func(tx *fileTx) (verdict, failure error) {
		r, err := openRange(tx.Tx, s.path, rangeID)
		if r != nil {
			_, err = r.load()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", store.ErrRefused, err), nil
		}
		if r == nil {
			if r, err = tx.makeRange(rangeID); err != nil {
				return nil, err
			}
		}
		epoch = max(r.meta.Epoch+1, uint64(max(0, now.UnixMilli())))
		r.meta.Epoch, r.meta.N = epoch, 0
		return nil, tx.save(r)
	})
	if err != nil {
		return 0, err
	}
	return epoch, nil
}
