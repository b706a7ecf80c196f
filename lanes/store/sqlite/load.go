package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Claim takes the range for this process. A range that Load could not read is not claimed: a gateway that cannot start,
// and is started again and again, leaves it as it is. What it has read of it is kept for Load.
func (s *Store) Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (uint64, error) {
	var epoch uint64
	var loaded store.Recovered
	err := s.submit(ctx, func(tx *transaction) (verdict, failure error) {
		state, err := tx.rangeOf(rangeID)
		if state != nil && err == nil {
			loaded, err = load(tx.writer, s.path, state)
		}
		if err != nil {
			return refusal(err)
		}
		if state == nil {
			if state, err = tx.makeRange(rangeID); err != nil {
				return nil, err
			}
		}
		epoch = max(state.Epoch+1, uint64(max(0, now.UnixMilli())))
		state.Epoch, state.N = epoch, 0
		return nil, tx.save(state)
	})
	if err != nil {
		return 0, err
	}
	s.claims.keep(rangeID, loaded)
	return epoch, nil
}

// claims is what claims have read, until it is loaded or a flush makes it old: to decode a large range is most of what
// loading it takes.
type claims struct {
	mu     sync.Mutex
	loaded map[uuid.UUID]store.Recovered
}

func (c *claims) keep(id uuid.UUID, loaded store.Recovered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded == nil {
		c.loaded = map[uuid.UUID]store.Recovered{}
	}
	c.loaded[id] = loaded
}

// drop forgets what was read of the range, and gives it.
func (c *claims) drop(id uuid.UUID) (loaded store.Recovered, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	loaded, found = c.loaded[id]
	delete(c.loaded, id)
	return loaded, found
}

// Load reads what is needed to bring the range back.
func (s *Store) Load(ctx context.Context, rangeID uuid.UUID) (loaded store.Recovered, err error) {
	err = s.view(ctx, func(c *sqlite.Conn) error {
		var found bool
		if loaded, found = s.claims.drop(rangeID); found {
			return nil
		}
		state, err := findRange(c, s.path, rangeID)
		if err == nil && state != nil {
			loaded, err = load(c, s.path, state)
		}
		return err
	})
	if err != nil {
		return store.Recovered{}, err
	}
	return loaded, nil
}

// load reads a range that was found. That no record is missing shows in the range's own.
func load(c *sqlite.Conn, path string, state *rangeState) (loaded store.Recovered, err error) {
	if state.Checkpoint != nil {
		loaded.Checkpoint = *state.Checkpoint
	}
	loaded.LastEvent, loaded.LastEnded, loaded.LastAct = state.LastEvent, state.LastEnded, state.LastAct
	failed := func(record string, err error) error {
		if onDisk(err) {
			err = damaged(err)
		}
		return corrupt(path, state.Range, record, err)
	}
	rows, err := laneRows(c, state)
	if err != nil {
		return loaded, failed("the lanes", err)
	}
	if loaded.Lanes, err = decodeAll[lanes.Snapshot](rows, state.Lanes, failed); err != nil {
		return loaded, err
	}
	if rows, err = keyRows(c, state); err != nil {
		return loaded, failed("the idempotency keys", err)
	}
	if loaded.Keys, err = decodeAll[lanes.KeptAnswer](rows, state.Keys, failed); err != nil {
		return loaded, err
	}
	if rows, err = holdsRows(c, state); err != nil {
		return loaded, failed("the holds", err)
	}
	holds, err := decodeAll[lanes.Holds](rows, state.Holds, failed)
	if err != nil {
		return loaded, err
	}
	if len(holds) > 0 {
		loaded.Holds = holds[0]
	}
	if rows, err = pendingRows(c, state); err != nil {
		return loaded, failed("the pending events", err)
	}
	if loaded.Pending, err = decodeRows[lanes.Logged](rows, failed); err == nil && int64(len(rows)) != state.Pending {
		err = failed("the pending events", fmt.Errorf("damaged: there are %d of %d", len(rows), state.Pending))
	}
	return loaded, err
}

// decodeAll reads all records of a table, and compares them with what was counted.
func decodeAll[T any](rows []row, counted tally, failed func(record string, err error) error) ([]T, error) {
	list, err := decodeRows[T](rows, failed)
	if err != nil {
		return nil, err
	}
	var found tally
	for _, r := range rows {
		found.add(r.checksum)
	}
	if found != counted && len(rows) > 0 {
		return nil, failed("the "+rows[0].table, fmt.Errorf("damaged: not the %d that were written, but %d", counted.Count, found.Count))
	}
	if found != counted {
		return nil, failed("the records", fmt.Errorf("damaged: not the %d that were written, but none", counted.Count))
	}
	return list, nil
}

// worthAGoroutine is how many records are.
const worthAGoroutine = 256

// decodeRows reads the records, each processor a share of them. If some cannot be read, the error is about the first.
func decodeRows[T any](rows []row, failed func(record string, err error) error) ([]T, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	list := make([]T, len(rows))
	shares := min(runtime.GOMAXPROCS(0), 1+len(rows)/worthAGoroutine)
	errs := make([]error, shares)
	var reading sync.WaitGroup
	for s := range shares {
		reading.Go(func() {
			for i := len(rows) * s / shares; i < len(rows)*(s+1)/shares; i++ {
				var err error
				if list[i], err = decode[T](rows[i]); err != nil {
					errs[s] = failed(rows[i].key.String(), err)
					return
				}
			}
		})
	}
	reading.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
