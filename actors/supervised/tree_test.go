package supervised

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock/clocktest"
	"rangegate/actors/metrics"
	"rangegate/lanes"
)

var errDefect = errors.New("a defect")

const (
	parentKind = "parent"
	childKind  = "child"
)

// fixture is a tree with a parent and its child, whose name is that of a lane.
type fixture struct {
	*Tree
	t       *testing.T
	stop    context.CancelCauseFunc
	log     *recorder
	figures *prometheus.Registry
	lane    uuid.UUID
	parent  *actor.PID
	child   *actor.PID
	ignores bool // failures of the child
}

// runTree runs the test in a bubble.
func runTree(t *testing.T, test func(t *testing.T, f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, log: &recorder{}, figures: prometheus.NewRegistry(), lane: uuid.New()}
		life, stop := context.WithCancelCause(t.Context())
		f.stop = stop
		log := zerolog.New(f.log)
		f.Tree = New(Deps{
			Range: uuid.New(), System: NewSystem(log),
			Life: life, Clock: clocktest.New(), Log: log, Metrics: metrics.New(f.figures),
		})
		children := f.Props(childKind, func() Actor { return &child{} })
		f.parent = f.SpawnRoot(parentKind, "root", func() Actor { return &parent{f: f, children: children} })
		synctest.Wait()
		test(t, f)
		stop(lanes.ErrStarting)
		if f.Live()[parentKind] > 0 {
			require.NoError(t, f.Stop(context.Background(), f.parent))
		}
		require.Equal(t, map[string]int{parentKind: 0, childKind: 0}, f.Live(), "every actor has ended once")
		require.Empty(t, f.Activities())
		f.System.Shutdown()
	})
}

// send has the actor take the message, and all that follows from it happen.
func (f *fixture) send(to *actor.PID, message any) {
	f.Send(to, message)
	synctest.Wait()
}

// waiting is how many messages wait for actors of the kind, timed how many were timed.
func (f *fixture) waiting(kind string) int { return f.metric("rangegate_actor_mailbox_messages", kind) }

func (f *fixture) timed(kind string) int {
	return f.metric("rangegate_actor_mailbox_wait_seconds", kind)
}

func (f *fixture) metric(name, kind string) int {
	families, err := f.figures.Gather()
	require.NoError(f.t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && m.GetLabel()[0].GetValue() == kind {
				return int(m.GetGauge().GetValue()) + int(m.GetHistogram().GetSampleCount())
			}
		}
	}
	require.Fail(f.t, "there is no metric "+name+" of "+kind)
	return 0
}

// parent is a root that restarts its child, and panics where it is told to.
type parent struct {
	f        *fixture
	children *actor.Props
	ended    bool
}

func (p *parent) Receive(ctx actor.Context, message any) {
	switch m := message.(type) {
	case *actor.Started:
		p.f.child = ctx.SpawnPrefix(p.children, p.f.lane.String())
	case *actor.Restarting, *actor.Stopping:
		p.ended = true
	case work:
		m(ctx)
	}
}

func (p *parent) IsEnding() bool { return p.ended }

func (p *parent) ChildFailed(supervisor actor.Supervisor, child *actor.PID, reason, _ any) {
	if reason == "too much" {
		panic(errDefect)
	}
	if !p.ended && !p.f.ignores {
		supervisor.RestartChildren(child)
	}
}

// child does the work that it is sent.
type child struct{ ended bool }

func (c *child) Receive(ctx actor.Context, message any) {
	switch m := message.(type) {
	case *actor.Restarting:
		c.ended = true
	case *actor.Stopping:
		c.ended = true
		ResumeMailbox(ctx)
	case *question:
		m.answer <- nil
	case work:
		m(ctx)
	}
}

func (c *child) IsEnding() bool { return c.ended }

func (c *child) ReasonOf(defect any) any {
	if defect == "much" {
		return "too much"
	}
	return defect
}

// work is done by the actor in its turn.
type work func(ctx actor.Context)

func (work) MessageName() string { return "work" }

var fails work = func(actor.Context) { panic(errDefect) }

// question is awaited. Its answer is nil, or why it is refused.
type question struct {
	Taken
	answer chan error
}

func (q *question) Refuse(reason error) { q.answer <- reason }

func newQuestion() *question { return &question{answer: make(chan error, 2)} }

// recorder keeps the lines of a log.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(line))
	return len(line), nil
}

func (r *recorder) with(text string) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.lines), func(line string) bool { return !strings.Contains(line, text) })
}

func TestAnActorThatPanicsIsMadeAnewAndGoesOnWithItsMailbox(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		asked, goOn := newQuestion(), make(chan struct{})
		f.send(f.child, work(func(actor.Context) {
			<-goOn
			panic(errDefect)
		}))
		f.send(f.child, asked)
		require.Equal(t, 2, f.waiting(childKind))
		close(goOn)
		require.NoError(t, <-asked.answer)
		synctest.Wait()
		require.Zero(t, f.waiting(childKind), "the message that panicked waits no more")
		require.Equal(t, map[string]int{parentKind: 1, childKind: 1}, f.Live())
		require.Equal(t, map[string]int{childKind: 1}, f.Restarts())
		restarts := f.LaneRestarts()[f.lane]
		require.Equal(t, []any{1, childKind, "work"}, []any{restarts.Restarts, restarts.Kind, restarts.Message})
		lines := f.log.with("an actor panicked")
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], `"lane_id":"`+f.lane.String()+`"`)
		require.Contains(t, lines[0], `"panic":"a defect","on":"work"`)
	})
}

// That it wants a new life is no panic: it goes on with its mailbox, and nobody counts it.
func TestAnActorBeginsAnew(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		asked, goOn := newQuestion(), make(chan struct{})
		f.send(f.child, work(func(actor.Context) {
			<-goOn
			BeginAnew()
		}))
		f.send(f.child, asked)
		close(goOn)
		require.NoError(t, <-asked.answer)
		synctest.Wait()
		require.Zero(t, f.waiting(childKind))
		require.Equal(t, map[string]int{parentKind: 1, childKind: 1}, f.Live())
		require.Empty(t, f.Restarts())
		require.Zero(t, f.Recent(f.lane, childKind))
		require.Empty(t, f.log.with("panic"))
	})
}

// One that is being stopped has no life after this one.
func TestAnActorThatStopsDoesNotBeginAnew(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		goOn := make(chan struct{})
		f.send(f.child, work(func(actor.Context) { <-goOn })) // the parent waits for its child to stop
		stopped := f.System.Root.StopFuture(f.parent)
		synctest.Wait()
		f.send(f.parent, work(func(actor.Context) { BeginAnew() }))
		close(goOn)
		require.NoError(t, Await(t.Context(), stopped))
		synctest.Wait()
		require.Equal(t, map[string]int{parentKind: 0, childKind: 0}, f.Live())
		require.Zero(t, f.waiting(parentKind))
	})
}

// The reason says why the range stops, or that the actor comes back.
func TestWhatAnActorLeavesInItsMailboxIsRefused(t *testing.T) {
	for name, reason := range map[string]error{
		"the range stops": lanes.ErrNotOwner,
		"the actor stops": lanes.ErrStarting,
	} {
		t.Run(name, func(t *testing.T) {
			runTree(t, func(t *testing.T, f *fixture) {
				left, goOn := newQuestion(), make(chan struct{})
				f.send(f.child, work(func(actor.Context) { <-goOn }))
				if errors.Is(reason, lanes.ErrNotOwner) {
					f.stop(reason)
				}
				stopped := f.System.Root.StopFuture(f.child)
				f.send(f.child, left)
				close(goOn)
				require.NoError(t, Await(t.Context(), stopped))
				require.Equal(t, reason, <-left.answer)
				synctest.Wait()
				require.Len(t, f.log.with(`"message_type":"question"`), 1)
				require.Zero(t, f.waiting(childKind))
			})
		})
	}
}

// The library suspends the mailbox after a panic until a restart, which does not come.
func TestAnActorThatIsStoppedInsteadOfRestartedRefusesItsMailbox(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		f.ignores = true
		left := newQuestion()
		f.send(f.child, fails)
		f.send(f.child, left)
		require.Empty(t, left.answer)
		require.NoError(t, f.Stop(t.Context(), f.child))
		require.Equal(t, lanes.ErrStarting, <-left.answer)
	})
}

// A refusal that panics would bring the actor that has stopped back to life.
func TestARefusalThatPanicsIsLogged(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		f.ignores = true
		f.send(f.child, fails)
		f.send(f.child, &brokenQuestion{})
		require.NoError(t, f.Stop(t.Context(), f.child))
		synctest.Wait()
		require.Len(t, f.log.with("a dropped message could not be refused"), 1)
		require.Equal(t, map[string]int{parentKind: 1, childKind: 0}, f.Live())
	})
}

type brokenQuestion struct{ Taken }

func (*brokenQuestion) Refuse(error) { panic(errDefect) }

// A restart behind its stop would bring the actor back to life.
func TestAnActorThatPanicsWhileItStopsStops(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		goOn := make(chan struct{})
		f.send(f.child, work(func(actor.Context) { <-goOn })) // the parent waits for its child to stop
		stopped := f.System.Root.StopFuture(f.parent)
		synctest.Wait()
		f.send(f.parent, fails)
		close(goOn)
		require.NoError(t, Await(t.Context(), stopped))
		synctest.Wait()
		require.Equal(t, map[string]int{parentKind: 0, childKind: 0}, f.Live())
		require.Equal(t, map[string]int{parentKind: 1}, f.Restarts(), "the panic is on record")
	})
}

// Its restart waits for its child when it is stopped.
func TestAnActorThatIsStoppedDuringItsRestartIsCountedOnce(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		goOn := make(chan struct{})
		f.send(f.child, work(func(actor.Context) { <-goOn }))
		f.send(f.parent, fails)
		stopped := f.System.Root.StopFuture(f.parent)
		synctest.Wait()
		close(goOn)
		require.NoError(t, Await(t.Context(), stopped))
		synctest.Wait()
		require.Equal(t, map[string]int{parentKind: 0, childKind: 0}, f.Live())
	})
}

// The library stops a root after ten panics in ten seconds.
func TestARootIsRestartedHoweverOftenItPanics(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		for i := range 30 {
			f.send(f.parent, fails)
			require.Equal(t, map[string]int{parentKind: 1, childKind: 1}, f.Live(), "after %d panics", i+1)
		}
		asked := newQuestion()
		f.send(f.child, asked)
		require.NoError(t, <-asked.answer)
	})
}

func TestARootThatPanicsAfterTheRangeHasEndedStaysDown(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		f.stop(lanes.ErrNotOwner)
		f.send(f.parent, fails)
		time.Sleep(time.Minute)
		require.Equal(t, 1, f.Live()[parentKind], "its Stop ends it")
		asked := newQuestion()
		f.send(f.parent, asked)
		require.Equal(t, 1, f.waiting(parentKind), "it is not restarted")
	})
}

// The parent decides about a child outside of Receive. A panic there costs the parent one restart, like any other.
func TestAPanicOfChildFailedIsOneOfTheParent(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		f.send(f.child, work(func(actor.Context) { panic("much") })) // its parent is told "too much"
		require.Equal(t, map[string]int{parentKind: 1, childKind: 1}, f.Restarts())
		require.Len(t, f.log.with(`"on":"Failure"`), 1)
		require.Equal(t, map[string]int{parentKind: 1, childKind: 1}, f.Live())
		require.Zero(t, f.waiting(parentKind))
	})
}

func TestPanicsAreForgottenAfterAMinute(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		for range 10 {
			f.send(f.child, fails)
			require.Equal(t, 1, f.Recent(f.lane, childKind))
			require.Zero(t, f.Recent(f.lane, parentKind), "kinds are counted apart")
			time.Sleep(PanicTerm)
		}
		require.Len(t, f.panics.lanes[f.lane].recent[childKind], 1, "nothing grows for ever")
		require.Equal(t, 10, f.LaneRestarts()[f.lane].Restarts)
		f.Forget(f.lane)
		require.Empty(t, f.LaneRestarts())
	})
}

// One message in 64, chosen at random, is timed: of 64,000 messages about 1,000. The bounds are six standard
// deviations away.
func TestOneMessageIn64IsTimed(t *testing.T) {
	runTree(t, func(t *testing.T, f *fixture) {
		const messages = 1000 * timedShare
		for i := range messages {
			if f.Send(f.child, work(func(actor.Context) {})); i%1000 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		require.InDelta(t, 1000, f.timed(childKind), 6*32)
		require.Zero(t, f.waiting(childKind))
	})
}
