package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Difference is the difference between two configurations.
type Difference struct {
	Restart []string // paths of changed settings that need a restart
	Keys    []string // paths of all other changed settings outside the ranges
	Added   []uuid.UUID
	Removed []uuid.UUID
	Changed []RangeDifference
}

// RangeDifference is the difference of a range that both configurations have.
type RangeDifference struct {
	ID        uuid.UUID
	Keys      []string    // changed settings of the range, without its lanes
	Added     []uuid.UUID // lanes
	Changed   []uuid.UUID // lanes
	Removed   []uuid.UUID // lanes
	Reordered bool        // the lanes that both have are in another order
	Reconnect []uuid.UUID // lanes of both with another link or another on_link_loss
}

// needRestart are the settings that cannot change while the gateway runs.
var needRestart = []string{
	"environment", "http.address", "http.tls", "operations.address", "operations.tls", "store.sqlite", "store.redis", "store.retention",
}

// Compare compares two configurations, both complete and without faults.
func Compare(before, after Config) Difference {
	var d Difference
	for _, key := range changedKeys(reflect.ValueOf(before), reflect.ValueOf(after), "") {
		within := func(section string) bool { return key == section || strings.HasPrefix(key, section+".") }
		switch {
		case key == "ranges":
		case slices.ContainsFunc(needRestart, within):
			d.Restart = append(d.Restart, key)
		default:
			d.Keys = append(d.Keys, key)
		}
	}
	old := map[uuid.UUID]Range{}
	for _, r := range before.Ranges {
		old[r.ID] = r
	}
	for _, r := range after.Ranges {
		previous, ok := old[r.ID]
		delete(old, r.ID)
		if !ok {
			d.Added = append(d.Added, r.ID)
		} else if change := compareRanges(previous, r); !change.empty() {
			d.Changed = append(d.Changed, change)
		}
	}
	for _, r := range before.Ranges {
		if _, removed := old[r.ID]; removed {
			d.Removed = append(d.Removed, r.ID)
		}
	}
	return d
}

// Empty reports whether the two configurations are equal.
func (d Difference) Empty() bool {
	return len(d.Restart)+len(d.Keys)+len(d.Added)+len(d.Removed)+len(d.Changed) == 0
}

func (d RangeDifference) empty() bool {
	return len(d.Keys)+len(d.Added)+len(d.Changed)+len(d.Removed) == 0 && !d.Reordered
}

func compareRanges(before, after Range) RangeDifference {
	d := RangeDifference{ID: after.ID}
	old := map[uuid.UUID]Lane{}
	for _, lane := range before.Lanes {
		old[lane.ID] = lane
	}
	var kept []uuid.UUID // in the new order
	for _, lane := range after.Lanes {
		previous, ok := old[lane.ID]
		delete(old, lane.ID)
		if !ok {
			d.Added = append(d.Added, lane.ID)
			continue
		}
		kept = append(kept, lane.ID)
		if previous != lane {
			d.Changed = append(d.Changed, lane.ID)
		}
		if previous.Link != lane.Link || before.OnLinkLoss != after.OnLinkLoss ||
			before.LinkTLS != after.LinkTLS && strings.HasPrefix(lane.Link.Address, "wss:") {
			d.Reconnect = append(d.Reconnect, lane.ID)
		}
	}
	var oldOrder []uuid.UUID // of the lanes in kept
	for _, lane := range before.Lanes {
		if _, removed := old[lane.ID]; removed {
			d.Removed = append(d.Removed, lane.ID)
		} else {
			oldOrder = append(oldOrder, lane.ID)
		}
	}
	d.Reordered = !slices.Equal(kept, oldOrder)
	before.Lanes, after.Lanes = nil, nil
	d.Keys = changedKeys(reflect.ValueOf(before), reflect.ValueOf(after), "")
	return d
}

// changedKeys returns the paths of the settings whose values differ. It descends into sections that both have.
func changedKeys(before, after reflect.Value, p path) (keys []string) {
	if before.Kind() != reflect.Struct {
		if !reflect.DeepEqual(before.Interface(), after.Interface()) {
			keys = append(keys, string(p))
		}
		return keys
	}
	for _, s := range sections[before.Type()] {
		old, updated := before.Field(s.field), after.Field(s.field)
		if old.Kind() == reflect.Pointer && s.kind.Kind() == reflect.Struct && !old.IsNil() && !updated.IsNil() {
			old, updated = old.Elem(), updated.Elem()
		}
		keys = append(keys, changedKeys(old, updated, p.key(s.key))...)
	}
	return keys
}
