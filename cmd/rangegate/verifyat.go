package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/maintenance"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/replay"
)

// place is a lane of the configuration.
type place struct {
	rangeID uuid.UUID
	lane    uuid.UUID
	bay     string
}

// findLane returns the lane of one of the ranges with that id or name. A number stands for "Lane" and the number too.
func findLane(cfg config.Config, ids []uuid.UUID, wanted string) (place, error) {
	var found []place
	for _, r := range cfg.Ranges {
		if !slices.Contains(ids, r.ID) {
			continue
		}
		for _, l := range r.Lanes {
			if l.ID.String() == strings.ToLower(wanted) || strings.EqualFold(l.Name, wanted) ||
				strings.EqualFold(l.Name, "lane "+wanted) {
				bay := slices.IndexFunc(r.Bays, func(b config.Bay) bool { return b.ID == l.Bay })
				found = append(found, place{r.ID, l.ID, r.Bays[bay].Name})
			}
		}
	}
	switch len(found) {
	case 0:
		return place{},
			gateway.Misconfigured{Err: errors.New("--lane: the configuration has no lane with that id or name in " +
				"a range that the store has")}
	case 1:
		return found[0], nil
	}
	return place{},
		gateway.Misconfigured{Err: errors.New("--lane: there are several of that name: give its id, or --range")}
}

// parseTime reads a time as people write it, in the zone of the machine. A time of day is the last one before now.
func parseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if of, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			at := time.Date(now.Year(), now.Month(), now.Day(), of.Hour(), of.Minute(), of.Second(), 0, now.Location())
			if at.After(now) {
				at = at.AddDate(0, 0, -1)
			}
			return at, nil
		}
	}
	return time.Time{},
		gateway.Misconfigured{Err: errors.New(
			`--at: a time such as 19:42:10, "2026-05-01 19:42:10" or 2026-05-01T19:42:10Z`)}
}

// showAt prints what was shown and allowed on the lane at that time, and what it follows from.
func (v verify) showAt(t *terminal, cfg config.Config, from maintenance.Record, where place) error {
	at, err := parseTime(v.At, time.Now())
	if err != nil {
		return err
	}
	moment, err := readMoment(t.ctx, from, where, at, v.Since)
	if err != nil {
		return fmt.Errorf("range %s: %w", where.rangeID, err)
	}
	t.printf("range %s%s, lane %s%s at %s\n", where.rangeID, nameOf(cfg, where.rangeID), where.lane,
		laneNameOf(cfg, where.rangeID, where.lane), at.Format(time.DateTime))
	moment.print(t)
	return nil
}

// moment is what is on record of a lane up to a time.
type moment struct {
	at      time.Time
	since   time.Time // from when on it was read
	present replay.Present
	found   bool         // a session was on the lane
	last    lanes.Logged // the newest event on the lane
	acts    []lanes.Act  // the newest of staff about the lane and the holds over it
}

// shownActs is how many acts of staff are shown.
const shownActs = 5

func readMoment(
	ctx context.Context, from maintenance.Record, where place, at time.Time, back time.Duration,
) (m moment, err error) {
	m = moment{at: at, since: at.Add(-back)}
	meta, err := from.Meta(ctx, where.rangeID)
	if err != nil {
		return m, err
	}
	events := func(after uint64, limit int) ([]lanes.Logged, error) {
		return from.Events(ctx, where.rangeID, after, limit)
	}
	after, err := maintenance.LastBefore(meta.LastEvent, m.since, events,
		func(e lanes.Logged) (uint64, time.Time) { return e.Cursor, e.Event.At })
	if err != nil {
		return m, err
	}
	computed := replay.New(replay.Window{}, func(replay.Difference) {})
	err = eachUntil(after, events, func(entry lanes.Logged) (cursor uint64, more bool) {
		decided := entry.Event.At
		if d := entry.Event.Decision; d != nil {
			decided = d.MadeAt(decided)
		}
		if decided.After(at) {
			return 0, false
		}
		computed.Event(entry)
		if entry.Event.Lane == where.lane && !entry.Copy && !entry.Simulated {
			m.last = entry
		}
		return entry.Cursor, true
	})
	if err != nil {
		return m, err
	}
	m.present, m.found = computed.On(where.lane)

	acts := func(after uint64, limit int) ([]lanes.Act, error) { return from.Acts(ctx, where.rangeID, after, limit) }
	after, err = maintenance.LastBefore(meta.LastAct, m.since, acts,
		func(a lanes.Act) (uint64, time.Time) { return a.Cursor, a.At })
	if err != nil {
		return m, err
	}
	return m, eachUntil(after, acts, func(act lanes.Act) (cursor uint64, more bool) {
		if act.At.After(at) {
			return 0, false
		}
		over := act.What == lanes.DidHold || act.What == lanes.DidLift
		if act.Lane == where.lane || over && (act.Detail == lanes.OverRange || act.Detail == lanes.OverBay+
			" "+where.bay) {
			m.acts = append(m.acts, act)
			m.acts = m.acts[max(0, len(m.acts)-shownActs):]
		}
		return act.Cursor, true
	})
}

// eachUntil visits the records of a log behind a cursor, a page at a time, until visit wants no more.
func eachUntil[T any](
	after uint64, read func(after uint64, limit int) ([]T, error), visit func(T) (cursor uint64, more bool),
) error {
	for {
		page, err := read(after, maintenance.PageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, one := range page {
			cursor, more := visit(one)
			if !more {
				return nil
			}
			after = cursor
		}
	}
}

func (m moment) print(t *terminal) {
	s := m.present.Session
	switch {
	case !m.found:
		t.printf("shown: no session\nallowed: nothing, the fire line was closed\n")
	case !m.present.Exact:
		t.printf("shown: session %s, which cannot be computed from what is on record since %s\n", s.ID,
			m.since.Local().Format(time.DateTime))
		if s.Phase != "" {
			t.printf("its phase: %s\n", s.Phase)
		}
	default:
		now := lanes.Instant{Wall: m.at, Mono: s.Since.Mono + m.at.Sub(s.Since.Wall)}
		left := s.Remaining(now)
		t.printf("shown: session %s, %s, %v left of %v", s.ID, s.Phase, left.Round(time.Second), s.Sold)
		switch {
		case s.Phase == lanes.Running && left > 0:
			t.printf(", until %s\nallowed: shooting, the fire line was open\n",
				now.Add(left).Wall.Local().Format(time.TimeOnly))
		case s.Phase == lanes.Running:
			t.printf("\nallowed: nothing, its time was used up\n")
		case s.ByHold:
			t.printf("\nallowed: nothing, a hold had closed the fire line\n")
		default:
			t.printf("\nallowed: nothing, the fire line was closed\n")
		}
	}
	if m.last.Cursor > 0 {
		t.printf("it follows from event %d: %s, session %s\n", m.last.Cursor, describeEvent(m.last),
			m.last.Event.Session)
	} else {
		t.printf("no event on the lane is on record from %s until then\n", m.since.Local().Format(time.DateTime))
	}
	for _, act := range m.acts {
		t.printf("on record of staff: %s %s: %s %s\n", act.At.Local().Format(time.DateTime), act.Who,
			act.What, act.Detail)
	}
}
