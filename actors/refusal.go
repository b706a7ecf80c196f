package actors

import (
	"fmt"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// A range whose layout has lost a lane that is in use is refused: nobody would serve that lane. The refusal
// concerns this range, all others go on. It ends when the range is started with another layout, or leaves the
// configuration.

// Refusal returns why the range was refused at its latest start that the store did not fail, nil if it was not.
func (g *Gateway) Refusal(id uuid.UUID) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.refused[id]
}

// refuse notes and returns the refusal of a range. Requests for it are answered as those for a range that starts.
func (g *Gateway) refuse(id uuid.UUID, reason error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused[id] = fmt.Errorf("%w: %w", lanes.ErrStarting, reason)
	g.metrics.RangesRefused.Set(float64(len(g.refused)))
	g.log.Error().Stringer("range_id", id).Err(reason).
		Msg("the range is not served: its layout is refused; correct the configuration and reload, all " +
			"other ranges go on")
	return reason
}

// forgetAbsent forgets why a range does not run here: it is being started, or is not configured any more. remember
// takes that back, for a start that fails.
func (g *Gateway) forgetAbsent(id uuid.UUID) (remember func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, lost := g.elsewhere[id]
	refusal, refused := g.refused[id]
	delete(g.elsewhere, id)
	delete(g.refused, id)
	g.metrics.RangesRefused.Set(float64(len(g.refused)))
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if lost {
			g.elsewhere[id] = struct{}{}
		}
		if refused {
			g.refused[id] = refusal
		}
		g.metrics.RangesRefused.Set(float64(len(g.refused)))
	}
}
