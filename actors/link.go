package actors

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Back-off between tries to connect: full jitter under a ceiling that doubles (LINK.md, liveness).
const (
	firstBackOff = 250 * time.Millisecond
	lastBackOff  = 15 * time.Second
	settledAfter = 30 * time.Second // a link that was up for so long starts again from the first

	firstFaulty = 15 * time.Second // likewise of a controller that is there and not in order
	lastFaulty  = 5 * time.Minute
)

// linkActor supervises the connection to a lane's hardware: there is one or one is being made. It says so whenever one
// is up; the lane answers with the state that is wanted, so that its hardware is right again as soon as it is reached.
type linkActor struct {
	of   *Range
	lane uuid.UUID
	up   *actor.PID // the lane actor
	self *actor.PID

	connection *actor.PID // nil between two tries
	number     uint64     // of the connection: what an older one says is not heard
	connected  *lanes.Instant
	failures   int // in a row, of a controller that could not be reached
	faults     int // likewise, of one that was not in order
	retry      *time.Timer
	ending     bool
}

// The messages of a link. number is that of the connection that speaks, or that is to be made.
type (
	want struct {
		number uint64 // of the connection that the lane last heard of: what it does not know yet it does not command
		state  link.State
	}
	connected struct {
		number uint64
		hello  link.Hello
	}
	applied struct {
		number uint64
		state  link.State
	}
	disconnected struct {
		number uint64
		self   *actor.PID
		err    error
	}
	reported struct {
		number uint64
		report lanes.Report
	}
	connect struct{ number uint64 }
	ack     struct{ log lanes.Log }
)

func newLinkActor(of *Range, lane uuid.UUID, up *actor.PID) *linkActor {
	return &linkActor{of: of, lane: lane, up: up}
}

func (l *linkActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		l.self = ctx.Self()
		l.connect(ctx)
	case *want:
		if l.connection != nil && m.number == l.number {
			ctx.Send(l.connection, m)
		}
	case *connected:
		if m.number == l.number {
			l.isUp(m.hello)
		}
	case *disconnected:
		if m.number == l.number {
			l.isDown(m.err)
		}
		ctx.Stop(m.self)
	case *connect:
		if m.number == l.number && l.connection == nil {
			l.connect(ctx)
		}
	case *reported:
		if m.number == l.number {
			l.report(m.report)
		}
	case *applied:
		if m.number == l.number {
			l.of.send(l.up, &inForce{m.state})
		}
	case *ack:
		if l.connection != nil {
			ctx.Send(l.connection, m)
		}
	case *hangUp:
		l.hangUp(ctx, m)
	case *actor.Terminated:
		if !l.ending && l.connection != nil && m.Who.Equal(l.connection) { // it panicked too often
			l.isDown(errDriver)
		}
	case *actor.Restarting, *actor.Stopping:
		l.ending = true
		if l.retry != nil {
			l.retry.Stop()
		}
	}
}

var errDriver = errors.New("the link's driver panicked")

func (l *linkActor) connect(ctx actor.Context) {
	l.number++
	number := l.number
	made, err := ctx.SpawnNamed(l.of.props("connection", func() actor.Actor {
		return &connectionActor{of: l.of, lane: l.lane, number: number, up: l.self}
	}), "connection-"+strconv.FormatUint(number%connectionNames, 10))
	if err != nil { // the one of that name is not quite gone yet
		l.isDown(err)
		return
	}
	l.connection = made
}

// connectionNames is how many names the connections of a link take in turn: the library keeps something of every name that
// there ever was.
const connectionNames = 4

func (l *linkActor) isUp(hello link.Hello) {
	now := l.of.clock.Now()
	l.connected = &now
	l.of.metrics.links.WithLabelValues("up").Inc()
	l.of.log.Info().Stringer("lane", l.lane).Msg("link up")
	l.of.send(l.up, &linkStands{state: lanes.LinkUp, since: now, number: l.number, hello: &hello})
}

// isDown waits before the next try.
func (l *linkActor) isDown(err error) {
	now := l.of.clock.Now()
	what := "not_made"
	if l.connected != nil {
		what = "down"
		if now.Since(*l.connected) >= settledAfter {
			l.failures, l.faults = 0, 0
		}
	}
	state, ceiling := lanes.LinkDown, min(firstBackOff<<min(l.failures, 6), lastBackOff)
	if errors.Is(err, link.ErrFaulty) {
		state, what = lanes.LinkFaulty, "faulty"
		ceiling = min(firstFaulty<<min(l.faults, 5), lastFaulty)
		l.faults, l.failures = l.faults+1, 0
	} else {
		l.failures, l.faults = l.failures+1, 0
	}
	l.connection, l.connected = nil, nil
	l.number++ // whatever the old one still says is stale
	number := l.number
	wait := rand.N(ceiling)
	l.retry = time.AfterFunc(wait, func() { l.of.send(l.self, &connect{number}) })
	l.of.metrics.links.WithLabelValues(what).Inc()
	level := zerolog.WarnLevel
	if what != "down" && l.failures+l.faults > 1 { // as it was at the last try
		level = zerolog.DebugLevel
	}
	l.of.log.WithLevel(level).Stringer("lane", l.lane).Err(err).Int("failures", l.failures+l.faults).Dur("retry_in", wait).Msg("link down")
	l.of.metrics.failures.WithLabelValues(cause(err)).Inc()
	l.of.send(l.up, &linkStands{state: state, since: now, err: err})
}

// errRenewed is no failure: the lane's hardware is reached in another way from now on.
var errRenewed = errors.New("the link is made anew, as the configuration has changed")

// hangUp ends the connection, or the wait for the next try of one.
func (l *linkActor) hangUp(ctx actor.Context, m *hangUp) {
	if m.why == errRenewed {
		l.failures, l.faults = 0, 0
	}
	switch {
	case l.connection != nil:
		ctx.Send(l.connection, m)
	case m.why == errRenewed:
		l.retry.Stop()
		l.connect(ctx)
	}
}

// report hands the lane what its hardware says, and the hardware the acknowledgement once that is saved.
func (l *linkActor) report(report lanes.Report) {
	log := report.Log
	self := l.self
	l.of.send(l.up, &ask{
		ctx: l.of.background, command: report, by: lanes.ByLane,
		then: func(taken bool) {
			if taken {
				l.of.send(self, &ack{log})
			}
		},
	})
}
