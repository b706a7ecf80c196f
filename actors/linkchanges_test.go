package actors

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// When a lane's link was lost, with which error, and to which controller it came up again, is remembered: the newest
// changes first, also when the lane's actor was restarted or the range reloaded.
func TestTheChangesOfALinkAreRemembered(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		began := f.clock.Now().Wall
		f.advance(time.Minute)
		lost := f.clock.Now().Wall
		restoreLink := f.cutLink(0)
		f.advance(2 * lastBackoff)
		restoreLink()
		f.advance(2 * lastBackoff)
		changes := f.LinkChanges(f.laneID(0))
		require.Len(t, changes, 3, "dials that fail are no changes")
		require.True(t, changes[0].At.After(lost))
		require.Equal(t, lanes.LinkChange{At: changes[0].At, Link: lanes.LinkUp, Firmware: "sim"}, changes[0])
		require.Equal(t, lanes.LinkDown, changes[1].Link)
		require.NotEmpty(t, changes[1].Error)
		require.Equal(t, lost, changes[1].At)
		require.Equal(t, lanes.LinkUp, changes[2].Link)
		require.False(t, changes[2].At.Before(began))
		require.Len(t, f.LinkChanges(f.laneID(1)), 1)
		require.Empty(t, f.LinkChanges(uuid.New()))
		require.False(t, f.ServedSince().After(began))

		require.NoError(t, f.reload(false, func(s *Settings) { s.Grace = time.Hour }))
		f.panicLane(0)
		f.advance(2 * lastBackoff)
		require.Equal(t, changes, f.LinkChanges(f.laneID(0))[2:])
		for range lanes.MaxLinkChanges {
			restoreLink := f.cutLink(0)
			f.advance(time.Second)
			restoreLink()
			f.advance(2 * lastBackoff)
		}
		require.Len(t, f.LinkChanges(f.laneID(0)), lanes.MaxLinkChanges)
	})
}
