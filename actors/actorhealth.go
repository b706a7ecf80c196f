package actors

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/lanes"
)

// Actors is how the actors of the range are doing. None of them is asked.
func (r *Range) Actors() lanes.ActorHealth {
	now := r.clock.Now()
	is := r.settings()
	health := lanes.ActorHealth{Health: r.Health(), Live: r.live.all()}

	for lane, had := range r.panicLog.all() {
		had.Lane, had.Name = lane, is.name(lane)
		health.Restarted = append(health.Restarted, had)
	}
	slices.SortFunc(health.Restarted, func(a, b lanes.LaneRestarts) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name)) })
	health.Restarted, health.RestartedLanes = worst(health.Restarted)

	for lane, took := range r.commands.slowest(now) {
		health.Slowest = append(health.Slowest, lanes.LaneCommand{Lane: lane, Name: is.name(lane), Commanded: took})
	}
	slices.SortFunc(health.Slowest, func(a, b lanes.LaneCommand) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Name, b.Name))
	})
	health.Slowest, _ = worst(health.Slowest)

	for lane, unsaved := range r.committer.unsavedLanes() {
		unsaved.Lane, unsaved.Name = lane, is.name(lane)
		health.NotSaved = append(health.NotSaved, unsaved)
	}
	slices.SortFunc(health.NotSaved, func(a, b lanes.LaneUnsaved) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name)) })
	health.NotSaved, health.NotSavedLanes = worst(health.NotSaved)
	return health
}

// worst is the head of a list that begins with the worst, and how many there are.
func worst[T any](all []T) ([]T, int) { return all[:min(len(all), lanes.MaxUnwell)], len(all) }

// LaneActor is how a lane and its actors are doing. None of them is asked. found is false for a lane of another range.
func (r *Range) LaneActor(lane uuid.UUID) (health lanes.LaneHealth, found bool) {
	status, link, found := r.board.Lane(lane)
	if !found {
		return lanes.LaneHealth{}, false
	}
	health = lanes.LaneHealth{
		Link: link,
		Held: status.Lane.Held, Locked: status.Locked, NotUsable: status.NotUsable,
		Restarts: r.panicLog.all()[lane], Unsaved: r.committer.unsavedLanes()[lane], Commands: r.commands.latest(lane),
	}
	health.Restarts.Lane, health.Restarts.Name = lane, status.Name
	health.Unsaved.Lane, health.Unsaved.Name = lane, status.Name
	if s := status.Lane.Session; s != nil {
		health.Session, health.Phase, health.Remaining = s.ID, s.Phase, s.Remaining(r.clock.Now())
	}
	return health, true
}

// unsavedLanes is the changes that are not durable yet, by lane.
func (c *committer) unsavedLanes() map[uuid.UUID]lanes.LaneUnsaved {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[uuid.UUID]lanes.LaneUnsaved{}
	for _, writes := range [][]*write{c.flying, c.waiting} { // the oldest first
		for _, w := range writes {
			for _, lane := range w.lanes {
				unsaved := all[lane.ID]
				if unsaved.Changes++; unsaved.Changes == 1 {
					unsaved.Since = w.came
				}
				all[lane.ID] = unsaved
			}
		}
	}
	return all
}

// panicLog counts the panics of the actors of each lane.
type panicLog struct {
	mu sync.Mutex
	of map[uuid.UUID]lanes.LaneRestarts
}

// panicked takes in that an actor of the range panicked on a message. lane is uuid.Nil for an actor of none.
func (r *Range) panicked(kind string, lane uuid.UUID, message string) {
	r.restarts.add(kind, 1)
	if lane != uuid.Nil {
		r.panicLog.add(lane, kind, message, r.clock.Now().Wall)
	}
}

func (m *panicLog) add(lane uuid.UUID, kind, message string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[uuid.UUID]lanes.LaneRestarts{}
	}
	m.of[lane] = lanes.LaneRestarts{Restarts: m.of[lane].Restarts + 1, Last: at, Kind: kind, Message: message}
}

// forget forgets what was of a lane that has left.
func (r *Range) forget(lane uuid.UUID) {
	r.panicLog.mu.Lock()
	delete(r.panicLog.of, lane)
	r.panicLog.mu.Unlock()
	r.commands.mu.Lock()
	delete(r.commands.of, lane)
	r.commands.mu.Unlock()
}

func (m *panicLog) all() map[uuid.UUID]lanes.LaneRestarts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.of)
}

// Waiting is how many messages wait in the mailboxes of all ranges, by kind of actor.
func (g *Gateway) Waiting() map[string]int {
	waiting := map[string]int{}
	counted := prometheus.NewRegistry()
	counted.MustRegister(g.metrics.MailboxDepth)
	families, err := counted.Gather()
	if err != nil {
		return waiting
	}
	for _, family := range families {
		for _, kind := range family.GetMetric() {
			waiting[kind.GetLabel()[0].GetValue()] = int(kind.GetGauge().GetValue())
		}
	}
	return waiting
}
