package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Difference is what another configuration changes.
type Difference struct {
	Restart []string // what cannot change while the gateway runs, by path
	Also    []string // what else is different outside of the ranges, by path
	Begin   []uuid.UUID
	End     []uuid.UUID
	Change  []RangeDifference
}

// RangeDifference is what is different about a range that both configurations have.
type RangeDifference struct {
	ID      uuid.UUID
	Keys    []string    // of the range, but for its lanes
	Added   []uuid.UUID // lanes; and so on
	Changed []uuid.UUID
	Removed []uuid.UUID
	Sorted  bool        // the lanes that both have are in another order
	Renew   []uuid.UUID // lanes of both whose hardware is reached in another way, or hears another on_link_loss
}

// fixed is what a running gateway stands on.
var fixed = []string{
	"environment", "http.address", "http.tls", "operations.address", "operations.tls", "store.sqlite", "store.redis", "store.retention",
}

// Differences compares two configurations, both complete and without faults.
func Differences(before, after Config) Difference {
	var d Difference
	keys := differences(reflect.ValueOf(before), reflect.ValueOf(after), "")
	for _, key := range keys {
		switch at := func(root string) bool { return key == root || strings.HasPrefix(key, root+".") }; {
		case key == "ranges":
		case slices.ContainsFunc(fixed, at):
			d.Restart = append(d.Restart, key)
		default:
			d.Also = append(d.Also, key)
		}
	}
	was := map[uuid.UUID]Range{}
	for _, r := range before.Ranges {
		was[r.ID] = r
	}
	for _, r := range after.Ranges {
		old, had := was[r.ID]
		delete(was, r.ID)
		if !had {
			d.Begin = append(d.Begin, r.ID)
		} else if change := compared(old, r); change.any() {
			d.Change = append(d.Change, change)
		}
	}
	for _, r := range before.Ranges {
		if _, gone := was[r.ID]; gone {
			d.End = append(d.End, r.ID)
		}
	}
	return d
}

// None tells whether the two configurations say the same.
func (d Difference) None() bool {
	return len(d.Restart)+len(d.Also)+len(d.Begin)+len(d.End)+len(d.Change) == 0
}

func (d RangeDifference) any() bool {
	return len(d.Keys)+len(d.Added)+len(d.Changed)+len(d.Removed) > 0 || d.Sorted
}

func compared(before, after Range) RangeDifference {
	d := RangeDifference{ID: after.ID}
	was, toAll := map[uuid.UUID]Lane{}, before.OnLinkLoss != after.OnLinkLoss
	var order []uuid.UUID
	for _, lane := range before.Lanes {
		was[lane.ID] = lane
	}
	for _, lane := range after.Lanes {
		old, had := was[lane.ID]
		if !had {
			d.Added = append(d.Added, lane.ID)
			continue
		}
		order = append(order, lane.ID)
		if old != lane {
			d.Changed = append(d.Changed, lane.ID)
		}
		if old.Link != lane.Link || toAll || before.LinkTLS != after.LinkTLS && strings.HasPrefix(lane.Link.Address, "wss:") {
			d.Renew = append(d.Renew, lane.ID)
		}
	}
	removed, stayed := apart(before.Lanes, after.Lanes)
	d.Removed = removed
	d.Sorted = !slices.Equal(order, stayed)
	before.Lanes, after.Lanes = nil, nil
	d.Keys = differences(reflect.ValueOf(before), reflect.ValueOf(after), "")
	return d
}

// apart is the lanes that another list no longer has, and those that it has.
func apart(lanes, others []Lane) (gone, stayed []uuid.UUID) {
	has := map[uuid.UUID]bool{}
	for _, lane := range others {
		has[lane.ID] = true
	}
	for _, lane := range lanes {
		if has[lane.ID] {
			stayed = append(stayed, lane.ID)
		} else {
			gone = append(gone, lane.ID)
		}
	}
	return gone, stayed
}

// differences is the keys whose values are different: of sections that both have, each key in them.
func differences(before, after reflect.Value, at path) (keys []string) {
	if before.Kind() != reflect.Struct {
		if !reflect.DeepEqual(before.Interface(), after.Interface()) {
			keys = append(keys, string(at))
		}
		return keys
	}
	for _, s := range sections[before.Type()] {
		was, is := before.Field(s.field), after.Field(s.field)
		if was.Kind() == reflect.Pointer && s.kind.Kind() == reflect.Struct && !was.IsNil() && !is.IsNil() {
			was, is = was.Elem(), is.Elem()
		}
		keys = append(keys, differences(was, is, at.key(s.key))...)
	}
	return keys
}
