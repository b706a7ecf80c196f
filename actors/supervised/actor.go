package supervised

import (
	"context"
	"errors"

	"github.com/asynkron/protoactor-go/actor"
)

// Actor is one life of an actor: after a panic there is another one.
type Actor interface {
	// Receive takes one message, which is never a wrapper of the Tree's own: ctx.Message may be one. It is
	// called by one goroutine at a time. It may panic, and must not block.
	Receive(ctx actor.Context, message any)
}

// Ending is an Actor that may be asked to stop while it still receives, as one with children while they stop.
type Ending interface {
	// IsEnding reports whether this life is over. It must not fail any more: the library would bring it back.
	IsEnding() bool
}

// Supervisor is an Actor with children.
type Supervisor interface {
	// ChildFailed decides about a child that has panicked on the message or escalated a failure, whose
	// mailbox is suspended. It is called in the actor's turn, and may panic.
	ChildFailed(supervisor actor.Supervisor, child *actor.PID, reason, message any)
}

// Explaining is an Actor whose supervisor is told something else than what it panicked with.
type Explaining interface {
	ReasonOf(defect any) (reason any)
}

// guarded runs an Actor as one of the library.
type guarded struct {
	kind    *kind
	actor   Actor
	self    *actor.PID
	mailbox *mailbox
	labels  context.Context // of its goroutine
	counted bool            // as live
}

// Receive implements actor.Actor.
func (g *guarded) Receive(ctx actor.Context) {
	message := ctx.Message()
	timed, ok := message.(*timedMessage)
	if ok {
		message = timed.taken(g.kind)
	}
	if g.mailbox == nil {
		g.mailbox = g.kind.tree.mailboxes.get(ctx.Self())
	}
	g.label()
	g.mailbox.begin(message)
	defer g.guard(message)
	g.count(ctx, message)
	if m, ok := message.(Awaited); ok {
		m.MarkTaken()
	}
	g.actor.Receive(ctx, message)
	if ok {
		timed.done(g.kind, message)
	}
}

// HandleFailure implements actor.SupervisorStrategy. The library calls it outside of Receive.
func (g *guarded) HandleFailure(
	_ *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics,
	reason, message any,
) {
	defer func() {
		if defect := recover(); defect != nil {
			g.fail(defect, "Failure")
			panic(defect)
		}
	}()
	g.actor.(Supervisor).ChildFailed(supervisor, child, reason, message)
}

// count counts the actor while it lives: one that is stopped during its restart is counted out once.
func (g *guarded) count(ctx actor.Context, message any) {
	switch message.(type) {
	case *actor.Started:
		g.self, g.counted = ctx.Self(), true
		g.kind.tree.live.add(g.kind.name, 1)
	case *actor.Restarting, *actor.Stopped:
		if g.counted {
			g.counted = false
			g.kind.tree.live.add(g.kind.name, -1)
		}
	}
	if _, stopped := message.(*actor.Stopped); stopped {
		g.kind.tree.mailboxes.drop(ctx.Self())
	}
}

// guard is deferred by Receive: it logs and counts a panic, and panics again unless the actor ends.
func (g *guarded) guard(message any) {
	defect := recover()
	g.mailbox.end()
	switch {
	case defect == nil:
	case defect == any(errAnew):
		if !g.ends(message) { // else there is no life after this one
			g.kind.waiting.Dec() // as for a panic
			panic(defect)
		}
	case g.ends(message):
		g.kind.tree.Panicked(g.self, g.kind.name, messageName(message), defect)
	default:
		g.fail(defect, messageName(message))
		if explaining, ok := g.actor.(Explaining); ok {
			defect = explaining.ReasonOf(defect)
		}
		panic(defect)
	}
}

// ends reports whether the actor that panicked on the message must not fail: its Stop may wait in the mailbox already.
func (g *guarded) ends(message any) bool {
	switch message.(type) {
	case *actor.Restarting, *actor.Stopping, *actor.Stopped:
		return true
	}
	ending, ok := g.actor.(Ending)
	return ok && ending.IsEnding()
}

// errAnew is what BeginAnew panics with.
var errAnew = errors.New("the actor begins a new life, as it wants it")

// BeginAnew ends this life of the actor that calls it, in its Receive, as a panic does: its parent decides as about
// one. It is neither logged nor counted, and does not return. The actor must have answered the message by then.
func BeginAnew() { panic(errAnew) }

// fail logs and counts a panic that the supervisor is told of.
func (g *guarded) fail(defect any, on string) {
	g.kind.tree.Panicked(g.self, g.kind.name, on, defect)
	g.kind.waiting.Dec() // the mailbox does not report a message that panics as received
}

// AtStart reports whether an actor that panicked on the message was starting. Of a restart that had to wait
// for a child to stop, the message is the end of that child.
func AtStart(message any) bool {
	switch message.(type) {
	case *actor.Started, *actor.Restart, *actor.Terminated:
		return true
	}
	return false
}

// ResumeMailbox lets the messages of an actor that stops leave its mailbox, where they are refused.
func ResumeMailbox(ctx actor.Context) { ctx.(actor.Supervisor).ResumeChildren(ctx.Self()) }
