package archive

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rangegate/lanes/store"
)

// Archive is a file that was read to the end and is whole.
type Archive struct {
	file   io.ReadSeeker
	Ranges []Contents
}

// Open reads the whole file. Whatever is wrong with it, from its first line to its last, is an error.
func Open(file io.ReadSeeker) (*Archive, error) {
	a := &Archive{file: file}
	err := a.each(func(c Contents, _ store.Batch) error {
		a.Ranges = append(a.Ranges, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Archive) each(give func(Contents, store.Batch) error) error {
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return each(a.file, give)
}

// Import writes every range of the file to the store, each whole or not at all, and tells of each that is written.
// Nothing is written when the store has any of them.
//
// The epoch of a range is raised, as by a claim: a gateway that has served it up to now is fenced, should this be the
// store that it writes to.
func (a *Archive) Import(ctx context.Context, to Target, now time.Time, tell func(Contents)) error {
	there, err := to.Ranges(ctx)
	if err != nil {
		return err
	}
	var both []string
	for _, c := range a.Ranges {
		if slices.Contains(there, c.Range) {
			both = append(both, c.Range.String())
		}
	}
	if len(both) > 0 {
		return fmt.Errorf("%w, and nothing was written: %s", store.ErrExists, strings.Join(both, ", "))
	}
	return a.each(func(c Contents, whole store.Batch) error {
		whole.Epoch, whole.N = max(whole.Epoch+1, uint64(max(0, now.UnixMilli()))), 0
		if err := to.Restore(ctx, whole); err != nil {
			return fmt.Errorf("range %s: %w", c.Range, err)
		}
		tell(c)
		return nil
	})
}
