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
	failed := func(record string, err error) error { return corruptUnlessDisk(path, state.Range, record, err) }
	if loaded.Lanes, err = decodeAll[lanes.Snapshot](c, "lanes", state, state.Lanes, failed); err != nil {
		return loaded, err
	}
	if loaded.Keys, err = decodeAll[lanes.KeptAnswer](c, "keys", state, state.Keys, failed); err != nil {
		return loaded, err
	}
	holds, err := decodeAll[lanes.Holds](c, "holds", state, state.Holds, failed)
	if err != nil {
		return loaded, err
	}
	if len(holds) > 0 {
		loaded.Holds = holds[0]
	}
	rows, err := rowsOf(c, "events", state.Range, selectPending, state.number, positionOf(state.OldestOpen))
	if err == nil && int64(len(rows)) != state.Pending {
		err = fmt.Errorf("damaged: there are %d of %d", len(rows), state.Pending)
	}
	if err != nil {
		return loaded, failed("the pending events", err)
	}
	loaded.Pending, err = decodeRows[lanes.Logged](rows, failed)
	return loaded, err
}

// decodeAll reads all of the range's records in a table, and compares them with what was counted.
func decodeAll[T any](
	c *sqlite.Conn, table string, state *rangeState, counted tally, failed func(record string, err error) error,
) ([]T, error) {
	rows, err := rowsOf(c, table, state.Range, selects[table], state.number)
	if err != nil {
		return nil, failed("the "+table, err)
	}
	var found tally
	for _, r := range rows {
		found.add(r.checksum)
	}
	list, err := decodeRows[T](rows, failed)
	if err == nil && found != counted {
		err = failed("the "+table, fmt.Errorf("damaged: not the %d that were written, but %d", counted.Count, found.Count))
	}
	return list, err
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
