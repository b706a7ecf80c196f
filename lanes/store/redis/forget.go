package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

var _ store.Forgetter = (*Store)(nil)

// Forget implements store.Forgetter: one script removes all keys of the range, however large they are. What
// an import that was not finished has left is removed before. The append-only files of the servers are
// rewritten then, as they have what was removed; those of replicas, and snapshots, are not. A gateway without
// nodes has no lease: whether it serves the range is seen by as alone.
func (s *Store) Forget(ctx context.Context, rangeID uuid.UUID, as store.RangeMeta, now time.Time) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.calls.Done()
	if err := s.forget(ctx, rangeID, as, now); err != nil {
		return fmt.Errorf("redis server %s: range %s: %w", s.address, rangeID, err)
	}
	return nil
}

func (s *Store) forget(ctx context.Context, rangeID uuid.UUID, as store.RangeMeta, now time.Time) error {
	owner, err := s.deadOwner(ctx, rangeID)
	if err != nil {
		return err
	}
	if _, err := call(ctx, s, func(ctx context.Context) (int64, error) {
		return s.reads.Unlink(ctx, stagingKeysOf(rangeID).list()...).Result()
	}); err != nil {
		return err
	}
	args := []any{
		decimal(as.Epoch), decimal(as.N), runText(owner), strconv.FormatInt(max(0, now.UnixMilli()), 10),
	}
	r, err := s.write(ctx, newWrite(forgetScript, rangeID, args, 0), rangeID)
	if err == nil {
		err = s.replyError(r)
	}
	if err != nil {
		return err
	}
	switch r.text(0) {
	case "not found":
		return store.ErrNotFound
	case "changed":
		return store.ErrChanging
	}
	faults, err := eachServer(ctx, s, func(ctx context.Context, _ string, server goredis.UniversalClient) []string {
		if err := rewriteAnew(ctx, server); err != nil {
			return []string{err.Error()}
		}
		return nil
	})
	if err == nil && len(faults) > 0 {
		err = errors.New(faults[0])
	}
	if err != nil {
		return fmt.Errorf("it was forgotten, and the append-only file, which has what was removed, could not be "+
			"rewritten: %w", err)
	}
	return nil
}

// rewriteAnew is rewrite. One that is under way, and may have begun before what was removed, ends first.
func rewriteAnew(ctx context.Context, server goredis.Cmdable) error {
	info, err := server.Info(ctx, "persistence").Result()
	if err == nil && infoField(info, "aof_rewrite_in_progress") == "1" {
		err = rewrite(ctx, server)
	}
	if err != nil && !isErrorReply(err) {
		return err
	}
	return rewrite(ctx, server)
}

// deadOwner returns the owner of the range, or no node where nobody owns it: store.ErrOwned for one that is
// alive.
func (s *Store) deadOwner(ctx context.Context, rangeID uuid.UUID) (store.Node, error) {
	nodes := s.Nodes()
	defer func() { _ = nodes.Close() }()
	owners, err := nodes.Owners(ctx, []uuid.UUID{rangeID})
	if err != nil || owners[0].Owner.Run == uuid.Nil {
		return store.Node{}, err
	}
	owner := owners[0].Owner
	live, err := nodes.Live(ctx)
	if slices.ContainsFunc(live, func(l store.Lease) bool { return l.Run == owner.Run }) {
		err = fmt.Errorf("%w: %s", store.ErrOwned, owner.Name)
	}
	return owner, err
}

// isForgotten reports whether nothing is known of the range but its epoch, by the fields of its meta.
func isForgotten(epoch, forgottenAt string) bool { return epoch != "" && epoch == forgottenAt }

// withoutForgotten returns those of the ranges that were not forgotten. Nothing but a meta was found of them.
func withoutForgotten(
	ctx context.Context, client goredis.UniversalClient, ids []uuid.UUID,
) (left []uuid.UUID, err error) {
	for part := range slices.Chunk(ids, directoryPart) {
		read := make([]*goredis.SliceCmd, len(part))
		_, err := client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
			for i, id := range part {
				read[i] = pipe.HMGet(ctx, keysOf(id).meta, "epoch", "forgotten_at")
			}
			return nil
		})
		if unlessWrongType(err) != nil {
			return nil, err
		}
		for i, id := range part {
			fields, err := read[i].Result()
			if unlessWrongType(err) != nil {
				return nil, err
			}
			if !isForgotten(reply(fields).text(0), reply(fields).text(1)) {
				left = append(left, id)
			}
		}
	}
	return left, nil
}

// unlessWrongType returns the error of a command, unless it is that the key has another type: that is a fault of
// its range, for whoever reads it.
func unlessWrongType(err error) error {
	if goredis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil
	}
	return err
}
