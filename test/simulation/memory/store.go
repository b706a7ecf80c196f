package memory

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Store is the server as one gateway has opened it.
type Store struct {
	server    *Server
	retention store.Retention
	closed    atomic.Bool
}

var _ store.Store = (*Store)(nil)

// Open opens the store for a gateway.
func (s *Server) Open(retention store.Retention) *Store {
	return &Store{server: s, retention: retention}
}

var errClosed = errors.New("the store is closed")

// begin locks the server for a call, unless its context has ended.
func (s *Store) begin(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.closed.Load() {
		return nil, errClosed
	}
	s.server.mu.Lock()
	return s.server.mu.Unlock, nil
}

// Claim implements store.Store.
func (s *Store) Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (uint64, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	return s.server.claim(rangeID, store.Node{}, now).Epoch, nil
}

// claim raises the epoch for that owner, as claim.lua of the Redis store does.
func (s *Server) claim(rangeID uuid.UUID, by store.Node, now time.Time) *rangeData {
	r := s.data.ranges[rangeID]
	if r == nil {
		r = newRange()
		s.data.ranges[rangeID] = r
	}
	beyond := uint64(binary.BigEndian.Uint16(by.Run[:]) >> 4) // the first three hexadecimal digits
	if at := uint64(max(0, now.UnixMilli())); r.Epoch < at {
		r.Epoch = at
	} else {
		r.Epoch += 1 + beyond
	}
	r.N, r.owner = 0, by
	return r
}

// Load implements store.Store.
func (s *Store) Load(ctx context.Context, of store.RangeEpoch) (loaded store.Recovered, err error) {
	err = s.read(ctx, of, func(r *rangeData, d *decoder) { loaded = r.load(d) })
	if err != nil {
		return store.Recovered{}, err
	}
	return loaded, nil
}

func (r *rangeData) load(d *decoder) (loaded store.Recovered) {
	loaded.LastEvent, loaded.LastEnded, loaded.LastAct = r.LastEvent, r.LastEnded, r.LastAct
	if r.checkpoint != nil {
		loaded.Checkpoint = decode[lanes.Checkpoint](d, "the checkpoint", r.checkpoint)
	}
	if r.holds != nil {
		loaded.Holds = decode[lanes.Holds](d, "the holds", r.holds)
	}
	for id, lane := range r.lanes {
		loaded.Lanes = append(loaded.Lanes, decode[lanes.Snapshot](d, "lane "+id.String(), lane))
	}
	slices.SortFunc(loaded.Lanes, func(a, b lanes.Snapshot) int { return slices.Compare(a.ID[:], b.ID[:]) })
	for name, key := range r.keys {
		loaded.Keys = append(loaded.Keys, decode[lanes.KeptAnswer](d, "key "+name, key).Shed())
	}
	for _, e := range r.events {
		if e.pending {
			loaded.Pending = append(loaded.Pending, decode[lanes.Logged](d, fmt.Sprint("event ", e.cursor), e.record))
		}
	}
	return loaded
}

// decoder notes the first record that cannot be read.
type decoder struct {
	rangeID uuid.UUID
	err     error
}

// where is what a damaged record's error names.
const where = "the memory of this process"

func (s *Store) decoder(rangeID uuid.UUID) *decoder { return &decoder{rangeID: rangeID} }

func decode[T any](d *decoder, name string, r record) T {
	value, err := store.Decode[T](r)
	if err != nil && d.err == nil {
		d.err = &store.CorruptError{Where: where, Record: fmt.Sprintf("%s of range %s", name, d.rangeID), Err: err}
	}
	return value
}

// Flush implements store.Store.
func (s *Store) Flush(ctx context.Context, batch store.Batch) error {
	encoded, err := encode(batch)
	if err != nil {
		return err
	}
	end, err := s.begin(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	defer end()
	return s.server.flush(batch, encoded, s.retention)
}

// read gives the range to a reader that has claimed it in that epoch.
func (s *Store) read(ctx context.Context, of store.RangeEpoch, visit func(r *rangeData, d *decoder)) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	r := s.server.data.ranges[of.Range]
	if r == nil {
		r = newRange()
	}
	if err := of.Check(r.Epoch, r.N); err != nil {
		return err
	}
	d := s.decoder(of.Range)
	visit(r, d)
	return d.err
}

// Confirm implements store.Store.
func (s *Store) Confirm(ctx context.Context, of store.RangeEpoch) error {
	return s.read(ctx, of, func(*rangeData, *decoder) {})
}

// Ended implements store.Store.
func (s *Store) Ended(ctx context.Context, of store.RangeEpoch, session uuid.UUID) (found lanes.Ended, err error) {
	missing := true
	err = s.read(ctx, of, func(r *rangeData, d *decoder) {
		for _, e := range slices.Backward(r.ended) {
			if e.session == session {
				found, missing = decode[lanes.Ended](d, fmt.Sprint("ended session ", e.cursor, " ", session), e.record),
					false
				return
			}
		}
	})
	if err == nil && missing {
		err = store.ErrNotFound
	}
	return found, err
}

// Answer implements store.Store.
func (s *Store) Answer(ctx context.Context, of store.RangeEpoch, name string) (found lanes.KeptAnswer, err error) {
	missing := true
	err = s.read(ctx, of, func(r *rangeData, d *decoder) {
		if key, kept := r.keys[name]; kept {
			found, missing = decode[lanes.KeptAnswer](d, "key "+name, key), false
		}
	})
	if err == nil && missing {
		err = store.ErrNotFound
	}
	return found, err
}

// Events implements store.Store.
func (s *Store) Events(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Logged, error) {
	return page[lanes.Logged](ctx, s, of, "event", func(r *rangeData) log { return r.events.behind(after, limit) })
}

// History implements store.Store.
func (s *Store) History(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Ended, error) {
	return page[lanes.Ended](ctx, s, of, "ended session",
		func(r *rangeData) log { return r.ended.behind(after, limit) })
}

// HistoryOf implements store.Store.
func (s *Store) HistoryOf(
	ctx context.Context, of store.RangeEpoch, externalID string, after uint64, limit int,
) ([]lanes.Ended, error) {
	return page[lanes.Ended](ctx, s, of, "ended session", func(r *rangeData) log {
		named := slices.DeleteFunc(slices.Clone(r.ended), func(e entry) bool { return e.external != externalID })
		return named.behind(after, limit)
	})
}

// Acts implements store.Store.
func (s *Store) Acts(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Act, error) {
	return page[lanes.Act](ctx, s, of, "act", func(r *rangeData) log { return r.acts.behind(after, limit) })
}

func page[T any](
	ctx context.Context, s *Store, of store.RangeEpoch, kind string, entries func(r *rangeData) log,
) (values []T, err error) {
	err = s.read(ctx, of, func(r *rangeData, d *decoder) {
		for _, e := range entries(r) {
			values = append(values, decode[T](d, fmt.Sprint(kind, " ", e.cursor), e.record))
		}
	})
	if err != nil {
		return nil, err
	}
	return values, nil
}

// Time implements clock.Reference: the server's clock.
func (s *Store) Time(ctx context.Context) (time.Time, string, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return time.Time{}, "", err
	}
	defer end()
	return time.Now(), s.server.name, nil
}

// Close implements store.Store. Calls take no time, so there is none to wait for.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}
