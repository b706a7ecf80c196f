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

// flushHook stands before a store: it flushes, or answers in the store's place, or waits.
type flushHook func(ctx context.Context, batch store.Batch, flush func() error) error

// hookedStore is a store whose flushes a test can watch, block or fail. The hook stays over a restart.
type hookedStore struct {
	store.Store
	hooked atomic.Pointer[flushHook]
}

// setHook sets the hook for the flushes from now on; nil removes it.
func (s *hookedStore) setHook(h flushHook) { s.hooked.Store(&h) }

func (s *hookedStore) Flush(ctx context.Context, batch store.Batch) error {
	if h := s.hooked.Load(); h != nil && *h != nil {
		return (*h)(ctx, batch, func() error { return s.Store.Flush(ctx, batch) })
	}
	return s.Store.Flush(ctx, batch)
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

// purchaseReply is how the POS answers a purchase.
type purchaseReply func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer)

// setPurchaseReply sets how purchases are answered from now on; other events are answered as before.
func (i *fakeWebhook) setPurchaseReply(reply purchaseReply) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.purchaseReply = reply
}

// purchases returns the purchase requests that arrived, in order.
func (i *fakeWebhook) purchases() (events []lanes.Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, event := range i.arrived {
		if event.Kind == lanes.PurchaseRequest {
			events = append(events, event)
		}
	}
	return events
}

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

const webhookTimeout = 10 * time.Second // of the webhook for the POS

// timeOutPurchase does not answer before the webhook's timeout.
func timeOutPurchase(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	select {
	case <-time.After(webhookTimeout):
		return lanes.Attempt{At: event.At, Error: lanes.TimedOut + ": after 10s", Duration: webhookTimeout}, lanes.Answer{}
	case <-ctx.Done():
		return lanes.Attempt{At: event.At, Error: lanes.Interrupted}, lanes.Answer{}
	}
}

// blockPurchases makes purchases wait until release is called; answer then answers them.
func (i *fakeWebhook) blockPurchases(answer purchaseReply) (release func()) {
	given := make(chan struct{})
	i.setPurchaseReply(func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
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

// The faults of a store, as hooks before it.

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

// driverRecorder is a driver that records which states were sent to the hardware, and how many connections there were.
type driverRecorder struct {
	link.Driver

	mu     sync.Mutex
	states []sentState
	dials  int
	closes int
}

type sentState struct {
	lane  uuid.UUID
	at    time.Time // on the scheduler's clock
	open  bool
	state link.State
}

// withRecorder puts the recorder between the range and its simulated hardware.
func withRecorder(w *driverRecorder) option {
	return func(f *fixture) {
		w.Driver = f.hardware
		f.settings.Driver = w
	}
}

func (w *driverRecorder) Dial(ctx context.Context, lane link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
	connection, hello, err := w.Driver.Dial(ctx, lane, receiver)
	if err != nil {
		return nil, hello, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials++
	return &recordedConnection{Connection: connection, recorder: w, lane: lane.ID}, hello, nil
}

// connections returns how many connections were made, and how many of them were closed.
func (w *driverRecorder) connections() (made, closed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials, w.closes
}

// sent returns the states sent to the lane's hardware since that time of the scheduler.
func (w *driverRecorder) sent(lane uuid.UUID, since time.Time) []sentState {
	w.mu.Lock()
	defer w.mu.Unlock()
	var states []sentState
	for _, s := range w.states {
		if s.lane == lane && !s.at.Before(since) {
			states = append(states, s)
		}
	}
	return states
}

// everOpened reports whether a state that opens the fire line was sent to the lane's hardware since that time of the scheduler.
func (w *driverRecorder) everOpened(lane uuid.UUID, since time.Time) bool {
	for _, s := range w.sent(lane, since) {
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

var errNoAnswer = errors.New("the controller does not answer")

func (driver *fakeDriver) Dial(ctx context.Context, _ link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
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
	line := &fakeConnection{receiver: receiver, driver: driver}
	driver.connections = append(driver.connections, line)
	return line, link.Hello{}, nil
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

func failDial(context.Context) error { return errNoAnswer }

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

func (l *fakeConnection) Send(s link.State) {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	if l.panicsOnSend {
		l.panicsOnSend = false
		panic("a defect of the driver")
	}
	l.states = append(l.states, s)
}

func (l *fakeConnection) Ack(log lanes.Log) {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	l.acks = append(l.acks, log)
}

func (l *fakeConnection) Close() {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	l.closed = true
	if l.panicsOnClose {
		panic("a defect of the driver")
	}
}

// sentStates returns the states sent over the connection.
func (l *fakeConnection) sentStates() []link.State {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	return slices.Clone(l.states)
}

// sentAcks returns the acks sent over the connection.
func (l *fakeConnection) sentAcks() []lanes.Log {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	return slices.Clone(l.acks)
}

func (l *fakeConnection) isClosed() bool {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	return l.closed
}

// fail breaks the connection.
func (l *fakeConnection) fail() {
	l.receiver.Down(errNoAnswer)
	synctest.Wait()
}

// panicOnSend makes the next Send panic.
func (l *fakeConnection) panicOnSend() {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	l.panicsOnSend = true
}

// panicOnClose makes Close panic.
func (l *fakeConnection) panicOnClose() {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	l.panicsOnClose = true
}

// historyReader is a store whose reads of ended sessions a test blocks or fails.
type historyReader struct {
	store.Store
	reply atomic.Pointer[func(context.Context) error]
	reads atomic.Int64
}

func (l *historyReader) Ended(ctx context.Context, rangeID, session uuid.UUID) (lanes.Ended, error) {
	l.reads.Add(1)
	if answer := l.reply.Load(); answer != nil {
		if err := (*answer)(ctx); err != nil {
			return lanes.Ended{}, err
		}
	}
	return l.Store.Ended(ctx, rangeID, session)
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

// logFunc is called with every line of the log before it is written.
type logFunc func(line string)

func (do logFunc) Write(line []byte) (int, error) {
	do(string(line))
	return len(line), nil
}

// panickingDriver is a driver that fails in every way: its dials hang, fail, end too late and panic, and its connections panic.
type panickingDriver struct {
	link.Driver

	mu        sync.Mutex
	random    *rand.Rand // nil: nothing fails any more
	openCount int        // connections that were not closed
}

// draw returns true once in so many calls, at random.
func (b *panickingDriver) draw(once int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.random != nil && b.random.IntN(once) == 0
}

func (b *panickingDriver) stopFailing() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.random = nil
}

func (b *panickingDriver) addOpen(delta int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.openCount += delta
	return b.openCount
}

func (b *panickingDriver) Dial(ctx context.Context, lane link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
	switch {
	case b.draw(8):
		panic(errDefect)
	case b.draw(8):
		return nil, link.Hello{}, errNoAnswer
	case b.draw(8):
		<-ctx.Done()
		return nil, link.Hello{}, ctx.Err()
	}
	late := b.draw(4)
	connection, hello, err := b.Driver.Dial(ctx, lane, receiver)
	if err != nil {
		return nil, hello, err
	}
	b.addOpen(1)
	if late { // although the dial may be cancelled by now
		time.Sleep(300 * time.Millisecond)
	}
	return &panickingConnection{Connection: connection, driver: b}, hello, nil
}

type panickingConnection struct {
	link.Connection
	driver    *panickingDriver
	closeOnce sync.Once
}

func (l *panickingConnection) Send(s link.State) {
	if l.driver.draw(8) {
		panic(errDefect)
	}
	l.Connection.Send(s)
}

func (l *panickingConnection) Ack(log lanes.Log) {
	if l.driver.draw(8) {
		panic(errDefect)
	}
	l.Connection.Ack(log)
}

func (l *panickingConnection) Close() {
	l.closeOnce.Do(func() { l.driver.addOpen(-1) })
	l.Connection.Close()
	if l.driver.draw(4) {
		panic(errDefect)
	}
}

var errAnotherLane = fmt.Errorf("%w: it is another lane's", link.ErrFaulty)

func failDialFaulty(context.Context) error { return errAnotherLane }

// holdingDriver is hardware that comes up holding by itself.
type holdingDriver struct {
	link.Driver
	holds atomic.Bool
}

func (s *holdingDriver) Dial(ctx context.Context, lane link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
	connection, hello, err := s.Driver.Dial(ctx, lane, receiver)
	hello.Hold = hello.Hold || s.holds.Load()
	return connection, hello, err
}

// withHoldingDriver puts both between the range and its simulated hardware.
func withHoldingDriver(s *holdingDriver, w *driverRecorder) option {
	return func(f *fixture) {
		withRecorder(w)(f)
		s.Driver = w
		f.settings.Driver = s
	}
}

// savesLift matches a flush that ends a hold.
func savesLift(b store.Batch) bool { return b.Holds != nil && len(b.Holds.Lifted) > 0 }

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

// slowDriver is a driver whose dials wait, and whose controllers come up holding.
type slowDriver struct {
	link.Driver
	blocked atomic.Pointer[chan struct{}]
}

func (s *slowDriver) Dial(ctx context.Context, lane link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
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

func (s *faultReportingDriver) Dial(ctx context.Context, lane link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
	connection, hello, err := s.Driver.Dial(ctx, lane, receiver)
	if faults := s.faults.Load(); faults != nil {
		hello.Faults = *faults
	}
	return connection, hello, err
}

// fakeWebhook is the receiving end of a webhook. It records the events that arrive, in order.
type fakeWebhook struct {
	mu            sync.Mutex
	arrived       []lanes.Event
	reply         func(ctx context.Context, event lanes.Event) lanes.Attempt // nil: 200, at once
	purchaseReply purchaseReply                                              // nil: purchases are answered like other events
}

func (i *fakeWebhook) Attempt(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	i.mu.Lock()
	i.arrived = append(i.arrived, event)
	answer, counter := i.reply, i.purchaseReply
	i.mu.Unlock()
	if event.Kind == lanes.PurchaseRequest && counter != nil {
		return counter(ctx, event)
	}
	if answer != nil {
		return answer(ctx, event), lanes.Answer{}
	}
	return lanes.Attempt{At: event.At, Status: 200}, lanes.Answer{}
}

func (i *fakeWebhook) setReply(answer func(ctx context.Context, event lanes.Event) lanes.Attempt) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reply = answer
}

// block makes the attempts from now on wait until release is called: those for the lanes in only, or for all lanes.
func (i *fakeWebhook) block(only ...uuid.UUID) (release func()) {
	released := make(chan struct{})
	i.setReply(func(ctx context.Context, event lanes.Event) lanes.Attempt {
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
		i.setReply(nil)
		close(released)
		synctest.Wait()
	}
}

// idsByLane returns the ids of the events that arrived, by lane.
func (i *fakeWebhook) idsByLane() map[uuid.UUID][]uuid.UUID {
	i.mu.Lock()
	defer i.mu.Unlock()
	ids := map[uuid.UUID][]uuid.UUID{}
	for _, event := range i.arrived {
		ids[event.Lane] = append(ids[event.Lane], event.ID)
	}
	return ids
}

// kinds returns the kinds of the events that arrived, in order.
func (i *fakeWebhook) kinds() (kinds []lanes.Kind) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, event := range i.arrived {
		kinds = append(kinds, event.Kind)
	}
	return kinds
}

var errDefect = errors.New("a defect")

// fakeCatalogue answers every purchase with the function.
type fakeCatalogue func(ctx context.Context, session uuid.UUID, items []lanes.Item) string

func (c fakeCatalogue) Refusal(ctx context.Context, session uuid.UUID, items []lanes.Item) string {
	return c(ctx, session, items)
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

// blockFlushesFrom makes the first flush that matches, and all after it, wait until release is called.
func (f *fixture) blockFlushesFrom(match func(store.Batch) bool) (release func()) {
	held := make(chan struct{})
	f.store.setHook(faultFrom(match, func(_ context.Context, _ store.Batch, flush func() error) error {
		<-held
		return flush()
	}))
	return func() {
		f.store.setHook(nil)
		close(held)
	}
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

// killPoint kills the gateway at one flush: that flush and all later ones never reach the file, or that flush does and the
// gateway never learns of it. The gateway then hangs in its flushes, and is fenced when the next one starts.
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

// dialCounter is a driver that counts how often each lane was dialled.
type dialCounter struct {
	link.Driver
	mu    sync.Mutex
	dials map[uuid.UUID]int
}

func (d *dialCounter) Dial(ctx context.Context, lane link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
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

// outages are the ways in which a store is down: it refuses, at once or after a while, or it hangs.
var outages = map[string]flushHook{"it refuses": refuseFlush, "it refuses after a while": refuseFlushSlowly, "it hangs": hangFlush}

// resolutions are the ways in which the one flush that hangs can end, and whether its change is saved in the end.
var resolutions = map[string]struct {
	written bool
	end     func(flush func() error) error
}{
	"written":                          {true, func(flush func() error) error { return flush() }},
	"written, but the answer was lost": {true, func(flush func() error) error { return flushAndLoseReply(context.Background(), store.Batch{}, flush) }},
	"not written, and nobody knows":    {true, func(func() error) error { return errReplyLost }}, // so it is repeated
	"refused":                          {false, func(func() error) error { return store.ErrRefused }},
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

// logRecorder is a log that can be read while it is written.
type logRecorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *logRecorder) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(line)
}

// String returns the whole text.
func (p *logRecorder) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// lines returns the lines with that message, oldest first.
func (p *logRecorder) lines(t *testing.T, message string) (found []map[string]any) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for decoder := json.NewDecoder(bytes.NewReader(p.text.Bytes())); decoder.More(); {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line))
		if line["message"] == message {
			found = append(found, line)
		}
	}
	return found
}

// traceIDs returns the trace ids of those lines, empty where a line has none.
func (p *logRecorder) traceIDs(t *testing.T, message string) (all []string) {
	for _, line := range p.lines(t, message) {
		id, _ := line["trace_id"].(string)
		all = append(all, id)
	}
	return all
}
