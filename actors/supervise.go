package actors

import (
	"runtime/debug"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/lanes"
)

// A lane that panics starts again from its last saved state. More than so many panics in so long park it; a connection
// they stop, and its link makes a new one.
const (
	maxRestarts    = 5
	restartsWithin = time.Minute
)

// panics is when a lane panicked of late: what it remembers from one life to the next.
type panics struct{ at []lanes.Instant }

func (p *panics) note(now lanes.Instant) { p.at = append(p.at, now) }

func (p *panics) tooMany(now lanes.Instant) bool {
	p.at = slices.DeleteFunc(p.at, func(at lanes.Instant) bool { return now.Since(at) >= restartsWithin })
	return len(p.at) > maxRestarts
}

// restarting is what a parent does about a child that panicked. Reconnecting is no matter of supervision: a
// connection that fails says so, and stops.
func restarting() actor.SupervisorStrategy {
	return actor.NewOneForOneStrategy(maxRestarts, restartsWithin, func(any) actor.Directive {
		return actor.RestartDirective
	})
}

// props makes an actor of that kind: supervised, counted by kind, its panics logged with their stack. What the actors of
// a kind have in common they share: there are a hundred thousand of some.
func (s *Gateway) props(kind string, producer actor.Producer, options ...actor.PropsOption) *actor.Props {
	common, known := s.kinds.Load(kind)
	if !known {
		common, _ = s.kinds.LoadOrStore(kind, []actor.PropsOption{
			actor.WithSupervisor(restarting()),
			actor.WithMailbox(actor.Unbounded(depthOf{s.metrics.depth.WithLabelValues(kind)})),
			actor.WithReceiverMiddleware(recovering(kind, s.metrics, s.log)),
		})
	}
	return actor.PropsFromProducer(producer, slices.Concat(common.([]actor.PropsOption), options)...)
}

// recovering says what panicked before the library handles it. A panic on the way out of an actor must not reach the
// library: it would bring the actor back to life.
func recovering(kind string, metrics *Metrics, log zerolog.Logger) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, envelope *actor.MessageEnvelope) {
			defer func() {
				defect := recover()
				if defect == nil {
					return
				}
				metrics.restarts.WithLabelValues(kind).Inc()
				log.Error().Str("actor", c.Self().GetId()).Str("kind", kind).Interface("panic", defect).
					Str("message", messageKind(envelope.Message)).Bytes("stack", debug.Stack()).Msg("an actor panicked")
				switch envelope.Message.(type) {
				case *actor.Stopping, *actor.Stopped, *actor.Restarting:
				default:
					metrics.depth.WithLabelValues(kind).Dec() // the mailbox does not
					panic(defect)
				}
			}()
			next(c, envelope)
		}
	}
}

// depthOf counts the messages that wait in the mailboxes of a kind of actor.
type depthOf struct{ waiting prometheus.Gauge }

func (depthOf) MailboxStarted()       {}
func (depthOf) MailboxEmpty()         {}
func (d depthOf) MessagePosted(any)   { d.waiting.Inc() }
func (d depthOf) MessageReceived(any) { d.waiting.Dec() }
