package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/maintenance"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/replay"
	"rangegate/lanes/store"
)

type verify struct {
	storeConfig
	Since time.Duration `default:"24h" help:"How far back: sessions that have ended since then are computed again."`
	Range string        `placeholder:"ID" help:"Only this range."`
	Lane  string        `placeholder:"LANE" help:"With --at: a lane by its id or name, whose session at that time is shown instead."`
	At    string        `placeholder:"TIME" help:"With --lane: 19:42:10, or with the date before it. The event log is read from --since before it on."`
}

// Run computes the sessions of the record again. It fails when one comes out differently.
func (v verify) Run(t *terminal) (err error) {
	if v.Since <= 0 {
		return gateway.Misconfigured{Err: errors.New("--since: how far back, more than 0")}
	}
	if (v.Lane == "") != (v.At == "") {
		return gateway.Misconfigured{Err: errors.New("--lane and --at: both or neither")}
	}
	cfg, err := v.load(t)
	if err != nil {
		return err
	}
	from, err := maintenance.Open(t.ctx, cfg.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	ids, err := rangesToVerify(t.ctx, from, v.Range)
	if err != nil {
		return err
	}
	if v.At != "" {
		where, err := findLane(cfg, ids, v.Lane)
		if err != nil {
			return err
		}
		return v.showAt(t, cfg, from, where)
	}
	return v.verify(t, cfg, from, ids)
}

// rangesToVerify returns the ranges in the record, or only the one with that id.
func rangesToVerify(ctx context.Context, from maintenance.Record, only string) ([]uuid.UUID, error) {
	if only == "" {
		return from.Ranges(ctx)
	}
	id, err := uuid.Parse(only)
	if err != nil {
		return nil, gateway.Misconfigured{Err: errors.New("--range: the id of a range is a UUID")}
	}
	switch _, err := from.Meta(ctx, id); {
	case errors.Is(err, store.ErrNotFound):
		return nil, gateway.Misconfigured{Err: errors.New("--range: the store has no range with that id")}
	case err != nil:
		return nil, err
	}
	return []uuid.UUID{id}, nil
}

func (v verify) verify(t *terminal, cfg config.Config, from maintenance.Record, ids []uuid.UUID) error {
	began := time.Now()
	since := began.Add(-v.Since)
	t.printf("%s, ranges: %d, sessions that ended since %s\n", from.Describe(), len(ids),
		since.Local().Format(time.DateTime))
	all, err := maintenance.Verify(t.ctx, from, ids, since, func(id uuid.UUID, found []replay.Difference) {
		t.printf("range %s%s\n", id, nameOf(cfg, id))
		printDifferences(t, cfg, id, found)
	})
	if err != nil {
		return err
	}
	t.printf("sessions: %d, events: %d, ranges: %d, differences: %d, in %v\n",
		all.Sessions, all.Events, len(ids), all.Differences, time.Since(began).Round(time.Millisecond))
	if all.Older > 0 {
		t.printf("of an older release, of which only the order of the events is computed: %d sessions\n", all.Older)
	}
	if all.Cut > 0 {
		t.printf("whose first events are not kept any more, so that only the rest is computed: %d sessions\n", all.Cut)
	}
	if file := gateway.VerifiedFile(t.environ); file != "" && v.Range == "" {
		result := gateway.Verified{At: began, Sessions: all.Sessions, Events: all.Events, Differences: all.Differences}
		if err := result.Save(file); err != nil {
			return err
		}
	}
	if all.Differences > 0 {
		return fmt.Errorf("what is on record is not what is computed from it: differences: %d", all.Differences)
	}
	return nil
}

// printDifferences prints them, each session with its records once.
func printDifferences(t *terminal, cfg config.Config, rangeID uuid.UUID, found []replay.Difference) {
	of := map[uuid.UUID][]replay.Difference{}
	var sessions []uuid.UUID
	for _, d := range found {
		if of[d.Session] == nil {
			sessions = append(sessions, d.Session)
		}
		of[d.Session] = append(of[d.Session], d)
	}
	for _, session := range sessions {
		last := of[session][len(of[session])-1] // knows most of the session
		t.printf("  session %s, lane %s%s\n", session, last.Lane, laneNameOf(cfg, rangeID, last.Lane))
		for _, d := range of[session] {
			t.printf("    %s\n", d.What)
		}
		if last.Recorded != nil {
			t.printf("      recorded: %s\n", describeEnd(*last.Recorded))
		}
		if last.Computed != nil {
			t.printf("      computed: %s\n", describeEnd(*last.Computed))
		}
		for _, entry := range last.Events {
			t.printf("      event %d: %s\n", entry.Cursor, describeEvent(entry))
		}
	}
}

func laneNameOf(cfg config.Config, rangeID, lane uuid.UUID) string {
	for _, r := range cfg.Ranges {
		for _, l := range r.Lanes {
			if r.ID == rangeID && l.ID == lane {
				return fmt.Sprintf(" %q", l.Name)
			}
		}
	}
	return ""
}

// describeEnd describes the end of a session. It names no customer.
func describeEnd(e lanes.Ended) string {
	ended := fmt.Sprintf("%s at %s on lane %s, sold %v, used %v, left %v, paused %v, events %d", e.Reason,
		e.At.UTC().Format(time.RFC3339Nano),
		e.Lane, e.Session.Sold, e.Used, e.Session.Left, e.Paused, e.Session.Facts)
	if e.Cursor == 0 { // computed
		return ended
	}
	return fmt.Sprintf("%s, history %d", ended, e.Cursor)
}

// describeEvent describes an event and what it follows from.
func describeEvent(entry lanes.Logged) string {
	event := fmt.Sprintf("%s at %s", entry.Event.Kind, entry.Event.At.UTC().Format(time.RFC3339Nano))
	d := entry.Event.Decision
	if d == nil {
		return event
	}
	event += fmt.Sprintf(" by %s of %s", d.Command, cmp.Or(string(d.By), "nobody on record"))
	if d.Minutes != 0 {
		event += fmt.Sprintf(", %+d minutes", d.Minutes)
	}
	if d.Held {
		event += ", under a hold"
	}
	return event + fmt.Sprintf(", %v after its clock last started or stopped", d.Passed)
}
