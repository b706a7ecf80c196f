package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Flush writes the batch, all of it or nothing. The settings of the server decide how durable it is
// (Warnings).
func (s *Store) Flush(ctx context.Context, batch store.Batch) error {
	if err := s.begin(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	defer s.calls.Done()
	w, err := newFlush(batch, s.retention, s.replicas)
	if err != nil {
		return fmt.Errorf("%w: range %s: %w", store.ErrRefused, batch.Range, err)
	}
	r, err := s.write(ctx, w, batch.Range)
	if err != nil {
		return err
	}
	return s.flushError(batch, r)
}

// write queues the write at the range's flusher, and waits for the reply or for the end of ctx.
func (s *Store) write(ctx context.Context, w *write, rangeID uuid.UUID) (reply, error) {
	if ctx.Err() != nil {
		return nil, notSent(ctx)
	}
	select {
	case s.flusherOf(rangeID).queue <- w:
	case <-ctx.Done():
		return nil, notSent(ctx)
	}
	select {
	case result := <-w.result:
		if result.err != nil {
			return nil, s.writeError(result.err)
		}
		return result.reply, nil
	case <-ctx.Done():
		if w.acquire() {
			return nil, notSent(ctx)
		}
		return nil, fmt.Errorf("redis server %s: no reply yet: %w", s.address, context.Cause(ctx))
	}
}

func notSent(ctx context.Context) error {
	return fmt.Errorf("%w: it was not sent: %w", store.ErrRefused, context.Cause(ctx))
}

func (s *Store) flusherOf(rangeID uuid.UUID) *flusher {
	return s.flushers[int(rangeID[len(rangeID)-1])%len(s.flushers)]
}

// flushError returns the error in the reply of flush.lua, or nil.
func (s *Store) flushError(b store.Batch, r reply) error {
	if err := s.replyError(r); err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	if r.isWritten() {
		return nil
	}
	reason, found := map[string]error{"fenced": store.ErrFenced, "rolled back": store.ErrRolledBack}[r.text(0)]
	if !found {
		return fmt.Errorf("redis server %s: the script replied %q", s.address, r)
	}
	return fmt.Errorf("range %s, flush (%d, %d), stored (%s, %s): %w", b.Range, b.Epoch, b.N, r.text(1),
		r.text(2), reason)
}

// writeError is the error of a write whose script has not replied. It wraps store.ErrRefused when nothing was
// written and nothing will be; any other error leaves the outcome unknown.
func (s *Store) writeError(err error) error {
	if isRefused(err) {
		return fmt.Errorf("redis server %s: %w: %w", s.address, store.ErrRefused, err)
	}
	return fmt.Errorf("redis server %s: it is not known whether it has written: %w", s.address, err)
}

// isRefused reports whether the server did not run the script, or stopped it before its first write.
//
//	no connection, or none free           nothing was sent
//	error reply                           the server did not run the script: LOADING, NOAUTH, CLUSTERDOWN, MOVED …
//	error reply that names the script     a command in it failed. A server that refuses writes (OOM, READONLY …) refuses
//	                                      the first one. After any other error the outcome is unknown.
//	timeout, broken connection            the server may have run the script, or may still do so
func isRefused(err error) bool {
	var unsent *notConnectedError
	if errors.As(err, &unsent) || errors.Is(err, goredis.ErrPoolTimeout) || errors.Is(err, goredis.ErrPoolExhausted) ||
		errors.Is(err, goredis.ErrClosed) {
		return true
	}
	var errorReply goredis.Error
	if !errors.As(err, &errorReply) {
		return false
	}
	if !strings.Contains(errorReply.Error(), flushScript.Hash()) {
		return true
	}
	code, _, _ := strings.Cut(errorReply.Error(), " ")
	return slices.Contains([]string{"OOM", "READONLY", "MISCONF", "NOREPLICAS", "MASTERDOWN"}, code)
}

// trimLimit is how many records of each log a flush trims at most, besides as many as it adds.
const trimLimit = 128

// maxArguments is a little less than the server's limit for one command.
const maxArguments = 1_000_000

// arguments collects the ARGV of flush.lua.
type arguments struct {
	list  []any
	bytes int
	err   error // of the first record that could not be encoded
}

func (a *arguments) add(values ...string) {
	for _, value := range values {
		a.list = append(a.list, value)
		a.bytes += len(value)
	}
}

func (a *arguments) addRecord(value any) {
	record := a.encode(value)
	a.list = append(a.list, record)
	a.bytes += len(record)
}

func (a *arguments) encode(value any) []byte {
	record, err := store.Encode(value)
	if err != nil && a.err == nil {
		a.err = err
	}
	return record
}

// addOptional adds a record, or an empty one, which leaves the stored record as it is.
func addOptional[T any](a *arguments, value *T) {
	if value == nil {
		a.add("")
		return
	}
	a.addRecord(*value)
}

// batchHead is the first argument of flush.lua: what it is told of the batch besides its records. Cursors, epoch and
// n are texts, because Lua would round numbers above 2^53.
type batchHead struct {
	Epoch    uint64 `json:"epoch,string"`
	N        uint64 `json:"n,string"`
	Previous uint64 `json:"previous,string"` // n - 1
	Refill   bool   `json:"refill"`
	Release  bool   `json:"release"`
	Replicas bool   `json:"replicas"` // are waited for: a repeat writes something

	// What is trimmed: what is older than these Unix milliseconds, or over the cap, at most TrimLimit records of a log.
	EventsBefore  int64 `json:"events_before"`
	HistoryBefore int64 `json:"history_before"`
	NamesBefore   int64 `json:"names_before"`
	Cap           int   `json:"cap"`
	TrimLimit     int   `json:"trim_limit"`

	// The last cursor of each log, this batch included.
	LastEvent uint64 `json:"last_event,string"`
	LastEnded uint64 `json:"last_ended,string"`
	LastAct   uint64 `json:"last_act,string"`

	// How many records of each kind follow.
	Lanes    int `json:"lane_count"`
	Answers  int `json:"answer_count"`
	Shed     int `json:"shed_count"` // answers that are only written where the store has lost them
	Forget   int `json:"forget_count"`
	Events   int `json:"event_count"`
	Pending  int `json:"pending_count"`
	Ended    int `json:"ended_count"`
	Names    int `json:"name_count"`
	External int `json:"external_count"`
	Acts     int `json:"act_count"`
}

func newBatchHead(b store.Batch, r store.Retention, replicas int) batchHead {
	before := func(term time.Duration) int64 { return b.Now.Add(-term).UnixMilli() }
	shed := count(b.Keys, isInStore)
	h := batchHead{
		Epoch: b.Epoch, N: b.N, Previous: b.N - 1, Refill: b.Refill, Release: b.Release, Replicas: replicas > 0,
		EventsBefore: before(r.Events), HistoryBefore: before(r.History), NamesBefore: before(r.Names),
		Cap: r.Cap, TrimLimit: trimLimit + len(b.Events) + len(b.Ended) + len(b.Acts),
		LastEvent: b.LastEvent, LastEnded: b.LastEnded, LastAct: b.LastAct,
		Lanes: len(b.Lanes), Answers: len(b.Keys) - shed, Shed: shed, Forget: len(b.Forget),
		Events: len(b.Events), Pending: count(b.Events, isPending),
		Ended: len(b.Ended), Names: count(b.Ended, hasName), External: count(b.Ended, hasExternalID), Acts: len(b.Acts),
	}
	for _, event := range b.Events {
		h.LastEvent = max(h.LastEvent, event.Cursor)
	}
	for _, ended := range b.Ended {
		h.LastEnded = max(h.LastEnded, ended.Cursor)
	}
	for _, act := range b.Acts {
		h.LastAct = max(h.LastAct, act.Cursor)
	}
	return h
}

// newFlush makes the run of flush.lua that writes the batch. With replicas, a repeat waits for them again.
func newFlush(b store.Batch, r store.Retention, replicas int) (*write, error) {
	head, err := json.Marshal(newBatchHead(b, r, replicas))
	if err != nil {
		return nil, err
	}
	a := arguments{list: []any{head}, bytes: len(head)}
	addOptional(&a, b.Checkpoint)
	addOptional(&a, b.Holds)
	for _, lane := range b.Lanes {
		a.add(lane.ID.String())
		a.addRecord(lane)
	}
	a.addKeys(b.Keys)
	a.add(b.Forget...)
	a.addEvents(b.Events)
	a.addEnded(b.Ended)
	for _, act := range b.Acts {
		a.add(orderEntry(act.Cursor, act.At, string(a.encode(act))))
	}

	if a.err != nil {
		return nil, a.err
	}
	if len(a.list) > maxArguments {
		return nil, fmt.Errorf("the batch is too large: %d values", len(a.list))
	}
	return newWrite(flushScript, b.Range, a.list, a.bytes), nil
}

// addKeys adds name and record of each answer, then those of the answers that are only written where the
// store has lost them.
func (a *arguments) addKeys(keys []lanes.KeptAnswer) {
	for _, inStore := range []bool{false, true} {
		for _, key := range keys {
			if key.InStore == inStore {
				a.add(key.Name)
				a.addRecord(key)
			}
		}
	}
}

func isInStore(key lanes.KeptAnswer) bool { return key.InStore }

// addEvents adds cursor and record of each event, then the order entries, then the scores and padded cursors
// of the pending events, then the padded cursors of the others. An event may come twice in a batch, pending
// and attempted: the script removes the attempted ones from the pending set last.
func (a *arguments) addEvents(events []lanes.Logged) {
	entries := make([]string, len(events))
	for i, event := range events {
		a.add(decimal(event.Cursor))
		a.addRecord(event)
		entries[i] = orderEntry(event.Cursor, event.Event.At, "")
	}
	a.add(entries...)
	for i, event := range events {
		if isPending(event) {
			a.add("0", entries[i][:cursorDigits]) // score and member
		}
	}
	for i, event := range events {
		if !isPending(event) {
			a.add(entries[i][:cursorDigits])
		}
	}
}

func isPending(event lanes.Logged) bool { return event.Pending() }

// addEnded adds cursor and record of each session, without the customer's name, then the order entries, then
// session ids with cursors, then cursors with names, then the entries of external ids with their scores.
func (a *arguments) addEnded(sessions []lanes.Ended) {
	for _, ended := range sessions {
		ended.Session.Customer = ""
		a.add(decimal(ended.Cursor))
		a.addRecord(ended)
	}
	for _, ended := range sessions {
		a.add(orderEntry(ended.Cursor, ended.At, ended.Session.ID.String()))
	}
	for _, ended := range sessions {
		a.add(ended.Session.ID.String(), decimal(ended.Cursor))
	}
	for _, ended := range sessions {
		if hasName(ended) {
			a.add(decimal(ended.Cursor), ended.Session.Customer)
		}
	}
	for _, ended := range sessions {
		if hasExternalID(ended) {
			// Score and member.
			a.add("0", externalEntry(ended.Session.Correlation.ExternalID, paddedCursor(ended.Cursor)))
		}
	}
}

func hasName(ended lanes.Ended) bool { return ended.Session.Customer != "" }

func hasExternalID(ended lanes.Ended) bool { return ended.Session.Correlation.IDOrNone() != "" }

// externalEntry is the member of an ended session in the sorted set of external ids. An external id has no
// control character, so that no other id begins like this one.
func externalEntry(externalID, padded string) string { return externalID + "\x00" + padded }

// count returns how many values match.
func count[T any](values []T, match func(T) bool) (n int) {
	for _, value := range values {
		if match(value) {
			n++
		}
	}
	return n
}

func decimal(number uint64) string { return strconv.FormatUint(number, 10) }

func milliseconds(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }

// paddedCursor writes the cursor with 20 digits: the order of the texts is that of the cursors.
func paddedCursor(cursor uint64) string {
	digits := decimal(cursor)
	return zeros[len(digits):] + digits
}

const (
	zeros        = "00000000000000000000"
	cursorDigits = len(zeros) // enough for every uint64
)

// orderEntry is a record's member of the sorted set that orders its log: the cursor, the time for trimming,
// and the session id of an ended session or the record of an act.
func orderEntry(cursor uint64, at time.Time, detail string) string {
	return paddedCursor(cursor) + ":" + milliseconds(at) + ":" + detail
}

// Limits of one pipeline.
const (
	maxWrites = 256
	maxBytes  = 1 << 20 // the write that exceeds it is the last one
)

// flusher sends writes in pipelines: those that are queued while one pipeline is sent make up the next. The
// writes of a range all use one flusher, so they reach the server in order.
type flusher struct {
	client  goredis.UniversalClient
	wait    replicaWait
	queue   chan *write
	stopped chan struct{}
}

// write is one run of a script that writes.
type write struct {
	script   *goredis.Script
	keys     []string
	args     []any
	bytes    int
	acquired atomic.Bool
	result   chan writeResult // of one
}

type writeResult struct {
	reply reply
	err   error
}

func newWrite(script *goredis.Script, rangeID uuid.UUID, args []any, bytes int) *write {
	return &write{
		script: script, keys: keysOf(rangeID).list(), args: args, bytes: bytes,
		result: make(chan writeResult, 1),
	}
}

// acquire succeeds once: for the flusher, which then sends the write, or for the caller, which then drops it.
func (w *write) acquire() bool { return w.acquired.CompareAndSwap(false, true) }

func startFlusher(client goredis.UniversalClient, wait replicaWait) *flusher {
	f := &flusher{client: client, wait: wait, queue: make(chan *write, maxWrites), stopped: make(chan struct{})}
	go f.run()
	return f
}

// stop sends what is queued, and returns when every write has its result. Nothing may be queued after it.
func (f *flusher) stop() {
	close(f.queue)
	<-f.stopped
}

func (f *flusher) run() {
	defer close(f.stopped)
	for first := range f.queue {
		f.send(f.collect(first))
	}
}

// collect gives the first write and those queued behind it, within the limits of a pipeline.
func (f *flusher) collect(first *write) []*write {
	var writes []*write
	bytes := 0
	for next := first; next != nil; {
		if next.acquire() {
			writes = append(writes, next)
			bytes += next.bytes
		}
		if len(writes) >= maxWrites || bytes >= maxBytes {
			break
		}
		select {
		case next = <-f.queue: // nil once it is closed and empty
		default:
			next = nil
		}
	}
	return writes
}

// send sends the writes and hands out the results. Writes whose script the server does not have are sent
// again, with the script: the server has not run them.
func (f *flusher) send(writes []*write) {
	var unknown []*write
	for i, result := range f.pipeline(writes, (*goredis.Script).EvalSha) {
		if goredis.HasErrorPrefix(result.err, "NOSCRIPT") {
			unknown = append(unknown, writes[i])
			continue
		}
		writes[i].result <- result
	}
	for i, result := range f.pipeline(unknown, (*goredis.Script).Eval) {
		unknown[i].result <- result
	}
}

type runScript func(script *goredis.Script, ctx context.Context, to goredis.Scripter, keys []string,
	args ...any) *goredis.Cmd

// pipeline sends the writes together and gives their results in order. It has no context of its own: timeouts
// bound it, and each caller waits with the context of its flush.
func (f *flusher) pipeline(writes []*write, run runScript) []writeResult {
	results := make([]writeResult, len(writes))
	ctx := context.Background()
	var sending sync.WaitGroup
	for client, indexes := range f.route(ctx, writes, results) {
		sending.Go(func() { f.exec(ctx, client, indexes, run, writes, results) })
	}
	sending.Wait()
	return results
}

// route assigns the indexes of the writes to clients: all to the one client, or, where a cluster's replicas
// are waited for, to the node of each range, as WAIT is asked on one connection. A write without a node has
// its result at once.
func (f *flusher) route(ctx context.Context, writes []*write, results []writeResult) map[goredis.UniversalClient][]int {
	routes := map[goredis.UniversalClient][]int{}
	cluster, isCluster := f.client.(*goredis.ClusterClient)
	for i, w := range writes {
		client := f.client
		if isCluster && f.wait.replicas > 0 {
			node, err := cluster.MasterForKey(ctx, w.keys[0])
			if err != nil {
				results[i].err = &notConnectedError{err}
				continue
			}
			client = node
		}
		routes[client] = append(routes[client], i)
	}
	return routes
}

// exec sends the writes of one client, and behind them the question whether enough replicas have them.
func (f *flusher) exec(
	ctx context.Context, client goredis.UniversalClient, indexes []int, run runScript, writes []*write,
	results []writeResult,
) {
	pipe := client.Pipeline()
	commands := make([]*goredis.Cmd, len(indexes))
	for i, index := range indexes {
		commands[i] = run(writes[index].script, ctx, pipe, writes[index].keys, writes[index].args...)
	}
	wait := f.wait.ask(ctx, pipe)
	_, pipeErr := pipe.Exec(ctx)
	waitErr := f.wait.check(wait)
	for i, command := range commands {
		list, err := command.Slice()
		switch {
		case command.Err() == nil && command.Val() == nil:
			// The client sets no error on a command that it did not send because the connection was refused,
			// for an unknown user for example.
			err = pipeErr
		case err == nil && reply(list).isWritten():
			err = waitErr
		}
		results[indexes[i]] = writeResult{list, err}
	}
	if cluster, isCluster := f.client.(*goredis.ClusterClient); isCluster && pipeErr != nil {
		cluster.ReloadState(ctx) // the ranges may have moved to another node
	}
}

// replicaWait is how many replicas must have a write before it is acknowledged, and how long they may take.
//
// WAIT covers the writes of its own connection. A repeat often uses another connection than the write that it
// repeats; flush.lua therefore writes the stored n again, so that WAIT has a write to wait for. A replica
// that has it has all earlier writes.
type replicaWait struct {
	replicas int // 0: none, and nothing is asked
	timeout  time.Duration
}

// ask adds WAIT to the pipeline, once for all its writes.
func (w replicaWait) ask(ctx context.Context, pipe goredis.Pipeliner) *goredis.Cmd {
	if w.replicas == 0 {
		return nil
	}
	return pipe.Do(ctx, "WAIT", w.replicas, w.timeout.Milliseconds())
}

// check returns the error of writes that too few replicas have. It does not wrap the server's error, which
// isRefused would take for a refusal of the writes themselves.
func (w replicaWait) check(asked *goredis.Cmd) error {
	if asked == nil {
		return nil
	}
	have, err := asked.Int()
	switch {
	case err != nil:
		return fmt.Errorf("whether replicas have it is not known: %v", err) //nolint:errorlint // see above: not wrapped
	case have < w.replicas:
		return fmt.Errorf("%d of the %d replicas that it waits for have it", have, w.replicas)
	}
	return nil
}
