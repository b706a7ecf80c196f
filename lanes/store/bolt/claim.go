package bolt

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// Claim takes the range for this process. It goes the way of the flushes, which also keeps it from a file whose last
// commit failed. A range that Load could not read is not claimed: a gateway that cannot start, and is started again and
// again, leaves it as it is. What it has read of it is kept for Load.
func (s *Store) Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (uint64, error) {
	var epoch uint64
	var read claim
	err := s.submit(ctx, func(tx *fileTx) (verdict, failure error) {
		r, err := tx.open(rangeID)
		if r != nil {
			read.loaded, err = r.load()
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
		if err := tx.save(r); err != nil {
			return nil, err
		}
		read.record = r.remembered.record
		// In its own place at once: an older version that finds it there goes no further, and not to what is folded.
		return nil, r.b.Put(metaKey, read.record)
	})
	if err != nil {
		return 0, err
	}
	s.claims.keep(rangeID, read)
	return epoch, nil
}

// claims is what claims have read, until it is loaded or there is something newer: to decode a large range is most of
// what loading it takes.
type claims struct {
	mu sync.Mutex
	of map[uuid.UUID]claim
}

type claim struct {
	record []byte // the range's meta record after the claim: as long as the file has it, nothing else was written
	loaded store.Recovered
}

func (c *claims) keep(id uuid.UUID, read claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[uuid.UUID]claim{}
	}
	c.of[id] = read
}

// take gives what was read of the range, once, if it is still what the file has.
func (c *claims) take(r *rangeTx) (store.Recovered, bool) {
	read, any := c.drop(r.id)
	return read.loaded, any && bytes.Equal(read.record, r.get(ownPlace, metaKey))
}

func (c *claims) drop(id uuid.UUID) (read claim, any bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	read, any = c.of[id]
	delete(c.of, id)
	return read, any
}
