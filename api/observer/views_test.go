package observer

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

var noon = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)

// healthy is a range without any trouble, of so many lanes.
func healthy(n int) (lanes.Layout, lanes.ActorHealth) {
	return lanes.Layout{Name: "North", Lanes: make([]lanes.Place, n)},
		lanes.ActorHealth{
			Health: lanes.Health{Writable: true, Links: map[lanes.LinkState]int{lanes.LinkUp: n}},
			Live:   map[string]int{"lane": n},
		}
}

// What an operator has to look at stands first: ranges that do not run, those that cannot save, those with most
// links that are broken; last those that other nodes own.
func TestTheWorstRangeStandsFirst(t *testing.T) {
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	o := newOverview(noon, map[string]int{"lane": 7})
	o.addElsewhere(ids[0], "b")
	layout, well := healthy(2)
	o.add(ids[1], layout, well)
	_, down := healthy(2)
	down.Links = map[lanes.LinkState]int{lanes.LinkUp: 0, lanes.LinkDown: 1, lanes.LinkFaulty: 1}
	o.add(ids[2], layout, down)
	_, restarted := healthy(2)
	restarted.Restarts = map[string]int{"lane": 1}
	o.add(ids[3], layout, restarted)
	_, storeDown := healthy(2)
	storeDown.Writable, storeDown.Unsaved = false, 3
	o.add(ids[4], layout, storeDown)
	o.addNotRunning(ids[5], fmt.Errorf("%w: it has lost a lane", lanes.ErrStarting))

	shown := o.bounded()
	var order []uuid.UUID
	for _, r := range shown.Ranges {
		order = append(order, r.ID)
	}
	require.Equal(t, []uuid.UUID{ids[5], ids[4], ids[2], ids[3], ids[1], ids[0]}, order)
	require.Equal(t, []any{"starting", true}, []any{shown.Ranges[0].State, shown.Ranges[0].Reason != ""})
	require.Equal(t, []any{elsewhere, "b"}, []any{shown.Ranges[5].State, shown.Ranges[5].Node})
	require.Equal(t, totals{
		Ranges: 6, Running: 4, Elsewhere: 1, Lanes: 8,
		Actors:  map[string]kindView{"lane": {Live: 8, Restarts: 1, Waiting: 7}},
		Links:   map[lanes.LinkState]int{lanes.LinkUp: 6, lanes.LinkDown: 1, lanes.LinkFaulty: 1},
		Unsaved: 3, StoreDown: 1,
	}, shown.All)
}

func TestARangeThatDoesNotRunSaysWhy(t *testing.T) {
	o := newOverview(noon, nil)
	o.addNotRunning(uuid.New(), lanes.ErrNotOwner)
	o.addNotRunning(uuid.New(), errors.New("the disk is gone"))
	require.Equal(t, []string{"not_owner", ""}, []string{o.Ranges[0].State, o.Ranges[0].Reason}, "the code says all")
	require.Equal(t, []string{"internal", "the disk is gone"}, []string{o.Ranges[1].State, o.Ranges[1].Reason})
}

// Lists have the worst of all ranges, and an end.
func TestListsHaveTheWorstOfAllRanges(t *testing.T) {
	o := newOverview(noon, nil)
	for n := range lanes.MaxUnwell {
		layout, h := healthy(1)
		at := noon.Add(time.Duration(n) * time.Second)
		h.Restarted, h.RestartedLanes = []lanes.LaneRestarts{{Lane: uuid.New(), Restarts: n, Last: at}}, 1
		h.Slowest = []lanes.LaneCommand{{Commanded: lanes.Commanded{Took: time.Duration(n) * time.Millisecond}}}
		h.NotSaved, h.NotSavedLanes = []lanes.LaneUnsaved{{Since: at, Changes: n}}, 1
		h.Lanes = []lanes.LinkHealth{{Link: lanes.LinkDown, Since: at}, {Link: lanes.LinkFaulty, Since: at}}
		o.add(uuid.New(), layout, h)
	}
	shown := o.bounded()
	last := lanes.MaxUnwell - 1
	require.Len(t, shown.Links, lanes.MaxUnwell)
	for _, link := range shown.Links {
		require.Equal(t, lanes.LinkFaulty, link.Link, "worse than those that are down")
	}
	require.Equal(t, "2026-05-01T12:00:00.000Z", shown.Links[0].Since, "for longest")
	require.Equal(t, last, shown.Restarted[0].Restarts, "the latest")
	require.Equal(t, float64(last), shown.Slowest[0].Took)
	require.Equal(t, 0, shown.Unsaved[0].Changes, "for longest")
	require.Equal(t, []int{lanes.MaxUnwell, lanes.MaxUnwell}, []int{shown.All.Restarted, shown.All.NotSaved})
}

// One lane is shown as it is, without a customer.
func TestOneLane(t *testing.T) {
	id, session := uuid.New(), uuid.New()
	free := viewOf(noon, id, "North",
		lanes.LaneHealth{Link: lanes.LinkHealth{Lane: id, Name: "Lane 1", Link: lanes.LinkUp, Since: noon}})
	require.Nil(t, free.Session)
	require.Nil(t, free.Unsaved)
	require.Nil(t, free.Unusable)
	require.Nil(t, free.Restarts.Last)
	require.Equal(t, []commandView{}, free.Commands)
	require.Equal(t, hardwareView{}, free.Hardware)

	busy := viewOf(noon, id, "North", lanes.LaneHealth{
		Session: session, Phase: lanes.Paused, Remaining: 90*time.Second + 400*time.Microsecond,
		NotUsable: "its link is down", Held: true,
		Hardware: lanes.Hardware{
			Wanted: &lanes.HardwareState{
				Since: noon, Hold: true, Session: session, Phase: lanes.Paused, Left: 90 * time.Second,
			},
			Applied: &lanes.HardwareState{Since: noon},
			InHello: true,
			Stage:   lanes.Unlinked,
		},
		Unsaved: lanes.LaneUnsaved{Since: noon, Changes: 2},
		Commands: []lanes.Commanded{{
			At: noon, By: lanes.ByStaff, Who: "sam", Command: "pause", Result: "ok",
			Took: 1500 * time.Microsecond,
		}},
	})
	require.Equal(t, &sessionView{session, lanes.Paused, 1.5}, busy.Session)
	require.Equal(t, &unsavedChanges{"2026-05-01T12:00:00.000Z", 2}, busy.Unsaved)
	require.Equal(t, "its link is down", *busy.Unusable)
	require.True(t, busy.Held && !busy.Locked)
	hardware, err := json.Marshal(busy.Hardware)
	require.NoError(t, err)
	require.JSONEq(t, `{"stage": "unlinked", "in_hello": true,
		"wanted": {"since": "2026-05-01T12:00:00.000Z", "hold": true, "session_id": "`+session.String()+`",
			"phase": "paused", "minutes_remaining": 1.5},
		"applied": {"since": "2026-05-01T12:00:00.000Z", "hold": false, "session_id": null,
			"phase": null, "minutes_remaining": 0}}`, string(hardware))
	require.Equal(t, 1.5, busy.Commands[0].Took)
	require.Nil(t, busy.Commands[0].Session)
}
