package redis

import (
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

// rangeKeys are the keys that hold a range.
type rangeKeys struct {
	meta         string // hash: layout, epoch, n, checkpoint, holds, last_event, last_ended, last_act, nameless
	lanes        string // hash: lane id → snapshot
	answers      string // hash: name of an idempotency key → kept answer
	events       string // hash: cursor → event
	eventsOrder  string // sorted set: the order entries of the events
	pending      string // sorted set: the padded cursors of the pending events
	history      string // hash: cursor → ended session, without the customer's name
	historyOrder string // sorted set: the order entries of the ended sessions
	sessions     string // hash: session id → its cursor in the history
	names        string // hash: cursor in the history → the customer's name, until its term ends
	acts         string // sorted set: the order entries of the acts of staff, each with its record
}

// keysOf names the keys of a range. The braces make a hash tag: a cluster keeps all keys of a range on one node.
func keysOf(rangeID uuid.UUID) rangeKeys {
	return keysWithPrefix("rangegate:{" + rangeID.String() + "}:")
}

// stagingKeysOf names the keys in which Restore collects a range, on the same node as its own.
func stagingKeysOf(rangeID uuid.UUID) rangeKeys {
	return keysWithPrefix("rangegate:aside:{" + rangeID.String() + "}:")
}

func keysWithPrefix(prefix string) rangeKeys {
	return rangeKeys{
		meta: prefix + "meta", lanes: prefix + "lanes", answers: prefix + "answers",
		events: prefix + "events", eventsOrder: prefix + "events:order", pending: prefix + "pending",
		history: prefix + "history", historyOrder: prefix + "history:order", sessions: prefix + "sessions",
		names: prefix + "names", acts: prefix + "acts",
	}
}

// list gives the KEYS of a script, in the order of prelude.lua.
func (k rangeKeys) list() []string {
	return []string{
		k.meta, k.lanes, k.answers, k.events, k.eventsOrder, k.pending,
		k.history, k.historyOrder, k.sessions, k.names, k.acts,
	}
}

// The server runs each script as one step. The head of each .lua file says what it replies.
var (
	//go:embed prelude.lua
	preludeLua string
	//go:embed claim.lua
	claimLua string
	//go:embed flush.lua
	flushLua string
	//go:embed load.lua
	loadLua string
	//go:embed page.lua
	pageLua string
	//go:embed ended.lua
	endedLua string
	//go:embed finish_restore.lua
	finishRestoreLua string

	claimScript         = script(claimLua)
	flushScript         = script(flushLua)
	loadScript          = script(loadLua)
	pageScript          = script(pageLua)
	endedScript         = script(endedLua)
	finishRestoreScript = goredis.NewScript(finishRestoreLua)
)

// layout is the version of how a range is laid out in its keys; meta has it. It rises with the version of the records,
// so that an older gateway refuses the range before it reads or claims it.
const layout = store.Version

func script(body string) *goredis.Script {
	return goredis.NewScript(fmt.Sprintf("local layout = '%d'\n", layout) + preludeLua + body)
}
