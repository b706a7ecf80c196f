package actors

import (
	"cmp"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/actors/delivery"
	"rangegate/actors/holds"
	"rangegate/actors/supervised"
)

// The kinds of actors, in logs and metrics.
const (
	rangeKind      = "range"
	laneKind       = "lane"
	connectionKind = "connection"
	eventsKind     = "events"
)

// A lane that panics is restarted at once from its last saved state. More than maxPanics within
// supervised.PanicTerm park it: its next life holds the hardware, still answers, and tries again after
// parkedFor. Should even the start of that life panic, the next one comes after supervised.RestartPause.
const (
	maxPanics = 5
	parkedFor = time.Minute
)

// rangeActor is the root of a range's tree: it spawns and supervises the lanes and the events actors, routes what
// concerns many lanes, takes the new settings of a reload, and sets and lifts holds (ceasefire.go).
type rangeActor struct {
	r     *Range
	self  *actor.PID
	holds *holds.Holds
	ended bool // this life has: its children are being stopped
}

// The messages of a range's actor. Others stand in ceasefire.go.
type (
	toLane struct {
		lane    uuid.UUID
		message any
	}
	toAllLanes   struct{ message any }
	restartChild struct{ child *actor.PID }
	exchange     struct { // the new settings of a reload
		to    *settings
		renew []uuid.UUID
		who   string
		reply chan []*actor.PID // the lanes that leave: they have vacated, and nothing reaches them any more
	}
)

// Receive takes one message.
func (a *rangeActor) Receive(ctx actor.Context, message any) {
	completed := false
	defer func() {
		if !completed { // a restart stops the lanes: what they are sent from now on would be lost
			a.r.addresses.clear(0)
		}
	}()
	a.receive(ctx, message)
	completed = true
}

// IsEnding implements supervised.Ending.
func (a *rangeActor) IsEnding() bool { return a.ended || a.r.life.Err() != nil }

func (a *rangeActor) receive(ctx actor.Context, message any) {
	switch m := message.(type) {
	case *actor.Started:
		a.start(ctx)
	case *actor.Restarting, *actor.Stopping:
		a.ended = true
	case *toLane:
		a.r.addresses.sendListed(m.lane, m.message)
	case *toAllLanes:
		for _, lane := range a.r.addresses.lanes {
			a.r.tree.Send(lane, m.message)
		}
	case *probe:
		m.unanswered.Add(int64(len(a.r.addresses.lanes)))
		for _, lane := range a.r.addresses.lanes {
			a.r.tree.Send(lane, m)
		}
		m.answer()
	case *atBarrier:
		m.ahead.Add(int64(len(a.r.addresses.lanes)))
		for _, lane := range a.r.addresses.lanes {
			a.r.tree.Send(lane, &atBarrier{barrier: m.barrier})
		}
		m.pass()
	case *restartChild:
		if !a.ended && !a.r.delivery.IsClosed(m.child) && slices.ContainsFunc(ctx.Children(), m.child.Equal) {
			ctx.(actor.Supervisor).RestartChildren(m.child)
		}
	case *setHold:
		m.reply <- a.setHold(m)
	case *liftHold:
		a.liftHold(m)
	case *holdLifted:
		a.holdLifted(m)
	case *controllerHolds:
		a.decideFound(m.lane)
	case *releaseConfirmed:
		a.releaseConfirmed(m.lane)
	case *forgetEnds:
		a.forgetEnds()
	case *exchange:
		m.reply <- a.exchange(ctx, m)
	}
}

func (a *rangeActor) start(ctx actor.Context) {
	a.self = ctx.Self()
	a.r.addresses.root.Store(a.self)
	for _, events := range a.r.delivery.Actors() {
		a.spawnEvents(ctx, events)
	}
	places := a.r.Layout().Lanes
	a.r.addresses.clear(len(places))
	a.holds = holds.New(a.r.Holds(), a.r.holdsVersion.Load())
	a.r.unready.reset(places)
	for _, place := range places {
		a.spawn(ctx, place.ID)
	}
	a.r.committer.Checkpoint()
}

// spawn starts the lane's actor. Its name begins with the lane's id, from which it knows its lane: all lanes
// share their props, which saves 260 bytes a lane and lets the library restart them. The library makes the
// name unique: a message for an actor that has stopped must not reach a namesake that is being spawned, whose
// mailbox has no dispatcher yet.
func (a *rangeActor) spawn(ctx actor.Context, lane uuid.UUID) {
	a.r.addresses.put(lane, ctx.SpawnPrefix(a.r.laneProps, lane.String()))
}

// spawnEvents starts the events actor of a webhook.
func (a *rangeActor) spawnEvents(ctx actor.Context, events delivery.Producer) {
	props := a.r.tree.Props(eventsKind, func() supervised.Actor { return &eventsActor{a.r, nil, events()} })
	ctx.SpawnPrefix(props, eventsKind)
}

// eventsActor runs the actor of a webhook.
type eventsActor struct {
	r      *Range
	self   *actor.PID
	events *delivery.Actor
}

// Receive takes one message.
func (e *eventsActor) Receive(ctx actor.Context, message any) {
	e.self = ctx.Self()
	e.events.Receive(e.self, message)
	if _, stops := message.(*actor.Stopping); stops {
		supervised.ResumeMailbox(ctx)
	}
}

// Labels implements supervised.Labelled. A webhook that is the only one may have no name.
func (e *eventsActor) Labels() []string {
	return []string{"webhook", cmp.Or(e.events.Webhook(), "only")}
}

// IsEnding implements supervised.Ending.
func (e *eventsActor) IsEnding() bool { return e.r.delivery.IsClosed(e.self) }

// ChildFailed is the supervision of the lanes and the events actors.
func (a *rangeActor) ChildFailed(supervisor actor.Supervisor, child *actor.PID, _, message any) {
	if a.ended || a.r.delivery.IsClosed(child) {
		return // the child is being stopped
	}
	lane, kind := supervised.LaneOf(child), laneKind
	if lane == uuid.Nil {
		kind = eventsKind
	}
	// An events actor can only begin again: it does everything at its start.
	if (kind == eventsKind || supervised.AtStart(message)) && a.r.tree.Recent(lane, kind) > maxPanics+1 {
		time.AfterFunc(supervised.RestartPause, func() { a.r.tree.Send(a.self, &restartChild{child}) })
		return
	}
	supervisor.RestartChildren(child)
}

// exchange puts the new settings in force and returns the lanes that leave.
func (a *rangeActor) exchange(ctx actor.Context, m *exchange) (gone []*actor.PID) {
	r, before := a.r, a.r.settings()
	r.inForce.Store(m.to)
	for _, events := range r.delivery.Rearrange(m.to.Receivers) {
		a.spawnEvents(ctx, events)
	}
	r.board.Arrange(m.to.Layout, m.to.at)
	for id, lane := range r.addresses.lanes {
		if !m.to.has(id) {
			r.addresses.drop(id)
			r.tree.Forget(id)
			r.commands.Forget(id)
			r.works.Forget(id)
			gone = append(gone, lane)
		}
	}
	a.rearrangeHolds(before, m)
	for _, place := range m.to.Layout.Lanes {
		old, found := before.place(place.ID)
		switch {
		case !found:
			r.unready.add(place.ID)
			a.spawn(ctx, place.ID)
		case old != place, !before.Layout.SellsAs(m.to.Layout, place):
			r.addresses.sendListed(place.ID, &replaced{})
		}
	}
	for _, lane := range m.renew {
		r.addresses.sendListed(lane, &renewLink{errRenewed})
	}
	return gone
}
