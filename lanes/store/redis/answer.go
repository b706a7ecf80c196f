package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

// answer is what a script of ours answers: a word, and what belongs to it.
type answer []any

func (a answer) has(i int) bool { return i < len(a) && a[i] != nil }

func (a answer) text(i int) string {
	if i >= len(a) {
		return ""
	}
	text, _ := a[i].(string)
	return text
}

// written tells whether the script has written what it was given, now or before.
func (a answer) written() bool {
	switch a.text(0) {
	case "applied", "repeated", "claimed":
		return true
	}
	return false
}

// texts is a list in the answer.
func (a answer) texts(i int) []string {
	if i >= len(a) {
		return nil
	}
	list, _ := a[i].([]any)
	texts := make([]string, len(list))
	for j := range list {
		texts[j] = answer(list).text(j)
	}
	return texts
}

// fault is the error in the answers that every script can give.
func (s *Store) fault(a answer) error {
	switch a.text(0) {
	case "corrupt":
		return s.corrupt(a.text(1), errors.New(a.text(2)))
	case "foreign":
		return s.corrupt(a.text(1), foreign(a.text(2)))
	case "not allowed":
		return fmt.Errorf("redis server %s: the user may not use the command %s", s.where, a.text(1))
	}
	return nil
}

// foreign is what is wrong with the layout that a range's keys say of themselves, or nil.
func foreign(found string) error {
	version, err := strconv.ParseUint(found, 10, 64)
	switch {
	case err != nil || strconv.FormatUint(version, 10) != found:
		return fmt.Errorf("its layout is no number: %.20q", found)
	case version > layout:
		return store.Newer(version)
	}
	return nil
}

func (s *Store) corrupt(record string, err error) error {
	return &store.CorruptError{Where: "redis server " + s.where, Record: record, Err: err}
}

// ask runs a script that is not a flush.
func (s *Store) ask(ctx context.Context, script *goredis.Script, rangeID uuid.UUID, args ...any) (answer, error) {
	a, err := call(ctx, s, func(ctx context.Context) (answer, error) {
		return script.Run(ctx, s.reads, keysOf(rangeID).list(), args...).Slice()
	})
	if err != nil {
		return nil, fmt.Errorf("redis server %s: range %s: %w", s.where, rangeID, err)
	}
	if err := s.fault(a); err != nil {
		return nil, err
	}
	return a, nil
}
