package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Reader reads everything that a server has, and writes nothing. A gateway may serve the ranges at the same time.
type Reader struct{ store *Store } // which flushes nothing

// OpenReader connects to the server. The URL is as for Open; the server may be older.
func OpenReader(ctx context.Context, url string) (*Reader, error) {
	server, err := parse(url)
	if err != nil {
		return nil, err
	}
	s := &Store{address: server.address, replicas: server.replicas, reads: server.client(1, loadTimeout, nil)}
	checking, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := s.reads.Ping(checking).Err(); err != nil {
		_ = s.reads.Close()
		return nil, s.serverError(err)
	}
	return &Reader{s}, nil
}

// Close releases the connections.
func (r *Reader) Close() error { return r.store.reads.Close() }

// Describe names the server.
func (r *Reader) Describe() string { return "redis server " + r.store.address }

// Ranges returns the ranges that the server has records of.
func (r *Reader) Ranges(ctx context.Context) ([]uuid.UUID, error) { return r.store.Ranges(ctx) }

// Ranges returns the ranges that the server has records of.
func (s *Store) Ranges(ctx context.Context) ([]uuid.UUID, error) {
	ids, err := call(ctx, s, func(ctx context.Context) ([]uuid.UUID, error) { return rangesOn(ctx, s.reads) })
	if err != nil {
		return nil, s.serverError(err)
	}
	return ids, nil
}

func rangesOn(ctx context.Context, client goredis.UniversalClient) ([]uuid.UUID, error) {
	const prefix = "rangegate:{"
	var mu sync.Mutex
	found := map[uuid.UUID]bool{} // whether there is more of the range than its meta
	scan := func(ctx context.Context, node goredis.Cmdable) error {
		keys := node.Scan(ctx, 0, prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			text, _, _ := strings.Cut(strings.TrimPrefix(keys.Val(), prefix), "}")
			if id, err := uuid.Parse(text); err == nil {
				mu.Lock()
				found[id] = found[id] || keys.Val() != keysOf(id).meta
				mu.Unlock()
			}
		}
		return keys.Err()
	}
	var err error
	if cluster, isCluster := client.(*goredis.ClusterClient); isCluster {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
			return scan(ctx, node)
		})
	} else {
		err = scan(ctx, client)
	}
	if err != nil {
		return nil, err
	}
	var ids, unsure []uuid.UUID
	for id, more := range found {
		if more {
			ids = append(ids, id)
		} else {
			unsure = append(unsure, id)
		}
	}
	unsure, err = withoutForgotten(ctx, client, unsure)
	ids = append(ids, unsure...)
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids, err
}

// Meta reads the range's own record: store.ErrNotFound.
func (r *Reader) Meta(ctx context.Context, rangeID uuid.UUID) (store.RangeMeta, error) {
	key := keysOf(rangeID).meta
	fields, err := r.store.reads.HGetAll(ctx, key).Result()
	switch {
	case err != nil:
		return store.RangeMeta{}, r.store.serverError(err)
	case len(fields) == 0 || isForgotten(fields["epoch"], fields["forgotten_at"]):
		return store.RangeMeta{}, store.ErrNotFound
	}
	meta, err := parseMeta(fields)
	if err != nil {
		return meta, r.store.corrupt(key, err)
	}
	return meta, nil
}

// Events reads the event log behind the cursor, oldest first.
func (r *Reader) Events(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Logged, error) {
	return r.store.Events(ctx, store.InAnyEpoch(rangeID), after, limit)
}

// History reads the ended sessions behind the cursor, oldest first.
func (r *Reader) History(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Ended, error) {
	return r.store.History(ctx, store.InAnyEpoch(rangeID), after, limit)
}

// Acts reads the acts of staff behind the cursor, oldest first.
func (r *Reader) Acts(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Act, error) {
	return r.store.Acts(ctx, store.InAnyEpoch(rangeID), after, limit)
}

// Read visits every record of the range: the store.RangeMeta first, then the checkpoint, the lanes by id, the
// keys by name, the holds, and the event log, the history and the acts of staff by cursor. It continues after
// a record that cannot be read, and ends with the error of visit. store.ErrChanging: a gateway has written to
// the range meanwhile.
func (r *Reader) Read(ctx context.Context, rangeID uuid.UUID, visit func(store.Record) error) error {
	return (&rangeRead{Store: r.store, ctx: ctx, keys: keysOf(rangeID), visit: visit}).read()
}

// rangeRead reads one range with single commands, so that the server can serve others in between. Every write of the
// range changes the pair (epoch, n): where it is the same afterwards, all records are of one instant.
type rangeRead struct {
	*Store
	ctx   context.Context
	keys  rangeKeys
	visit func(store.Record) error
	meta  map[string]string // before any other record was read
}

func (r *rangeRead) read() error {
	var err error
	if r.meta, err = r.hash(r.keys.meta); err != nil {
		return err
	}
	if text, found := r.meta["layout"]; found { // a newer layout may have its records elsewhere
		if err := checkLayout(text); err != nil {
			return r.visitFault(r.keys.meta, err.Error())
		}
	}
	if isForgotten(r.meta["epoch"], r.meta["forgotten_at"]) {
		return store.ErrNotFound
	}
	for _, read := range []func() error{
		r.readMeta, r.readLanes, r.readKeys, r.readHolds, r.readEvents, r.readHistory, r.readActs,
	} {
		if err := read(); err != nil {
			return err
		}
	}
	after, err := r.hash(r.keys.meta)
	if err == nil && (r.meta["epoch"] != after["epoch"] || r.meta["n"] != after["n"]) {
		err = r.serverError(store.ErrChanging)
	}
	return err
}

// visitFault visits a record that cannot be read.
func (r *rangeRead) visitFault(record, reason string) error {
	return r.visit(store.Record{Name: record, Err: errors.New(reason)})
}

// hash reads a whole hash. A key of another type is visited as a fault, and reads as empty.
func (r *rangeRead) hash(key string) (map[string]string, error) {
	fields, err := r.reads.HGetAll(r.ctx, key).Result()
	return fields, r.unlessWrongType(key, err)
}

// unlessWrongType returns the error of a command, unless it is that the key has another type.
func (r *rangeRead) unlessWrongType(key string, err error) error {
	switch {
	case err == nil:
		return nil
	case goredis.HasErrorPrefix(err, "WRONGTYPE"):
		return r.visitFault(key, "it holds something else")
	}
	return r.serverError(err)
}

func (r *rangeRead) readMeta() error {
	value, err := parseMeta(r.meta)
	if err != nil {
		return r.visit(store.Record{Name: r.keys.meta, Err: err})
	}
	if err := r.visit(store.Record{Name: r.keys.meta, Value: value}); err != nil {
		return err
	}
	if record, found := r.meta["checkpoint"]; found {
		return r.visit(recordOf[lanes.Checkpoint]("checkpoint", record))
	}
	return nil
}

func parseMeta(meta map[string]string) (m store.RangeMeta, err error) {
	if len(meta) == 0 {
		return m, errors.New("it is gone")
	}
	for field, number := range map[string]*uint64{
		"epoch": &m.Epoch, "n": &m.N, "last_event": &m.LastEvent, "last_ended": &m.LastEnded, "last_act": &m.LastAct,
	} {
		text, found := meta[field]
		if !found && strings.HasPrefix(field, "last_") { // none was ever given
			continue
		}
		if *number, err = strconv.ParseUint(text, 10, 64); err != nil {
			return m, fmt.Errorf("its %s is no number: %q", field, text)
		}
	}
	return m, nil
}

func (r *rangeRead) readLanes() error {
	return readHash(r, r.keys.lanes, "lane %s", func(lane lanes.Snapshot) string { return lane.ID.String() })
}

func (r *rangeRead) readKeys() error {
	return readHash(r, r.keys.answers, "idempotency key %q", func(kept lanes.KeptAnswer) string { return kept.Name })
}

func (r *rangeRead) readHolds() error {
	if record, found := r.meta["holds"]; found {
		return r.visit(recordOf[lanes.Holds]("holds", record))
	}
	return nil
}

func recordOf[T any](name, record string) store.Record {
	v, err := store.Decode[T]([]byte(record))
	if err != nil {
		return store.Record{Name: name, Err: err}
	}
	return store.Record{Name: name, Value: v}
}

var errWrongName = errors.New("it is stored under another record's name")

// readHash visits the fields of a hash in the order of their names, which the records have too.
func readHash[T any](r *rangeRead, key, format string, nameOf func(T) string) error {
	fields, err := r.hash(key)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		record := recordOf[T](fmt.Sprintf(format, name), fields[name])
		if value, readable := record.Value.(T); readable && nameOf(value) != name {
			record.Err = errWrongName
		}
		if err := r.visit(record); err != nil {
			return err
		}
	}
	return nil
}

func (r *rangeRead) readEvents() error {
	cursors, err := r.reads.ZRange(r.ctx, r.keys.pending, 0, -1).Result()
	if err := r.unlessWrongType(r.keys.pending, err); err != nil {
		return err
	}
	pending := make(map[string]bool, len(cursors)) // padded cursors whose event was not read yet
	for _, cursor := range cursors {
		pending[cursor] = true
	}
	err = r.readLog(r.keys.eventsOrder, r.keys.events, "event ", func(entry, cursor, text string) store.Record {
		record := recordOf[lanes.Logged]("event "+cursor, text)
		event, readable := record.Value.(lanes.Logged)
		padded := entry[:min(len(entry), cursorDigits)]
		isPending := pending[padded]
		delete(pending, padded)
		switch {
		case !readable:
		case orderEntry(event.Cursor, event.Event.At, "") != entry:
			record.Err = errWrongName
		case isPending && !event.Pending():
			record.Err = errors.New("it was attempted, and is in the set of pending events")
		case !isPending && event.Pending():
			record.Err = errors.New("it is pending, and is not in the set of pending events")
		}
		return record
	})
	for _, cursor := range cursors {
		if err == nil && pending[cursor] {
			err = r.visitFault("event "+strings.TrimLeft(cursor, "0"), "it is pending, and there is no such event")
		}
	}
	return err
}

func (r *rangeRead) readHistory() error {
	names, err := r.hash(r.keys.names)
	if err != nil {
		return err
	}
	sessions, err := r.hash(r.keys.sessions)
	if err != nil {
		return err
	}
	entries, err := r.reads.ZRange(r.ctx, r.keys.externalIDs, 0, -1).Result()
	if err := r.unlessWrongType(r.keys.externalIDs, err); err != nil {
		return err
	}
	byExternalID := make(map[string]bool, len(entries))
	for _, entry := range entries {
		byExternalID[entry] = true
	}
	return r.readLog(r.keys.historyOrder, r.keys.history, "ended session ",
		func(entry, cursor, text string) store.Record {
			record := recordOf[lanes.Ended]("ended session "+cursor, text)
			ended, readable := record.Value.(lanes.Ended)
			if !readable {
				return record
			}
			ended.Session.Customer = names[cursor]
			record.Value = ended
			id := ended.Session.ID.String()
			switch {
			case orderEntry(ended.Cursor, ended.At, id) != entry:
				record.Err = errWrongName
			case sessions[id] == "":
				record.Err = fmt.Errorf("session %s would not be found by its id", id)
			case hasExternalID(ended) && !byExternalID[externalEntry(ended.Session.Correlation.ExternalID,
				paddedCursor(ended.Cursor))]:
				record.Err = fmt.Errorf("session %s would not be found by its external id", id)
			}
			return record
		})
}

// readActs visits the acts of staff. An order entry that is damaged has no cursor.
func (r *rangeRead) readActs() error {
	return r.readOrder(r.keys.acts, func(entries []string) error {
		for _, entry := range entries {
			parts := strings.SplitN(entry, ":", 3)
			if len(parts) < 3 {
				if err := r.visitFault(r.keys.acts, fmt.Sprintf("not what was written: %.64q", entry)); err != nil {
					return err
				}
				continue
			}
			record := recordOf[lanes.Act]("act "+strings.TrimLeft(parts[0], "0"), parts[2])
			if act, readable := record.Value.(lanes.Act); readable &&
				orderEntry(act.Cursor, act.At, parts[2]) != entry {
				record.Err = errWrongName
			}
			if err := r.visit(record); err != nil {
				return err
			}
		}
		return nil
	})
}

// readOrder gives the order entries of a log, a thousand at a time.
func (r *rangeRead) readOrder(key string, give func(entries []string) error) error {
	for from := "-"; ; {
		entries, err := r.reads.ZRangeByLex(r.ctx, key, &goredis.ZRangeBy{Min: from, Max: "+", Count: 1000}).Result()
		if err := r.unlessWrongType(key, err); err != nil || len(entries) == 0 {
			return err
		}
		from = "(" + entries[len(entries)-1]
		if err := give(entries); err != nil {
			return err
		}
	}
}

// readLog visits the records of a log by cursor.
func (r *rangeRead) readLog(
	orderKey, recordsKey, kind string, read func(entry, cursor, text string) store.Record,
) error {
	return r.readOrder(orderKey, func(entries []string) error {
		cursors := make([]string, len(entries))
		for i, entry := range entries {
			padded, _, _ := strings.Cut(entry, ":")
			cursors[i] = strings.TrimLeft(padded, "0")
		}
		found, err := r.reads.HMGet(r.ctx, recordsKey, cursors...).Result()
		if err := r.unlessWrongType(recordsKey, err); err != nil {
			return err
		}
		for i, entry := range entries {
			if reply(found).has(i) {
				err = r.visit(read(entry, cursors[i], reply(found).text(i)))
			} else {
				err = r.visitFault(kind+cursors[i], "there is no such record")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// restoreLimit is how many records of a kind one script writes. A range may have more than fit in one
// command, and other clients wait while a script runs.
const restoreLimit = 5000

// keepAll trims nothing: the parts have no Now to compare with.
var keepAll = store.Retention{Cap: math.MaxInt}

// Restore writes a range that the server does not have, all of it or nothing, and trims nothing:
// store.ErrExists. The epoch of one that was forgotten rises. It writes parts to staging keys, which one last
// script renames. It removes what an earlier attempt left there.
func (s *Store) Restore(ctx context.Context, whole store.Batch) error {
	if err := s.begin(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	defer s.calls.Done()
	if err := s.restore(ctx, whole); err != nil {
		return fmt.Errorf("redis server %s: range %s: %w", s.address, whole.Range, err)
	}
	return nil
}

func (s *Store) restore(ctx context.Context, whole store.Batch) error {
	keys, staging := keysOf(whole.Range).list(), stagingKeysOf(whole.Range).list()
	if _, err := call(ctx, s, func(ctx context.Context) (int64, error) {
		return s.reads.Del(ctx, staging...).Result()
	}); err != nil {
		return err
	}
	for _, part := range splitBatch(whole) {
		w, err := newFlush(part, keepAll, s.replicas)
		if err != nil {
			return err
		}
		w.keys = staging
		r, err := s.write(ctx, w, whole.Range)
		if err == nil {
			err = s.flushError(part, r)
		}
		if err != nil {
			return err
		}
	}
	r, err := call(ctx, s, func(ctx context.Context) (reply, error) {
		return finishRestoreScript.Run(ctx, s.reads, append(keys, staging...)).Slice()
	})
	if err == nil {
		err = s.replyError(r)
	}
	if err == nil && r.text(0) != "restored" {
		err = store.ErrExists
	}
	return err
}

// splitBatch splits the range into flushes. The first one has the single records, such as the checkpoint.
func splitBatch(whole store.Batch) (parts []store.Batch) {
	for n := uint64(1); ; n++ {
		part := store.Batch{
			Range: whole.Range, Epoch: whole.Epoch, N: n, Lanes: takeFirst(&whole.Lanes), Keys: takeFirst(&whole.Keys),
			Events: takeFirst(&whole.Events), Ended: takeFirst(&whole.Ended), Acts: takeFirst(&whole.Acts),
		}
		if n == 1 {
			part.Refill, part.Checkpoint, part.Holds = true, whole.Checkpoint, whole.Holds
			part.LastEvent, part.LastEnded, part.LastAct = whole.LastEvent, whole.LastEnded, whole.LastAct
		}
		parts = append(parts, part)
		if len(whole.Lanes)+len(whole.Keys)+len(whole.Events)+len(whole.Ended)+len(whole.Acts) == 0 {
			return parts
		}
	}
}

// takeFirst removes the first restoreLimit records from the list and returns them.
func takeFirst[T any](list *[]T) (first []T) {
	count := min(len(*list), restoreLimit)
	first, *list = (*list)[:count:count], (*list)[count:]
	return first
}
