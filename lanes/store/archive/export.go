package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// Export writes everything that the store has. It ends at a record that cannot be read: what an export omits is lost with
// the store.
func Export(ctx context.Context, source Source, now time.Time, output io.Writer) ([]Contents, error) {
	ids, err := source.Ranges(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{output: bufio.NewWriter(output), sum: sha256.New()}
	if err := w.line(headKind, nil, head{At: now.UTC()}); err != nil {
		return nil, err
	}
	ranges, records := make([]Contents, 0, len(ids)), 0
	for _, id := range ids {
		c, err := w.exportRange(ctx, source, id)
		if err != nil {
			return nil, fmt.Errorf("range %s: %w", id, err)
		}
		ranges, records = append(ranges, c), records+c.Records
	}
	last := end{Ranges: len(ranges), Records: records, Sum: hex.EncodeToString(w.sum.Sum(nil))}
	return ranges, errors.Join(w.line(endKind, nil, last), w.output.Flush())
}

type writer struct {
	output *bufio.Writer
	sum    hash.Hash // of everything written
}

func (w *writer) exportRange(ctx context.Context, source Source, id uuid.UUID) (Contents, error) {
	c := Contents{Range: id}
	err := source.Read(ctx, id, func(r store.Record) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := r.Err
		if err == nil {
			err = c.add(r.Value)
		}
		if err == nil {
			err = w.line(kindOf(r.Value), &id, r.Value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		return nil
	})
	if err == nil {
		err = c.checkComplete()
	}
	return c, err
}

func (w *writer) line(kind string, rangeID *uuid.UUID, value any) error {
	record, err := store.Encode(value)
	if err != nil {
		return err
	}
	return line{Kind: kind, Range: rangeID, Record: record}.write(io.MultiWriter(w.output, w.sum))
}

// maxCheckTries limits how often Check reads a range that a gateway writes to meanwhile.
const maxCheckTries = 3

// Check reads everything of the range. faults are records that cannot be read or contradict others; err means that the
// store could not be read to the end.
func Check(ctx context.Context, source Source, rangeID uuid.UUID) (c Contents, faults []error, err error) {
	for range maxCheckTries {
		c, faults, err = checkOnce(ctx, source, rangeID)
		if !errors.Is(err, store.ErrChanging) {
			break
		}
	}
	return c, faults, err
}

func checkOnce(ctx context.Context, source Source, rangeID uuid.UUID) (Contents, []error, error) {
	c := Contents{Range: rangeID}
	var faults []error
	err := source.Read(ctx, rangeID, func(r store.Record) error {
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
	if fault := c.checkComplete(); fault != nil && len(faults) == 0 { // otherwise it follows from the faults
		faults = append(faults, fault)
	}
	return c, faults, err
}
