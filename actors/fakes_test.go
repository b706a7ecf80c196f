package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/store"
)

// Logs.

// logRecorder is a log that can be read while it is written.
type logRecorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *logRecorder) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(line)
}

// String returns the whole text.
func (r *logRecorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// lines returns the lines with that message, oldest first.
func (r *logRecorder) lines(t *testing.T, message string) (found []map[string]any) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for decoder := json.NewDecoder(bytes.NewReader(r.text.Bytes())); decoder.More(); {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line))
		if line["message"] == message {
			found = append(found, line)
		}
	}
	return found
}

// traceIDs returns the trace ids of those lines, empty where a line has none.
func (r *logRecorder) traceIDs(t *testing.T, message string) (all []string) {
	for _, line := range r.lines(t, message) {
		id, _ := line["trace_id"].(string)
		all = append(all, id)
	}
	return all
}

// blockingLog blocks, once, the writer of a line that contains match, until released is closed.
type blockingLog struct {
	match    string
	armed    atomic.Bool
	released chan struct{}
}

func (g *blockingLog) Write(line []byte) (int, error) {
	if strings.Contains(string(line), g.match) && g.armed.CompareAndSwap(true, false) {
		<-g.released
	}
	return len(line), nil
}

// logFunc is called with every line of the log before it is written.
type logFunc func(line string)

func (do logFunc) Write(line []byte) (int, error) {
	do(string(line))
	return len(line), nil
}

// Stores.

// flushHook stands before a store: it flushes, or answers in the store's place, or waits.
type flushHook func(ctx context.Context, batch store.Batch, flush func() error) error

// hookedStore is a store whose flushes a test can watch, block or fail. The hook stays over a restart.
type hookedStore struct {
	store.Store
	hooked     atomic.Pointer[flushHook]
	unreadable atomic.Bool                   // its event log, its kept answers, and the range's epoch
	hanging    atomic.Pointer[chan struct{}] // reads of the event log wait until it is closed; nil: they do not
	suspended  atomic.Int64                  // for how long this process stands still as it hears of the range's epoch
	loading    func() error                  // runs once, before the next range is loaded, unless it fails
	dropped    uint64                        // the events up to that cursor are not kept any more
}

func (s *hookedStore) Load(ctx context.Context, of store.RangeEpoch) (store.Recovered, error) {
	if loading := s.loading; loading != nil {
		s.loading = nil
		if err := loading(); err != nil {
			return store.Recovered{}, err
		}
	}
	return s.Store.Load(ctx, of)
}

// Place is that of the file, where a test has put nothing between.
func (s *hookedStore) Place() string {
	if file, found := s.Store.(store.Placed); found {
		return file.Place()
	}
	return ""
}

func (s *hookedStore) Answer(ctx context.Context, of store.RangeEpoch, name string) (lanes.KeptAnswer, error) {
	if s.unreadable.Load() {
		return lanes.KeptAnswer{}, errors.New("the disk is gone")
	}
	return s.Store.Answer(ctx, of, name)
}

func (s *hookedStore) Confirm(ctx context.Context, of store.RangeEpoch) error {
	if s.unreadable.Load() {
		return errors.New("the disk is gone")
	}
	err := s.Store.Confirm(ctx, of)
	time.Sleep(time.Duration(s.suspended.Load()))
	return err
}

func (s *hookedStore) Events(
	ctx context.Context, of store.RangeEpoch, after uint64, limit int,
) ([]lanes.Logged, error) {
	if s.unreadable.Load() {
		return nil, errors.New("the disk is gone")
	}
	if released := s.hanging.Load(); released != nil {
		select {
		case <-*released:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.Events(ctx, of, max(after, s.dropped), limit)
}

// blockEvents makes reads of the event log wait until release is called.
func (s *hookedStore) blockEvents() (release func()) {
	released := make(chan struct{})
	s.hanging.Store(&released)
	return func() {
		s.hanging.Store(nil)
		close(released)
		synctest.Wait()
	}
}

// setHook sets the hook for the flushes from now on; nil removes it.
func (s *hookedStore) setHook(h flushHook) { s.hooked.Store(&h) }

func (s *hookedStore) Flush(ctx context.Context, batch store.Batch) error {
	if h := s.hooked.Load(); h != nil && *h != nil {
		return (*h)(ctx, batch, func() error { return s.Store.Flush(ctx, batch) })
	}
	return s.Store.Flush(ctx, batch)
}

// refuseFlush writes nothing, and the store says so.
func refuseFlush(context.Context, store.Batch, func() error) error { return store.ErrRefused }

func refuseFlushSlowly(context.Context, store.Batch, func() error) error {
	<-time.After(300 * time.Millisecond)
	return store.ErrRefused
}

// hangFlush writes nothing and returns no answer.
func hangFlush(ctx context.Context, _ store.Batch, _ func() error) error {
	<-ctx.Done()
	return ctx.Err()
}

// flushAndHang writes and returns no answer.
func flushAndHang(ctx context.Context, _ store.Batch, flush func() error) error {
	if err := flush(); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

var errReplyLost = errors.New("the connection broke before the answer came")

// flushAndLoseReply writes and breaks the connection.
func flushAndLoseReply(_ context.Context, _ store.Batch, flush func() error) error {
	if err := flush(); err != nil {
		return err
	}
	return errReplyLost
}

// outages are the ways in which a store is down: it refuses, at once or after a while, or it hangs.
var outages = map[string]flushHook{
	"it refuses": refuseFlush, "it refuses after a while": refuseFlushSlowly,
	"it hangs": hangFlush,
}

// resolutions are the ways in which the one flush that hangs can end, and whether its change is saved in the end.
var resolutions = map[string]struct {
	written bool
	end     func(flush func() error) error
}{
	"written": {true, func(flush func() error) error { return flush() }},
	"written, but the reply was lost": {
		true,
		func(flush func() error) error { return flushAndLoseReply(context.Background(), store.Batch{}, flush) },
	},
	// so it is repeated
	"not written, the outcome is unknown": {true, func(func() error) error { return errReplyLost }},
	"refused":                             {false, func(func() error) error { return store.ErrRefused }},
}

// blockFlushes makes the flushes from now on wait until release is called or the test ends.
func (f *fixture) blockFlushes() (release func()) {
	held := make(chan struct{})
	f.store.setHook(func(_ context.Context, _ store.Batch, flush func() error) error {
		<-held
		return flush()
	})
	release = sync.OnceFunc(func() {
		f.store.setHook(nil)
		close(held)
	})
	f.Cleanup(release)
	return release
}

// hangFlushesFrom makes the first flush that matches, and all after it, hang until release is called: each of their
// tries ends unanswered until then.
func (f *fixture) hangFlushesFrom(match func(store.Batch) bool) (release func()) {
	held := make(chan struct{})
	f.store.setHook(faultFrom(match, func(ctx context.Context, _ store.Batch, flush func() error) error {
		select {
		case <-held:
			return flush()
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
	return func() {
		close(held)
		f.advance(triedWithin)
	}
}

// triedWithin is how long it takes at most until the next try of a flush.
const triedWithin = 2 * time.Second

// blockFlushesFrom makes the first flush that matches, and all after it, wait until release is called or the test ends.
func (f *fixture) blockFlushesFrom(match func(store.Batch) bool) (release func()) {
	held := make(chan struct{})
	f.store.setHook(faultFrom(match, func(_ context.Context, _ store.Batch, flush func() error) error {
		<-held
		return flush()
	}))
	release = sync.OnceFunc(func() {
		f.store.setHook(nil)
		close(held)
	})
	f.Cleanup(release)
	return release
}

// blockNextFlush makes the next flush hang until resolve is called; those after it pass.
func (f *fixture) blockNextFlush(end func(flush func() error) error) (resolve func()) {
	held := make(chan struct{})
	f.store.setHook(func(_ context.Context, _ store.Batch, flush func() error) error {
		f.store.setHook(nil)
		<-held
		return end(flush)
	})
	return func() {
		close(held)
		f.advance(time.Second)
	}
}

// faultFrom applies the fault to the first flush that matches and to all after it.
func faultFrom(match func(store.Batch) bool, fault flushHook) flushHook {
	met := false
	return func(ctx context.Context, batch store.Batch, flush func() error) error {
		if met = met || match(batch); met {
			return fault(ctx, batch, flush)
		}
		return flush()
	}
}

// savesLift matches a flush that ends a hold.
func savesLift(b store.Batch) bool { return b.Holds != nil && len(b.Holds.Lifted) > 0 }

// savesRequest matches a flush that saves a purchase as sent, savesSettlement one that saves how it ended.
func savesRequest(b store.Batch) bool {
	return hasPurchase(b, func(e lanes.Logged) bool { return e.Attempt.Error == lanes.Interrupted })
}

func savesSettlement(b store.Batch) bool {
	return hasPurchase(b, func(e lanes.Logged) bool { return e.Attempt.Error != lanes.Interrupted })
}

func hasPurchase(b store.Batch, match func(lanes.Logged) bool) bool {
	for _, logged := range b.Events {
		if logged.Event.Kind == lanes.PurchaseRequest && match(logged) {
			return true
		}
	}
	return false
}

// killPoint kills the gateway at one flush: that flush and all later ones never reach the file, or that flush
// does and the gateway never learns of it. The gateway then hangs in its flushes, and is fenced when the next
// one starts.
type killPoint struct {
	flush    int64 // its number, counted from 1; 0: none
	written  bool  // whether that flush reaches the file
	flushes  atomic.Int64
	released chan struct{}
}

func (p *killPoint) hook(ctx context.Context, _ store.Batch, flush func() error) error {
	n := p.flushes.Add(1)
	if p.flush == 0 || n < p.flush {
		return flush()
	}
	if n == p.flush && p.written {
		_ = flush()
	}
	<-p.released
	return store.ErrFenced
}

// reached reports whether the gateway has come to that flush.
func (p *killPoint) reached() bool { return p.flush > 0 && p.flushes.Load() >= p.flush }

// setKillPoint makes the gateway's flushes pass the kill point.
func (f *fixture) setKillPoint(p *killPoint) {
	p.released = make(chan struct{})
	f.store.setHook(p.hook)
}

// killAt ends the gateway that hangs at its kill point.
func (f *fixture) killAt(p *killPoint) {
	f.Helper()
	f.claimElsewhere()
	close(p.released)
	synctest.Wait()
	f.shutDown()
	f.store.setHook(nil)
}

// historyReader is a store whose reads of ended sessions a test blocks or fails.
type historyReader struct {
	store.Store
	reply atomic.Pointer[func(context.Context) error]
	reads atomic.Int64
}

func (l *historyReader) Ended(ctx context.Context, of store.RangeEpoch, session uuid.UUID) (lanes.Ended, error) {
	l.reads.Add(1)
	if answer := l.reply.Load(); answer != nil {
		if err := (*answer)(ctx); err != nil {
			return lanes.Ended{}, err
		}
	}
	return l.Store.Ended(ctx, of, session)
}

// setReply sets how reads end from now on; nil: they succeed at once.
func (l *historyReader) setReply(answer func(context.Context) error) {
	if answer == nil {
		l.reply.Store(nil)
		return
	}
	l.reply.Store(&answer)
}

// block makes reads wait until release is called.
func (l *historyReader) block() (release func()) {
	held := make(chan struct{})
	l.setReply(func(ctx context.Context) error {
		select {
		case <-held:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return func() {
		l.setReply(nil)
		close(held)
		synctest.Wait()
	}
}

// interceptHistory puts a historyReader before the store from now on.
func (f *fixture) interceptHistory() *historyReader {
	l := &historyReader{Store: f.store.Store}
	f.store.Store = l
	f.Cleanup(func() { l.setReply(nil) })
	return l
}

// Webhooks and catalogues.

// setPurchaseReply sets how purchases are answered from now on; other events are answered as before.
func (w *fakeWebhook) setPurchaseReply(reply purchaseReply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.purchaseReply = reply
}

// purchases returns the purchase requests that arrived, in order.
func (w *fakeWebhook) purchases() (events []lanes.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, event := range w.arrived {
		if event.Kind == lanes.PurchaseRequest {
			events = append(events, event)
		}
	}
	return events
}

// blockPurchases makes purchases wait until release is called; answer then answers them.
func (w *fakeWebhook) blockPurchases(answer purchaseReply) (release func()) {
	given := make(chan struct{})
	w.setPurchaseReply(func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
		select {
		case <-given:
			return answer(ctx, event)
		case <-ctx.Done():
			return lanes.Attempt{At: event.At, Error: lanes.Interrupted}, lanes.Answer{}
		}
	})
	return func() {
		close(given)
		synctest.Wait()
	}
}

// fakeWebhook is the receiving end of a webhook. It records the events that arrive, in order.
type fakeWebhook struct {
	mu         sync.Mutex
	arrived    []lanes.Event
	entries    []lanes.Logged                                             // those of the log that arrived
	late       []bool                                                     // of those that arrived
	retryAfter time.Duration                                              // what it asks for when it fails
	reply      func(ctx context.Context, event lanes.Event) lanes.Attempt // nil: 200, at once
	// nil: purchases are answered like other events
	purchaseReply purchaseReply
}

func (w *fakeWebhook) Attempt(ctx context.Context, entry lanes.Logged, late bool) (lanes.Attempt, lanes.Answer) {
	event := entry.Event
	w.mu.Lock()
	w.arrived, w.entries, w.late = append(w.arrived, event), append(w.entries, entry), append(w.late, late)
	reply, replyPurchase, asked := w.reply, w.purchaseReply, w.retryAfter
	w.mu.Unlock()
	if event.Kind == lanes.PurchaseRequest && replyPurchase != nil {
		return replyPurchase(ctx, event)
	}
	if reply != nil {
		return reply(ctx, event), lanes.Answer{RetryAfter: asked}
	}
	return lanes.Attempt{At: event.At, Status: 200}, lanes.Answer{}
}

func (w *fakeWebhook) setReply(answer func(ctx context.Context, event lanes.Event) lanes.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reply = answer
}

// block makes the attempts from now on wait until release is called: those for the lanes in only, or for all lanes.
func (w *fakeWebhook) block(only ...uuid.UUID) (release func()) {
	released := make(chan struct{})
	w.setReply(func(ctx context.Context, event lanes.Event) lanes.Attempt {
		if len(only) > 0 && !slices.Contains(only, event.Lane) {
			return lanes.Attempt{At: event.At, Status: 200}
		}
		select {
		case <-released:
			return lanes.Attempt{At: event.At, Status: 200}
		case <-ctx.Done():
			return lanes.Attempt{At: event.At, Error: lanes.Interrupted}
		}
	})
	return func() {
		w.setReply(nil)
		close(released)
		synctest.Wait()
	}
}

// idsByLane returns the ids of the events that arrived, by lane.
func (w *fakeWebhook) idsByLane() map[uuid.UUID][]uuid.UUID {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := map[uuid.UUID][]uuid.UUID{}
	for _, event := range w.arrived {
		ids[event.Lane] = append(ids[event.Lane], event.ID)
	}
	return ids
}

// kinds returns the kinds of the events that arrived, in order.
func (w *fakeWebhook) kinds() (kinds []lanes.Kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, event := range w.arrived {
		kinds = append(kinds, event.Kind)
	}
	return kinds
}

const webhookTimeout = 10 * time.Second // of the webhook for the POS

// purchaseReply is how the POS answers a purchase.
type purchaseReply func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer)

// acceptPurchase accepts every purchase.
func acceptPurchase(_ context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	return lanes.Attempt{At: event.At, Status: 200}, lanes.Answer{Trace: "trace-1"}
}

// declinePurchase declines every purchase with that message for the customer.
func declinePurchase(words string) purchaseReply {
	return func(_ context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
		return lanes.Attempt{At: event.At, Status: 402, Error: lanes.Refused + ": status 402"},
			lanes.Answer{UserMessage: words, Error: "card declined", Trace: "trace-1"}
	}
}

// failPurchase ends every purchase with that attempt and no answer.
func failPurchase(attempt lanes.Attempt) purchaseReply {
	return func(context.Context, lanes.Event) (lanes.Attempt, lanes.Answer) { return attempt, lanes.Answer{} }
}

// timeOutPurchase does not answer before the webhook's timeout.
func timeOutPurchase(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	select {
	case <-time.After(webhookTimeout):
		return lanes.Attempt{At: event.At, Error: lanes.TimedOut + ": after 10s", Duration: webhookTimeout},
			lanes.Answer{}
	case <-ctx.Done():
		return lanes.Attempt{At: event.At, Error: lanes.Interrupted}, lanes.Answer{}
	}
}

// fakeCatalogue answers every purchase with the function.
type fakeCatalogue func(ctx context.Context, session uuid.UUID, items []lanes.Item) string

func (c fakeCatalogue) Check(ctx context.Context, session uuid.UUID, items []lanes.Item) ([]lanes.Good, string) {
	refusal := c(ctx, session, items)
	var goods []lanes.Good
	for _, item := range items {
		goods = append(goods, lanes.Good{Name: "name of " + item.ID, Price: "0.50"})
	}
	return goods, refusal
}

// slowCatalogue is a catalogue that takes that long to answer: the purchase waits and is not sent yet.
func slowCatalogue(took *time.Duration) fakeCatalogue {
	return func(ctx context.Context, _ uuid.UUID, _ []lanes.Item) string {
		select {
		case <-time.After(*took):
		case <-ctx.Done():
		}
		return ""
	}
}

// Drivers.

var errNoAnswer = errors.New("the controller does not answer")

var errDefect = errors.New("a defect")

var errAnotherLane = fmt.Errorf("%w: it is another lane's", link.ErrFaulty)

func failDial(context.Context) error { return errNoAnswer }

func failDialFaulty(context.Context) error { return errAnotherLane }

// fakeDriver is a driver whose connections a test makes, observes and breaks itself.
type fakeDriver struct {
	dialResult func(ctx context.Context) error // how a dial ends; nil: it connects at once

	mu           sync.Mutex
	firstReports []lanes.Report // that every controller sends as soon as it is connected
	dials        []dialRecord
	connections  []*fakeConnection // oldest first
}

type dialRecord struct {
	begun time.Time
	took  time.Duration
}

type fakeConnection struct {
	receiver      link.Receiver
	driver        *fakeDriver
	states        []link.State
	acks          []lanes.Log
	closed        bool
	panicsOnSend  bool // the next Send panics
	panicsOnClose bool // Close panics
}

func (driver *fakeDriver) Dial(
	ctx context.Context, _ link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	begun := time.Now()
	driver.mu.Lock()
	answer, first := driver.dialResult, driver.firstReports
	driver.mu.Unlock()
	for _, report := range first {
		receiver.Reported(report)
	}
	var err error
	defer func() {
		driver.mu.Lock()
		defer driver.mu.Unlock()
		driver.dials = append(driver.dials, dialRecord{begun, time.Since(begun)})
	}()
	if answer != nil {
		if err = answer(ctx); err != nil {
			return nil, link.Hello{}, err
		}
	}
	driver.mu.Lock()
	defer driver.mu.Unlock()
	connection := &fakeConnection{receiver: receiver, driver: driver}
	driver.connections = append(driver.connections, connection)
	return connection, link.Hello{}, nil
}

// setDialResult sets how dials end from now on.
func (driver *fakeDriver) setDialResult(answer func(context.Context) error) {
	driver.mu.Lock()
	defer driver.mu.Unlock()
	driver.dialResult = answer
}

// setFirstReports sets what controllers report from now on as soon as they are connected.
func (driver *fakeDriver) setFirstReports(first ...lanes.Report) {
	driver.mu.Lock()
	defer driver.mu.Unlock()
	driver.firstReports = first
}

// newest returns the connection that was made last.
func (driver *fakeDriver) newest() *fakeConnection {
	driver.mu.Lock()
	defer driver.mu.Unlock()
	return driver.connections[len(driver.connections)-1]
}

// connectionCount returns how many connections were made.
func (driver *fakeDriver) connectionCount() int {
	driver.mu.Lock()
	defer driver.mu.Unlock()
	return len(driver.connections)
}

// finishedDials returns the dials that have ended.
func (driver *fakeDriver) finishedDials() []dialRecord {
	driver.mu.Lock()
	defer driver.mu.Unlock()
	return slices.Clone(driver.dials)
}

// dialGaps returns how long the link waited after each dial before the next one.
func (driver *fakeDriver) dialGaps() (gaps []time.Duration) {
	dials := driver.finishedDials()
	for i, dial := range dials[1:] {
		gaps = append(gaps, dial.begun.Sub(dials[i].begun)-dials[i].took)
	}
	return gaps
}

func (c *fakeConnection) Send(s link.State) {
	c.driver.mu.Lock()
	defer c.driver.mu.Unlock()
	if c.panicsOnSend {
		c.panicsOnSend = false
		panic("a panic of the driver")
	}
	c.states = append(c.states, s)
}

func (c *fakeConnection) Ack(log lanes.Log) {
	c.driver.mu.Lock()
	defer c.driver.mu.Unlock()
	c.acks = append(c.acks, log)
}

func (c *fakeConnection) Close() {
	c.driver.mu.Lock()
	defer c.driver.mu.Unlock()
	c.closed = true
	if c.panicsOnClose {
		panic("a panic of the driver")
	}
}

// sentStates returns the states sent over the connection.
func (c *fakeConnection) sentStates() []link.State {
	c.driver.mu.Lock()
	defer c.driver.mu.Unlock()
	return slices.Clone(c.states)
}

// sentAcks returns the acks sent over the connection.
func (c *fakeConnection) sentAcks() []lanes.Log {
	c.driver.mu.Lock()
	defer c.driver.mu.Unlock()
	return slices.Clone(c.acks)
}

func (c *fakeConnection) isClosed() bool {
	c.driver.mu.Lock()
	defer c.driver.mu.Unlock()
	return c.closed
}

// fail breaks the connection.
func (c *fakeConnection) fail() {
	c.receiver.Down(errNoAnswer)
	synctest.Wait()
}

// panicOnSend makes the next Send panic.
func (c *fakeConnection) panicOnSend() {
	c.driver.mu.Lock()
	defer c.driver.mu.Unlock()
	c.panicsOnSend = true
}

// panicOnClose makes Close panic.
func (c *fakeConnection) panicOnClose() {
	c.driver.mu.Lock()
	defer c.driver.mu.Unlock()
	c.panicsOnClose = true
}

type sentState struct {
	lane  uuid.UUID
	at    time.Time // on the scheduler's clock
	open  bool
	state link.State
}

// driverRecorder is a driver that records which states were sent to the hardware, and how many connections there were.
type driverRecorder struct {
	link.Driver

	mu     sync.Mutex
	states []sentState
	dials  int
	closes int
}

func (r *driverRecorder) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	connection, hello, err := r.Driver.Dial(ctx, lane, receiver)
	if err != nil {
		return nil, hello, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dials++
	return &recordedConnection{Connection: connection, recorder: r, lane: lane.ID}, hello, nil
}

// connections returns how many connections were made, and how many of them were closed.
func (r *driverRecorder) connections() (made, closed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dials, r.closes
}

// sent returns the states sent to the lane's hardware since that time of the scheduler.
func (r *driverRecorder) sent(lane uuid.UUID, since time.Time) []sentState {
	r.mu.Lock()
	defer r.mu.Unlock()
	var states []sentState
	for _, s := range r.states {
		if s.lane == lane && !s.at.Before(since) {
			states = append(states, s)
		}
	}
	return states
}

// everOpened reports whether a state that opens the fire line was sent to the lane's hardware since that time
// of the scheduler.
func (r *driverRecorder) everOpened(lane uuid.UUID, since time.Time) bool {
	for _, s := range r.sent(lane, since) {
		if s.open {
			return true
		}
	}
	return false
}

type recordedConnection struct {
	link.Connection
	recorder *driverRecorder
	lane     uuid.UUID
	closed   sync.Once
}

func (c *recordedConnection) Send(s link.State) {
	c.recorder.mu.Lock()
	running := s.Session != nil && s.Session.Phase == lanes.Running
	c.recorder.states = append(c.recorder.states, sentState{c.lane, time.Now(), running && !s.Hold, s})
	c.recorder.mu.Unlock()
	c.Connection.Send(s)
}

func (c *recordedConnection) Close() {
	c.closed.Do(func() {
		c.recorder.mu.Lock()
		defer c.recorder.mu.Unlock()
		c.recorder.closes++
	})
	c.Connection.Close()
}

// withRecorder puts the recorder between the range and its simulated hardware.
func withRecorder(r *driverRecorder) option {
	return func(f *fixture) {
		r.Driver = f.hardware
		f.settings.Driver = r
	}
}

// dialCounter is a driver that counts how often each lane was dialled.
type dialCounter struct {
	link.Driver
	mu    sync.Mutex
	dials map[uuid.UUID]int
}

func (d *dialCounter) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	d.mu.Lock()
	d.dials[lane.ID]++
	d.mu.Unlock()
	return d.Driver.Dial(ctx, lane, receiver)
}

// withDialCounter makes the fixture's links dial through the counter.
func withDialCounter(d *dialCounter) option {
	return func(f *fixture) {
		d.Driver, d.dials = f.settings.Driver, map[uuid.UUID]int{}
		f.settings.Driver = d
	}
}

// slowDriver is a driver whose dials wait, and whose controllers come up holding.
type slowDriver struct {
	link.Driver
	blocked atomic.Pointer[chan struct{}]
}

func (s *slowDriver) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	held := s.blocked.Load()
	if held != nil {
		<-*held
	}
	connection, hello, err := s.Driver.Dial(ctx, lane, receiver)
	hello.Hold = hello.Hold || held != nil
	return connection, hello, err
}

// faultReportingDriver is a driver whose controllers come up with faults that they have not reported.
type faultReportingDriver struct {
	link.Driver
	faults atomic.Pointer[[]string]
}

func (s *faultReportingDriver) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	connection, hello, err := s.Driver.Dial(ctx, lane, receiver)
	if faults := s.faults.Load(); faults != nil {
		hello.Faults = *faults
	}
	return connection, hello, err
}

// holdingDriver is hardware that comes up holding by itself.
type holdingDriver struct {
	link.Driver
	holds atomic.Bool
}

func (s *holdingDriver) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	connection, hello, err := s.Driver.Dial(ctx, lane, receiver)
	hello.Hold = hello.Hold || s.holds.Load()
	return connection, hello, err
}

// withHoldingDriver puts both between the range and its simulated hardware.
func withHoldingDriver(s *holdingDriver, r *driverRecorder) option {
	return func(f *fixture) {
		withRecorder(r)(f)
		s.Driver = r
		f.settings.Driver = s
	}
}

// panickingDriver is a driver that fails in every way: its dials hang, fail, end too late and panic, and its
// connections panic.
type panickingDriver struct {
	link.Driver

	mu        sync.Mutex
	random    *rand.Rand // nil: nothing fails any more
	openCount int        // connections that were not closed
}

// draw returns true once in so many calls, at random.
func (d *panickingDriver) draw(once int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random != nil && d.random.IntN(once) == 0
}

func (d *panickingDriver) stopFailing() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.random = nil
}

func (d *panickingDriver) addOpen(delta int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.openCount += delta
	return d.openCount
}

func (d *panickingDriver) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	switch {
	case d.draw(8):
		panic(errDefect)
	case d.draw(8):
		return nil, link.Hello{}, errNoAnswer
	case d.draw(8):
		<-ctx.Done()
		return nil, link.Hello{}, ctx.Err()
	}
	late := d.draw(4)
	connection, hello, err := d.Driver.Dial(ctx, lane, receiver)
	if err != nil {
		return nil, hello, err
	}
	d.addOpen(1)
	if late { // although the dial may be cancelled by now
		time.Sleep(300 * time.Millisecond)
	}
	return &panickingConnection{Connection: connection, driver: d}, hello, nil
}

type panickingConnection struct {
	link.Connection
	driver    *panickingDriver
	closeOnce sync.Once
}

func (c *panickingConnection) Send(s link.State) {
	if c.driver.draw(8) {
		panic(errDefect)
	}
	c.Connection.Send(s)
}

func (c *panickingConnection) Ack(log lanes.Log) {
	if c.driver.draw(8) {
		panic(errDefect)
	}
	c.Connection.Ack(log)
}

func (c *panickingConnection) Close() {
	c.closeOnce.Do(func() { c.driver.addOpen(-1) })
	c.Connection.Close()
	if c.driver.draw(4) {
		panic(errDefect)
	}
}
