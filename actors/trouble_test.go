package actors

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// Of a thousand lanes that are not well the worst are listed, in the order in which all of them would be.
func TestTheWorstLinksAreListed(t *testing.T) {
	chance := rand.New(rand.NewPCG(7, 7))
	states := []lanes.LinkState{lanes.LinkDown, lanes.LinkFaulty, lanes.LinkUp}
	var all, listed []lanes.LinkHealth
	for _, place := range places(1000) {
		one := lanes.LinkHealth{Lane: place.ID, Link: states[chance.IntN(3)], Since: time.Unix(chance.Int64N(50), 0), Restarts: chance.IntN(5)}
		all, listed = append(all, one), among(listed, one)
	}
	slices.SortStableFunc(all, worse)
	require.Equal(t, all[:lanes.MaxUnwell], listed)
}
