package actors

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/google/uuid"
)

// probe goes from the range to each of its lanes, as a hold does, and changes nothing.
type probe struct {
	left atomic.Int64  // of those who were asked, the range among them
	done chan struct{} // closed when all have answered
}

func (p *probe) answer() {
	if p.left.Add(-1) == 0 {
		close(p.done)
	}
}

// Alive asks every actor that a fire line is closed through: every range and every lane. It returns once all have answered,
// or with the ranges that have not by the time that ctx ends: there somebody waits for what never comes. A range that is
// let go of is not asked for.
func (g *Gateway) Alive(ctx context.Context) error {
	asked := map[*Range]*probe{}
	for _, r := range g.running() {
		p := &probe{done: make(chan struct{})}
		p.left.Store(1)
		asked[r] = p
		r.send(r.root(), p)
	}
	var silent []uuid.UUID
	for r, p := range asked {
		select {
		case <-p.done:
		case <-r.background.Done():
		case <-ctx.Done():
			silent = append(silent, r.id)
		}
	}
	if len(silent) > 0 {
		return fmt.Errorf("%d of %d ranges have actors that do not answer, %s among them", len(silent), len(asked), silent[0])
	}
	return nil
}
