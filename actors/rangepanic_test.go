package actors

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A defect of a range's own actor costs that range a restart of its tree: its lanes are brought back as they were last saved,
// and no other range notices.
func TestAPanicOfARangeCostsItOneRestart(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		other, _ := g.another(nil) // started later
		before := other.Lanes()
		g.sendRoot((*toLane)(nil))
		g.pass(time.Second)

		require.True(t, g.gateway.Ready(2))
		require.Equal(t, before, other.Lanes(), "the other range and its links never noticed")
		require.Equal(t, map[string]int{"range": 1, "events": 1, "lane": 3, "connection": 3}, other.Actors().Live)
		require.Equal(t, map[string]int{"range": 1, "events": 1, "lane": 2, "connection": 2}, g.Actors().Live)
		require.True(t, g.open(0))
		g.modify(session, 5)
		require.True(t, g.hold(everywhere).Saved)
		g.requireHeld(0, 1)
		for _, lane := range g.Lanes() {
			require.Equal(t, lanes.LinkUp, lane.Link)
		}
	})
}

// What is asked of a lane while the range's actor starts again, and has to wait for another lane to end, waits until the lane is
// there again.
func TestWhatIsAskedWhileARangeStartsAgain(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		flushes, ending := g.holdFlushes(), make(chan struct{})
		first := g.begin(func() error { return g.tryCreate(0, 30) })
		g.toLane(0, &request{ctx: t.Context(), command: lanes.Modify{Minutes: 1}, done: func(bool) { <-ending }})
		g.sendRoot((*toLane)(nil))
		synctest.Wait() // lane 1 has ended, lane 0 has not
		second := g.begin(func() error { return g.tryCreate(1, 30) })
		require.Empty(t, second)
		flushes()
		close(ending)
		g.pass(time.Second)

		require.Equal(t, lanes.ErrTimeout, <-first, "nobody knew")
		require.NoError(t, <-second)
		require.Len(t, g.onBoard(), 2)
	})
}

// tells has do hear of every line of the log before it is written.
type tells func(line string)

func (do tells) Write(line []byte) (int, error) {
	do(string(line))
	return len(line), nil
}

// A range's actor that has panicked stops its lanes: what they were sent from then on would be lost.
func TestNobodySendsToLanesThatArePanickedAway(t *testing.T) {
	var g *rig
	panicked := false
	log := tells(func(line string) {
		if strings.Contains(line, "panicked") {
			panicked = true
			g.addresses.mu.RLock()
			defer g.addresses.mu.RUnlock()
			require.Empty(t, g.addresses.lanes)
		}
	})
	inFakeTime(t, func(t *testing.T, started *rig) {
		g = started
		g.sendRoot((*toLane)(nil))
		g.pass(time.Second)
		require.True(t, panicked)
		require.Len(t, g.addresses.lanes, 2)
		g.create(0, 30)
	}, withLog(zerolog.New(log)))
}
