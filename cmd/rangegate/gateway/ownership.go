package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/actors/nodes"
	"rangegate/api"
	"rangegate/config"
	"rangegate/lanes/store"
)

// ownership decides which ranges run in this process: all of them, or those that it owns among several nodes.
type ownership interface {
	// start makes the ranges of the current runtime run, here or elsewhere. An error ends the process.
	start(ctx context.Context) error
	// reload calls apply with the part of the changes that concerns what runs here, while no range starts or
	// stops for another reason. Its error is an api.RefusedReload: that of apply, which puts the new runtime
	// in force, or its own.
	reload(ctx context.Context, changes actors.Reload, apply func(actors.Reload) error) error
	// ready returns an error until what this process is to serve is loaded and can be saved.
	ready() error
	// leave is called when the process is told to stop: requests that are under way are still answered.
	leave()
	// stop saves and stops every range. It ends when ctx does, at the latest; it is called once, also without
	// start.
	stop(ctx context.Context) error
}

var errNotReady = errors.New("not ready: lanes are still being brought back, or the store takes no writes")

// shared is the ownership of one node among several.
type shared struct {
	*Gateway
	keeper *nodes.Keeper
	shared NodeStore
}

// newOwnership makes the ownership that is configured. listening is the address that the other nodes reach
// this one by.
func newOwnership(g *Gateway, c config.Config, listening string, retire []uuid.UUID) ownership {
	if c.Nodes == nil || g.stores.Nodes == nil {
		return newSingle(g, retire)
	}
	var refusing func() string
	if clock, ok := g.clock.(*clock.Shared); ok {
		refusing = clock.Refusing
	}
	connected := g.stores.Nodes()
	return shared{g, nodes.New(nodes.Config{
		Self:    store.Node{Run: uuid.New(), Name: c.Nodes.Name, Address: c.Nodes.AdvertisedAddress(listening)},
		Version: g.version, TTL: c.Nodes.TTL, Store: connected, Ranges: nodeRanges{g, retire}, Refusing: refusing,
		Metrics: nodes.NewMetrics(g.registry), Log: g.log.With().Str("node", c.Nodes.Name).Logger(),
	}), connected}
}

func (s shared) start(context.Context) error {
	inForce := s.current.Load().config
	s.keeper.Start(rangeIDs(inForce), inForce.RangesDigest())
	return nil
}

// reload leaves new ranges to the keeper, and a range that does not run here has its new settings when it is
// next started here.
func (s shared) reload(ctx context.Context, changes actors.Reload, apply func(actors.Reload) error) error {
	var applied error
	err := s.keeper.Exclusively(ctx, func() {
		applied = apply(s.concerning(changes))
		inForce := s.current.Load().config
		s.keeper.Configure(rangeIDs(inForce), inForce.RangesDigest())
	})
	if err != nil {
		return api.RefuseReload(api.ReloadFailed, err)
	}
	return applied
}

// concerning returns the part of the changes that concerns ranges that run here.
func (s shared) concerning(changes actors.Reload) actors.Reload {
	here := map[uuid.UUID]bool{}
	for _, r := range s.actors.Running() {
		here[r.Range] = true
	}
	concerning := actors.Reload{Force: changes.Force, Who: changes.Who}
	for _, c := range changes.Change {
		if here[c.Layout.Range] {
			concerning.Change = append(concerning.Change, c)
		}
	}
	for _, id := range changes.End {
		if here[id] {
			concerning.End = append(concerning.End, id)
		}
	}
	return concerning
}

func (s shared) ready() error {
	if !s.actors.RunningReady() {
		return errNotReady
	}
	return s.keeper.Ready()
}

func (s shared) leave() { s.keeper.Pause() }

func (s shared) stop(ctx context.Context) error {
	return errors.Join(s.keeper.Stop(ctx), s.actors.Stop(ctx), s.shared.Close())
}

// nodeRanges starts and stops the ranges of a node as they are configured then.
type nodeRanges struct {
	*Gateway
	retire []uuid.UUID
}

// Start implements nodes.Ranges.
func (n nodeRanges) Start(ctx context.Context, rangeID uuid.UUID, epoch uint64) error {
	r, found := n.current.Load().ranges[rangeID]
	if !found {
		return fmt.Errorf("range %s: it is not configured any more", rangeID)
	}
	settings := r.settings
	settings.Retire = n.retire
	return n.actors.StartClaimed(ctx, settings, epoch)
}

// Stop implements nodes.Ranges.
func (n nodeRanges) Stop(ctx context.Context, rangeID uuid.UUID) (release func(context.Context) error, err error) {
	return n.actors.StopRange(ctx, rangeID)
}

// Drop implements nodes.Ranges.
func (n nodeRanges) Drop(rangeID uuid.UUID) { n.actors.DropRange(rangeID) }

// CheckpointAll implements nodes.Ranges.
func (n nodeRanges) CheckpointAll() { n.actors.CheckpointAll() }

// Running implements nodes.Ranges.
func (n nodeRanges) Running() []nodes.Running { return n.actors.Running() }
