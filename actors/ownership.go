package actors

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"rangegate/actors/nodes"
)

// What nodes that share a store do with the ranges of this process, while it serves others.

// StopRange saves what the range has to save, stops its tree and forgets it. After an error something may not
// be saved. Otherwise release gives the range up (commit.Committer.Release). Errors: lanes.ErrNotOwner for one that
// another process has claimed, lanes.ErrStarting for one that does not run.
func (g *Gateway) StopRange(ctx context.Context, id uuid.UUID) (release func(context.Context) error, err error) {
	r, err := g.Range(id)
	if err != nil {
		return nil, aboutRange(id, err)
	}
	return r.committer.Release, g.stopRange(ctx, r)
}

// Running lists the ranges that run here and that no other process has claimed, as far as is known.
func (g *Gateway) Running() []nodes.Running {
	var running []nodes.Running
	for _, r := range g.running() {
		if r.life.Err() == nil {
			// Somebody relies on this process for the range just now: a hold is in force, or a purchase is under way.
			inUse := len(r.Holds().InForce) > 0 || r.purchases.Any()
			running = append(running, nodes.Running{Range: r.id, Epoch: r.committer.Epoch, InUse: inUse})
		}
	}
	return running
}

// Lost lists the ranges that ran here until another process claimed them, and do not run here again.
func (g *Gateway) Lost() []uuid.UUID {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Collect(maps.Keys(g.elsewhere))
}

// RunningReady reports whether every lane of the ranges that run here is loaded, and the store takes writes.
func (g *Gateway) RunningReady() bool {
	for _, r := range g.running() {
		if !r.Ready() {
			return false
		}
	}
	return true
}
