package bolt

import (
	"errors"
	"fmt"
	"os"
)

// fail keeps the writer from the file until it is opened again.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// mend opens the file anew after a failure. What it then holds is made durable before anybody builds on it: a repeat of
// a batch is told that it was written when it is there.
func (s *Store) mend() error {
	if s.broken == nil { // which nobody but this goroutine changes
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = s.file.db.Close() // its file descriptor may be what is broken
		s.file = nil
	}
	file, err := open(s.path, s.pace)
	if err != nil {
		return fmt.Errorf("opening it again after a failure (%w): %w", s.broken, err)
	}
	if err := rewrite(s.path); err != nil {
		return errors.Join(fmt.Errorf("writing it anew after a failure (%w): %w", s.broken, err), file.db.Close())
	}
	s.file, s.broken = file, nil
	return nil
}

// rewrite writes what the file holds once more. A sync that has failed may leave pages in memory that never reach the
// disk although the next sync succeeds: that one speaks only of what was written since. The caller holds the lock.
func rewrite(path string) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p, err := readHeaders(file)
	if err != nil {
		return err
	}
	part := make([]byte, 256*p.pageSize)
	for at, end := int64(0), p.end(); at < end; at += int64(len(part)) {
		part = part[:min(int64(len(part)), end-at)]
		if _, err := file.ReadAt(part, at); err != nil {
			return err
		}
		if _, err := file.WriteAt(part, at); err != nil {
			return err
		}
	}
	return file.Sync()
}
