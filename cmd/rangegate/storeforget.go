package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/config"
	"rangegate/lanes/store"
	"rangegate/lanes/store/archive"
)

type storeForget struct {
	storeConfig
	Range       uuid.UUID `arg:"" help:"The id of the range."`
	Undelivered bool      `help:"Also while events wait for their delivery, which are never sent then."`
	InUse       bool      `help:"Also while lanes have sessions or purchases, or holds are in force: all of that is lost."`
}

// Run forgets the range, unless somebody may still serve it or need what it has.
func (s storeForget) Run(t *terminal) error { return s.forget(t, gateway.LookAfter) }

// forget looks at a range on Redis for that time: a gateway without nodes leaves no other trace there than
// what it saves. A SQLite file is locked while a gateway has it.
func (s storeForget) forget(t *terminal, lookFor time.Duration) error {
	cfg, err := s.load(t)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(cfg.Ranges, func(r config.Range) bool { return r.ID == s.Range }) {
		return gateway.Misconfigured{Err: fmt.Errorf("range %s%s is in the configuration: take it out, and reload the "+
			"gateway, before it is forgotten", s.Range, nameOf(cfg, s.Range))}
	}
	contents, found, err := s.look(t.ctx, cfg.Store)
	if err != nil {
		return err
	}
	if found && cfg.Store.Redis != "" {
		t.logf("range %s: looking for %v whether a gateway saves it\n", s.Range, lookFor)
		select {
		case <-time.After(lookFor):
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
	}
	to, err := openTarget(t.ctx, cfg.Store)
	if err != nil {
		return err
	}
	err = errors.Join(to.Forget(t.ctx, s.Range, contents.Meta, time.Now()), to.Close())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return gateway.Misconfigured{Err: err}
	case err != nil:
		return err
	case found:
		t.printf("forgot range %s: %s\n", s.Range, describe(contents))
	default:
		t.printf("range %s was forgotten before, and nothing of it is left\n", s.Range)
	}
	return nil
}

// look reads everything of the range. Its error says why the range must not be forgotten. A range that the
// store has nothing of may have been forgotten before.
func (s storeForget) look(ctx context.Context, c config.Store) (contents archive.Contents, found bool, err error) {
	from, err := openSource(ctx, c)
	if err != nil {
		return contents, false, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	ids, err := from.Ranges(ctx)
	if err != nil || !slices.Contains(ids, s.Range) {
		return contents, false, err
	}
	contents, faults, err := archive.Check(ctx, from, s.Range)
	if err == nil {
		err = s.refusal(contents, len(faults))
	}
	if err != nil {
		err = fmt.Errorf("range %s, of which nothing was removed: %w", s.Range, err)
	}
	return contents, true, err
}

// refusal says what somebody may still need, unless the flags give it up. faults are records that cannot be
// read.
func (s storeForget) refusal(c archive.Contents, faults int) error {
	var errs []error
	if c.Sessions+c.Purchases+c.Holds > 0 && !s.InUse {
		errs = append(errs, fmt.Errorf("active sessions: %d, open purchases: %d, holds: %d; configure the range again "+
			"and end them, or give them up with --in-use", c.Sessions, c.Purchases, c.Holds))
	}
	if c.Pending > 0 && !s.Undelivered {
		errs = append(errs, fmt.Errorf("events that wait for their delivery: %d; configure the range again until "+
			"they are sent, or give them up with --undelivered", c.Pending))
	}
	if faults > 0 && (!s.InUse || !s.Undelivered) {
		errs = append(errs, fmt.Errorf("records that cannot be read, or do not go together: %d, which rangegate store "+
			"check names; put a backup back, or give them up with --in-use --undelivered", faults))
	}
	return errors.Join(errs...)
}
