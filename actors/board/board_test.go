package board

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func makePlaces(n int) []lanes.Place {
	places := make([]lanes.Place, n)
	for i := range places {
		places[i] = lanes.Place{ID: uuid.New(), Name: fmt.Sprintf("Lane %d", i+1), Accessible: true}
	}
	return places
}

func newBoard(layout lanes.Layout) *Board {
	at := map[uuid.UUID]int32{}
	for i, place := range layout.Lanes {
		at[place.ID] = int32(i)
	}
	return New(layout, at, func() lanes.Instant { return noon })
}

// noon is when the boards of these tests are read.
var noon = lanes.Instant{Wall: time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC), Mono: time.Hour}

// fullBoard returns a board of n lanes, each with a running session.
func fullBoard(n int) (b *Board, all []lanes.Lane) {
	now := noon
	layout := lanes.Layout{Lanes: makePlaces(n)}
	b = newBoard(layout)
	for _, place := range layout.Lanes {
		lane := lanes.Lane{ID: place.ID, Accessible: true, Usable: true, Session: &lanes.Session{
			ID: uuid.New(), Group: uuid.New(), Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running,
			Left:  time.Hour,
			Since: now, Created: now, Began: &now,
		}}
		b.Publish(lane)
		all = append(all, lane)
	}
	return b, all
}

// changed is the lane of turn n, held in every other round.
func changed(all []lanes.Lane, n int) lanes.Lane {
	lane := all[n%len(all)]
	lane.Held = n/len(all)%2 == 0
	return lane
}

func BenchmarkBoard(b *testing.B) {
	board, all := fullBoard(1000)
	b.Run("publish", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			board.Publish(changed(all, n))
		}
	})
	b.Run("session", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if board.Session(all[n%len(all)].Session.ID) == nil {
				b.Fatal("a session is not on the board")
			}
		}
	})
	b.Run("list of 1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(board.Sessions()) != len(all) {
				b.Fatal("the list is not whole")
			}
		}
	})
	b.Run("what changed of 1000", func(b *testing.B) {
		b.ReportAllocs()
		_, version, _ := board.Changes(0)
		for n := 0; b.Loop(); n++ {
			board.Publish(changed(all, n))
			var since []lanes.LaneStatus
			if since, version, _ = board.Changes(version); len(since) != 1 {
				b.Fatal("not the one lane changed")
			}
		}
	})
}

// A hundred thousand lanes may have no screen that follows them.
func TestAChangeThatNoScreenWaitsForAllocatesNothing(t *testing.T) {
	layout := lanes.Layout{Lanes: makePlaces(1000)}
	board, lane := newBoard(layout), layout.Lanes[500].ID
	_, _, wake := board.Changes(0)
	board.Publish(lanes.Lane{ID: lane})
	<-wake // a screen that read once does not wait for the next change
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		board.Publish(lanes.Lane{ID: lane, Held: true})
		board.Publish(lanes.Lane{ID: lane})
		board.PublishSaved(lanes.Lane{ID: lane, Held: true})
		board.PublishLocked(lane, true)
		board.PublishLocked(lane, false)
		board.PublishHardware(lane, lanes.Hardware{Stage: lanes.Sent})
		board.Touch()
	}))
}

// Of a thousand links with failures the worst are listed, in the order of the whole list.
func TestTheWorstLinksAreListed(t *testing.T) {
	chance := rand.New(rand.NewPCG(7, 7))
	states := []lanes.LinkState{lanes.LinkDown, lanes.LinkFaulty, lanes.LinkUp}
	var all, listed []lanes.LinkHealth
	for _, place := range makePlaces(1000) {
		one := lanes.LinkHealth{
			Lane: place.ID, Link: states[chance.IntN(3)], Since: time.Unix(chance.Int64N(50), 0),
			Restarts: chance.IntN(5),
		}
		all, listed = append(all, one), insert(listed, one)
	}
	slices.SortStableFunc(all, worse)
	require.Equal(t, all[:lanes.MaxUnwell], listed)
}

// A thousand screens may follow a lane each: a change wakes those of its lane alone, and a reload wakes all.
func TestAChangeWakesThoseWhoFollowItsLane(t *testing.T) {
	b, all := fullBoard(3)
	closed := func(wake <-chan struct{}) bool {
		select {
		case <-wake:
			return true
		default:
			return false
		}
	}
	first, version, wake, found := b.LaneChange(all[0].ID)
	require.True(t, found)
	require.Equal(t, all[0], first.Lane)
	_, _, second, _ := b.LaneChange(all[0].ID)
	_, _, other, _ := b.LaneChange(all[1].ID)
	b.Touch()
	held := func(i int) lanes.Lane {
		all[i].Held = !all[i].Held
		return all[i]
	}
	b.Publish(all[0]) // as it is shown already
	b.Publish(held(1))
	b.PublishLocked(all[2].ID, true)
	b.PublishHardware(all[0].ID, lanes.Hardware{Stage: lanes.Sent}) // for operators, who ask
	require.False(t, closed(wake))
	require.True(t, closed(other))
	_, unchanged, _, _ := b.LaneChange(all[0].ID)
	require.Equal(t, version, unchanged)

	last := version
	for name, change := range map[string]func(){
		"lane": func() { b.Publish(held(0)) }, "saved": func() { b.PublishSaved(held(0)) },
		"link":              func() { b.PublishLink(all[0].ID, lanes.LinkUp, time.Time{}, Hardware{}) },
		"locked":            func() { b.PublishLocked(all[0].ID, true) },
		"moved to this one": func() { b.Publish(all[1], held(0)) },
	} {
		change()
		_, current, next, _ := b.LaneChange(all[0].ID)
		require.True(t, closed(wake), name)
		require.Greater(t, current, last, name)
		wake, last = next, current
	}
	require.True(t, closed(second))

	layout := lanes.Layout{Lanes: []lanes.Place{{ID: all[1].ID, Name: "Lane 2"}}}
	_, _, other, _ = b.LaneChange(all[1].ID)
	b.Arrange(layout, map[uuid.UUID]int32{all[1].ID: 0})
	require.True(t, closed(wake))
	require.True(t, closed(other))
	_, _, wake, found = b.LaneChange(all[0].ID)
	require.False(t, found)
	require.Nil(t, wake)
	status, current, _, found := b.LaneChange(all[1].ID)
	require.True(t, found)
	require.Equal(t, all[1], status.Lane)
	require.Greater(t, current, last)
}

// A session that has moved is found at its lane, also where the lane that it has left was shown once more as it was.
func TestASessionThatHasMovedIsFound(t *testing.T) {
	b, all := fullBoard(2)
	session, before := all[0].Session.ID, all[0]
	from, to := all[0], all[1]
	from.Session, to.Session = nil, all[0].Session
	requireMoved := func() {
		lane, found := b.Find(session)
		require.True(t, found)
		require.Equal(t, to.ID, lane.ID)
		require.NotNil(t, b.Session(session))
	}
	b.PublishSaved(from, to)
	before.Accessible = false // as the lane knows of a reload, and not yet of the move
	b.PublishUnsaved(before)
	requireMoved()
	require.False(t, b.Lanes()[0].Lane.Accessible)
	require.Nil(t, b.Lanes()[0].Lane.Session)
	b.Publish(before)
	b.Publish(from)
	b.Publish(to)
	requireMoved()
}

// What is saved of a lane is shown as it was saved; what its actor alone knows stays until that publishes it.
func TestWhatIsSavedOfALaneIsShown(t *testing.T) {
	b, all := fullBoard(2)
	b.PublishLink(all[1].ID, lanes.LinkDown, noon.Wall, Hardware{NotUsable: "no connection"})
	session := all[0].Session
	from, to := all[0], all[1]
	from.Session, to.Session, to.Usable = nil, session, true // decided while the link was up
	b.PublishSaved(from, to)
	require.NotNil(t, b.Session(session.ID))
	lane, found := b.Find(session.ID)
	require.True(t, found)
	require.Equal(t, to.ID, lane.ID)
	require.False(t, lane.Usable)
	require.Nil(t, b.Lanes()[0].Lane.Session)
	_, version, _ := b.Changes(0)
	b.PublishSaved(from, to)
	_, again, _ := b.Changes(0)
	require.Equal(t, version, again, "twice is no change")
}

// All lanes are read in display order, however many turns it takes, and nobody who publishes waits for the end. A
// layout that shrinks meanwhile ends it.
func TestAllLanesAreReadInTurns(t *testing.T) {
	for _, n := range []int{0, 1, lanesInATurn - 1, lanesInATurn, lanesInATurn + 1, 3 * lanesInATurn} {
		b, all := fullBoard(n)
		var read []uuid.UUID
		for status, link := range b.All() {
			require.Equal(t, status.ID, link.Lane)
			read = append(read, status.ID)
			b.Publish(changed(all, len(read)))
		}
		want := []uuid.UUID(nil)
		for _, lane := range all {
			want = append(want, lane.ID)
		}
		require.Equal(t, want, read, "%d lanes", n)
	}
	b, _ := fullBoard(3 * lanesInATurn)
	read := 0
	for range b.All() {
		if read++; read == 1 {
			b.Arrange(lanes.Layout{}, nil)
		}
	}
	require.Equal(t, lanesInATurn, read)
}
