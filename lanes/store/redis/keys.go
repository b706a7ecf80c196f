package redis

import "github.com/google/uuid"

// rangeKeys are the keys that hold a range.
type rangeKeys struct {
	meta         string // hash: layout, epoch, n, checkpoint, holds, last_event, last_ended, last_act, nameless
	lanes        string // hash: lane id → snapshot
	answers      string // hash: name of an idempotency key → kept answer
	events       string // hash: cursor → event
	eventsOrder  string // sorted set: the places of the events
	pending      string // sorted set: the ranks of the events that are pending
	history      string // hash: cursor → ended session, without the customer's name
	historyOrder string // sorted set: the places of the ended sessions
	sessions     string // hash: session id → its cursor in the history
	names        string // hash: cursor in the history → the customer's name, until its term is over
	acts         string // sorted set: the places of what staff did, and in each the record itself
}

// keysOf names the keys. The braces make a hash tag: in a cluster everything of a range is on one node.
func keysOf(rangeID uuid.UUID) rangeKeys { return keysBehind("rangegate:{" + rangeID.String() + "}:") }

// keysAside are keys beside the range's own, under the same tag, for what is not its own yet (restore.go).
func keysAside(rangeID uuid.UUID) rangeKeys {
	return keysBehind("rangegate:aside:{" + rangeID.String() + "}:")
}

func keysBehind(prefix string) rangeKeys {
	return rangeKeys{
		meta: prefix + "meta", lanes: prefix + "lanes", answers: prefix + "answers",
		events: prefix + "events", eventsOrder: prefix + "events:order", pending: prefix + "pending",
		history: prefix + "history", historyOrder: prefix + "history:order", sessions: prefix + "sessions",
		names: prefix + "names", acts: prefix + "acts",
	}
}

// list is what every script is given, in the order of prelude.lua.
func (k rangeKeys) list() []string {
	return []string{
		k.meta, k.lanes, k.answers, k.events, k.eventsOrder, k.pending,
		k.history, k.historyOrder, k.sessions, k.names, k.acts,
	}
}
