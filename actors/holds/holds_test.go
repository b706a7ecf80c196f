package holds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

var (
	bays = []lanes.Bay{{ID: uuid.UUID{1}, Name: "Bay 1"}, {ID: uuid.UUID{2}, Name: "Bay 2"}}

	house = lanes.Layout{Bays: bays, Lanes: []lanes.Place{
		{ID: uuid.UUID{11}, Bay: bays[0].ID},
		{ID: uuid.UUID{12}, Bay: bays[0].ID},
		{ID: uuid.UUID{21}, Bay: bays[1].ID},
	}}

	everywhere = lanes.Scope{Kind: lanes.OverRange}
	bay1       = lanes.Scope{Kind: lanes.OverBay, ID: bays[0].ID}
	lane11     = lanes.Scope{Kind: lanes.OverLane, ID: house.Lanes[0].ID}
	lane21     = lanes.Scope{Kind: lanes.OverLane, ID: house.Lanes[2].ID}
)

// after is that many seconds after the range has opened.
func after(seconds int) lanes.Instant {
	elapsed := time.Duration(seconds) * time.Second
	return lanes.Instant{Wall: time.Unix(1_750_000_000, 0).Add(elapsed), Mono: elapsed}
}

// lift begins the end of the hold over the scope, whoever pressed when.
func lift(t require.TestingT, h *Holds, scope lanes.Scope, at int) Change {
	change, err := h.Lift(scope, uuid.Nil, "sam", &house, after(at))
	require.NoError(t, err)
	return change
}

// lifted lifts the hold over the scope, with a store that saves it.
func lifted(t *testing.T, h *Holds, scope lanes.Scope, at int) Change {
	begun := lift(t, h, scope, at)
	change, err := h.Lifted(scope, begun.Record.Version, commit.Saved, &house, after(at))
	require.NoError(t, err)
	return change
}

func ids(places ...lanes.Place) (ids []uuid.UUID) {
	for _, place := range places {
		ids = append(ids, place.ID)
	}
	return ids
}

// A lift that is being saved ends nothing, and one that the store rejects ends nothing ever.
func TestAHoldEndsWhenItsLiftIsSaved(t *testing.T) {
	h := New(lanes.Holds{}, 0)
	set := h.Set(everywhere, uuid.New(), "sam", &house, after(0))
	require.Equal(t, ids(house.Lanes...), set.Lanes)

	begun := lift(t, h, everywhere, 1)
	require.True(t, h.InForce().Has(everywhere))
	require.False(t, begun.Record.Has(everywhere), "that is what is saved")
	_, err := h.Lifted(everywhere, begun.Record.Version, commit.Rejected, &house, after(2))
	require.Error(t, err)
	require.True(t, h.InForce().Has(everywhere))

	require.Equal(t, ids(house.Lanes...), lifted(t, h, everywhere, 3).Lanes)
	require.False(t, h.InForce().Has(everywhere))
}

// Whoever presses while the end of an earlier hold is being saved has a hold.
func TestOfAHoldAndALiftThatCrossTheHoldWins(t *testing.T) {
	h := New(lanes.Holds{}, 0)
	h.Set(bay1, uuid.New(), "sam", &house, after(0))
	begun := lift(t, h, bay1, 1)
	again := h.Set(bay1, uuid.New(), "kim", &house, after(2))
	require.NotEmpty(t, again.Acts, "it is on record for kim, too")
	_, err := h.Lifted(bay1, begun.Record.Version, commit.Saved, &house, after(3))
	require.ErrorIs(t, err, lanes.ErrCeasefire)
	require.True(t, h.InForce().Has(bay1))
	require.Greater(t, again.Record.Version, begun.Record.Version, "the store keeps the hold")
}

// A hold that was pressed again stays, also where the range's actor has begun anew meanwhile.
func TestALiftFromBeforeAPanicEndsNoHoldThatWasPressedSince(t *testing.T) {
	for _, pressed := range []bool{false, true} {
		t.Run(fmt.Sprintf("pressed again %t", pressed), func(t *testing.T) {
			h := New(lanes.Holds{}, 0)
			h.Set(bay1, uuid.New(), "sam", &house, after(0))
			begun := lift(t, h, bay1, 1)
			if pressed {
				h.Set(bay1, uuid.New(), "kim", &house, after(2))
			}
			anew := New(h.InForce(), h.Newest())
			_, err := anew.Lifted(bay1, begun.Record.Version, commit.Saved, &house, after(3))
			require.Equal(t, pressed, errors.Is(err, lanes.ErrCeasefire))
			require.Equal(t, pressed, anew.InForce().Has(bay1))
		})
	}
}

// Whoever ends a hold ends what they have seen. A request that was on its way for long, or a finger that did not see
// the newest press, ends nothing.
func TestAHoldThatWasPressedAgainStays(t *testing.T) {
	first, second := uuid.New(), uuid.New()
	h := New(lanes.Holds{}, 0)
	h.Set(bay1, first, "sam", &house, after(0))
	h.Set(bay1, second, "kim", &house, after(1))
	_, err := h.Lift(bay1, first, "sam", &house, after(2))
	require.ErrorIs(t, err, lanes.ErrCeasefire)
	require.True(t, h.InForce().Has(bay1))
	require.Equal(t, "sam", h.InForce().InForce[0].Who, "who set it first")

	ended, err := h.Lift(bay1, second, "sam", &house, after(3))
	require.NoError(t, err)
	_, err = h.Lifted(bay1, ended.Record.Version, commit.Saved, &house, after(4))
	require.NoError(t, err)
	_, err = h.Lift(bay1, second, "sam", &house, after(5))
	require.NoError(t, err, "it is asked for again, and has ended")
}

func TestOnlyLanesUnderNoOtherHoldOpen(t *testing.T) {
	h := New(lanes.Holds{}, 0)
	h.Set(everywhere, uuid.New(), "sam", &house, after(0))
	h.Set(bay1, uuid.New(), "sam", &house, after(0))
	require.Equal(t, ids(house.Lanes[2]), lifted(t, h, everywhere, 1).Lanes)
	require.Equal(t, ids(house.Lanes[:2]...), lifted(t, h, bay1, 2).Lanes)
}

// The record that a lift has saved is the one in force, unless another was made meanwhile: that one still had the
// hold, so it is saved once more without it.
func TestARecordThatStillHadTheHoldIsSavedAgain(t *testing.T) {
	h := New(lanes.Holds{}, 0)
	h.Set(everywhere, uuid.New(), "sam", &house, after(0))
	require.False(t, lifted(t, h, everywhere, 1).Save)

	h.Set(everywhere, uuid.New(), "sam", &house, after(2))
	begun := lift(t, h, everywhere, 3)
	h.Set(lane11, uuid.New(), "sam", &house, after(4))
	change, err := h.Lifted(everywhere, begun.Record.Version, commit.Saved, &house, after(5))
	require.NoError(t, err)
	require.True(t, change.Save)
	require.False(t, change.Record.Has(everywhere))
	require.True(t, change.Record.Has(lane11))
}

func TestWhoDidItIsOnRecord(t *testing.T) {
	h := New(lanes.Holds{}, 0)
	require.Equal(t, []lanes.Act{{At: after(0).Wall, Who: "sam", What: lanes.DidHold, Detail: "bay Bay 1"}},
		h.Set(bay1, uuid.New(), "sam", &house, after(0)).Acts)
	require.Equal(t, []lanes.Act{{At: after(0).Wall, Who: "sam", What: lanes.DidHold, Detail: "lane", Lane: lane11.ID}},
		h.Set(lane11, uuid.New(), "sam", &house, after(0)).Acts)
	require.Empty(t, h.Set(bay1, uuid.New(), "kim", &house, after(1)).Acts, "it is held already")
	require.Empty(t, h.Set(lane21, uuid.New(), lanes.ByController, &house, after(1)).Acts, "it was found locked")
	require.NotEmpty(t, lift(t, h, bay1, 2).Acts)
	require.Empty(t, lift(t, h, everywhere, 2).Acts, "there was none")
}

// A controller may be released when a hold over its lane has ended and it has not confirmed that yet.
func TestAControllerThatComesUpLocked(t *testing.T) {
	h := New(lanes.Holds{}, 0)
	found := func(place lanes.Place) bool {
		scope, set := h.Found(place)
		require.Equal(t, lanes.Scope{Kind: lanes.OverLane, ID: place.ID}, scope)
		return set
	}
	require.True(t, found(house.Lanes[0]), "nobody knows why")
	h.Set(bay1, uuid.New(), "sam", &house, after(0))
	require.False(t, found(house.Lanes[0]), "it is under a hold already")
	require.True(t, found(house.Lanes[2]))
	lifted(t, h, bay1, 1)
	require.False(t, found(house.Lanes[0]), "that explains it")

	require.True(t, h.Confirmed(house.Lanes[0].ID), "the first one")
	require.False(t, h.Confirmed(house.Lanes[1].ID))
	change, later := h.Forget(&house, after(1))
	require.True(t, change.Save)
	require.False(t, later)
	require.True(t, found(house.Lanes[0]), "that end explains nothing any more")
}

// The end of a hold is forgotten lane by lane only when the others have had their time to confirm it.
func TestTheEndOfAHoldIsForgotten(t *testing.T) {
	h := New(lanes.Holds{}, 0)
	h.Set(everywhere, uuid.New(), "sam", &house, after(0))
	lifted(t, h, everywhere, 1)
	h.Confirmed(house.Lanes[0].ID)
	_, later := h.Forget(&house, after(1))
	require.True(t, later, "the others may confirm within Patience")
	change, later := h.Forget(&house, after(4))
	require.False(t, later)
	require.False(t, change.Record.KnowsOfEnd(house.Lanes[0]))
	require.True(t, change.Record.KnowsOfEnd(house.Lanes[1]))

	h.Set(lane21, uuid.New(), "sam", &house, after(5))
	begun := lift(t, h, lane21, 6)
	h.Confirmed(house.Lanes[1].ID)
	_, later = h.Forget(&house, after(10))
	require.True(t, later, "a lift is being saved: the record in force still has its hold")
	_, err := h.Lifted(lane21, begun.Record.Version, commit.Rejected, &house, after(11))
	require.Error(t, err)
	change, later = h.Forget(&house, after(11))
	require.False(t, later)
	require.True(t, change.Save)

	change, later = h.Forget(&house, after(12))
	require.False(t, later)
	require.False(t, change.Save, "there is nothing to forget")
}

// A controller that has confirmed the end of an earlier hold may still be locked by a newer one: the end of that
// explains it.
func TestAConfirmationIsOfTheEndBeforeIt(t *testing.T) {
	for _, newer := range []lanes.Scope{everywhere, bay1, lane11} {
		t.Run(newer.Kind, func(t *testing.T) {
			h := New(lanes.Holds{}, 0)
			h.Set(everywhere, uuid.New(), "sam", &house, after(0))
			lifted(t, h, everywhere, 1)
			h.Confirmed(house.Lanes[0].ID)
			h.Set(newer, uuid.New(), "sam", &house, after(2))
			lifted(t, h, newer, 3)
			h.Forget(&house, after(10))
			require.True(t, h.InForce().KnowsOfEnd(house.Lanes[0]))

			require.True(t, h.Confirmed(house.Lanes[0].ID))
			lifted(t, h, bay1, 11)
			h.Forget(&house, after(20))
			require.False(t, h.InForce().KnowsOfEnd(house.Lanes[0]), "no hold has ended since")
		})
	}
}

// A lane that a reload takes out of the scope of a hold stays held, and a hold whose bay is gone has ended.
func TestAReloadMovesALaneOutOfAHold(t *testing.T) {
	h := New(lanes.Holds{}, 0)
	h.Set(bay1, uuid.New(), "sam", &house, after(0))
	moved := lanes.Layout{Bays: bays, Lanes: slices.Clone(house.Lanes)}
	moved.Lanes[0].Bay = bays[1].ID
	set, lift := h.Rearranged(&house, &moved)
	require.Equal(t, []lanes.HoldRecord{{Scope: lane11, Who: "sam"}}, set)
	require.Empty(t, lift)

	gone := lanes.Layout{Bays: bays[1:], Lanes: moved.Lanes[:1]}
	set, lift = h.Rearranged(&house, &gone)
	require.Equal(t, []lanes.HoldRecord{{Scope: lane11, Who: "sam"}}, set)
	require.Equal(t, []lanes.Scope{bay1}, lift)
}

// A reload changes nothing that a hold lies over.
func TestAReloadThatAHoldRefuses(t *testing.T) {
	moved := lanes.Layout{Bays: bays, Lanes: slices.Clone(house.Lanes)}
	moved.Lanes[0].Bay = bays[1].ID
	fewer := lanes.Layout{Bays: bays[1:], Lanes: house.Lanes[2:]}
	over := func(scope lanes.Scope) lanes.Holds { return lanes.Holds{}.Set(scope, "sam", after(0).Wall) }
	for name, c := range map[string]struct {
		inForce lanes.Holds
		layout  lanes.Layout
		why     int
	}{
		"without a hold":                       {lanes.Holds{}, fewer, 0},
		"nothing changes":                      {over(bay1), house, 0},
		"a lane leaves the bay under the hold": {over(bay1), moved, 1},
		"a lane comes into the bay under the " +
			"hold": {over(lanes.Scope{Kind: lanes.OverBay, ID: bays[1].ID}), moved, 1},
		"a lane that is held itself changes its bay":  {over(lane11), moved, 0},
		"the whole range is held":                     {over(everywhere), moved, 0},
		"the bay under the hold goes":                 {over(bay1), fewer, 1},
		"the lane under the hold goes":                {over(lane11), fewer, 1},
		"a lane goes whose bay stays, as does a hold": {over(lane21), fewer, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, Broken(c.inForce, &house, &c.layout), c.why)
		})
	}
}

// Whatever is set and lifted, in whatever order the store answers: a lane is held as long as one hold over it was
// set and no lift that began after that is saved.
func TestALaneIsHeldAsLongAsOneHoldOverItIs(t *testing.T) {
	scopes := []lanes.Scope{everywhere, bay1, {Kind: lanes.OverBay, ID: bays[1].ID}, lane11, lane21}
	type saved struct {
		scope   lanes.Scope
		version uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		h := New(lanes.Holds{}, 0)
		lastSet := map[lanes.Scope]uint64{} // scope → version of the record
		held := map[lanes.Scope]bool{}
		presses := map[lanes.Scope][]uuid.UUID{}
		var saving []saved
		for second := range rapid.IntRange(1, 40).Draw(t, "steps") {
			scope := rapid.SampledFrom(scopes).Draw(t, "scope")
			switch rapid.SampledFrom([]string{"set", "lift", "answer", "forget"}).Draw(t, "step") {
			case "set":
				presses[scope] = append(presses[scope], uuid.New())
				newest := presses[scope][len(presses[scope])-1]
				lastSet[scope], held[scope] = h.Set(scope, newest, "sam", &house, after(second)).Record.Version, true
			case "lift":
				seen := rapid.SampledFrom(append([]uuid.UUID{uuid.Nil}, presses[scope]...)).Draw(t, "seen")
				change, err := h.Lift(scope, seen, "sam", &house, after(second))
				if held[scope] && seen != uuid.Nil && seen != presses[scope][len(presses[scope])-1] {
					require.ErrorIs(t, err, lanes.ErrCeasefire, "it was pressed again since")
					continue
				}
				require.NoError(t, err)
				saving = append(saving, saved{scope, change.Record.Version})
			case "answer":
				if len(saving) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(saving)-1).Draw(t, "which")
				l := saving[i]
				saving = slices.Delete(saving, i, i+1)
				outcome := rapid.SampledFrom([]commit.Outcome{commit.Saved, commit.Rejected}).Draw(t, "outcome")
				change, err := h.Lifted(l.scope, l.version, outcome, &house, after(second))
				if ended := outcome == commit.Saved && lastSet[l.scope] < l.version; ended {
					require.NoError(t, err)
					delete(held, l.scope)
					for _, place := range house.Lanes {
						open := l.scope.Covers(place) && !covers(held, place)
						require.Equal(t, open, slices.Contains(change.Lanes, place.ID))
					}
				} else {
					require.Error(t, err)
				}
			case "forget":
				h.Confirmed(rapid.SampledFrom(house.Lanes).Draw(t, "lane").ID)
				h.Forget(&house, after(second))
			}
			for _, place := range house.Lanes {
				require.Equal(t, covers(held, place), h.InForce().Over(place))
			}
		}
	})
}

func covers(held map[lanes.Scope]bool, place lanes.Place) bool {
	for scope := range held {
		if scope.Covers(place) {
			return true
		}
	}
	return false
}

// A hold has come as far as it will when every lane has confirmed it or cannot be reached, and all is saved.
func TestHowFarAHoldHasCome(t *testing.T) {
	places := ids(house.Lanes...)
	fannedOut := 0
	p := NewProgress(true, places, 1, func() { fannedOut++ })
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("out of patience"))
	require.Equal(t, lanes.Reached{NotReached: places}, p.Await(ctx), "nothing is known yet")

	p.Report(places[0], Sent)
	p.Report(places[1], Sent)
	p.Report(places[2], NotReached)
	p.Report(places[0], Confirmed)
	require.Zero(t, fannedOut)
	p.Report(places[1], Confirmed)
	require.Equal(t, 1, fannedOut)
	for range places {
		p.SaveEnded(true)
	}
	p.RecordSaved(commit.Unresolved)
	want := lanes.Reached{Confirmed: places[:2], NotReached: places[2:]}
	require.Equal(t, want, p.Await(ctx), "its record is not saved")
	p.RecordSaved(commit.Saved)
	want.Saved = true
	require.Equal(t, want, p.Await(t.Context()), "it does not wait any more")
}

func TestAHoldThatIsNeverSaved(t *testing.T) {
	p := NewProgress(false, ids(house.Lanes[0]), 0, nil)
	p.Report(house.Lanes[0].ID, Confirmed)
	p.SaveEnded(false)
	require.Equal(t, lanes.Reached{Confirmed: ids(house.Lanes[0])}, p.Await(t.Context()))
}

func TestAHoldOverNoLaneIsThereAtOnce(t *testing.T) {
	require.Equal(t, lanes.Reached{Saved: true}, NewProgress(true, nil, 0, nil).Await(t.Context()))
}
