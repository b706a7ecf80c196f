package hardware

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/test/support"
)

const (
	linkDown = "its link is down"
	faulty   = "its controller is faulty"
)

// fault is what may be wrong with a lane.
type fault struct {
	name       string
	begin, end func(*lanesim.Controller)

	// What POS sees of it until it is over. Without a reason the lane stays usable.
	link, notUsable string
	logs            string // in the gateway's log, of the link
	locks           bool   // the controller has locked its fire line by itself
}

var faults = []fault{
	{
		"refuses", broken((*lanesim.Controller).Refuse), ending((*lanesim.Controller).Refuse), "faulty",
		faulty, "503", false,
	},
	{
		"hangs in the handshake", broken((*lanesim.Controller).Hang), ending((*lanesim.Controller).Hang),
		"down", linkDown,
		"deadline exceeded", false,
	},
	{
		"another lane's", broken((*lanesim.Controller).Pose), ending((*lanesim.Controller).Pose), "faulty", faulty,
		"is that of lane", false,
	},
	{
		"half open", beginning((*lanesim.Controller).HalfOpen), ending((*lanesim.Controller).HalfOpen), "down",
		linkDown, "", false,
	},
	// These are over in a moment. What comes after them hangs for a while, so that they are seen.
	{"drop", hanging((*lanesim.Controller).Drop), ending((*lanesim.Controller).Hang), "down", linkDown, "", false},
	{
		"garbage", hanging((*lanesim.Controller).Garbage), ending((*lanesim.Controller).Hang), "faulty", faulty,
		"not a JSON object", false,
	},
	{
		"oversize", hanging((*lanesim.Controller).Oversize), ending((*lanesim.Controller).Hang), "faulty", faulty,
		"16 KiB", false,
	},
	{
		"power cut", hanging(func(c *lanesim.Controller) { c.PowerCut(false) }), ending((*lanesim.Controller).Hang),
		"down", linkDown, "", true,
	},
	{
		"power cut, log lost", hanging(func(c *lanesim.Controller) { c.PowerCut(true) }),
		ending((*lanesim.Controller).Hang), "down", linkDown, "", true,
	},
	// The link is up.
	{
		"hardware", func(c *lanesim.Controller) { c.Fault("stuck") }, (*lanesim.Controller).ClearFaults, "up",
		"its hardware reports: stuck", "", false,
	},
	{"slow", beginning((*lanesim.Controller).Slow), ending((*lanesim.Controller).Slow), "up", "", "", false},
	{
		"clock stands still", beginning((*lanesim.Controller).StopClock), ending((*lanesim.Controller).StopClock), "up",
		"", "", false,
	},
	{
		"acks lost", beginning((*lanesim.Controller).LoseAcks), ending((*lanesim.Controller).LoseAcks), "up",
		"", "", false,
	},
	{
		"every report twice", beginning((*lanesim.Controller).Duplicate), ending((*lanesim.Controller).Duplicate), "up",
		"", "", false,
	},
	{
		"reports overtake one another", beginning((*lanesim.Controller).Reorder), ending((*lanesim.Controller).Reorder),
		"up", "", "", false,
	},
}

func beginning(fault func(*lanesim.Controller, bool)) func(*lanesim.Controller) {
	return func(c *lanesim.Controller) { fault(c, true) }
}

func ending(fault func(*lanesim.Controller, bool)) func(*lanesim.Controller) {
	return func(c *lanesim.Controller) { fault(c, false) }
}

// broken is a fault that shows when the gateway comes anew, which it has to.
func broken(fault func(*lanesim.Controller, bool)) func(*lanesim.Controller) {
	return func(c *lanesim.Controller) {
		fault(c, true)
		c.Drop()
	}
}

func hanging(momentary func(*lanesim.Controller)) func(*lanesim.Controller) {
	return func(c *lanesim.Controller) {
		c.Hang(true)
		momentary(c)
	}
}

// What becomes of the session on a lane while its fault lasts.
const (
	goesOn = iota
	isStopped
	isHeld
	actions
)

// Every fault on three lanes, beside a lane without any. On the first the session goes on, on the second POS stops it
// while the fault lasts, on the third staff hold the lane.
func TestEveryFaultIsSeenAndOvercome(t *testing.T) {
	many := actions*len(faults) + 1
	controllers := support.NewControllers(t, 0, many-1)
	pos, operator := serve(t, newConfig(t, controllers, "link_grace: 200ms"))
	sessions := make([]string, many)
	for n := range many {
		pos.waitLane(n, "the link comes up", lane.isUp)
		sessions[n] = pos.sell(n)
		controllers.WaitOpen(n, sessions[n])
	}
	before, sound := pos.lanes(), many-1
	still := operator.Stillness(t.Context())

	done := make(chan struct{})
	var watching, suffering sync.WaitGroup
	watching.Go(func() {
		t.Run("none", func(t *testing.T) {
			pos := posClient{pos.With(t), t}
			for {
				present, open := pos.lanes()[sound], controllers.Controller(sound).Shown().Open
				if still() < support.Standstill {
					require.Equal(t, before[sound], present, "the lane beside them is untouched")
					require.True(t, open)
				}
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	})
	for i, wrong := range faults { // all at once, which t.Parallel would not have them be
		for action, name := range []string{"it goes on", "it is stopped", "it is held"} {
			n := actions*i + action
			suffering.Go(func() {
				t.Run(fmt.Sprintf("%s, %s", wrong.name, name), func(t *testing.T) {
					c := faultCase{
						t, wrong, action, n, controllers.Controller(n),
						posClient{pos.With(t), t},
						operator, still,
						sessions[n], before[n],
					}
					c.begin()
					c.act()
					c.end()
				})
			})
		}
	}
	suffering.Wait()
	close(done)
	watching.Wait()

	require.Empty(t, operator.holds(), "no fault leaves a hold behind")
	down, refused := 0, 0
	linkErrors := operator.linkErrors()
	for n := range sound {
		down += len(linkErrors[support.LaneID(n)])
		if faults[n/actions].link == "faulty" {
			refused++
		}
	}
	if still() < support.Standstill {
		require.Empty(t, linkErrors[support.LaneID(sound)])
	}
	counted := func(what string) int { return int(operator.metric("rangegate_links_total", `what="`+what+`"`)) }
	require.Equal(t, down, counted("down")+counted("not_made")+counted("faulty"), "what is logged is counted")
	require.GreaterOrEqual(t, counted("faulty"), refused)
}

// faultCase is one fault on one lane.
type faultCase struct {
	t          *testing.T
	fault      fault
	action     int
	n          int
	controller *lanesim.Controller
	pos        posClient
	operator   operator
	still      func() time.Duration // the longest time that the gateway has stood still
	session    string
	before     lane
}

func (c faultCase) begin() {
	t := c.t
	c.fault.begin(c.controller)
	c.pos.waitLane(c.n, "it is seen", func(l lane) bool {
		return l.Link == c.fault.link && l.notUsableBecause() == c.fault.notUsable
	})
	require.Equal(t, c.fault.notUsable == "", c.pos.lanes()[c.n].Usable)
	if c.fault.link == "up" {
		return
	}
	require.Equal(t, !c.fault.locks, c.controller.Shown().Open, "a running session runs out")
	logged := func(reason string) bool { return strings.Contains(reason, c.fault.logs) }
	support.Eventually(t, "logged: "+c.fault.logs, func() bool {
		return slices.ContainsFunc(c.operator.linkErrors()[support.LaneID(c.n)], logged)
	})
}

// act is what people do on a lane with a fault.
func (c faultCase) act() {
	t, id := c.t, support.LaneID(c.n)
	switch c.action {
	case isStopped:
		c.pos.Command(c.session, "/stop")
		require.Equal(t, "free", c.pos.lanes()[c.n].Phase)
		if c.fault.notUsable != "" {
			require.Equal(t, "lane_not_usable",
				c.pos.Expect(409, "POST", "/sessions", support.Order(c.n, soldMinutes)).Code())
		}
	case isHeld:
		reach := c.hold(true)
		if c.fault.link != "up" {
			require.Equal(t, []string{id}, reach.NotReached, "staff are told that the lane may be open")
		} else if c.still() < support.Standstill {
			require.Contains(t, append(reach.Confirmed, reach.Sent...), id)
		}
		require.Equal(t, "operator", c.operator.holds()[id])
		require.Equal(t, "paused", c.pos.lanes()[c.n].Phase)
	}
	if c.fault.link == "up" {
		c.waitInForce()
	}
}

// hold sets or lifts a hold over the lane, again while the store of a busy machine has not saved it in time.
func (c faultCase) hold(on bool) (reach support.Reach) {
	support.Eventually(c.t, "it is saved", func() bool {
		reach = c.operator.HoldLane(c.n, on)
		return reach.Saved
	})
	return reach
}

// end has what people did meanwhile enforced, and the lane as good as before.
func (c faultCase) end() {
	t := c.t
	c.fault.end(c.controller)
	c.pos.waitLane(c.n, "it is overcome", lane.isUp)
	since, linkErrors := c.pos.lanes()[c.n].LinkSince, c.operator.linkErrors()[support.LaneID(c.n)]
	if c.fault.link == "up" && c.still() < support.Standstill {
		require.Equal(t, c.before.LinkSince, since, "the link was up throughout")
		require.Empty(t, linkErrors)
	}
	c.waitInForce()
	switch c.action {
	case isStopped:
		c.session = c.pos.sell(c.n)
	case isHeld:
		c.hold(false)
	}
	c.action = goesOn
	c.waitInForce()
	now := c.pos.lanes()[c.n]
	require.Equal(t, "running", now.Phase)
	require.Equal(t, c.session, *now.Session)
}

// waitInForce waits until the hardware does what is wanted.
func (c faultCase) waitInForce() {
	c.t.Helper()
	support.Eventually(c.t, "what people want is in force", func() bool {
		shown := c.controller.Shown()
		switch c.action {
		case isStopped:
			return !shown.Open && shown.Session == uuid.Nil
		case isHeld:
			return !shown.Open && shown.Hold && shown.Session.String() == c.session
		}
		return shown.Open && shown.Session.String() == c.session
	})
}
