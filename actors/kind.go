package actors

import (
	"runtime/debug"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/ctxext"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// kind is what the actors of a kind have in common: supervised, counted by kind, their panics logged with their stack.
// The library would keep 300 bytes of it for each of them, only to know how one is made anew. Here each keeps nothing
// but its producer, in its context, which outlives its restarts.
type kind struct {
	name    string
	metrics *Metrics
	log     zerolog.Logger
	common  *actor.Props

	mu   sync.Mutex // held while one is spawned
	next actor.Producer
}

// props makes an actor of that kind. The options are those of the kind: the first of its actors brings them.
func (s *Gateway) props(name string, producer actor.Producer, options ...actor.PropsOption) *actor.Props {
	known, there := s.kinds.Load(name)
	if !there {
		known, _ = s.kinds.LoadOrStore(name, newKind(name, s.metrics, s.log, options))
	}
	k := known.(*kind)
	return (&actor.Props{}).Configure(actor.WithSpawnFunc(
		func(system *actor.ActorSystem, id string, _ *actor.Props, parent actor.SpawnerContext) (*actor.PID, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.next = producer
			return actor.DefaultSpawner(system, id, k.common, parent)
		}))
}

func newKind(name string, metrics *Metrics, log zerolog.Logger, options []actor.PropsOption) *kind {
	k := &kind{name: name, metrics: metrics, log: log}
	fromZero(metrics.restarts, name)
	common := &post{metrics.depth.WithLabelValues(name), metrics.waiting.WithLabelValues(name)}
	k.common = actor.PropsFromProducer(func() actor.Actor { return &life{kind: k} }, slices.Concat([]actor.PropsOption{
		actor.WithSupervisor(restarting()),
		actor.WithMailbox(func() actor.Mailbox { return &mailbox{post: common} }),
		actor.WithOnInit(func(ctx actor.Context) { ctx.Set(origin(k.next)) }),
	}, options)...)
	return k
}

// origin makes an actor, and makes it anew after a panic.
type origin actor.Producer

var originID = ctxext.NextContextExtensionID()

func (origin) ExtensionID() ctxext.ContextExtensionID { return originID }

// life is an actor from its start to its end, or to the panic that it starts again from.
type life struct {
	actor.Actor
	kind *kind
}

// Receive says what panicked before the library handles it. A panic on the way out of an actor must not reach the
// library: it would bring the actor back to life.
func (l *life) Receive(ctx actor.Context) {
	defer func() {
		defect := recover()
		if defect == nil {
			return
		}
		l.kind.metrics.restarts.WithLabelValues(l.kind.name).Inc()
		said, message := l.kind.log.Error(), messageKind(ctx.Message())
		if actor, its := l.Actor.(inRange); its {
			of, lane := actor.home()
			of.panicked(l.kind.name, lane, message)
			if said = of.log.Error(); lane != uuid.Nil {
				said = said.Stringer("lane", lane)
			}
		}
		said.Str("actor", ctx.Self().GetId()).Str("kind", l.kind.name).Interface("panic", defect).
			Str("on", message).Bytes("stack", debug.Stack()).Msg("an actor panicked")
		switch ctx.Message().(type) {
		case *actor.Stopping, *actor.Stopped, *actor.Restarting:
		default:
			panic(defect)
		}
	}()
	if l.Actor == nil {
		l.Actor = ctx.Get(originID).(origin)()
	}
	l.count(ctx.Message())
	l.Actor.Receive(ctx)
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
