package redis

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Events reads the event log behind the cursor, oldest first.
func (s *Store) Events(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Logged, error) {
	page, err := s.page(ctx, rangeID, "events", after, limit)
	if err != nil {
		return nil, err
	}
	return records[lanes.Logged](s, keysOf(rangeID).events, page)
}

// History reads the ended sessions behind the cursor, oldest first.
func (s *Store) History(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Ended, error) {
	page, err := s.page(ctx, rangeID, "history", after, limit)
	if err != nil {
		return nil, err
	}
	return s.ended(rangeID, page)
}

// Acts reads what staff did behind the cursor, oldest first.
func (s *Store) Acts(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Act, error) {
	page, err := s.page(ctx, rangeID, "acts", after, limit)
	if err != nil {
		return nil, err
	}
	return records[lanes.Act](s, keysOf(rangeID).acts, page)
}

// Ended looks a session up in the history.
func (s *Store) Ended(ctx context.Context, rangeID, session uuid.UUID) (lanes.Ended, error) {
	a, err := s.ask(ctx, endedScript, rangeID, session.String())
	if err != nil {
		return lanes.Ended{}, err
	}
	found, err := s.ended(rangeID, a.texts(1))
	if err != nil {
		return lanes.Ended{}, err
	}
	if len(found) == 0 {
		return lanes.Ended{}, store.ErrNotFound
	}
	return found[0], nil
}

func (s *Store) page(ctx context.Context, rangeID uuid.UUID, log string, after uint64, limit int) ([]string, error) {
	if limit <= 0 {
		return nil, nil
	}
	a, err := s.ask(ctx, pageScript, rangeID, log, rank(after), strconv.Itoa(limit))
	if err != nil {
		return nil, err
	}
	return a.texts(1), nil
}

// ended decodes ended sessions: of each the cursor, the record, and the customer's name as long as it is kept.
func (s *Store) ended(rangeID uuid.UUID, fields []string) ([]lanes.Ended, error) {
	all := make([]lanes.Ended, 0, len(fields)/3)
	for i := 0; i+2 < len(fields); i += 3 {
		ended, err := store.Decode[lanes.Ended]([]byte(fields[i+1]))
		if err != nil {
			return nil, s.corrupt(keysOf(rangeID).history+" "+fields[i], err)
		}
		ended.Session.Customer = fields[i+2]
		all = append(all, ended)
	}
	return all, nil
}
