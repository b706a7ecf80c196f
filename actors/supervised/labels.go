package supervised

import (
	"context"
	"runtime/pprof"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
)

// Labelled is an Actor with labels of its own in profiles, beside its range and its lane.
type Labelled interface {
	// Labels returns keys and values in turn.
	Labels() []string
}

// labelsOf returns what names the goroutines of the actor in profiles: its range, and its lane if it has one. An actor
// shares them with its parent where they are the same, as there may be a hundred thousand lanes.
func (t *Tree) labelsOf(ctx actor.Context) context.Context {
	lane := LaneOf(ctx.Self())
	if above := ctx.Parent(); above != nil && LaneOf(above) == lane {
		if parent := t.mailboxes.get(above); parent != nil {
			return parent.labels
		}
	}
	set := []string{"range", t.Range.String()}
	if lane != uuid.Nil {
		set = append(set, "lane", lane.String())
	}
	return pprof.WithLabels(context.Background(), pprof.Labels(set...))
}

// label names the goroutine that runs the actor, and those that it starts.
func (g *guarded) label() {
	if g.labels == nil {
		g.labels = g.mailbox.labels
		if labelled, ok := g.actor.(Labelled); ok {
			g.labels = pprof.WithLabels(g.labels, pprof.Labels(labelled.Labels()...))
		}
	}
	pprof.SetGoroutineLabels(g.labels)
}

// Label names the goroutine that calls it as one of the actor in profiles, and those that it starts. That of an actor
// that has stopped keeps its labels.
func (t *Tree) Label(self *actor.PID) {
	if of := t.mailboxes.get(self); of != nil {
		pprof.SetGoroutineLabels(of.labels)
	}
}
