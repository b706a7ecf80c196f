package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"rangegate/config"
	"rangegate/lanes/store"
)

// keeper is a store that belongs to one gateway alone, as a file does: all of its ranges ought to be configured. What else
// is in a Redis may be another gateway's.
type keeper interface {
	Ranges(ctx context.Context) ([]uuid.UUID, error)
	Load(ctx context.Context, rangeID uuid.UUID) (store.Recovered, error)
}

// leftOut is the ranges that are in use in the file, and that the configuration does not have: nobody would see to what was
// paid for there.
func leftOut(ctx context.Context, file keeper, c config.Config) error {
	ids, err := file.Ranges(ctx)
	if err != nil {
		return err
	}
	configured := map[uuid.UUID]bool{}
	for _, r := range c.Ranges {
		configured[r.ID] = true
	}
	var errs []error
	for _, id := range ids {
		if configured[id] {
			continue
		}
		saved, err := file.Load(ctx, id)
		if err != nil {
			return fmt.Errorf("range %s: %w", id, err)
		}
		if what := inUse(saved); what != "" {
			errs = append(errs, fmt.Errorf("range %s is not configured, and the store has %s of it; configure it again, and take it away while the gateway runs (POST /reload)", id, what))
		}
	}
	return errors.Join(errs...)
}

// inUse says what there is of a range that somebody has to see to, nothing for none.
func inUse(saved store.Recovered) string {
	sessions, open := 0, 0
	for _, snapshot := range saved.Lanes {
		if snapshot.Session != nil {
			sessions++
		}
		open += len(snapshot.Open)
	}
	if sessions+open+len(saved.Pending) == 0 {
		return ""
	}
	return fmt.Sprintf("%d sessions, %d purchases that wait for staff and %d events that wait for their delivery", sessions, open, len(saved.Pending))
}
