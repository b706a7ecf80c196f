package actors

import (
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// everywhere is the scope of the whole range.
var everywhere = lanes.Scope{Kind: lanes.OverRange}

// withBays puts two lanes into each of two bays: 0 and 1, 2 and 3.
func withBays(g *rig) {
	g.settings.Layout.Lanes = places(4)
	g.settings.Layout.Bays = []lanes.Bay{{ID: uuid.New(), Name: "Bay A"}, {ID: uuid.New(), Name: "Bay B"}}
	for i := range g.settings.Layout.Lanes {
		g.settings.Layout.Lanes[i].Bay = g.settings.Layout.Bays[i/2].ID
	}
}

// overBay is the scope of the i-th bay, overLane that of the i-th lane, counted from 0.
func (g *rig) overBay(i int) lanes.Scope {
	return lanes.Scope{Kind: lanes.OverBay, ID: g.settings.Layout.Bays[i].ID}
}

func (g *rig) overLane(i int) lanes.Scope {
	return lanes.Scope{Kind: lanes.OverLane, ID: g.lane(i)}
}

// holds sets a hold. It comes back when the hardware has heard of it.
func (g *rig) hold(over lanes.Scope) lanes.Reached {
	g.Helper()
	reached, err := g.Hold(g.request(), over, "sam")
	require.NoError(g, err)
	synctest.Wait()
	return reached
}

// lift ends a hold. It comes back when the hardware has heard of it.
func (g *rig) lift(over lanes.Scope) lanes.Reached {
	g.Helper()
	reached, err := g.Lift(g.request(), over, "kim")
	require.NoError(g, err)
	synctest.Wait()
	return reached
}

func (g *rig) tryLift(over lanes.Scope) error {
	_, err := g.Lift(g.request(), over, "kim")
	return err
}

// beginHold sets a hold beside the story, up to where it waits.
func (g *rig) beginHold(over lanes.Scope) <-chan lanes.Reached {
	g.Helper()
	answer := make(chan lanes.Reached, 1)
	go func() {
		reached, err := g.Hold(g.Context(), over, "sam")
		if err == nil {
			answer <- reached
		}
		close(answer)
	}()
	synctest.Wait()
	return answer
}

// theLanes is the ids of the lanes with those numbers, nil for none.
func (g *rig) theLanes(numbers ...int) (ids []uuid.UUID) {
	for _, i := range numbers {
		ids = append(ids, g.lane(i))
	}
	return ids
}

// requireHeld wants the lanes with those numbers held, on the board and by their hardware, and no others.
func (g *rig) requireHeld(numbers ...int) {
	g.Helper()
	var shown, hardware []uuid.UUID
	for i, status := range g.Lanes() {
		if status.Lane.Held {
			shown = append(shown, status.ID)
		}
		if g.controller(i).Shown().Hold {
			hardware = append(hardware, g.lane(i))
		}
	}
	require.Equal(g, g.theLanes(numbers...), shown, "on the board")
	require.Equal(g, g.theLanes(numbers...), hardware, "by the hardware")
}

// requireOpen wants the fire lines of the lanes with those numbers open, and of no others.
func (g *rig) requireOpen(numbers ...int) {
	g.Helper()
	var open []uuid.UUID
	for i := range g.settings.Layout.Lanes {
		if g.open(i) {
			open = append(open, g.lane(i))
		}
	}
	require.Equal(g, g.theLanes(numbers...), open)
}

// inForce is the scopes of the range's holds.
func (g *rig) inForce() (scopes []lanes.Scope) {
	for _, hold := range g.Holds().InForce {
		scopes = append(scopes, hold.Scope)
	}
	return scopes
}

// onRecord is the range's record of its holds as the store has it.
func (g *rig) onRecord() lanes.Holds {
	g.Helper()
	saved, err := g.store.Load(g.Context(), g.settings.Layout.Range)
	require.NoError(g, err)
	return saved.Holds
}
