package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// checkTries bounds how often a range is read that a gateway writes to meanwhile.
const checkTries = 3

// Check reads everything of the range. The faults are the records that cannot be read, or do not go together; an error
// is that the store could not be read to the end.
func Check(ctx context.Context, from Source, rangeID uuid.UUID) (c Contents, faults []error, err error) {
	for range checkTries {
		c, faults, err = check(ctx, from, rangeID)
		if !errors.Is(err, store.ErrChanging) {
			break
		}
	}
	return c, faults, err
}

func check(ctx context.Context, from Source, rangeID uuid.UUID) (Contents, []error, error) {
	c := Contents{Range: rangeID}
	var faults []error
	err := from.Read(ctx, rangeID, func(r store.Record) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fault := r.Err
		if r.Value != nil {
			fault = errors.Join(fault, c.add(r.Value))
		}
		if fault != nil {
			faults = append(faults, fmt.Errorf("%s: %w", r.Name, fault))
		}
		return nil
	})
	if fault := c.together(); fault != nil && len(faults) == 0 { // else that is only what follows
		faults = append(faults, fault)
	}
	return c, faults, err
}
