package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Claim takes the range for this process. A claim that replicas were to have, and do not, counts all the same; claiming
// again gives the next epoch.
func (s *Store) Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (uint64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.underWay.Done()
	w := newRun(claimScript, rangeID, []any{strconv.FormatInt(max(0, now.UnixMilli()), 10)}, 0)
	a, err := s.write(ctx, w, rangeID)
	if err == nil {
		err = s.fault(a)
	}
	if err != nil {
		return 0, fmt.Errorf("range %s: claim: %w", rangeID, err)
	}
	return s.number(keysOf(rangeID).meta+" epoch", a.text(1))
}

// Load reads what is needed to bring the range back.
func (s *Store) Load(ctx context.Context, rangeID uuid.UUID) (store.Recovered, error) {
	a, err := s.ask(ctx, loadScript, rangeID)
	if err != nil {
		return store.Recovered{}, err
	}
	keys := keysOf(rangeID)
	var r store.Recovered
	if r.Checkpoint, err = optionally[lanes.Checkpoint](s, keys.meta+" checkpoint", a, 1); err != nil {
		return store.Recovered{}, err
	}
	if r.Holds, err = optionally[lanes.Holds](s, keys.meta+" holds", a, 7); err != nil {
		return store.Recovered{}, err
	}
	if r.LastEvent, err = s.number(keys.meta+" last_event", a.text(2)); err != nil {
		return store.Recovered{}, err
	}
	if r.LastEnded, err = s.number(keys.meta+" last_ended", a.text(3)); err != nil {
		return store.Recovered{}, err
	}
	if r.LastAct, err = s.number(keys.meta+" last_act", a.text(8)); err != nil {
		return store.Recovered{}, err
	}
	if r.Lanes, err = records[lanes.Snapshot](s, keys.lanes, a.texts(4)); err != nil {
		return store.Recovered{}, err
	}
	if r.Keys, err = records[lanes.KeptAnswer](s, keys.answers, a.texts(5)); err != nil {
		return store.Recovered{}, err
	}
	if r.Pending, err = records[lanes.Logged](s, keys.events, a.texts(6)); err != nil {
		return store.Recovered{}, err
	}
	return r, nil
}

// optionally decodes the record at that place of the answer, if it is there.
func optionally[T any](s *Store, record string, a answer, i int) (value T, err error) {
	if !a.has(i) {
		return value, nil
	}
	if value, err = store.Decode[T]([]byte(a.text(i))); err != nil {
		return value, s.corrupt(record, err)
	}
	return value, nil
}

// records decodes what a hash has, field after field with the record of each.
func records[T any](s *Store, key string, fields []string) ([]T, error) {
	all := make([]T, 0, len(fields)/2)
	for i := 0; i+1 < len(fields); i += 2 {
		record, err := store.Decode[T]([]byte(fields[i+1]))
		if err != nil {
			return nil, s.corrupt(key+" "+fields[i], err)
		}
		all = append(all, record)
	}
	return all, nil
}

func (s *Store) number(record, text string) (uint64, error) {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, s.corrupt(record, err)
	}
	return number, nil
}
