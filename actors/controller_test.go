package actors

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What a controller says of itself in its hello is known of the link that is up, and of no other.
func TestTheControllerOfALinkIsKnown(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		up := f.LinkChanges(f.laneID(0))[0]
		require.Equal(t, []any{lanes.LinkUp, "sim", []string{"open_end"}, ""},
			[]any{up.Link, up.Firmware, up.Capabilities, up.Address})
		f.controller(0).CloseAtZero(true)
		restore := f.cutLink(0)
		down := f.LinkChanges(f.laneID(0))[0]
		require.Equal(t, []any{lanes.LinkDown, "", []string(nil)}, []any{down.Link, down.Firmware, down.Capabilities})
		restore()
		require.Equal(t, lanes.LinkUp, f.LinkChanges(f.laneID(0))[0].Link)
		require.Empty(t, f.LinkChanges(f.laneID(0))[0].Capabilities, "it is another controller")
	}, withLanes(1))
}
