package lanes_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// Two lanes in bay A, one in bay B, one in no bay.
var (
	bayA, bayB = lanes.Scope{Kind: lanes.OverBay, ID: uuid.New()}, lanes.Scope{Kind: lanes.OverBay, ID: uuid.New()}
	wholeRange = lanes.Scope{Kind: lanes.OverRange}
	layout     = []lanes.Place{
		{ID: uuid.New(), Bay: bayA.ID},
		{ID: uuid.New(), Bay: bayA.ID},
		{ID: uuid.New(), Bay: bayB.ID},
		{ID: uuid.New()},
	}
	noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
)

func laneNo(i int) lanes.Scope { return lanes.Scope{Kind: lanes.OverLane, ID: layout[i].ID} }

// lanesWhere is the lanes of which the condition is true, by their places in the layout.
func lanesWhere(condition func(lanes.Place) bool) (lanes []int) {
	for i, place := range layout {
		if condition(place) {
			lanes = append(lanes, i)
		}
	}
	return lanes
}

func TestHolds(t *testing.T) {
	set := func(over lanes.Scope) func(lanes.Holds) lanes.Holds {
		return func(h lanes.Holds) lanes.Holds { return h.Set(over, "sam", noon) }
	}
	lift := func(over lanes.Scope) func(lanes.Holds) lanes.Holds {
		return func(h lanes.Holds) lanes.Holds { return h.Lift(over, noon) }
	}
	type steps = []func(lanes.Holds) lanes.Holds
	all := []int{0, 1, 2, 3}
	for name, story := range map[string]struct {
		steps   steps
		held    []int // lanes that a hold covers
		ended   []int // lanes with a hold that is known to have ended
		inForce int
	}{
		"nothing":                  {steps{}, nil, nil, 0},
		"the range":                {steps{set(wholeRange)}, all, nil, 1},
		"a bay":                    {steps{set(bayA)}, []int{0, 1}, nil, 1},
		"another bay":              {steps{set(bayB)}, []int{2}, nil, 1},
		"a lane":                   {steps{set(laneNo(1))}, []int{1}, nil, 1},
		"a lane of another range":  {steps{set(lanes.Scope{Kind: lanes.OverLane, ID: uuid.New()})}, nil, nil, 1},
		"an unknown kind of scope": {steps{set(lanes.Scope{Kind: "shelf", ID: layout[0].ID})}, nil, nil, 1},
		"twice":                    {steps{set(bayA), set(bayA)}, []int{0, 1}, nil, 1},
		"set and lifted":           {steps{set(bayA), lift(bayA)}, nil, []int{0, 1}, 0},
		"twice, and lifted once":   {steps{set(bayA), set(bayA), lift(bayA)}, nil, []int{0, 1}, 0},
		"set again":                {steps{set(bayA), lift(bayA), set(bayA)}, []int{0, 1}, []int{0, 1}, 1},
		"lifted what is not there": {steps{set(bayB), lift(bayA)}, []int{2}, nil, 1},
		"lifted around it":         {steps{set(laneNo(0)), lift(wholeRange), lift(bayA)}, []int{0}, nil, 1},
		"lifted beneath it":        {steps{set(wholeRange), lift(bayA), lift(laneNo(3))}, all, nil, 1},
		"three over one":           {steps{set(wholeRange), set(bayA), set(laneNo(0))}, all, nil, 3},
		"two over one": {
			steps{set(wholeRange), set(bayA), set(laneNo(0)), lift(wholeRange)},
			[]int{0, 1},
			all, 2,
		},
		"one over one": {
			steps{set(wholeRange), set(bayA), set(laneNo(0)), lift(wholeRange), lift(bayA)},
			[]int{0},
			all, 1,
		},
		"none, in another order": {
			steps{set(wholeRange), set(laneNo(0)), lift(laneNo(0)), lift(wholeRange)},
			nil,
			all, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var holds lanes.Holds
			for _, step := range story.steps {
				holds = step(holds)
			}
			require.Equal(t, story.held, lanesWhere(holds.Over))
			require.Equal(t, story.ended, lanesWhere(holds.KnowsOfEnd))
			require.Len(t, holds.InForce, story.inForce)

			saved, err := json.Marshal(holds)
			require.NoError(t, err)
			var loaded lanes.Holds
			require.NoError(t, json.Unmarshal(saved, &loaded))
			require.Equal(t, story.held, lanesWhere(loaded.Over), "as it was saved")
			require.Equal(t, story.ended, lanesWhere(loaded.KnowsOfEnd), "as it was saved")
		})
	}
}

// The end of a hold is known until the hardware of each lane has confirmed it, and no longer: it explains no
// later lock.
func TestTheEndOfAHoldIsForgottenLaneByLane(t *testing.T) {
	confirmed := func(confirming ...int) func(lanes.Place) bool {
		return func(place lanes.Place) bool {
			return slices.ContainsFunc(confirming, func(i int) bool { return layout[i].ID == place.ID })
		}
	}
	holds := lanes.Holds{}.Set(bayA, "sam", noon).Lift(bayA, noon).Set(wholeRange, "sam", noon).Lift(wholeRange, noon)
	require.Equal(t, []int{0, 1, 2, 3}, lanesWhere(holds.KnowsOfEnd))
	require.Equal(t, holds.Lifted, holds.Forget(layout, confirmed()).Lifted, "nothing new")
	some := holds.Forget(layout, confirmed(0, 2))
	require.Equal(t, []int{1, 3}, lanesWhere(some.KnowsOfEnd))
	require.Len(t, some.Lifted, 2, "one for each lane")
	require.Equal(t, []int{0, 1, 2, 3}, lanesWhere(holds.KnowsOfEnd), "a record is a value")
	require.Equal(t, []int{1}, lanesWhere(some.Forget(layout, confirmed(3)).KnowsOfEnd))
	require.Empty(t, some.Forget(layout, confirmed(1, 3)).Lifted)
	gone := lanes.Holds{}.Set(laneNo(3), "sam", noon).Lift(laneNo(3), noon)
	require.Empty(t, gone.Forget(layout[:3], confirmed()).Lifted, "the lane has left the range")
	emptied := lanes.Holds{}.Set(bayB, "sam", noon).Lift(bayB, noon)
	require.Empty(t, emptied.Forget(layout[:2], confirmed()).Lifted, "the lanes of the bay have left the range")
	several := lanes.Holds{}.Set(laneNo(0), "sam", noon).Lift(laneNo(0), noon).Set(laneNo(2), "sam", noon).
		Lift(laneNo(2), noon)
	require.Equal(t, []int{0, 2}, lanesWhere(several.Forget(layout, confirmed()).KnowsOfEnd),
		"each lane has an end of its own")
	require.Equal(t, []int{2}, lanesWhere(several.Forget(layout, confirmed(0)).KnowsOfEnd))
}

func TestAHoldKeepsWhoSetItFirst(t *testing.T) {
	holds := lanes.Holds{}.Set(bayA, "sam", noon).Set(bayA, "kim", noon.Add(time.Hour))
	require.Equal(t, []lanes.HoldRecord{{Scope: bayA, Who: "sam", Since: noon}}, holds.InForce)
	press := uuid.New()
	require.Equal(t, []lanes.HoldRecord{{Scope: bayA, Who: "sam", Since: noon, Press: press}},
		holds.Press(bayA, press).InForce)
	require.Equal(t, holds, holds.Press(bayB, press), "there is none")
	require.Zero(t, holds.InForce[0].Press, "a record is a value")
	require.True(t, holds.Has(bayA))
	require.False(t, holds.Has(bayB))
}

// A record of holds does not change while the next one is made from it: it may be shown and saved meanwhile.
func TestARecordOfHoldsIsAValue(t *testing.T) {
	var before, holds lanes.Holds
	for i := range layout {
		holds = holds.Set(laneNo(i), "sam", noon)
	}
	for i := range layout {
		before = holds
		saved, err := json.Marshal(before)
		require.NoError(t, err)
		holds = before.Lift(laneNo(i), noon)
		holds.Set(wholeRange, "kim", noon)
		savedAfter, err := json.Marshal(before)
		require.NoError(t, err)
		require.JSONEq(t, string(saved), string(savedAfter))
	}
}

// The record does not grow with each ceasefire.
func TestOnlyTheLastEndOfAHoldIsKept(t *testing.T) {
	var holds lanes.Holds
	for i := range 100 {
		at := noon.Add(time.Duration(i) * time.Hour)
		holds = holds.Set(bayA, "sam", at).Lift(bayA, at.Add(time.Minute))
	}
	require.Equal(t, []lanes.LiftRecord{{Scope: bayA, At: noon.Add(99*time.Hour + time.Minute)}}, holds.Lifted)
	require.Empty(t, holds.InForce)
}
