package hardware

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/test/support"
)

// reporter is a lane with a session on it, of a gateway that has no other.
type reporter struct {
	t           *testing.T
	controllers *support.Controllers
	controller  *lanesim.Controller
	pos         posClient
	operator    operator
	session     string
}

// calls is how many calls for help the gateway has logged.
func (r reporter) calls() (many int) {
	for _, e := range r.pos.Events("0") {
		if e.Payload.Event == "help" {
			require.Equal(r.t, r.session, e.Payload.Session)
			many++
		}
	}
	return many
}

func (r reporter) waitCalls(many int) {
	r.t.Helper()
	support.Eventually(r.t, fmt.Sprintf("%d calls for help", many), func() bool { return r.calls() == many })
}

// waitKept waits until the controller keeps that many reports.
func (r reporter) waitKept(many int) {
	r.t.Helper()
	support.Eventually(r.t, fmt.Sprintf("%d reports kept", many), func() bool { return r.controller.Unacked() == many })
}

func (r reporter) repeated() float64 {
	return r.operator.metric("rangegate_lane_reports_ignored_total", `reason="reported before"`)
}

func (r reporter) missing() float64 { return r.operator.metric("rangegate_lane_reports_missing_total") }

// cutLink has the link go down. It comes up again when the returned function is called.
func (r reporter) cutLink() (restore func()) {
	r.t.Helper()
	r.controller.Hang(true)
	r.controller.Drop()
	r.pos.waitLane(0, "the link is down", func(l lane) bool { return l.Link == "down" })
	require.True(r.t, r.pos.lanes()[0].Usable, "the grace has not passed")
	return func() {
		r.t.Helper()
		r.controller.Hang(false)
		r.pos.waitLane(0, "the link comes up", lane.isUp)
		r.controllers.WaitOpen(0, r.session)
	}
}

// What goes wrong with the report log of a lane: what POS gets of it, and what staff see counted.
func TestWhatGoesWrongWithAReportLog(t *testing.T) {
	for name, story := range map[string]func(*testing.T, reporter){
		"every report twice": func(t *testing.T, r reporter) {
			r.controller.Duplicate(true)
			require.NoError(t, r.controller.Help())
			support.Eventually(t, "the repeat is ignored", func() bool { return r.repeated() == 1 })
			r.waitCalls(1)
			r.waitKept(0)
			require.Zero(t, r.missing())
		},
		"acks lost": func(t *testing.T, r reporter) {
			r.controller.LoseAcks(true)
			require.NoError(t, r.controller.Help())
			r.waitCalls(1)
			require.Zero(t, r.repeated())
			r.cutLink()()
			support.Eventually(t, "it comes again", func() bool { return r.repeated() == 1 })
			r.waitKept(1)
			r.controller.LoseAcks(false)
			r.cutLink()()
			r.waitKept(0)
			r.waitCalls(1)
			require.Zero(t, r.missing())
		},
		"one overtakes another": func(t *testing.T, r reporter) {
			require.NoError(t, r.controller.Help())
			r.waitKept(0)
			require.Zero(t, r.missing())
			r.controller.Reorder(true)
			require.NoError(t, r.controller.Help())
			require.NoError(t, r.controller.Help())
			support.Eventually(t, "the first comes too late", func() bool { return r.repeated() == 1 })
			r.waitKept(0)
			r.waitCalls(2)
			require.Equal(t, 1.0, r.missing(), "the gap before the second")
			r.controller.Reorder(false)
			require.NoError(t, r.controller.Help())
			r.waitCalls(3)
			require.Equal(t, 1.0, r.missing())
		},
		"power cut while the link is down": func(t *testing.T, r reporter) {
			require.NoError(t, r.controller.Help())
			r.waitKept(0)
			restore := r.cutLink()
			require.NoError(t, r.controller.Help())
			require.NoError(t, r.controller.Help())
			r.controller.PowerCut(false)
			require.False(t, r.controller.Shown().Open)
			r.waitKept(2)
			restore()
			r.waitCalls(3)
			r.waitKept(0)
			require.Zero(t, r.repeated()+r.missing())
		},
		"power cut, log lost": func(t *testing.T, r reporter) {
			require.NoError(t, r.controller.Help())
			require.NoError(t, r.controller.Help())
			r.waitKept(0)
			restore := r.cutLink()
			require.NoError(t, r.controller.Help())
			r.controller.PowerCut(true)
			r.waitKept(0)
			restore()
			require.NoError(t, r.controller.Help()) // number 1 of another log
			r.waitCalls(3)
			r.waitKept(0)
			require.Zero(t, r.repeated()+r.missing())
		},
		"clock stands still": func(t *testing.T, r reporter) {
			skewed := func() float64 { return r.operator.metric("rangegate_controller_times_off_total") }
			r.controller.StopClock(true)
			require.NoError(t, r.controller.Help())
			r.waitCalls(1)
			support.Eventually(t, "the gateway's goes on", func() bool {
				return r.pos.Session(r.session).Left.Duration < r.controller.Shown().Remaining-1100*time.Millisecond
			})
			counted := r.controller.Shown().Remaining
			require.Zero(t, skewed())
			restore := r.cutLink()
			r.controller.StopClock(false)
			restore()
			require.Equal(t, 1.0, skewed())
			require.Less(t, r.controller.Shown().Remaining, counted-time.Second, "the gateway's holds")
			r.cutLink()()
			require.Equal(t, 1.0, skewed(), "it goes right again")
		},
	} {
		t.Run(name, func(t *testing.T) {
			controllers := support.NewControllers(t, 0, 0)
			pos, operator := serve(t, newConfig(t, controllers, "link_grace: 10m"))
			pos.waitLane(0, "the link comes up", lane.isUp)
			r := reporter{t, controllers, controllers.Controller(0), pos, operator, pos.sell(0)}
			controllers.WaitOpen(0, r.session)
			story(t, r)
			require.Empty(t, operator.holds())
		})
	}
}
