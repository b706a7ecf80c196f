package redis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// rangeKeys are the keys that hold a range.
type rangeKeys struct {
	// hash: layout, epoch, n, checkpoint, holds, last_event, last_ended, last_act, nameless, owner,
	// owner_name, owner_address, forgotten_at (forget.lua)
	meta         string
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
	externalIDs  string // sorted set: the external ids in the history, each with a padded cursor (externalEntry)
}

// keysOf names the keys of a range. The braces make a hash tag: a cluster keeps all keys of a range on one
// node.
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
		names: prefix + "names", acts: prefix + "acts", externalIDs: prefix + "external_ids",
	}
}

// list gives the KEYS of a script, in the order of prelude.lua.
func (k rangeKeys) list() []string {
	return []string{
		k.meta, k.lanes, k.answers, k.events, k.eventsOrder, k.pending,
		k.history, k.historyOrder, k.sessions, k.names, k.acts, k.externalIDs,
	}
}

// The server runs each script as one step. The head of each .lua file says what it replies.
var (
	//go:embed prelude.lua
	preludeLua string
	//go:embed claim.lua
	claimLua string
	//go:embed owner.lua
	ownerLua string
	//go:embed lease.lua
	leaseLua string
	//go:embed flush.lua
	flushLua string
	//go:embed load.lua
	loadLua string
	//go:embed answers.lua
	answersLua string
	//go:embed answer.lua
	answerLua string
	//go:embed page.lua
	pageLua string
	//go:embed ended.lua
	endedLua string
	//go:embed confirm.lua
	confirmLua string
	//go:embed finish_restore.lua
	finishRestoreLua string
	//go:embed forget.lua
	forgetLua string

	claimScript         = script(claimLua)
	ownerScript         = script(ownerLua)
	leaseScript         = goredis.NewScript(leaseLua)
	flushScript         = script(flushLua)
	loadScript          = script(loadLua)
	answersScript       = script(answersLua)
	answerScript        = script(answerLua)
	pageScript          = script(pageLua)
	endedScript         = script(endedLua)
	confirmScript       = script(confirmLua)
	finishRestoreScript = goredis.NewScript(finishRestoreLua)
	forgetScript        = script(forgetLua)
)

// layout is the version of how a range is laid out in its keys; meta has it. It rises with the version of the
// records, so that an older gateway refuses the range before it reads or claims it.
const layout = store.Version

func script(body string) *goredis.Script {
	return goredis.NewScript(fmt.Sprintf("local layout = '%d'\n", layout) + preludeLua + body)
}

// Claim claims the range for this process, which is the only one: afterwards the range has no owner. A claim
// that too few replicas have is an error and counts nevertheless; claiming again gives the next epoch.
func (s *Store) Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (uint64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	w := newWrite(claimScript, rangeID, []any{strconv.FormatInt(max(0, now.UnixMilli()), 10)}, 0)
	r, err := s.write(ctx, w, rangeID)
	if err == nil {
		err = s.replyError(r)
	}
	if err != nil {
		return 0, fmt.Errorf("range %s: claim: %w", rangeID, err)
	}
	d := replyDecoder{store: s, reply: r}
	epoch := d.number(1, keysOf(rangeID).meta+" epoch")
	return epoch, d.err
}

// Load reads what brings the range back.
func (s *Store) Load(ctx context.Context, of store.RangeEpoch) (store.Recovered, error) {
	return call(ctx, s, func(ctx context.Context) (store.Recovered, error) { return s.load(ctx, of) })
}

func (s *Store) load(ctx context.Context, of store.RangeEpoch) (store.Recovered, error) {
	r, err := s.read(ctx, loadScript, of)
	if err != nil {
		return store.Recovered{}, err
	}
	recovered, err := s.decodeRecovered(of.Range, r)
	if err != nil {
		return store.Recovered{}, err
	}
	if recovered.Keys, err = s.loadKeys(ctx, of); err != nil {
		return store.Recovered{}, err
	}
	return recovered, nil
}

// keysAtATime is about how many answers are in memory with their bodies, here and on the server.
const keysAtATime = 1000

// loadKeys reads the idempotency keys in pages, and keeps no bodies. Nobody else writes to a range that this
// process has claimed.
func (s *Store) loadKeys(ctx context.Context, of store.RangeEpoch) (keys []lanes.KeptAnswer, err error) {
	read := map[string]bool{}
	for cursor := "0"; ; {
		r, err := s.read(ctx, answersScript, of, cursor, keysAtATime)
		if err != nil {
			return nil, err
		}
		d := &replyDecoder{store: s, reply: r}
		for _, key := range decodeList[lanes.KeptAnswer](d, 2, keysOf(of.Range).answers) {
			if !read[key.Name] {
				read[key.Name] = true
				keys = append(keys, key.Shed())
			}
		}
		if d.err != nil {
			return nil, d.err
		}
		if cursor = r.text(1); cursor == "0" {
			return keys, nil
		}
	}
}

// Answer reads a kept answer with its body: store.ErrNotFound.
func (s *Store) Answer(ctx context.Context, of store.RangeEpoch, name string) (lanes.KeptAnswer, error) {
	r, err := s.run(ctx, answerScript, of, name)
	if err != nil {
		return lanes.KeptAnswer{}, err
	}
	if !r.has(1) {
		return lanes.KeptAnswer{}, store.ErrNotFound
	}
	d := &replyDecoder{store: s, reply: r}
	return decodeOptional[lanes.KeptAnswer](d, 1, keysOf(of.Range).answers+" "+name), d.err
}

func (s *Store) decodeRecovered(rangeID uuid.UUID, r reply) (store.Recovered, error) {
	keys := keysOf(rangeID)
	d := &replyDecoder{store: s, reply: r}
	recovered := store.Recovered{
		Checkpoint: decodeOptional[lanes.Checkpoint](d, 1, keys.meta+" checkpoint"),
		Holds:      decodeOptional[lanes.Holds](d, 6, keys.meta+" holds"),
		LastEvent:  d.number(2, keys.meta+" last_event"),
		LastEnded:  d.number(3, keys.meta+" last_ended"),
		LastAct:    d.number(7, keys.meta+" last_act"),
		Lanes:      decodeList[lanes.Snapshot](d, 4, keys.lanes),
		Pending:    decodeList[lanes.Logged](d, 5, keys.events),
	}
	if d.err != nil {
		return store.Recovered{}, d.err
	}
	return recovered, nil
}

// Confirm reads nothing but the pair.
func (s *Store) Confirm(ctx context.Context, of store.RangeEpoch) error {
	_, err := s.run(ctx, confirmScript, of)
	return err
}

// Events reads the event log behind the cursor, oldest first.
func (s *Store) Events(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Logged, error) {
	return page[lanes.Logged](ctx, s, of, "events", keysOf(of.Range).events, after, limit)
}

// Acts reads the acts of staff behind the cursor, oldest first.
func (s *Store) Acts(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Act, error) {
	return page[lanes.Act](ctx, s, of, "acts", keysOf(of.Range).acts, after, limit)
}

// History reads the ended sessions behind the cursor, oldest first.
func (s *Store) History(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Ended, error) {
	r, err := s.pageReply(ctx, of, "history", after, limit)
	if err != nil {
		return nil, err
	}
	return s.decodeEnded(of.Range, r.list(1))
}

// HistoryOf reads the ended sessions with the external id behind the cursor, oldest first.
func (s *Store) HistoryOf(
	ctx context.Context, of store.RangeEpoch, externalID string, after uint64, limit int,
) ([]lanes.Ended, error) {
	if limit <= 0 {
		return nil, nil
	}
	r, err := s.run(ctx, pageScript, of, "external", paddedCursor(after), strconv.Itoa(limit),
		externalEntry(externalID, ""))
	if err != nil {
		return nil, err
	}
	found, err := s.decodeEnded(of.Range, r.list(1))
	if err != nil {
		return nil, err
	}
	for _, ended := range found {
		if ended.Session.Correlation.IDOrNone() != externalID {
			return nil, s.corrupt(keysOf(of.Range).externalIDs+" "+paddedCursor(ended.Cursor), errWrongName)
		}
	}
	return found, nil
}

// Ended finds a session in the history: store.ErrNotFound.
func (s *Store) Ended(ctx context.Context, of store.RangeEpoch, session uuid.UUID) (lanes.Ended, error) {
	r, err := s.run(ctx, endedScript, of, session.String())
	if err != nil {
		return lanes.Ended{}, err
	}
	found, err := s.decodeEnded(of.Range, r.list(1))
	if err != nil {
		return lanes.Ended{}, err
	}
	if len(found) == 0 {
		return lanes.Ended{}, store.ErrNotFound
	}
	return found[0], nil
}

func page[T any](
	ctx context.Context, s *Store, of store.RangeEpoch, log, key string, after uint64, limit int,
) ([]T, error) {
	r, err := s.pageReply(ctx, of, log, after, limit)
	if err != nil || r == nil {
		return nil, err
	}
	d := &replyDecoder{store: s, reply: r}
	records := decodeList[T](d, 1, key)
	return records, d.err
}

func (s *Store) pageReply(
	ctx context.Context, of store.RangeEpoch, log string, after uint64, limit int,
) (reply, error) {
	if limit <= 0 {
		return nil, nil
	}
	return s.run(ctx, pageScript, of, log, paddedCursor(after), strconv.Itoa(limit))
}

// decodeEnded decodes ended sessions: of each the cursor, the record, and the customer's name or nothing.
func (s *Store) decodeEnded(rangeID uuid.UUID, fields []string) ([]lanes.Ended, error) {
	sessions := make([]lanes.Ended, 0, len(fields)/3)
	for i := 0; i+2 < len(fields); i += 3 {
		ended, err := store.Decode[lanes.Ended]([]byte(fields[i+1]))
		if err != nil {
			return nil, s.corrupt(keysOf(rangeID).history+" "+fields[i], err)
		}
		ended.Session.Customer = fields[i+2]
		sessions = append(sessions, ended)
	}
	return sessions, nil
}

// run runs a script that only reads: its first arguments are the epoch and n.
func (s *Store) run(ctx context.Context, script *goredis.Script, of store.RangeEpoch, args ...any) (reply, error) {
	return call(ctx, s, func(ctx context.Context) (reply, error) { return s.read(ctx, script, of, args...) })
}

// read is run within a call. Behind Sentinels connections to a master of before may be left in the pool after a
// fail-over: each that lacks what is saved is closed by its answer, and the one behind them is new.
func (s *Store) read(ctx context.Context, script *goredis.Script, of store.RangeEpoch, args ...any) (reply, error) {
	pair := []any{decimal(of.Epoch), decimal(of.N)}
	if of.IsAny() {
		pair = []any{"", ""}
	}
	var r reply
	var err error
	for range readConnections + 1 {
		r, err = script.Run(ctx, s.reads, keysOf(of.Range).list(), append(pair, args...)...).Slice()
		if !s.viaSentinels || !isBehind(err) {
			break
		}
	}
	switch {
	case isBehind(err):
		return nil, fmt.Errorf("redis server %s: range %s, read at (%d, %d): %w: %w", s.address, of.Range, of.Epoch,
			of.N, store.ErrRolledBack, err)
	case err != nil:
		return nil, fmt.Errorf("redis server %s: range %s: %w", s.address, of.Range, err)
	case r.text(0) == "fenced":
		return nil, fmt.Errorf("range %s, read at (%d, %d), stored (%s, %s): %w", of.Range, of.Epoch, of.N, r.text(1),
			r.text(2), store.ErrFenced)
	}
	return r, s.replyError(r)
}

// isBehind reports whether the server lacks what the process that reads knows to be saved (prelude.lua).
func isBehind(err error) bool { return goredis.HasErrorPrefix(err, "READONLY") }

// reply is what a script replies: a word, and values that depend on it.
type reply []any

func (r reply) has(i int) bool { return i < len(r) && r[i] != nil }

func (r reply) text(i int) string {
	if i >= len(r) {
		return ""
	}
	text, _ := r[i].(string)
	return text
}

func (r reply) list(i int) []string {
	if i >= len(r) {
		return nil
	}
	values, _ := r[i].([]any)
	texts := make([]string, len(values))
	for j := range values {
		texts[j] = reply(values).text(j)
	}
	return texts
}

// isWritten reports whether the script has written its arguments, now or before.
func (r reply) isWritten() bool {
	switch r.text(0) {
	case "applied", "repeated", "claimed":
		return true
	}
	return false
}

// replyError is the error in the replies that every script can give.
func (s *Store) replyError(r reply) error {
	switch r.text(0) {
	case "corrupt":
		return s.corrupt(r.text(1), errors.New(r.text(2)))
	case "layout":
		return s.corrupt(r.text(1), checkLayout(r.text(2)))
	case "not allowed":
		return fmt.Errorf("redis server %s: the user may not use the command %s", s.address, r.text(1))
	}
	return nil
}

// checkLayout returns why this gateway must not touch a range of that layout, or nil.
func checkLayout(stored string) error {
	version, err := strconv.ParseUint(stored, 10, 64)
	switch {
	case err != nil || strconv.FormatUint(version, 10) != stored:
		return fmt.Errorf("its layout is no number: %.20q", stored)
	case version > layout:
		return store.Newer(version)
	}
	return nil
}

func (s *Store) corrupt(record string, err error) error {
	return &store.CorruptError{Where: "redis server " + s.address, Record: record, Err: err}
}

// replyDecoder decodes the values of a reply, and keeps the first error.
type replyDecoder struct {
	store *Store
	reply reply
	err   error
}

// fail keeps an error about the named record.
func (d *replyDecoder) fail(record string, err error) {
	if err != nil && d.err == nil {
		d.err = d.store.corrupt(record, err)
	}
}

func (d *replyDecoder) number(i int, record string) uint64 {
	number, err := strconv.ParseUint(d.reply.text(i), 10, 64)
	d.fail(record, err)
	return number
}

// decodeOptional decodes the record at that index, or gives the zero value where there is none.
func decodeOptional[T any](d *replyDecoder, i int, record string) (value T) {
	if d.reply.has(i) {
		var err error
		value, err = store.Decode[T]([]byte(d.reply.text(i)))
		d.fail(record, err)
	}
	return value
}

// decodeList decodes the list at that index: names, each with its record.
func decodeList[T any](d *replyDecoder, i int, key string) []T {
	fields := d.reply.list(i)
	values := make([]T, 0, len(fields)/2)
	for i := 0; i+1 < len(fields) && d.err == nil; i += 2 {
		value, err := store.Decode[T]([]byte(fields[i+1]))
		d.fail(key+" "+fields[i], err)
		values = append(values, value)
	}
	return values
}
