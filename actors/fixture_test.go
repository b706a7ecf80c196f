package actors

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock/clocktest"
	"rangegate/actors/delivery"
	"rangegate/actors/hardware"
	"rangegate/actors/metrics"
	"rangegate/actors/purchases"
	"rangegate/actors/supervised"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
	"rangegate/lanes/tracing"
)

// fixture is a gateway with one range: a real SQLite file, simulated hardware, and a clock that tests set. It
// lives in a synctest bubble: time passes only when every goroutine waits (see advance).
type fixture struct {
	*testing.T
	*Range // the one that runs now

	clock    *clocktest.Clock
	hardware *sim.Driver
	settings Settings
	group    uuid.UUID
	path     string
	store    *hookedStore
	gateway  *Gateway
	registry *prometheus.Registry
	log      zerolog.Logger
	tracer   *tracing.Tracer
}

const (
	testSlots = 16 // deliveries at a time

	firstBackoff, lastBackoff             = hardware.FirstBackoff, hardware.LastBackoff
	firstFaultyBackoff, lastFaultyBackoff = hardware.FirstFaultyBackoff, hardware.LastFaultyBackoff
)

type option func(*fixture)

func withLanes(n int) option {
	return func(f *fixture) { f.settings.Layout.Lanes = makePlaces(n) }
}

func withGrace(grace time.Duration) option { return func(f *fixture) { f.settings.Grace = grace } }

func withClearing(after time.Duration, first bool) option {
	return func(f *fixture) { f.settings.Layout.ClearAfter, f.settings.Layout.ClearFirst = after, first }
}

func withWebhook(w delivery.Webhook) option {
	return func(f *fixture) { only(&f.settings).Webhook = w }
}

// only returns the settings' only receiver, to be changed.
func only(s *Settings) *delivery.Receiver {
	s.Receivers = slices.Clone(s.Receivers)
	return &s.Receivers[0]
}

// oneReceiver is a webhook that gets everything; w may be nil, for none.
func oneReceiver(w delivery.Webhook, slots, queue int) []delivery.Receiver {
	return []delivery.Receiver{{Webhook: w, Purchases: true, Slots: slots, Queue: queue}}
}

func withDriver(d link.Driver) option { return func(f *fixture) { f.settings.Driver = d } }

func withLog(log zerolog.Logger) option { return func(f *fixture) { f.log = log } }

// withClosedLane closes a lane for sale.
func withClosedLane(i int) option {
	return func(f *fixture) { f.settings.Layout.Lanes[i].Accessible = false }
}

// withBays puts two lanes into each of two bays: 0 and 1, 2 and 3.
func withBays(f *fixture) {
	f.settings.Layout.Lanes = makePlaces(4)
	f.settings.Layout.Bays = []lanes.Bay{{ID: uuid.New(), Name: "Bay A"}, {ID: uuid.New(), Name: "Bay B"}}
	for i := range f.settings.Layout.Lanes {
		f.settings.Layout.Lanes[i].Bay = f.settings.Layout.Bays[i/2].ID
	}
}

func withDelivery(slots, queue int) option {
	return func(f *fixture) { only(&f.settings).Slots, only(&f.settings).Queue = slots, queue }
}

func withCatalogue(c purchases.Catalogue) option {
	return func(f *fixture) { f.settings.Catalogue = c }
}

// libraryTimer is longer than the actor library keeps a goroutine with a timer after a message to an actor
// that has stopped.
const libraryTimer = 2 * time.Second

// runFixture runs a test with a fixture whose range is ready, every link up.
func runFixture(t *testing.T, test func(*testing.T, *fixture), options ...option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, startFixture(t, options...)) })
}

// runWithDriver runs a test with a range of one lane on the fake driver.
func runWithDriver(t *testing.T, driver *fakeDriver, test func(*testing.T, *fixture), more ...option) {
	runFixture(t, test, append(more, withLanes(1), withDriver(driver))...)
}

// startFixture must be called inside a synctest bubble. The range has two lanes unless withLanes says otherwise.
func startFixture(t *testing.T, options ...option) *fixture {
	t.Helper()
	f := &fixture{
		T: t, clock: clocktest.New(), group: uuid.New(), path: filepath.Join(t.TempDir(), "range.db"),
		log: zerolog.Nop(),
	}
	f.hardware = sim.New(func() lanes.Instant { return f.clock.Now() })
	f.settings = Settings{
		Grace: 30 * time.Second, Driver: f.hardware, Receivers: oneReceiver(nil, testSlots, 10_000),
		Layout: lanes.Layout{
			Range: uuid.New(), Name: "Test range", Purchasing: true,
			Groups: []lanes.Group{{ID: f.group, Name: "Public"}}, Lanes: makePlaces(2),
		},
	}
	f.store = &hookedStore{}
	for _, set := range options {
		set(f)
	}
	f.start()
	t.Cleanup(func() {
		f.store.setHook(nil)
		f.shutDown()
		f.advance(libraryTimer)
	})
	return f
}

func makePlaces(n int) []lanes.Place {
	places := make([]lanes.Place, n)
	for i := range places {
		places[i] = lanes.Place{ID: uuid.New(), Name: fmt.Sprintf("Lane %d", i+1), Accessible: true}
	}
	return places
}

// start starts the range from the file, and waits until it is ready and its links are up.
func (f *fixture) start() {
	f.Helper()
	require.NoError(f, f.tryStart())
	synctest.Wait()
	require.True(f, f.gateway.Ready(1), "the range is ready")
}

// tryStart starts the range without waiting for its lanes. If that fails, it closes the store again.
func (f *fixture) tryStart() error {
	f.Helper()
	f.openStore()
	f.registry = prometheus.NewRegistry()
	counted := metrics.New(f.registry)
	counted.Tracer = f.tracer
	f.gateway = NewGateway(f.clock, f.store, counted, f.log)
	f.registry.MustRegister(f.gateway.Gauges())
	if err := f.gateway.StartRange(f.Context(), f.settings); err != nil {
		f.shutDown()
		return err
	}
	r, err := f.gateway.Range(f.settings.Layout.Range)
	if err == nil {
		f.Range = r
	}
	return err
}

func (f *fixture) openStore() {
	f.Helper()
	file, err := sqlite.Open(f.path, store.Retention{
		Events: 30 * 24 * time.Hour, History: 90 * 24 * time.Hour, Names: 30 * 24 * time.Hour, Cap: 1_000_000,
	})
	require.NoError(f, err)
	f.store.Store = file
}

// shutDown stops the gateway and closes the file. The hardware runs on.
func (f *fixture) shutDown() {
	f.Helper()
	if f.gateway == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stopping := f.gateway
	f.gateway = nil
	require.NoError(f, stopping.Stop(ctx))
	require.NoError(f, f.store.Close())
}

func (f *fixture) restart() {
	f.Helper()
	f.shutDown()
	f.start()
}

// kill ends the gateway abruptly: nothing of it reaches the store any more.
func (f *fixture) kill() {
	f.Helper()
	_, err := f.store.Claim(f.Context(), f.settings.Layout.Range, f.clock.Now().Wall)
	require.NoError(f, err)
	f.shutDown()
}

// claimElsewhere claims the range as another process would.
func (f *fixture) claimElsewhere() {
	f.Helper()
	_, err := f.store.Claim(f.Context(), f.settings.Layout.Range, f.clock.Now().Wall)
	require.NoError(f, err)
}

// addRange adds a second range to the fixture's gateway and waits until it runs.
func (f *fixture) addRange(webhook delivery.Webhook) (*Range, Settings) {
	f.Helper()
	other := f.settings
	other.Layout.Range, other.Layout.Lanes = uuid.New(), makePlaces(3)
	only(&other).Webhook = webhook
	require.NoError(f, f.gateway.Reload(f.Context(), Reload{Begin: []Settings{other}}))
	synctest.Wait()
	r, err := f.gateway.Range(other.Layout.Range)
	require.NoError(f, err)
	return r, other
}

// reload changes the settings of the fixture's range.
func (f *fixture) reload(force bool, change func(s *Settings), renew ...uuid.UUID) error {
	f.Helper()
	changed := f.settings
	changed.Layout.Lanes = slices.Clone(changed.Layout.Lanes)
	changed.Layout.Bays = slices.Clone(changed.Layout.Bays)
	change(&changed)
	err := f.gateway.Reload(f.Context(), Reload{Change: []Changed{{changed, renew}}, Force: force, Who: "operator"})
	if err == nil {
		f.settings = changed
	}
	synctest.Wait()
	f.advance(time.Second)
	require.True(f, f.gateway.Ready(1))
	return err
}

// advance lets d pass and waits until everything that was due has happened.
func (f *fixture) advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// Lanes and their hardware.

// laneID returns the id of the i-th lane, counted from 0.
func (f *fixture) laneID(i int) uuid.UUID { return f.settings.Layout.Lanes[i].ID }

// laneIDs returns the ids of the lanes with those numbers, nil for none.
func (f *fixture) laneIDs(numbers ...int) (ids []uuid.UUID) {
	for _, i := range numbers {
		ids = append(ids, f.laneID(i))
	}
	return ids
}

// controller returns the hardware of the i-th lane.
func (f *fixture) controller(i int) *sim.Controller { return f.hardware.Controller(f.laneID(i)) }

// keepBusy keeps the actor of the i-th lane, which must be saving something, in a turn that lasts until endTurn.
func (f *fixture) keepBusy(i int) (endTurn func()) {
	// the lane waits until somebody receives its answer
	m := &awaitMove{ctx: f.Context(), by: lanes.ByPOS, reply: make(chan ticketReply)}
	f.addresses.sendTo(f.laneID(i), m)
	synctest.Wait()
	return func() { require.ErrorIs(f, (<-m.reply).err, lanes.ErrLaneOccupied) }
}

// isOpen reports whether the fire line of the i-th lane is open.
func (f *fixture) isOpen(i int) bool { return f.controller(i).Shown().Open }

// requireOpen requires that exactly the fire lines of the lanes with those numbers are open.
func (f *fixture) requireOpen(numbers ...int) {
	f.Helper()
	var open []uuid.UUID
	for i := range f.settings.Layout.Lanes {
		if f.isOpen(i) {
			open = append(open, f.laneID(i))
		}
	}
	require.Equal(f, f.laneIDs(numbers...), open)
}

// requireLocked requires that exactly the lanes with those numbers are shown as locked, and that none of them is open.
func (f *fixture) requireLocked(numbers ...int) {
	f.Helper()
	var locked []uuid.UUID
	for i, status := range f.Lanes() {
		if status.Locked {
			locked = append(locked, status.ID)
			require.False(f, f.isOpen(i), "lane %d is shown as locked and is open", i)
		}
	}
	require.Equal(f, f.laneIDs(numbers...), locked)
}

// requireFaulty requires that the lane is not usable because its hardware reports that fault, or is usable if
// detail is empty.
func (f *fixture) requireFaulty(i int, detail string) {
	f.Helper()
	status := f.Lanes()[i]
	require.Equal(f, lanes.LinkUp, status.Link)
	require.Equal(f, detail == "", status.Lane.Usable)
	if detail == "" {
		require.Empty(f, status.NotUsable)
	} else {
		require.Equal(f, "its hardware reports: "+detail, status.NotUsable)
	}
}

// requireOnlyHeld requires that states were sent, and that each of them holds.
func requireOnlyHeld(t *testing.T, states []sentState) {
	t.Helper()
	require.NotEmpty(t, states)
	for _, state := range states {
		require.True(t, state.state.Hold)
	}
}

// cutLink breaks the link of the i-th lane until restore is called.
func (f *fixture) cutLink(i int) (restoreLink func()) {
	f.controller(i).Refuse(true)
	f.controller(i).Cut(errNoAnswer)
	synctest.Wait()
	return func() {
		f.controller(i).Refuse(false)
		f.advance(lastBackoff)
	}
}

// reconnect breaks the link of the i-th lane, and returns when it is up again.
func (f *fixture) reconnect(i int) {
	f.Helper()
	f.controller(i).Cut(errNoAnswer)
	f.advance(lastBackoff)
	require.Equal(f, lanes.LinkUp, f.Lanes()[i].Link)
}

// enter reports that the customer entered the i-th lane.
func (f *fixture) enter(i int) {
	f.Helper()
	require.NoError(f, f.controller(i).Enter())
	synctest.Wait()
}

func (f *fixture) callHelp(i int) {
	f.Helper()
	require.NoError(f, f.controller(i).Help())
	synctest.Wait()
}

// reportFault makes the i-th lane's hardware report a fault, clearFaults that all are repaired.
func (f *fixture) reportFault(i int, detail string) {
	f.controller(i).Fault(detail)
	synctest.Wait()
}

func (f *fixture) clearFaults(i int) {
	f.controller(i).ClearFaults()
	synctest.Wait()
}

// Requests of the POS.

// requestContext returns a context with the deadline of an API request.
func (f *fixture) requestContext() context.Context {
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second)
	f.Cleanup(cancel)
	return ctx
}

func withDeadline(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// newSale returns a sale of minutes that run at once.
func (f *fixture) newSale(minutes int) lanes.Create {
	return lanes.Create{Session: uuid.New(), Group: f.group, Customer: "Jo Smith", Minutes: minutes, AutoStart: true}
}

// create sells minutes on the i-th lane that run at once. It returns when the hardware has applied them.
func (f *fixture) create(i, minutes int) uuid.UUID {
	f.Helper()
	return f.sell(i, f.newSale(minutes))
}

// createWaiting sells minutes on the i-th lane that run once the customer enters.
func (f *fixture) createWaiting(i, minutes int) uuid.UUID {
	f.Helper()
	sale := f.newSale(minutes)
	sale.AutoStart = false
	return f.sell(i, sale)
}

// createWithPurchasing sells minutes on the i-th lane that run at once, to a customer who may buy more there.
func (f *fixture) createWithPurchasing(i, minutes int) uuid.UUID {
	f.Helper()
	sale := f.newSale(minutes)
	sale.Purchasing = true
	return f.sell(i, sale)
}

func (f *fixture) sell(i int, sale lanes.Create) uuid.UUID {
	f.Helper()
	view, err := f.Create(f.requestContext(), f.laneID(i), sale, nil)
	require.NoError(f, err)
	require.Equal(f, sale.Session, view.ID)
	synctest.Wait()
	return view.ID
}

// command gives a command to the session, which must succeed. It returns when the hardware has applied it.
func (f *fixture) command(session uuid.UUID, command lanes.Command) *lanes.SessionView {
	f.Helper()
	view, err := f.On(f.requestContext(), session, command, nil)
	require.NoError(f, err, command.Name())
	synctest.Wait()
	return view
}

func (f *fixture) modify(session uuid.UUID, minutes int) *lanes.SessionView {
	f.Helper()
	return f.command(session, lanes.Modify{Session: session, Minutes: minutes})
}

func (f *fixture) pause(session uuid.UUID) *lanes.SessionView {
	f.Helper()
	return f.command(session, lanes.Pause{Session: session})
}

func (f *fixture) resume(session uuid.UUID) *lanes.SessionView {
	f.Helper()
	return f.command(session, lanes.Resume{Session: session})
}

func (f *fixture) stop(session uuid.UUID) *lanes.SessionView {
	f.Helper()
	return f.command(session, lanes.Stop{Session: session, By: lanes.ByPOS})
}

// reopen is staff going on with the session on that lane. It returns the session that goes on.
func (f *fixture) reopen(session uuid.UUID, i int) uuid.UUID {
	f.Helper()
	view, err := f.StaffReopen(f.requestContext(), "sam", session, f.laneID(i))
	require.NoError(f, err)
	return view.ID
}

func (f *fixture) move(session uuid.UUID, i int) {
	f.Helper()
	require.NoError(f, f.tryMove(session, i))
	synctest.Wait()
}

// tryCreate sells minutes on the i-th lane and returns the error.
func (f *fixture) tryCreate(i, minutes int) error {
	_, err := f.Create(f.requestContext(), f.laneID(i), f.newSale(minutes), nil)
	return err
}

func (f *fixture) tryModify(session uuid.UUID, minutes int) error {
	_, err := f.On(f.requestContext(), session, lanes.Modify{Session: session, Minutes: minutes}, nil)
	return err
}

func (f *fixture) tryPause(session uuid.UUID) error {
	_, err := f.On(f.Context(), session, lanes.Pause{Session: session}, nil)
	return err
}

func (f *fixture) tryStop(session uuid.UUID) error {
	_, err := f.On(f.requestContext(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
	return err
}

// tryMove moves the session to the i-th lane and returns the error.
func (f *fixture) tryMove(session uuid.UUID, i int) error {
	_, err := f.Move(f.requestContext(), session, f.laneID(i), nil)
	return err
}

// keyed returns an idempotency key for the request with that fingerprint. Its answer is the session's id and minutes.
func keyed(name, fingerprint string) *lanes.Key {
	return &lanes.Key{Name: name, Fingerprint: fingerprint, Render: func(view *lanes.SessionView) (int, []byte) {
		return 201, fmt.Appendf(nil, "%s %d", view.ID, view.Minutes)
	}}
}

// createOnce sells 30 minutes on the first lane with the key.
func (f *fixture) createOnce(key *lanes.Key) (uuid.UUID, error) {
	view, err := f.Create(f.requestContext(), f.laneID(0), f.newSale(30), key)
	if err != nil {
		return uuid.Nil, err
	}
	return view.ID, nil
}

// tryStopOnce stops the session with the key.
func (f *fixture) tryStopOnce(session uuid.UUID, key *lanes.Key) error {
	_, err := f.On(f.Context(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, key)
	return err
}

// requireRepeat requires that err repeats the answer to the sale of 30 minutes.
func requireRepeat(t *testing.T, err error, session uuid.UUID) {
	t.Helper()
	var repeat *lanes.Repeat
	require.ErrorAs(t, err, &repeat)
	status, body := repeat.Replay()
	require.Equal(t, 201, status)
	require.Equal(t, fmt.Sprintf("%s 30", session), string(body))
}

// Requests that wait.

// runAsync runs the action in a goroutine up to where it waits. Its error comes through the channel.
func (f *fixture) runAsync(action func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- action() }()
	synctest.Wait()
	return ended
}

// runTogether runs all actions at the same time and returns their errors.
func runTogether(action ...func() error) []error {
	answers := make([]chan error, len(action))
	for i := range action {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- action[i]() }()
	}
	errs := make([]error, len(action))
	for i := range answers {
		errs[i] = <-answers[i]
	}
	synctest.Wait()
	return errs
}

// answerOf waits for the answer, which must come within that time.
func (f *fixture) answerOf(asked <-chan error, within time.Duration) error {
	f.Helper()
	select {
	case err := <-asked:
		synctest.Wait()
		return err
	case <-time.After(within + time.Nanosecond):
		require.FailNow(f, "no answer", "within %s", within)
		return nil
	}
}

// What is on the board and in the store.

// activeSessions returns the sessions on the board, in the order of their lanes.
func (f *fixture) activeSessions() []uuid.UUID {
	var ids []uuid.UUID
	for _, view := range f.Sessions() {
		ids = append(ids, view.ID)
	}
	return ids
}

// remaining returns the time left of an active session.
func (f *fixture) remaining(session uuid.UUID) time.Duration {
	f.Helper()
	view, err := f.Session(f.Context(), session)
	require.NoError(f, err)
	return view.Remaining
}

// endedSession returns the saved record of an ended session.
func (f *fixture) endedSession(session uuid.UUID) lanes.Ended {
	f.Helper()
	record, err := f.store.Ended(f.Context(), store.InAnyEpoch(f.settings.Layout.Range), session)
	require.NoError(f, err)
	return record
}

// eventLog returns the whole event log.
func (f *fixture) eventLog() []lanes.Logged {
	f.Helper()
	log, err := f.Events(f.Context(), 0, 1_000_000)
	require.NoError(f, err)
	return log
}

// eventKinds returns the kinds of the session's events, in the order of the log.
func (f *fixture) eventKinds(session uuid.UUID) []lanes.Kind {
	f.Helper()
	log, err := f.Events(f.Context(), 0, 1_000_000)
	require.NoError(f, err)
	var kinds []lanes.Kind
	for _, logged := range log {
		if logged.Event.Session == session {
			kinds = append(kinds, logged.Event.Kind)
		}
	}
	return kinds
}

func countKind(kinds []lanes.Kind, kind lanes.Kind) (n int) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}

func (f *fixture) countStops(session uuid.UUID) (stops int) {
	for _, kind := range f.eventKinds(session) {
		if kind == lanes.SessionStopped {
			stops++
		}
	}
	return stops
}

// Holds.

// rangeScope is the scope of the whole range.
var rangeScope = lanes.Scope{Kind: lanes.OverRange}

// bayScope returns the scope of the i-th bay, laneScope that of the i-th lane, counted from 0.
func (f *fixture) bayScope(i int) lanes.Scope {
	return lanes.Scope{Kind: lanes.OverBay, ID: f.settings.Layout.Bays[i].ID}
}

func (f *fixture) laneScope(i int) lanes.Scope {
	return lanes.Scope{Kind: lanes.OverLane, ID: f.laneID(i)}
}

// setHold sets a hold. It returns when the hardware has applied it.
func (f *fixture) setHold(scope lanes.Scope) lanes.Reached {
	f.Helper()
	reached, err := f.Hold(f.requestContext(), scope, "sam")
	require.NoError(f, err)
	synctest.Wait()
	return reached
}

// liftHold ends a hold. It returns when the hardware has applied it.
func (f *fixture) liftHold(scope lanes.Scope) lanes.Reached {
	f.Helper()
	reached, err := f.Lift(f.requestContext(), scope, uuid.Nil, "kim")
	require.NoError(f, err)
	synctest.Wait()
	return reached
}

func (f *fixture) tryLiftHold(scope lanes.Scope) error {
	_, err := f.Lift(f.requestContext(), scope, uuid.Nil, "kim")
	return err
}

// startHold sets a hold in a goroutine, up to where it waits.
func (f *fixture) startHold(scope lanes.Scope) <-chan lanes.Reached {
	f.Helper()
	answer := make(chan lanes.Reached, 1)
	go func() {
		reached, err := f.Hold(f.Context(), scope, "sam")
		if err == nil {
			answer <- reached
		}
		close(answer)
	}()
	synctest.Wait()
	return answer
}

const holdDeadline = 2 * time.Second

// awaitHold waits for the answer to a hold, which must come within holdDeadline.
func (f *fixture) awaitHold(answer <-chan lanes.Reached) lanes.Reached {
	f.Helper()
	select {
	case reached, answered := <-answer:
		require.True(f, answered, "no error")
		return reached
	case <-time.After(holdDeadline):
		require.FailNow(f, "no answer within 2 s")
		return lanes.Reached{}
	}
}

// requireHeld requires that exactly the lanes with those numbers are held, on the board and by their hardware.
func (f *fixture) requireHeld(numbers ...int) {
	f.Helper()
	var shown, hardware []uuid.UUID
	for i, status := range f.Lanes() {
		if status.Lane.Held {
			shown = append(shown, status.ID)
		}
		if f.controller(i).Shown().Hold {
			hardware = append(hardware, f.laneID(i))
		}
	}
	require.Equal(f, f.laneIDs(numbers...), shown, "on the board")
	require.Equal(f, f.laneIDs(numbers...), hardware, "by the hardware")
}

// heldScopes returns the scopes of the range's holds.
func (f *fixture) heldScopes() (scopes []lanes.Scope) {
	for _, hold := range f.Holds().InForce {
		scopes = append(scopes, hold.Scope)
	}
	return scopes
}

// savedHolds returns the range's record of its holds in the store.
func (f *fixture) savedHolds() lanes.Holds {
	f.Helper()
	saved, err := f.store.Load(f.Context(), store.InAnyEpoch(f.settings.Layout.Range))
	require.NoError(f, err)
	return saved.Holds
}

// Purchases.

func minutes(n int) lanes.Item { return lanes.Item{ID: lanes.TimeItem, Qty: n} }

func targets(n int) lanes.Item { return lanes.Item{ID: "targets", Qty: n} }

// buy reports a purchase at the i-th lane. It returns when every goroutine waits.
func (f *fixture) buy(i int, items ...lanes.Item) uuid.UUID {
	f.Helper()
	purchase := uuid.New()
	f.buyAs(purchase, i, items...)
	return purchase
}

func (f *fixture) buyAs(purchase uuid.UUID, i int, items ...lanes.Item) {
	f.Helper()
	require.NoError(f, f.controller(i).Buy(purchase, items...))
	synctest.Wait()
}

// shownPurchase returns the purchase that the customer at the i-th lane sees.
func (f *fixture) shownPurchase(i int) lanes.Purchase {
	f.Helper()
	p := f.controller(i).Shown().Purchase
	require.NotNil(f, p, "the customer sees a purchase")
	return *p
}

// unresolvedIDs returns the purchases that wait for staff.
func (f *fixture) unresolvedIDs() (ids []uuid.UUID) {
	for _, p := range f.Unresolved() {
		ids = append(ids, p.ID)
	}
	return ids
}

// clearPurchase is staff settling the purchase by its id alone.
func (f *fixture) clearPurchase(staff string, purchase uuid.UUID, credit bool) error {
	return f.Clear(f.requestContext(), staff, lanes.Clear{Purchase: purchase, Credit: credit})
}

// purchaseLog returns the purchases in the event log.
func (f *fixture) purchaseLog() (log []lanes.Logged) {
	f.Helper()
	for _, logged := range f.eventLog() {
		if logged.Event.Kind == lanes.PurchaseRequest {
			log = append(log, logged)
		}
	}
	return log
}

// Staff.

// staffCommand gives a command of the staff member sam to the session, which must succeed.
func (f *fixture) staffCommand(session uuid.UUID, command lanes.Command) {
	f.Helper()
	_, err := f.StaffOn(f.requestContext(), "sam", session, command)
	require.NoError(f, err, command.Name())
	synctest.Wait()
}

func (f *fixture) staffLaneCommand(i int, command lanes.Command) {
	f.Helper()
	require.NoError(f, f.StaffLane(f.requestContext(), "sam", f.laneID(i), command), command.Name())
	synctest.Wait()
}

// staffCreateWaiting is createWaiting by the staff member sam.
func (f *fixture) staffCreateWaiting(i, minutes int) uuid.UUID {
	f.Helper()
	sale := f.newSale(minutes)
	sale.AutoStart = false
	_, err := f.StaffCreate(f.requestContext(), "sam", f.laneID(i), sale)
	require.NoError(f, err)
	return sale.Session
}

// acts returns the saved acts of staff.
func (f *fixture) acts() []lanes.Act {
	f.Helper()
	acts, err := f.Acts(f.Context(), 0, 1_000_000)
	require.NoError(f, err)
	return acts
}

// actSummaries returns what each act of staff changed, and its detail.
func (f *fixture) actSummaries() (summaries []string) {
	f.Helper()
	for _, act := range f.acts() {
		summaries = append(summaries, act.What+" "+act.Detail)
	}
	return summaries
}

// Panics, and the loss of the store.

// sendToLane sends the actor of the i-th lane a message, and returns when every goroutine waits.
func (f *fixture) sendToLane(i int, message any) {
	f.addresses.sendTo(f.laneID(i), message)
	synctest.Wait()
}

// panicLane makes the actor of the i-th lane panic outside of any decision: no save has such a result.
func (f *fixture) panicLane(i int) { f.sendToLane(i, &saveResult{}) }

// eventsActor returns the events actor of the range's first webhook.
func (f *fixture) eventsActor() (found *actor.PID) {
	for _, bucket := range f.tree.System.ProcessRegistry.LocalPIDs.LocalPIDs {
		bucket.IterCb(func(id string, _ any) { // Keys starts 32 goroutines for each of 1,024 buckets
			if strings.HasPrefix(id, f.addresses.root.Load().GetId()+"/"+eventsKind) {
				found = actor.NewPID(f.tree.System.Address(), id)
			}
		})
	}
	require.NotNil(f, found)
	return found
}

// poison is a message on which an actor panics before it takes it.
type poison struct{ supervised.Taken }

// MarkTaken implements supervised.Awaited.
func (*poison) MarkTaken() { panic(errDefect) }

// Refuse implements supervised.Awaited.
func (*poison) Refuse(error) {}

// underWay returns how many attempts are being made.
func (f *fixture) underWay() int {
	return reflect.ValueOf(f.delivery).Elem().FieldByName("underWay").FieldByName("events").Len()
}

// retrying returns how many events await their retry.
func (f *fixture) retrying() int { return f.Health().Retrying }

// panicEventsActor makes the events actor panic and restart.
func (f *fixture) panicEventsActor() {
	f.tree.Send(f.eventsActor(), &poison{})
	synctest.Wait()
}

// tryNilCommand gives the session no command at all, on which the rules panic.
func (f *fixture) tryNilCommand(session uuid.UUID) error {
	_, err := f.On(f.requestContext(), session, nil, nil)
	synctest.Wait()
	return err
}

// storeReturns ends the outage, and returns when all changes are saved.
func (f *fixture) storeReturns() {
	f.Helper()
	f.store.setHook(nil)
	f.advance(8 * time.Second) // the longest flush that hangs, and the longest pause between two tries
	require.True(f, f.Ready())
}

// wipeStore loses everything that was saved, as a store that is restored from nothing does. No flush may be under way.
func (f *fixture) wipeStore() {
	f.Helper()
	require.NoError(f, f.store.Close())
	require.NoError(f, os.Remove(f.path))
	f.openStore()
	f.store.unreadable.Store(false) // whoever reads the event log from now on sees the new store
}

// noticeLoss writes a checkpoint, by which the committer notices the loss before anything else is saved.
func (f *fixture) noticeLoss() {
	f.committer.Checkpoint()
	synctest.Wait()
}

// Metrics.

// metricValue returns the counter or gauge with that value of its first label.
func (f *fixture) metricValue(name, kind string) (value float64) {
	families, err := f.registry.Gather()
	require.NoError(f, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && m.GetLabel()[0].GetValue() == kind {
				value += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return value
}

// counterValue returns the value of a counter, or a gauge, without labels.
func (f *fixture) counterValue(name string) (value float64) {
	f.Helper()
	families, err := f.registry.Gather()
	require.NoError(f, err)
	for _, family := range families {
		if family.GetName() == name {
			value += family.GetMetric()[0].GetCounter().GetValue() + family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return value
}

// gaugeValues scrapes the gauges with those names for the fixture's range. A key is the name and the value of
// the other label.
func (f *fixture) gaugeValues(names ...string) map[string]float64 {
	f.Helper()
	families, err := f.registry.Gather()
	require.NoError(f, err)
	values := map[string]float64{}
	for _, family := range families {
		name := strings.TrimPrefix(family.GetName(), "rangegate_")
		if !slices.Contains(names, name) {
			continue
		}
		for _, m := range family.GetMetric() {
			rangeID, other := "", ""
			for _, label := range m.GetLabel() {
				if label.GetName() == "range" {
					rangeID = label.GetValue()
				} else if label.GetValue() != "" {
					other = " " + label.GetValue()
				}
			}
			require.Equal(f, f.id.String(), rangeID)
			values[name+other] = m.GetGauge().GetValue()
		}
	}
	return values
}

// histogram returns the count and the sum of a histogram over all its labels.
func (f *fixture) histogram(name string) (count uint64, sum time.Duration) {
	f.Helper()
	families, err := f.registry.Gather()
	require.NoError(f, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "rangegate_"+name {
				count += m.GetHistogram().GetSampleCount()
				sum += time.Duration(m.GetHistogram().GetSampleSum() * 1e9).Round(time.Microsecond)
			}
		}
	}
	return count, sum
}

func laneHealth(t *testing.T, f *fixture, i int) lanes.LaneHealth {
	t.Helper()
	health, found := f.LaneActor(f.laneID(i))
	require.True(t, found)
	return health
}
