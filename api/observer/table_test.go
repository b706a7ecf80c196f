package observer

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// manyActors are so many lanes, each with a reason or none, a backlog and restarts by chance.
func manyActors(n int) []observed {
	chance := rand.New(rand.NewPCG(3, 3))
	all := make([]observed, n)
	for i := range all {
		all[i] = observed{rangeName: "North", Observed: lanes.Observed{
			Kind: "lane", Lane: uuid.New(), Name: fmt.Sprintf("Lane %d", i+1), State: lanes.StateReady,
			Waiting: chance.IntN(20),
			Since:   noon.Add(-time.Duration(chance.IntN(1000)) * time.Second),
			Panics:  lanes.Panics{Count: chance.IntN(4)},
		}}
		if chance.IntN(10) == 0 {
			all[i].Late = new(time.Duration(chance.IntN(1000)))
		}
		if code := chance.IntN(2 * len(lanes.Urgency)); code < len(lanes.Urgency) {
			all[i].Why = &lanes.Why{
				Code:  lanes.Urgency[code],
				Since: noon.Add(-time.Duration(chance.IntN(100)) * time.Second),
			}
		}
	}
	return all
}

// The first of 1,000 are those of the whole list in that order; equals stay in the order of the configuration.
func TestTheFirstOfManyActorsAreShown(t *testing.T) {
	all := manyActors(1000)
	for order, compare := range orders {
		sorted := slices.Clone(all)
		slices.SortStableFunc(sorted, func(a, b observed) int { return compare(&a, &b) })
		for _, limit := range []int{1, 7, 100, 500} {
			shown := wanted{order: order, limit: limit}.of(look{noon, all})
			require.Equal(t, sorted[:limit], shown.first, "%s %d", order, limit)
			require.Equal(t, 1000, shown.total)
		}
	}
}

// What is most urgent comes first, whatever it is about, and of the same what lasts longest.
func TestTheMostUrgentComesFirst(t *testing.T) {
	shown := wanted{order: byUrgency, limit: 500}.of(look{noon, manyActors(1000)})
	require.True(t, slices.IsSortedFunc(shown.first, func(a, b observed) int {
		return cmp.Or(cmp.Compare(urgency(&a), urgency(&b)), a.Why.Since.Compare(b.Why.Since))
	}))
	require.Equal(t, lanes.WhyStoreDown, shown.first[0].Why.Code)
}

// The counts by state do not follow the choice of a state, so that a page can offer the others.
func TestStatesAreCounted(t *testing.T) {
	all := manyActors(10)
	all[3].State, all[4].State = lanes.StateParked, lanes.StateParked
	shown := wanted{order: byAge, limit: 500, state: lanes.StateParked}.of(look{noon, all})
	require.Equal(t, map[string]int{lanes.StateReady: 8, lanes.StateParked: 2}, shown.states)
	require.Equal(t, 2, shown.total)
}

// However many observers there are, the actors are looked at once a second. Where a look takes long, looks take a
// twenty-fifth of the time.
func TestObserversShareALook(t *testing.T) {
	for took, want := range map[time.Duration]int{0: 10, 40 * time.Millisecond: 10, 200 * time.Millisecond: 2} {
		synctest.Test(t, func(t *testing.T) {
			taken := 0
			l := looks{take: func([]observed) []observed {
				taken++
				time.Sleep(took)
				return nil
			}}
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				for range 10 {
					l.read(func(look) {})
				}
			}
			require.InDelta(t, want, taken, 1, took)
		})
	}
}

// Observers who want the same table share its text, until there is a new look. Those who want another one have
// their own.
func TestObserversShareATable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		actors := manyActors(10)
		l := looks{take: func([]observed) []observed { return actors }}
		all, one := wanted{order: byUrgency, limit: 100}, wanted{order: byUrgency, limit: 1}
		first := l.encoded(all)
		require.Same(t, first, l.encoded(all))
		require.NotEqual(t, string(first.sent), string(l.encoded(one).sent))

		time.Sleep(refreshEvery)
		second := l.encoded(all)
		require.NotEqual(t, string(first.sent), string(second.sent), "it has another time")
		require.Equal(t, string(first.without), string(second.without))
		actors = manyActors(11)
		time.Sleep(refreshEvery)
		require.NotEqual(t, string(first.without), string(l.encoded(all).without))
	})
}

func BenchmarkTheTableOf20000Actors(b *testing.B) {
	l := look{noon, manyActors(20_000)}
	for b.Loop() {
		viewOfTable(l, wanted{order: byUrgency, limit: 100})
	}
}
