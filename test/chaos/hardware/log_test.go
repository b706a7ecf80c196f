package hardware

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
)

// reporter is a lane with a session on it, of a gateway that has no other.
type reporter struct {
	t       *testing.T
	lane    *lanesim.Controller
	till    pos
	desk    staff
	session string
}

// calls is how often a call for help was taken in.
func (r reporter) calls() (many int) {
	for _, e := range r.till.events() {
		if e.Payload.Event == "help" {
			require.Equal(r.t, r.session, e.Payload.Session)
			many++
		}
	}
	return many
}

func (r reporter) called(many int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.calls() == many }, patience, 5*time.Millisecond, "%d calls for help", many)
}

// keeps waits until the controller keeps that many reports.
func (r reporter) keeps(many int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.lane.Unacked() == many }, patience, time.Millisecond, "%d reports kept", many)
}

func (r reporter) again() float64 {
	return r.desk.count("rangegate_lane_reports_ignored_total", `reason="reported before"`)
}

func (r reporter) missing() float64 { return r.desk.count("rangegate_lane_reports_missing_total") }

// away cuts the link, and has it stay down until the function is called that is returned.
func (r reporter) away() (back func()) {
	r.t.Helper()
	r.lane.Hang(true)
	r.lane.Drop()
	r.till.until(0, "the link is down", func(now standing) bool { return now.Link == "down" })
	require.True(r.t, r.till.stand()[0].Usable, "the grace has not passed")
	return func() {
		r.t.Helper()
		r.lane.Hang(false)
		r.till.until(0, "the link comes up", isUp)
		require.Eventually(r.t, func() bool { return r.lane.Shown().Open }, patience, time.Millisecond)
	}
}

// What goes wrong with the report log of a lane: what POS gets of it, and what staff see counted.
func TestWhatGoesWrongWithAReportLog(t *testing.T) {
	for name, story := range map[string]func(*testing.T, reporter){
		"every report twice": func(t *testing.T, r reporter) {
			r.lane.Duplicate(true)
			require.NoError(t, r.lane.Help())
			require.Eventually(t, func() bool { return r.again() == 1 }, patience, 5*time.Millisecond)
			r.called(1)
			r.keeps(0)
			require.Zero(t, r.missing())
		},
		"acks lost": func(t *testing.T, r reporter) {
			r.lane.LoseAcks(true)
			require.NoError(t, r.lane.Help())
			r.called(1)
			require.Zero(t, r.again())
			r.away()()
			require.Eventually(t, func() bool { return r.again() == 1 }, patience, 5*time.Millisecond, "it comes again")
			r.keeps(1)
			r.lane.LoseAcks(false)
			r.away()()
			r.keeps(0)
			r.called(1)
			require.Zero(t, r.missing())
		},
		"one overtakes another": func(t *testing.T, r reporter) {
			require.NoError(t, r.lane.Help())
			r.keeps(0)
			require.Zero(t, r.missing())
			r.lane.Reorder(true)
			require.NoError(t, r.lane.Help())
			require.NoError(t, r.lane.Help())
			require.Eventually(t, func() bool { return r.again() == 1 }, patience, 5*time.Millisecond, "the first comes too late")
			r.keeps(0)
			r.called(2)
			require.Equal(t, 1.0, r.missing(), "the gap before the second")
			r.lane.Reorder(false)
			require.NoError(t, r.lane.Help())
			r.called(3)
			require.Equal(t, 1.0, r.missing())
		},
		"power cut while the link is down": func(t *testing.T, r reporter) {
			require.NoError(t, r.lane.Help())
			r.keeps(0)
			back := r.away()
			require.NoError(t, r.lane.Help())
			require.NoError(t, r.lane.Help())
			r.lane.PowerCut(false)
			require.False(t, r.lane.Shown().Open)
			r.keeps(2)
			back()
			r.called(3)
			r.keeps(0)
			require.Zero(t, r.again()+r.missing())
		},
		"power cut, log lost": func(t *testing.T, r reporter) {
			require.NoError(t, r.lane.Help())
			require.NoError(t, r.lane.Help())
			r.keeps(0)
			back := r.away()
			require.NoError(t, r.lane.Help())
			r.lane.PowerCut(true)
			r.keeps(0)
			back()
			require.NoError(t, r.lane.Help()) // number 1 of another log
			r.called(3)
			r.keeps(0)
			require.Zero(t, r.again()+r.missing())
		},
		"clock stands still": func(t *testing.T, r reporter) {
			off := func() float64 { return r.desk.count("rangegate_controller_times_off_total") }
			r.lane.StopClock(true)
			require.NoError(t, r.lane.Help())
			r.called(1)
			require.Eventually(t, func() bool { return r.till.remaining(r.session) < r.lane.Shown().Remaining-1100*time.Millisecond },
				patience, 10*time.Millisecond, "the gateway's goes on")
			stands := r.lane.Shown().Remaining
			require.Zero(t, off())
			back := r.away()
			r.lane.StopClock(false)
			back()
			require.Equal(t, 1.0, off())
			require.Less(t, r.lane.Shown().Remaining, stands-time.Second, "the gateway's holds")
			r.away()()
			require.Equal(t, 1.0, off(), "it goes right again")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := build(t, 1)
			_, till, desk := s.serve()
			till.until(0, "the link comes up", isUp)
			r := reporter{t, s.controller(0), till, desk, till.sell(0)}
			s.opens(t, 0)
			story(t, r)
			require.Empty(t, desk.holds())
		})
	}
}
