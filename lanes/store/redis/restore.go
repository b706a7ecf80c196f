package redis

import (
	"context"
	_ "embed"
	"fmt"
	"math"

	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

// restoredTogether is how many records of a kind one script writes aside. A range may have more than a server takes at
// once, or writes before others have waited too long.
const restoredTogether = 5000

var (
	//go:embed adopt.lua
	adoptLua    string
	adoptScript = goredis.NewScript(adoptLua)
)

// untrimmed keeps everything: the parts have no time by which something could be old.
var untrimmed = store.Retention{Cap: math.MaxInt}

// Restore writes a whole range that the server does not have, all of it or nothing, and trims nothing of it: ErrExists.
// It is written part by part under keys beside the range's own, which take its place in one step. What a try leaves
// there that did not get so far, the next one removes.
func (s *Store) Restore(ctx context.Context, whole store.Batch) error {
	if err := s.begin(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	defer s.underWay.Done()
	keys, aside := keysOf(whole.Range).list(), keysAside(whole.Range).list()
	if _, err := call(ctx, s, func(ctx context.Context) (int64, error) { return s.reads.Del(ctx, aside...).Result() }); err != nil {
		return s.unrestored(whole, err)
	}
	for _, part := range partsOf(whole) {
		w, err := newWrite(part, untrimmed, s.replicas)
		if err != nil {
			return s.unrestored(whole, err)
		}
		w.keys = aside
		a, err := s.write(ctx, w, whole.Range)
		if err == nil {
			err = s.verdict(part, a)
		}
		if err != nil {
			return s.unrestored(whole, err)
		}
	}
	a, err := call(ctx, s, func(ctx context.Context) (answer, error) {
		return adoptScript.Run(ctx, s.reads, append(keys, aside...)).Slice()
	})
	if err == nil {
		err = s.fault(a)
	}
	switch {
	case err != nil:
		return s.unrestored(whole, err)
	case a.text(0) != "adopted":
		return s.unrestored(whole, store.ErrExists)
	}
	return nil
}

func (s *Store) unrestored(whole store.Batch, err error) error {
	return fmt.Errorf("redis server %s: range %s: %w", s.where, whole.Range, err)
}

// partsOf makes flushes of the range, the first of which has what is there once.
func partsOf(whole store.Batch) (parts []store.Batch) {
	for n := uint64(1); ; n++ {
		part := store.Batch{
			Range: whole.Range, Epoch: whole.Epoch, N: n,
			Lanes: upTo(&whole.Lanes), Keys: upTo(&whole.Keys), Events: upTo(&whole.Events), Ended: upTo(&whole.Ended), Acts: upTo(&whole.Acts),
		}
		if n == 1 {
			part.Refill, part.Checkpoint, part.Holds = true, whole.Checkpoint, whole.Holds
			part.LastEvent, part.LastEnded, part.LastAct = whole.LastEvent, whole.LastEnded, whole.LastAct
		}
		parts = append(parts, part)
		if len(whole.Lanes)+len(whole.Keys)+len(whole.Events)+len(whole.Ended)+len(whole.Acts) == 0 {
			return parts
		}
	}
}

// upTo takes the next records off the list.
func upTo[T any](list *[]T) (taken []T) {
	count := min(len(*list), restoredTogether)
	taken, *list = (*list)[:count:count], (*list)[count:]
	return taken
}
