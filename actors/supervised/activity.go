package supervised

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
)

// Activity is what one actor does, as it is seen without asking it.
type Activity struct {
	Actor   string        // its id in the library, which is that of no other one
	Kind    string        // as Props was given it
	Lane    uuid.UUID     // whose actor it is, or a child of it; uuid.Nil: of no lane
	Waiting int           // messages in its mailbox
	Message string        // that it has at hand, by the name that the log uses; empty between two
	For     time.Duration // it has had it at hand
	Taken   uint64        // messages since it was spawned
}

// actorsInATurn is how many actors are looked at before whoever waits has its turn: 20,000 take about 10 ms, and no
// session may be stopped so much later.
const actorsInATurn = 256

// Activities returns what each actor of the tree does, in no order. No actor is asked, and none waits for longer than a
// message takes to be noted.
func (t *Tree) Activities() []Activity {
	all := t.mailboxes.all()
	activities := make([]Activity, len(all))
	for i, m := range all {
		if i%actorsInATurn == actorsInATurn-1 {
			runtime.Gosched()
		}
		activities[i] = m.activity()
	}
	return activities
}

// ActivitiesOf returns what the actors of one lane do, as Activities does.
func (t *Tree) ActivitiesOf(lane uuid.UUID) (activities []Activity) {
	for _, m := range t.mailboxes.all() {
		if LaneOf(m.self) == lane {
			activities = append(activities, m.activity())
		}
	}
	return activities
}

// mailbox is the library's, with what its actor does. It outlives the panics of the actor.
type mailbox struct {
	actor.Mailbox
	kind   *kind
	self   *actor.PID
	labels context.Context // see labelsOf

	mu      sync.Mutex
	message any // at hand; nil between two
	since   time.Time
	count   uint64
}

// RegisterHandlers implements actor.Mailbox. The library calls it once, when the actor has its address and before the
// first message.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	ctx := invoker.(actor.Context)
	m.self, m.labels = ctx.Self(), m.kind.tree.labelsOf(ctx)
	m.kind.tree.mailboxes.put(m)
	m.Mailbox.RegisterHandlers(invoker, dispatcher)
}

// begin notes that the actor has taken the message; end that it is done with it.
func (m *mailbox) begin(message any) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.message, m.since = message, now
	m.count++
}

func (m *mailbox) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.message = nil
}

func (m *mailbox) activity() Activity {
	a := Activity{Actor: m.self.GetId(), Kind: m.kind.name, Lane: LaneOf(m.self), Waiting: m.UserMessageCount()}
	m.mu.Lock()
	defer m.mu.Unlock()
	a.Taken = m.count
	if m.message != nil {
		a.Message, a.For = messageName(m.message), time.Since(m.since)
	}
	return a
}

// mailboxes are those of the actors of a tree, by the id of the actor.
type mailboxes struct {
	mu sync.Mutex
	of map[string]*mailbox
}

func (all *mailboxes) put(m *mailbox) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.of == nil {
		all.of = map[string]*mailbox{}
	}
	all.of[m.self.GetId()] = m
}

func (all *mailboxes) get(self *actor.PID) *mailbox {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.of[self.GetId()]
}

func (all *mailboxes) all() []*mailbox {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.AppendSeq(make([]*mailbox, 0, len(all.of)), maps.Values(all.of))
}

func (all *mailboxes) drop(self *actor.PID) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.of, self.GetId())
}
