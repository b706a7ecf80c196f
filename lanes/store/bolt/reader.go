package bolt

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"rangegate/lanes/store"
)

// Reader reads a file as a whole, and never writes to it.
type Reader struct {
	path string
	db   *bbolt.DB
	over layers // what lies over it
}

// OpenReader opens the file for reading. One that is missing, locked by a gateway, damaged or newer is an error that
// names it.
func OpenReader(path string) (*Reader, error) {
	db, found, err := audited(path)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	return &Reader{path: path, db: db, over: found.journal.layers}, nil
}

// Close lets go of the file.
func (r *Reader) Close() error { return r.db.Close() }

// Describe names the file and says how large it is.
func (r *Reader) Describe() string {
	info, err := os.Stat(r.path)
	if err != nil {
		return r.path
	}
	return fmt.Sprintf("%s: %d bytes", r.path, info.Size())
}

// Ranges are all that the file has something of.
func (r *Reader) Ranges(ctx context.Context) (ids []uuid.UUID, err error) {
	err = r.view(ctx, func(tx *bbolt.Tx) error {
		ids, err = rangesIn(tx)
		return err
	})
	return ids, err
}

// Ranges are all that the file has something of.
func (s *Store) Ranges(ctx context.Context) (ids []uuid.UUID, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx, _ layers) error {
		ids, err = rangesIn(tx)
		return err
	})
	return ids, err
}

func rangesIn(tx *bbolt.Tx) (ids []uuid.UUID, err error) {
	return ids, tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
		text, is := strings.CutPrefix(string(name), "range ")
		if !is {
			return nil
		}
		id, err := uuid.Parse(text)
		if err != nil {
			return fmt.Errorf("%q is no range", name)
		}
		ids = append(ids, id)
		return nil
	})
}

// Read tells of every record of the range: how it stands first of all, then the checkpoint, the lanes by their ids, the
// keys by their names, the holds, the event log, the history and what staff did by their cursors. It goes on behind a
// record that cannot be read, and ends with the error of visit.
func (r *Reader) Read(ctx context.Context, rangeID uuid.UUID, visit func(store.Record) error) error {
	return r.view(ctx, func(tx *bbolt.Tx) error {
		in := findRange(tx, rangeID, r.over)
		if in == nil {
			return store.ErrNotFound
		}
		return in.readAll(visit)
	})
}

func (r *Reader) view(ctx context.Context, read func(tx *bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var answer error
	err := careful(func() error {
		return r.db.View(func(tx *bbolt.Tx) error {
			answer = read(tx)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("store %s: reading: %w", r.path, err)
	}
	return answer
}
