package gateway

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/api/observer"
	"rangegate/cmd/rangegate/certificate"
	"rangegate/config"
)

// newAdvisories returns the advisories of this process. What they look at is what is in force then.
func (g *Gateway) newAdvisories(c *config.Nodes) *observer.Advisories {
	settings := observer.AdvisorySettings{
		Ranges: func() []uuid.UUID { return rangeIDs(g.current.Load().config) },
		Range:  func(id uuid.UUID) (observer.Range, error) { return g.actors.Range(id) },
		Router: g.router, Readings: g.readings, Log: g.log,
		RangeName: func(id uuid.UUID) string {
			if r := g.current.Load().ranges[id]; r != nil {
				return r.config.Name
			}
			return ""
		},
	}
	if c != nil {
		settings.Node = c.Name
	}
	return observer.NewAdvisories(settings, g.registry)
}

// startAdvisories looks for them from now on, when every range has been brought back that is brought back at once.
func (g *Gateway) startAdvisories(context.Context) error {
	looking, stop := context.WithCancel(g.life)
	var looks sync.WaitGroup
	looks.Go(func() { g.advisories.Run(looking) })
	g.onClose(func() error {
		stop()
		looks.Wait()
		return nil
	})
	return nil
}

// readings asks nobody who could be busy.
func (g *Gateway) readings() observer.Readings {
	r := observer.Readings{
		Overloaded: g.traffic.Overloaded(), Limited: g.limiters.Refused(), ReloadFailed: g.reloads.failed.Load(),
	}
	r.Flushes, r.SlowFlushes = g.counts.FlushCounts()
	r.Products, r.ProductsLost = g.catalog.Counts()
	if verified, err := readVerified(g.settings.Verified); err == nil { // a scrape logs the error
		r.Differences = verified.Differences
	}
	r.Suspends, r.ClockSteps = g.actors.ClockChanges()
	if store, ok := g.clock.(*clock.Shared); ok {
		if offset := store.Offset(store.Now()); offset != nil {
			r.ClockAhead = offset.Ahead
		}
	}
	for _, of := range []struct {
		address string
		watcher *certificate.Watcher
	}{
		{"http", g.certificates.http},
		{"operations", g.certificates.operations},
		{"controllers", g.certificates.controllers},
		{"nodes", g.certificates.nodes},
	} {
		if of.watcher != nil {
			leaf := of.watcher.Leaf()
			r.Certificates = append(r.Certificates, observer.Certificate{
				Address: of.address, NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter, Problem: of.watcher.Problem(),
			})
		}
	}
	if node, ok := g.ownership.(shared); ok {
		r.LeaseNotHeld = !node.keeper.Held()
		r.Lost, r.TakenOver = map[uuid.UUID]uint64{}, map[uuid.UUID]uint64{}
		for id, changes := range node.keeper.Changes() {
			r.Lost[id], r.TakenOver[id] = changes.Lost, changes.TakenOver
		}
	}
	return r
}
