package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

// Export writes everything that the store has. A record that cannot be read ends it: what is left out would be lost
// with the store that it was read from.
func Export(ctx context.Context, from Source, now time.Time, to io.Writer) ([]Contents, error) {
	ids, err := from.Ranges(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{to: bufio.NewWriter(to), sum: sha256.New()}
	if err := w.line(headKind, nil, head{At: now.UTC()}); err != nil {
		return nil, err
	}
	all, records := make([]Contents, 0, len(ids)), 0
	for _, id := range ids {
		c, err := w.exportRange(ctx, from, id)
		if err != nil {
			return nil, fmt.Errorf("range %s: %w", id, err)
		}
		all, records = append(all, c), records+c.Records
	}
	last := end{Ranges: len(all), Records: records, Sum: hex.EncodeToString(w.sum.Sum(nil))}
	return all, errors.Join(w.line(endKind, nil, last), w.to.Flush())
}

type writer struct {
	to  *bufio.Writer
	sum hash.Hash // of all that was written
}

func (w *writer) exportRange(ctx context.Context, from Source, id uuid.UUID) (Contents, error) {
	c := Contents{Range: id}
	err := from.Read(ctx, id, func(r store.Record) error {
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
		err = c.together()
	}
	return c, err
}

func (w *writer) line(kind string, rangeID *uuid.UUID, value any) error {
	record, err := store.Encode(value)
	if err != nil {
		return err
	}
	return line{Kind: kind, Range: rangeID, Record: record}.write(io.MultiWriter(w.to, w.sum))
}

func (l line) write(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(l)
}
