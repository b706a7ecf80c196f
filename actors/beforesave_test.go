package actors

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/store"
)

// Law 5: before a save the hardware learns of what closes the fire line, and of nothing else. A hold ends on
// the hardware only by its release.

func TestAPauseDuringASaveShowsNoMinutesThatAreNotSaved(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.advance(time.Millisecond)
		begun := time.Now()
		added := f.runAsync(func() error { return f.tryModify(session, 60) })
		paused := f.runAsync(func() error { return f.tryPause(session) })
		require.False(t, f.isOpen(0), "the pause does not wait for the save")
		for _, sent := range recorder.sent(f.laneID(0), begun) {
			require.Equal(t, 30*time.Minute, sent.state.Session.Sold)
		}
		release()
		require.NoError(t, <-added)
		require.NoError(t, <-paused)
		synctest.Wait()
		require.Equal(t, 90*time.Minute-time.Millisecond, f.controller(0).Shown().Remaining,
			"paused, with the minutes that are saved now")
		require.False(t, f.isOpen(0))
	}, withRecorder(&recorder))
}

func TestACeasefireDuringThePurchaseOfTimeShowsNoAcceptanceThatIsNotSaved(t *testing.T) {
	var recorder driverRecorder
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setPurchaseReply(acceptPurchase)
		session := f.createWithPurchasing(0, 30)
		release := f.blockFlushesFrom(savesSettlement)
		f.advance(time.Millisecond)
		begun := time.Now()
		f.buy(0, minutes(30))
		held := f.startHold(rangeScope)
		require.False(t, f.isOpen(0), "the ceasefire does not wait for the save")
		for _, sent := range recorder.sent(f.laneID(0), begun) {
			require.Equal(t, 30*time.Minute, sent.state.Session.Sold)
			require.NotEqual(t, lanes.Accepted, sent.state.Session.Purchase.Phase)
		}
		release()
		f.awaitHold(held)
		synctest.Wait()
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
		require.Equal(t, time.Hour-time.Millisecond, f.remaining(session))
		f.requireHeld(0, 1)
	}, withRecorder(&recorder), withWebhook(webhook))
}

// Closing requests that wait for a save are all in force on the hardware, whatever came after them.
func TestACeasefireStaysInForceWhateverClosesAfterIt(t *testing.T) {
	for name, underWay := range map[string]func(f *fixture, session uuid.UUID) error{
		"while minutes are added": func(f *fixture, session uuid.UUID) error { return f.tryModify(session, 15) },
		"while a stop is saved":   func(f *fixture, _ uuid.UUID) error { return f.tryStop(f.activeSessions()[1]) },
		"while a pause is saved":  func(f *fixture, session uuid.UUID) error { return f.tryPause(session) },
		"while a resume is saved": func(f *fixture, session uuid.UUID) error {
			_, err := f.On(f.requestContext(), session, lanes.Resume{Session: session}, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.create(1, 30)
				if name == "while a resume is saved" {
					f.pause(session)
				}
				release := f.blockFlushes()
				changed := f.runAsync(func() error { return underWay(f, session) })
				held := f.startHold(rangeScope)
				f.advance(time.Millisecond)
				begun := time.Now()
				f.advance(60 * time.Millisecond)
				paused := f.runAsync(func() error { return f.tryPause(session) })
				stopped := f.runAsync(func() error { return f.tryStop(session) })
				f.requireOpen()
				release()
				require.NoError(t, <-changed)
				require.ErrorIs(t, <-paused, lanes.ErrNotRunning, "the ceasefire has paused it")
				require.NoError(t, <-stopped)
				f.awaitHold(held)
				synctest.Wait()
				for i := range 2 {
					for _, sent := range recorder.sent(f.laneID(i), begun) {
						require.True(t, sent.state.Hold, "no state but held ones since the ceasefire began")
					}
				}
				f.requireHeld(0, 1)
			}, withRecorder(&recorder))
		})
	}
}

// The end of a hold is saved, and the lane's own release waits for another save of the lane.
func TestAStopBringsNoReleaseToTheHardwareThatIsNotSaved(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.setHold(rangeScope)
		releaseLift, releaseModify := f.blockNextTwoFlushes()
		lifted := f.runAsync(func() error { return f.tryLiftHold(rangeScope) })
		modified := f.runAsync(func() error { return f.tryModify(session, 15) })
		f.advance(time.Millisecond)
		begun := time.Now()
		releaseLift()
		synctest.Wait()
		stopped := f.runAsync(func() error { return f.tryStop(session) })
		requireOnlyHeld(t, recorder.sent(f.laneID(0), begun))
		releaseModify()
		require.NoError(t, <-modified)
		require.NoError(t, <-stopped)
		require.NoError(t, <-lifted)
		synctest.Wait()
		f.requireHeld()
		require.False(t, recorder.everOpened(f.laneID(0), begun), "the stop waited for the release")
	}, withRecorder(&recorder))
}

// A lane whose time is over while a change is being saved is closed at once, and stays held.
func TestTheEndOfTheTimeLiftsNoCeasefire(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 1)
		f.advance(59*time.Second - time.Millisecond)
		release := f.blockFlushes()
		f.advance(time.Millisecond)
		begun := time.Now()
		f.runAsync(func() error { return f.tryModify(session, 1) })
		held := f.startHold(rangeScope)
		f.advance(time.Second + 100*time.Millisecond)
		release()
		f.awaitHold(held)
		synctest.Wait()
		requireOnlyHeld(t, recorder.sent(f.laneID(0), begun))
		f.requireHeld(0, 1)
		require.Equal(t, 61*time.Second, f.remaining(session), "the ceasefire came in time")
	}, withRecorder(&recorder))
}

// blockNextTwoFlushes makes the next two flushes wait until first and second are called, or the test ends.
func (f *fixture) blockNextTwoFlushes() (first, second func()) {
	held := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	flushes := 0
	f.store.setHook(func(_ context.Context, _ store.Batch, flush func() error) error {
		if flushes++; flushes <= len(held) {
			<-held[flushes-1]
		}
		return flush()
	})
	first, second = sync.OnceFunc(func() { close(held[0]) }), sync.OnceFunc(func() { close(held[1]) })
	f.Cleanup(second)
	f.Cleanup(first)
	return first, second
}

// TestBeforeASaveTheHardwareLearnsOnlyOfWhatCloses gives random commands to two lanes while the store takes
// its time, refuses, loses replies or hangs, the POS accepts or declines purchases, lanes panic until they
// are parked, and the gateway is killed or loses its range to another one. It judges each state at the
// instant at which the hardware is sent it.
func TestBeforeASaveTheHardwareLearnsOnlyOfWhatCloses(t *testing.T) {
	step := rapid.Custom(func(t *rapid.T) judgedStep {
		return judgedStep{
			action: rapid.SampledFrom([]string{
				"create", "create", "create waiting", "enter", "modify", "modify", "buy", "pause", "resume",
				"move", "stop",
				"hold", "hold lane", "lift", "lift lane", "cut link", "panic", "park", "kill", "take over",
			}).Draw(t, "action"),
			lane: rapid.IntRange(0, 1).Draw(t, "lane"),
			after: time.Duration(rapid.SampledFrom([]int{0, 0, 0, 60, 200, 700, 3000, 58_000}).Draw(t,
				"after")) * time.Millisecond,
		}
	})
	flush := rapid.Custom(func(t *rapid.T) judgedFlush {
		delays := []int{0, 100, 300, 700, 1500}
		return judgedFlush{
			before: time.Duration(rapid.SampledFrom(delays).Draw(t, "before")) * time.Millisecond,
			after:  time.Duration(rapid.SampledFrom(delays).Draw(t, "after")) * time.Millisecond,
			end: rapid.SampledFrom([]string{"saved", "saved", "saved", "saved", "refused", "reply lost", "hangs"}).
				Draw(t, "end"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(step, 10, 30).Draw(rt, "steps")
		flushes := rapid.SliceOfN(flush, 10, 40).Draw(rt, "flushes")
		var found []string
		synctest.Test(t, func(t *testing.T) {
			judge := &hardwareJudge{
				begun: time.Now(), flushes: flushes, saved: map[uuid.UUID][]lanes.Lane{}, pressed: map[uuid.UUID]bool{},
				lifting: map[uuid.UUID]bool{},
			}
			webhook := &fakeWebhook{}
			webhook.setPurchaseReply(everyOtherPurchase())
			f := startFixture(t, withWebhook(webhook), func(f *fixture) {
				judge.Driver = f.hardware
				f.settings.Driver = judge
				f.settings.Layout.Grace, f.settings.Layout.GraceForAll = time.Minute, true
			})
			f.store.setHook(judge.flush)
			judge.run(f, steps)
			f.advance(2 * time.Minute)
			for i, status := range f.Lanes() {
				shown := f.controller(i).Shown()
				if status.Lane.Held != shown.Hold || sessionOn(status.Lane) != shown.Session {
					judge.report("lane %d in the end: %+v, its hardware shows %+v", i, status.Lane, shown)
				}
			}
			if found = judge.found; len(found) > 0 {
				found = judge.history
			}
		})
		if len(found) > 0 {
			rt.Fatal(strings.Join(found, "\n"))
		}
	})
}

// judgedStep is an action on one of two lanes, and the time before the next one. Nobody waits for its outcome.
type judgedStep struct {
	action string
	lane   int
	after  time.Duration
}

// judgedFlush is what the store does to a flush, and how long it takes before and after it.
type judgedFlush struct {
	before, after time.Duration
	end           string
}

// hardwareJudge stands before the hardware and before the store. It compares each state that is sent with
// what is saved by then.
type hardwareJudge struct {
	link.Driver

	mu      sync.Mutex
	flushes []judgedFlush
	saved   map[uuid.UUID][]lanes.Lane // by lane, oldest first
	pressed map[uuid.UUID]bool         // by lane: a hold was set, and no release of it is saved
	lifting map[uuid.UUID]bool         // by lane: somebody has asked for its end since
	holds   lanes.Holds                // saved
	newest  uint64                     // epoch of the gateways
	begun   time.Time
	history []string // what happened, for whoever reads what was found
	found   []string
}

// everyOtherPurchase accepts one purchase, declines the next, and so on.
func everyOtherPurchase() purchaseReply {
	var answered atomic.Uint64
	return func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
		if answered.Add(1)%2 == 0 {
			return declinePurchase("No.")(ctx, event)
		}
		return acceptPurchase(ctx, event)
	}
}

func (j *hardwareJudge) report(format string, args ...any) {
	j.note("FOUND: "+format, args...)
	j.found = append(j.found, fmt.Sprintf(format, args...))
}

func (j *hardwareJudge) note(format string, args ...any) {
	j.history = append(j.history, fmt.Sprintf("%v ", time.Since(j.begun))+fmt.Sprintf(format, args...))
}

func (j *hardwareJudge) flush(ctx context.Context, batch store.Batch, flush func() error) error {
	next := judgedFlush{end: "saved"}
	j.mu.Lock()
	if len(j.flushes) > 0 {
		next, j.flushes = j.flushes[0], j.flushes[1:]
	}
	j.note("flush %+v", next)
	j.mu.Unlock()
	<-time.After(next.before)
	switch next.end {
	case "refused":
		return store.ErrRefused
	case "hangs":
		return hangFlush(ctx, batch, flush)
	}
	if err := flush(); err != nil {
		return err
	}
	j.mu.Lock()
	for _, lane := range batch.Lanes { // what is written counts as saved from now on, although no reply has come
		j.note("saved: lane %.4s, held %t, %+v", lane.ID, lane.Held, lane.Session)
		j.saved[lane.ID] = append(j.saved[lane.ID], lane.Lane)
		if !lane.Held && j.lifting[lane.ID] {
			j.pressed[lane.ID] = false
		}
	}
	if batch.Holds != nil {
		j.holds = *batch.Holds // the release of a lane that is parked, and takes no request, is the range's alone
		for lane := range j.pressed {
			saved := j.saved[lane]
			if j.lifting[lane] && (len(saved) == 0 || !saved[len(saved)-1].Held) &&
				!batch.Holds.Over(lanes.Place{ID: lane}) {
				j.pressed[lane] = false
			}
		}
	}
	j.mu.Unlock()
	<-time.After(next.after)
	if next.end == "reply lost" {
		return errReplyLost
	}
	return nil
}

func (j *hardwareJudge) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	connection, hello, err := j.Driver.Dial(ctx, lane, receiver)
	if err != nil {
		return nil, hello, err
	}
	j.mu.Lock()
	j.newest = max(j.newest, lane.Epoch)
	j.mu.Unlock()
	return &judgedConnection{connection, j, lane}, hello, nil
}

type judgedConnection struct {
	link.Connection
	judge *hardwareJudge
	lane  link.Lane
}

func (c *judgedConnection) Send(s link.State) {
	c.judge.sent(c.lane, s)
	c.Connection.Send(s)
}

// sent judges a state that the lane's hardware is sent. A gateway that has lost its range knows no hold that
// was set since, and its connection ends with the first one of the new owner.
func (j *hardwareJudge) sent(to link.Lane, state link.State) {
	j.mu.Lock()
	defer j.mu.Unlock()
	lane := to.ID
	j.note("sent to lane %.4s by gateway %d: hold %t, %+v", lane, to.Epoch, state.Hold, state.Session)
	if j.pressed[lane] && !state.Hold && to.Epoch == j.newest {
		j.report("a hold over the lane ended without its release: %+v", state)
	}
	s := state.Session
	if s == nil {
		return
	}
	explained := func(saved lanes.Lane) bool {
		before := saved.Session
		if before == nil || before.ID != s.ID || before.Sold != s.Sold || !samePurchase(before.Purchase, s.Purchase) {
			return false
		}
		if s.Phase == lanes.Running && !state.Hold {
			return before.Phase == lanes.Running && !saved.Held && before.Since == s.Since && before.Left == s.Left
		}
		return s.Left == before.Remaining(s.Since)
	}
	if !slices.ContainsFunc(j.saved[lane], explained) {
		j.report("a state that is not saved: hold %t, %+v", state.Hold, *s)
	}
}

func samePurchase(a, b *lanes.Purchase) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Phase == b.Phase
}

// run gives the commands, each in a goroutine of its own.
func (j *hardwareJudge) run(f *fixture, steps []judgedStep) {
	var commands sync.WaitGroup
	ctx, cancel := context.WithCancel(f.Context())
	var before []*Gateway // that have lost the range
	held := map[lanes.Scope]bool{}
	// The next gateway knows of the holds that are saved, and of those that the hardware shows after the end of the
	// last one.
	lose := func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		clear(held)
		for _, hold := range j.holds.InForce {
			held[hold.Scope] = true
		}
		for i, place := range f.settings.Layout.Lanes {
			j.pressed[place.ID] = j.pressed[place.ID] &&
				(j.holds.Over(place) || f.controller(i).Shown().Hold && !j.holds.KnowsOfEnd(place))
			j.lifting[place.ID] = !j.holds.Over(place)
		}
	}
	for n, step := range steps {
		j.mu.Lock()
		j.note("%s, lane %.4s", step.action, f.laneID(step.lane))
		j.mu.Unlock()
		id, session := f.laneID(step.lane), sessionOn(f.Lanes()[step.lane].Lane)
		var do func()
		switch step.action {
		case "create", "create waiting":
			sale := f.newSale(2)
			sale.AutoStart, sale.Purchasing = step.action == "create", true
			do = func() { _, _ = f.Create(ctx, id, sale, nil) }
		case "modify":
			do = func() { _, _ = f.On(ctx, session, lanes.Modify{Session: session, Minutes: 1 + n}, nil) }
		case "pause":
			do = func() { _, _ = f.On(ctx, session, lanes.Pause{Session: session}, nil) }
		case "resume":
			do = func() { _, _ = f.On(ctx, session, lanes.Resume{Session: session}, nil) }
		case "stop":
			do = func() { _, _ = f.On(ctx, session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil) }
		case "move":
			do = func() { _, _ = f.Move(ctx, session, f.laneID(1-step.lane), nil) }
		case "cut link":
			do = func() { f.controller(step.lane).Cut(errNoAnswer) }
		case "panic":
			do = func() { f.addresses.sendTo(id, &saveResult{}) }
		case "park":
			for range maxPanics + 1 {
				f.addresses.sendTo(id, &saveResult{})
				synctest.Wait()
			}
			do = func() {}
		case "kill":
			f.claimElsewhere() // nothing of it reaches the store any more
			lose()
			_ = f.gateway.Stop(f.requestContext())
			_ = f.startBeside()
			do = func() {}
		case "take over":
			lose()
			before = append(before, f.startBeside())
			do = func() {}
		case "enter":
			do = func() { _ = f.controller(step.lane).Enter() }
		case "buy":
			do = func() { _ = f.controller(step.lane).Buy(uuid.New(), minutes(1+n)) }
		case "hold", "hold lane":
			scope := j.scope(f, step)
			held[scope] = true
			do = func() { _, _ = f.Hold(ctx, scope, "sam") }
		case "lift", "lift lane":
			scope := j.scope(f, step)
			held[scope] = false
			j.lift(f, held)
			do = func() { _, _ = f.Lift(ctx, scope, uuid.Nil, "kim") }
		}
		commands.Go(do)
		synctest.Wait()
		if step.action == "hold" || step.action == "hold lane" {
			j.press(f, j.scope(f, step))
		}
		<-time.After(step.after)
	}
	f.advance(30 * time.Second)
	cancel()
	commands.Wait()
	for _, gateway := range before {
		_ = gateway.Stop(f.Context()) // what it could not save is another's
	}
}

// startBeside starts another gateway on the same store and hardware, which takes the range. The one before runs on.
func (f *fixture) startBeside() (before *Gateway) {
	f.Helper()
	before = f.gateway
	f.gateway = NewGateway(f.clock, f.store, metrics.New(prometheus.NewRegistry()), f.log)
	require.NoError(f, f.gateway.StartRange(f.Context(), f.settings))
	r, err := f.gateway.Range(f.settings.Layout.Range)
	require.NoError(f, err)
	f.Range = r
	synctest.Wait()
	return before
}

func (j *hardwareJudge) scope(f *fixture, step judgedStep) lanes.Scope {
	if step.action == "hold" || step.action == "lift" {
		return rangeScope
	}
	return f.laneScope(step.lane)
}

// press notes that the hold has reached its lanes.
func (j *hardwareJudge) press(f *fixture, scope lanes.Scope) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, place := range f.settings.Layout.Lanes {
		if scope.Covers(place) {
			j.pressed[place.ID], j.lifting[place.ID] = true, false
		}
	}
}

// lift notes over which lanes no hold is meant to be in force any more.
func (j *hardwareJudge) lift(f *fixture, held map[lanes.Scope]bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, place := range f.settings.Layout.Lanes {
		covered := false
		for scope, inForce := range held {
			covered = covered || inForce && scope.Covers(place)
		}
		j.lifting[place.ID] = !covered
	}
}
