package actors

import (
	"context"
	"sync"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
)

// request is the context of a request, which waits for its answer as long as the API does.
func (g *rig) request() context.Context {
	ctx, cancel := context.WithTimeout(g.Context(), 5*time.Second)
	g.Cleanup(cancel)
	return ctx
}

// lane is the id of the i-th lane, counted from 0.
func (g *rig) lane(i int) uuid.UUID { return g.settings.Layout.Lanes[i].ID }

// controller is the hardware of the i-th lane.
func (g *rig) controller(i int) *sim.Controller { return g.hardware.Controller(g.lane(i)) }

// open reports whether the fire line of the i-th lane is open.
func (g *rig) open(i int) bool { return g.controller(i).Shown().Open }

// sale is what a POS asks for: minutes that run at once.
func (g *rig) sale(minutes int) lanes.Create {
	return lanes.Create{Session: uuid.New(), Group: g.group, Customer: "Jo Smith", Minutes: minutes, AutoStart: true}
}

// create sells minutes on the i-th lane, which run at once. It comes back when the hardware has heard of it.
func (g *rig) create(i, minutes int) uuid.UUID {
	g.Helper()
	return g.sell(i, g.sale(minutes))
}

// book sells minutes on the i-th lane, which run once the customer enters.
func (g *rig) book(i, minutes int) uuid.UUID {
	g.Helper()
	sale := g.sale(minutes)
	sale.AutoStart = false
	return g.sell(i, sale)
}

func (g *rig) sell(i int, sale lanes.Create) uuid.UUID {
	g.Helper()
	view, err := g.Create(g.request(), g.lane(i), sale, nil)
	require.NoError(g, err)
	require.Equal(g, sale.Session, view.ID)
	synctest.Wait()
	return view.ID
}

// enter is the customer entering the i-th lane.
func (g *rig) enter(i int) {
	g.Helper()
	require.NoError(g, g.controller(i).Enter())
	synctest.Wait()
}

// command gives a command to the session, which must take it. It comes back when the hardware has heard of it.
func (g *rig) command(session uuid.UUID, command lanes.Command) *lanes.SessionView {
	g.Helper()
	view, err := g.On(g.request(), session, command, nil)
	require.NoError(g, err, command.Name())
	synctest.Wait()
	return view
}

func (g *rig) modify(session uuid.UUID, minutes int) *lanes.SessionView {
	g.Helper()
	return g.command(session, lanes.Modify{Session: session, Minutes: minutes})
}

func (g *rig) pause(session uuid.UUID) *lanes.SessionView {
	g.Helper()
	return g.command(session, lanes.Pause{Session: session})
}

func (g *rig) resume(session uuid.UUID) *lanes.SessionView {
	g.Helper()
	return g.command(session, lanes.Resume{Session: session})
}

func (g *rig) stop(session uuid.UUID) *lanes.SessionView {
	g.Helper()
	return g.command(session, lanes.Stop{Session: session, By: lanes.ByPOS})
}

// left is the time left of an active session.
func (g *rig) left(session uuid.UUID) time.Duration {
	g.Helper()
	view, err := g.Session(g.Context(), session)
	require.NoError(g, err)
	return view.Remaining
}

// ended is the session on record.
func (g *rig) ended(session uuid.UUID) lanes.Ended {
	g.Helper()
	record, err := g.store.Ended(g.Context(), g.settings.Layout.Range, session)
	require.NoError(g, err)
	return record
}

// happened is the kinds of the session's events, in the order of the log.
func (g *rig) happened(session uuid.UUID) []lanes.Kind {
	g.Helper()
	log, err := g.Events(g.Context(), 0, 1_000_000)
	require.NoError(g, err)
	var kinds []lanes.Kind
	for _, logged := range log {
		if logged.Event.Session == session {
			kinds = append(kinds, logged.Event.Kind)
		}
	}
	return kinds
}

// onBoard is the sessions that are shown as active, in the order of their lanes.
func (g *rig) onBoard() []uuid.UUID {
	var ids []uuid.UUID
	for _, view := range g.Sessions() {
		ids = append(ids, view.ID)
	}
	return ids
}

// toLane gives the actor of the i-th lane a message, and comes back when everything is at rest.
func (g *rig) toLane(i int, message any) {
	g.sendTo(g.lane(i), message)
	synctest.Wait()
}

// begin does something beside the story, up to where it waits. How it ended comes through the channel.
func (g *rig) begin(do func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	synctest.Wait()
	return ended
}

// tryCreate sells minutes on the i-th lane, if it can be.
func (g *rig) tryCreate(i, minutes int) error {
	_, err := g.Create(g.request(), g.lane(i), g.sale(minutes), nil)
	return err
}

func (g *rig) tryModify(session uuid.UUID, minutes int) error {
	_, err := g.On(g.request(), session, lanes.Modify{Session: session, Minutes: minutes}, nil)
	return err
}

// tryMove takes the session to the i-th lane, if it can be.
func (g *rig) tryMove(session uuid.UUID, i int) error {
	_, err := g.Move(g.request(), session, g.lane(i), nil)
	return err
}

// holdFlushes lets the flushes from now on wait until release is called, or the story ends.
func (g *rig) holdFlushes() (release func()) {
	held := make(chan struct{})
	g.store.hook(func(_ context.Context, _ store.Batch, flush func() error) error {
		<-held
		return flush()
	})
	release = sync.OnceFunc(func() {
		g.store.hook(nil)
		close(held)
	})
	g.Cleanup(release)
	return release
}
