package actors

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// While the gateway is down sessions run on, on the word of the controllers alone.

// ranOn is how long the session ran while the gateway was down, for staff to make up.
func (g *rig) ranOn(session uuid.UUID) time.Duration {
	g.Helper()
	lane, found := g.board.Find(session)
	require.True(g, found)
	return lane.Session.RanOn
}

func TestSessionsThatRanOnAreForStaffToMakeUp(t *testing.T) {
	for _, reboot := range []bool{false, true} {
		var said journal
		inFakeTime(t, func(t *testing.T, g *rig) {
			first, second, over, paused, waiting := g.create(0, 30), g.create(1, 30), g.create(2, 7), g.create(3, 30), g.book(4, 30)
			g.pause(paused)
			g.pass(5*time.Minute + 3*time.Second)
			g.shutDown()
			if reboot {
				g.clock.Reboot()
			}
			g.pass(2*time.Minute + time.Second)
			g.start()
			require.Contains(t, said.String(), `"sessions":2,"down":121000,"message":"sessions ran on`)
			for session, want := range map[uuid.UUID]time.Duration{
				first: 2*time.Minute + time.Second, second: 2*time.Minute + time.Second, paused: 0, waiting: 0,
			} {
				require.Equal(t, want, g.ranOn(session))
			}
			require.Equal(t, 7*time.Minute, g.ended(over).Used)

			left := g.left(first)
			g.staffOn(first, lanes.MakeUp{Session: first, Give: true})
			g.staffOn(first, lanes.MakeUp{Session: first, Give: true})
			require.Equal(t, left+3*time.Minute, g.left(first), "in whole minutes, and once")
			require.Equal(t, g.left(first), g.controller(0).Shown().Remaining)
			g.staffOn(second, lanes.MakeUp{Session: second})
			require.Equal(t, left, g.left(second))
			require.Zero(t, g.ranOn(first)+g.ranOn(second))
			require.Equal(t, []string{"make_up +3", "make_up +0"}, g.did())
			require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified}, g.happened(first))
			require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, g.happened(second))
			g.restart()
			require.Zero(t, g.ranOn(first)+g.ranOn(second), "it is settled")
		}, withLanes(5), withLog(zerolog.New(&said)))
	}
}

func TestAMinuteIsNotWorthAWord(t *testing.T) {
	var said journal
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		for range 3 {
			g.pass(15 * time.Second)
			g.shutDown()
			g.pass(time.Minute)
			g.start()
		}
		require.Zero(t, g.ranOn(session))
		require.NotContains(t, said.String(), "ran on")
	}, withLog(zerolog.New(&said)))
}

// Only the time down counts, of each of them once.
func TestTimeDownAddsUpOverRestarts(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 480)
		var down time.Duration
		for i, term := range []time.Duration{2 * time.Minute, 90 * time.Second, time.Minute, 0, 61 * time.Second, time.Hour} {
			g.pass(time.Duration(i) * 7 * time.Second)
			g.shutDown()
			g.pass(term)
			g.start()
			if term > time.Minute {
				down += term
			}
			require.Equal(t, down, g.ranOn(session))
		}
	})
}

// It was resumed after the last checkpoint: it cannot have run for longer than since then.
func TestWhatRanOnIsNoMoreThanWhatRan(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pause(session)
		g.pass(checkpointEvery + 7*time.Second)
		g.resume(session)
		g.pass(time.Second)
		g.kill()
		g.pass(2 * time.Minute)
		g.start()
		require.Equal(t, 2*time.Minute+time.Second, g.ranOn(session))
		require.Equal(t, 30*time.Minute-g.ranOn(session), g.left(session))
	})
}

// Whatever flush of the start is the last one before the next crash, no time counts twice and none is forgotten.
func TestACrashWhileTheRangeIsBroughtBack(t *testing.T) {
	for flushes := range 6 {
		inFakeTime(t, func(t *testing.T, g *rig) {
			var sessions []uuid.UUID
			for i := range 4 {
				sessions = append(sessions, g.create(i, 60))
			}
			g.shutDown()
			g.pass(2 * time.Minute)
			done := 0
			g.store.hook(func(ctx context.Context, _ store.Batch, flush func() error) error {
				if done++; done > flushes {
					return store.ErrFenced // the process is gone
				}
				return flush()
			})
			require.NoError(t, g.tryStart())
			synctest.Wait()
			g.shutDown()
			g.store.hook(nil)
			g.pass(3 * time.Minute)
			g.start()
			for _, session := range sessions {
				require.Equal(t, 5*time.Minute, g.ranOn(session), "after %d flushes", flushes)
			}
		}, withLanes(4))
	}
}

func TestARangeThatDoesNotStartSaysNothingOfIt(t *testing.T) {
	var said journal
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.create(1, 30)
		all := g.settings.Layout.Lanes
		g.shutDown()
		g.pass(5 * time.Minute)
		g.settings.Layout.Lanes = all[1:]
		require.ErrorIs(t, g.tryStart(), ErrLayout)
		require.NotContains(t, said.String(), "ran on")
		g.settings.Layout.Lanes = all
		g.start()
		require.Equal(t, 1, strings.Count(said.String(), "ran on"))
	}, withLog(zerolog.New(&said)))
}
