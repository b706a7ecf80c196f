package actors

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/metrics"
)

// kind is what the actors of a kind have in common: counted by kind, their panics logged with their stack.
type kind struct {
	name    string
	metrics *metrics.Metrics
	log     zerolog.Logger
	mailbox actor.PropsOption
	many    *actor.Props // what the actors have in common of which there are many

	mu   sync.Mutex     // held while one of those is spawned
	next actor.Producer // of that one, nil in between
}

// kind is the one of that name.
func (g *Gateway) kind(name string) *kind {
	known, there := g.kinds.Load(name)
	if !there {
		known, _ = g.kinds.LoadOrStore(name, newKind(name, g.metrics, g.log))
	}
	return known.(*kind)
}

func newKind(name string, counted *metrics.Metrics, log zerolog.Logger) *kind {
	k := &kind{name: name, metrics: counted, log: log}
	metrics.FromZero(counted.Restarts, name)
	common := &post{counted.MailboxDepth.WithLabelValues(name), counted.MailboxWait.WithLabelValues(name)}
	k.mailbox = actor.WithMailbox(func() actor.Mailbox { return &mailbox{post: common} })
	k.many = actor.PropsFromProducer(func() actor.Actor { return &life{kind: k, make: k.next} }, k.mailbox)
	return k
}

// props makes an actor of that kind.
func (g *Gateway) props(name string, producer actor.Producer) *actor.Props {
	k := g.kind(name)
	return actor.PropsFromProducer(func() actor.Actor { return &life{kind: k, make: producer} }, k.mailbox)
}

// propsOfMany makes one of many actors of that kind: the library would keep 300 bytes of props for each of them. It has no others
// below it: from what they have in common the library could not tell which one to start again.
func (g *Gateway) propsOfMany(name string, producer actor.Producer) *actor.Props {
	k := g.kind(name)
	return (&actor.Props{}).Configure(actor.WithSpawnFunc(
		func(system *actor.ActorSystem, id string, _ *actor.Props, parent actor.SpawnerContext) (*actor.PID, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.next = producer
			defer func() { k.next = nil }()
			return actor.DefaultSpawner(system, id, k.many, parent)
		}))
}

// life is an actor from its start to its end. After a panic it starts again by itself, with another instance, before it takes
// anything else: the library would do the same, and keep 180 bytes of every actor for it. An actor with others below it has
// the library do it, which ends those first.
type life struct {
	actor.Actor // nil before the first instance
	kind        *kind
	make        actor.Producer
}

// parent has other actors below it.
type parent interface{ parent() }

// said is a message that the library did not bring.
type said struct {
	actor.Context
	message any
}

func (s said) Message() any { return s.message }

var restarting, started = &actor.Restarting{}, &actor.Started{}

// Receive deals with the message, and begins anew after a panic.
func (l *life) Receive(ctx actor.Context) {
	if l.Actor == nil {
		l.Actor = l.make()
	}
	defect := l.deal(ctx)
	if defect == nil {
		return
	}
	switch ctx.Message().(type) {
	case *actor.Stopping, *actor.Stopped, *actor.Restarting: // on the way out the library would bring it back to life
		return
	}
	if _, others := l.Actor.(parent); others {
		panic(defect)
	}
	l.restart(ctx)
}

// restart ends the instance that panicked and starts another, until one starts.
func (l *life) restart(ctx actor.Context) {
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		l.deal(said{ctx, restarting})
		l.Actor = l.make()
		if l.deal(said{ctx, started}) == nil || !l.rest(wait) {
			return
		}
	}
}

// rest waits, unless the range stops.
func (l *life) rest(d time.Duration) bool {
	of, _ := l.Actor.(inRange).home()
	return of.rest(d)
}

// deal lets the instance have the message, and answers what it panicked with.
func (l *life) deal(ctx actor.Context) (defect any) {
	defer func() {
		if defect = recover(); defect != nil {
			l.tell(ctx, defect)
		}
	}()
	l.count(ctx.Message())
	l.Actor.Receive(ctx)
	return nil
}

// tell counts and logs a panic.
func (l *life) tell(ctx actor.Context, defect any) {
	l.kind.metrics.Restarts.WithLabelValues(l.kind.name).Inc()
	line, message := l.kind.log.Error(), messageKind(ctx.Message())
	if actor, its := l.Actor.(inRange); its {
		of, lane := actor.home()
		of.panicked(l.kind.name, lane, message)
		if line = of.log.Error(); lane != uuid.Nil {
			line = line.Stringer("lane", lane)
		}
	}
	line.Str("actor", ctx.Self().GetId()).Str("kind", l.kind.name).Str("panic", fmt.Sprint(defect)).
		Str("on", message).Bytes("stack", debug.Stack()).Msg("an actor panicked")
}

// count keeps how many actors of the kind the range has.
func (l *life) count(message any) {
	by := 0
	switch message.(type) {
	case *actor.Started:
		by = 1
	case *actor.Restarting, *actor.Stopped:
		by = -1
	default:
		return
	}
	if actor, its := l.Actor.(inRange); its {
		of, _ := actor.home()
		of.live.add(l.kind.name, by)
	}
}

// messageKind names a message as our code does.
func messageKind(message any) string {
	kind := fmt.Sprintf("%T", message)
	if a, is := message.(*ask); is {
		return a.name()
	}
	return kind[strings.LastIndexByte(kind, '.')+1:]
}
