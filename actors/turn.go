package actors

import (
	"context"

	"rangegate/lanes"
)

// recountTurn counts the lane's turn anew where the configuration has opened or closed the lane for sale: by a
// reload, or while the gateway was down. What the store does not take now is counted with the lane's next change.
func (l *laneActor) recountTurn() {
	if l.lane.TurnStale() {
		l.enqueue(&request{ctx: context.Background(), command: lanes.CountTurn{}, by: lanes.ByTimer})
	}
}

// observeTurn measures the turn that a saved change has ended.
func (r *Range) observeTurn(change lanes.Change) {
	if change.Turn != nil {
		r.metrics.TurnTime.WithLabelValues(r.id.String()).Observe(change.Turn.Seconds())
	}
}
