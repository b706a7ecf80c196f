package config

import (
	"cmp"
	"crypto/sha256"
	"fmt"
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
	"environment", "http.address", "http.tls", "operations.address", "operations.tls", "store.sqlite", "store.redis",
	"store.retention",
	"controllers.address", "controllers.tls", "controllers.behind_proxy", "nodes", "telemetry",
}

// Compare compares two configurations, both complete and without faults.
func Compare(before, after Config) Difference {
	var d Difference
	for _, key := range changedKeys(reflect.ValueOf(before), reflect.ValueOf(after), "") {
		within := func(section string) bool { return key == section || strings.HasPrefix(key, section+".") }
		switch {
		case key == "ranges":
		// the first: the section was added, or taken out
		case key == "controllers", slices.ContainsFunc(needRestart, within):
			d.Restart = append(d.Restart, key)
		default:
			d.Keys = append(d.Keys, key)
		}
	}
	var kept []pair
	d.Added, d.Removed, kept = match(before.Ranges, after.Ranges, func(r Range) uuid.UUID { return r.ID })
	for _, at := range kept {
		if change := compareRanges(before.Ranges[at.before], after.Ranges[at.after]); !change.empty() {
			d.Changed = append(d.Changed, change)
		}
	}
	return d
}

// pair is the place of an item in two lists.
type pair struct{ before, after int }

// match compares two lists by their items' ids. kept is what both have, in the order of after.
func match[T any](before, after []T, id func(T) uuid.UUID) (added, removed []uuid.UUID, kept []pair) {
	old := make(map[uuid.UUID]int, len(before))
	for i, item := range before {
		old[id(item)] = i
	}
	for i, item := range after {
		if previous, ok := old[id(item)]; ok {
			kept = append(kept, pair{previous, i})
			delete(old, id(item))
		} else {
			added = append(added, id(item))
		}
	}
	for _, item := range before {
		if _, gone := old[id(item)]; gone {
			removed = append(removed, id(item))
		}
	}
	return added, removed, kept
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
	var kept []pair
	d.Added, d.Removed, kept = match(before.Lanes, after.Lanes, func(l Lane) uuid.UUID { return l.ID })
	for _, at := range kept {
		previous, lane := before.Lanes[at.before], after.Lanes[at.after]
		if previous != lane {
			d.Changed = append(d.Changed, lane.ID)
		}
		if previous.Link != lane.Link || before.OnLinkLoss != after.OnLinkLoss ||
			before.LinkTLS != after.LinkTLS && lane.secured() {
			d.Reconnect = append(d.Reconnect, lane.ID)
		}
	}
	d.Reordered = !slices.IsSortedFunc(kept, func(a, b pair) int { return a.before - b.before })
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

// RangesDigest tells the ranges of one configuration from those of another: nodes with the same digest serve
// every range in the same way. It is to be taken after ForgetTokens, as that changes it, and tells nobody a
// secret. A setting that is not set is not in it, so that it is the same in a release that has more settings.
func (c Config) RangesDigest() string { return digest(c.Ranges) }

func digest(ranges any) string {
	sum := sha256.Sum256([]byte(canonicalText(reflect.ValueOf(ranges))))
	return fmt.Sprintf("%x", sum[:8])
}

// canonicalText is every value below v, a secret in full, so that two different values never have the same. It is
// empty for what is not set: zero, or without elements.
func canonicalText(v reflect.Value) string {
	if v.IsZero() {
		return ""
	}
	var parts strings.Builder
	switch v.Kind() {
	case reflect.Pointer:
		return "&" + canonicalText(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			parts.WriteString(canonicalText(v.Index(i)) + ",")
		}
	case reflect.Map:
		for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()),
			func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) }) {
			parts.WriteString(canonicalText(key) + ":" + canonicalText(v.MapIndex(key)) + ",")
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := canonicalText(v.Field(i)); field != "" {
				parts.WriteString(v.Type().Field(i).Name + "=" + field + ",")
			}
		}
	case reflect.String: // not by its methods: a Secret prints as its mask
		return fmt.Sprintf("%q", v.String())
	default:
		return fmt.Sprintf("%v", v.Interface())
	}
	if parts.Len() == 0 {
		return ""
	}
	return "{" + parts.String() + "}"
}
