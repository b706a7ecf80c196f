package supervised

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/actors/clock"
	"rangegate/actors/logline"
	"rangegate/actors/metrics"
)

// RestartPause is how long a restart waits if the actor panicked as it started: nothing better is to be
// expected at once.
const RestartPause = time.Second

// NewSystem makes what all trees of a process share. Its Shutdown must be called.
func NewSystem(log zerolog.Logger) *actor.ActorSystem {
	library := slog.New(zerolog.NewSlogHandler(log.Level(zerolog.WarnLevel)))
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return library }))
}

// Deps is what a Tree needs of its range.
type Deps struct {
	Range   uuid.UUID
	System  *actor.ActorSystem
	Life    context.Context // until the range stops; its cause is what is refused then
	Clock   clock.Clock
	Log     zerolog.Logger
	Lanes   logline.Lanes
	Metrics *metrics.Metrics
}

// Tree is the actors of one range. Its methods may be called from any goroutine.
type Tree struct {
	Deps

	restarts  counters // panics of actors, by kind
	live      counters // actors, by kind
	panics    panicLog
	mailboxes mailboxes
}

// New returns a tree without actors.
func New(deps Deps) *Tree { return &Tree{Deps: deps} }

// kind is what all actors of a kind in a tree share.
type kind struct {
	tree    *Tree
	name    string
	waiting prometheus.Gauge       // messages in their mailboxes
	wait    prometheus.Observer    // seconds in a mailbox
	work    prometheus.ObserverVec // seconds of Receive, by message
}

// Props makes actors of a kind, on the library's lock-free mailbox. An actor is made anew after each panic.
func (t *Tree) Props(name string, producer func() Actor) *actor.Props {
	metrics.FromZero(t.Metrics.Restarts, name)
	// The series of waiting times is there before the first message is timed.
	k := &kind{
		t, name, t.Metrics.MailboxDepth.WithLabelValues(name), t.Metrics.MailboxWait.WithLabelValues(name),
		t.Metrics.ReceiveSeconds.MustCurryWith(prometheus.Labels{"kind": name}),
	}
	produce := func() actor.Actor { return &guarded{kind: k, actor: producer()} }
	lockfree := actor.UnboundedLockfree(observer{k})
	observed := func() actor.Mailbox { return &mailbox{Mailbox: lockfree(), kind: k} }
	return actor.PropsFromProducer(produce, actor.WithMailbox(observed), actor.WithDispatcher(dispatcher{}))
}

// SpawnRoot starts the root of the tree. It is restarted however often it panics, until Life ends.
func (t *Tree) SpawnRoot(name, prefix string, producer func() Actor) *actor.PID {
	return t.System.Root.SpawnPrefix(t.Props(name, producer).Configure(actor.WithGuardian(guardian{t})), prefix)
}

// guardian supervises the root of a tree.
type guardian struct{ tree *Tree }

// HandleFailure implements actor.SupervisorStrategy.
func (g guardian) HandleFailure(
	_ *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, message any,
) {
	pause := time.Duration(0)
	if AtStart(message) {
		pause = RestartPause
	}
	time.AfterFunc(pause, func() {
		// Else its Stop may have been handled, and the library would bring it back to life.
		if g.tree.Life.Err() == nil {
			supervisor.RestartChildren(child)
		}
	})
}

// Send sends an actor a message. It never blocks.
func (t *Tree) Send(to *actor.PID, message any) { t.System.Root.Send(to, sometimesTimed(message)) }

// Stop stops the actor and its children, and waits until they have stopped or ctx ends.
func (t *Tree) Stop(ctx context.Context, pid *actor.PID) error {
	return Await(ctx, t.System.Root.StopFuture(pid))
}

// Poison has the actor stop once it has taken the messages that wait for it now.
func (t *Tree) Poison(pid *actor.PID) *actor.Future { return t.System.Root.PoisonFuture(pid) }

// Await waits until the actor of the future has stopped, or ctx ends.
func Await(ctx context.Context, stopped *actor.Future) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = stopped.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
