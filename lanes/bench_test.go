package lanes_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// BenchmarkDecide takes the decisions of a session's life, each from the state that it meets most.
func BenchmarkDecide(b *testing.B) {
	now := lanes.Instant{Wall: time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC), Mono: time.Hour}
	session, group := uuid.New(), uuid.New()
	free := lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}
	after := func(lane lanes.Lane, command lanes.Command) lanes.Lane {
		change, err := lane.Decide(now, command)
		require.NoError(b, err)
		return change.Lane
	}
	sale := lanes.Create{Session: session, Group: group, Customer: "Jo Smith", Minutes: 60}
	waiting := after(free, sale)
	running := after(waiting, lanes.Enter{Session: session})
	paused := after(running, lanes.Pause{Session: session})
	sale.AutoStart = true
	for _, c := range []struct {
		name    string
		lane    lanes.Lane
		at      lanes.Instant
		command lanes.Command
	}{
		{"create", free, now, sale},
		{"enter", waiting, now, lanes.Enter{Session: session}},
		{"modify", running, now, lanes.Modify{Session: session, Minutes: 15}},
		{"pause", running, now, lanes.Pause{Session: session}},
		{"resume", paused, now, lanes.Resume{Session: session}},
		{"hold", running, now, lanes.Hold{}},
		{"stop", running, now, lanes.Stop{Session: session, By: lanes.ByPOS}},
		{"expire", running, now.Add(time.Hour), lanes.Expire{}},
		{"refused", running, now, sale},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.lane.Decide(c.at, c.command)
			}
		})
	}
}
