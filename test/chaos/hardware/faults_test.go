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
	link, why string
	says      string // in the gateway's log, of the link
	locks     bool   // the controller has locked its fire line by itself
}

var faults = []fault{
	{"refuses", broken((*lanesim.Controller).Refuse), ending((*lanesim.Controller).Refuse), "faulty", faulty, "503", false},
	{"hangs in the handshake", broken((*lanesim.Controller).Hang), ending((*lanesim.Controller).Hang), "down", linkDown, "deadline exceeded", false},
	{"another lane's", broken((*lanesim.Controller).Pose), ending((*lanesim.Controller).Pose), "faulty", faulty, "is that of lane", false},
	{"half open", beginning((*lanesim.Controller).HalfOpen), ending((*lanesim.Controller).HalfOpen), "down", linkDown, "", false},
	// These are over in a moment. What comes after them hangs for a while, so that they are seen.
	{"drop", hanging((*lanesim.Controller).Drop), ending((*lanesim.Controller).Hang), "down", linkDown, "", false},
	{"garbage", hanging((*lanesim.Controller).Garbage), ending((*lanesim.Controller).Hang), "faulty", faulty, "not a JSON object", false},
	{"oversize", hanging((*lanesim.Controller).Oversize), ending((*lanesim.Controller).Hang), "faulty", faulty, "16 KiB", false},
	{"power cut", hanging(func(c *lanesim.Controller) { c.PowerCut(false) }), ending((*lanesim.Controller).Hang), "down", linkDown, "", true},
	{"power cut, log lost", hanging(func(c *lanesim.Controller) { c.PowerCut(true) }), ending((*lanesim.Controller).Hang), "down", linkDown, "", true},
	// The link is up.
	{"hardware", func(c *lanesim.Controller) { c.Fault("stuck") }, (*lanesim.Controller).ClearFaults, "up", "its hardware reports: stuck", "", false},
	{"slow", beginning((*lanesim.Controller).Slow), ending((*lanesim.Controller).Slow), "up", "", "", false},
	{"clock stands still", beginning((*lanesim.Controller).StopClock), ending((*lanesim.Controller).StopClock), "up", "", "", false},
	{"acks lost", beginning((*lanesim.Controller).LoseAcks), ending((*lanesim.Controller).LoseAcks), "up", "", "", false},
	{"every report twice", beginning((*lanesim.Controller).Duplicate), ending((*lanesim.Controller).Duplicate), "up", "", "", false},
	{"reports overtake one another", beginning((*lanesim.Controller).Reorder), ending((*lanesim.Controller).Reorder), "up", "", "", false},
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
	ways
)

// Every fault on three lanes, beside a lane without any. On the first the session goes on, on the second POS stops it
// while the fault lasts, on the third staff hold the lane.
func TestEveryFaultIsSeenAndOvercome(t *testing.T) {
	many := ways*len(faults) + 1
	s := build(t, many, "link_grace: 200ms")
	_, till, desk := s.serve()
	sessions := make([]string, many)
	for n := range many {
		till.until(n, "the link comes up", isUp)
		sessions[n] = till.sell(n)
		s.opens(t, n)
	}
	before, sound := till.stand(), many-1

	over := make(chan struct{})
	var watching, suffering sync.WaitGroup
	watching.Go(func() {
		t.Run("none", func(t *testing.T) {
			till := pos{t, till.Client}
			for {
				require.Equal(t, before[sound], till.stand()[sound], "the lane beside them is untouched")
				require.True(t, s.controller(sound).Shown().Open)
				select {
				case <-over:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	})
	for i, wrong := range faults { // all at once, which t.Parallel would not have them be
		for way, name := range []string{"it goes on", "it is stopped", "it is held"} {
			n := ways*i + way
			suffering.Go(func() {
				t.Run(fmt.Sprintf("%s, %s", wrong.name, name), func(t *testing.T) {
					b := bout{t, wrong, way, n, s.controller(n), pos{t, till.Client}, staff{t, desk.gateway}, sessions[n], before[n]}
					b.begin()
					b.meanwhile()
					b.end()
				})
			})
		}
	}
	suffering.Wait()
	close(over)
	watching.Wait()

	require.Empty(t, desk.holds(), "no fault leaves a hold behind")
	down, refused := 0, 0
	lost := desk.lost()
	for n := range sound {
		down += len(lost[laneID(n)])
		if faults[n/ways].link == "faulty" {
			refused++
		}
	}
	require.Empty(t, lost[laneID(sound)])
	counted := func(what string) int { return int(desk.count("rangegate_links_total", `what="`+what+`"`)) }
	require.Equal(t, down, counted("down")+counted("not_made")+counted("faulty"), "what is logged is counted")
	require.GreaterOrEqual(t, counted("faulty"), refused)
}

// bout is one fault on one lane.
type bout struct {
	t       *testing.T
	fault   fault
	way     int
	n       int
	lane    *lanesim.Controller
	till    pos
	desk    staff
	session string
	before  standing
}

func (b bout) begin() {
	t := b.t
	b.fault.begin(b.lane)
	b.till.until(b.n, "it is seen", func(now standing) bool { return now.Link == b.fault.link && now.why() == b.fault.why })
	require.Equal(t, b.fault.why == "", b.till.stand()[b.n].Usable)
	if b.fault.link == "up" {
		return
	}
	require.Equal(t, !b.fault.locks, b.lane.Shown().Open, "a running session runs out")
	said := func(why string) bool { return strings.Contains(why, b.fault.says) }
	require.Eventually(t, func() bool { return slices.ContainsFunc(b.desk.lost()[laneID(b.n)], said) }, patience, 10*time.Millisecond, b.fault.says)
}

// meanwhile is what people do on a lane with a fault.
func (b bout) meanwhile() {
	t, id := b.t, laneID(b.n)
	switch b.way {
	case isStopped:
		b.till.ask("POST", "/sessions/"+b.session+"/stop", "", 204, nil)
		require.Equal(t, "free", b.till.stand()[b.n].Phase)
		if b.fault.why != "" {
			answer, err := b.till.trySell(b.n)
			require.NoError(t, err)
			require.Equal(t, 409, answer.Status, answer.Body)
			require.Contains(t, answer.Body, `"lane_not_usable"`)
		}
	case isHeld:
		far := b.desk.hold(b.n, true)
		require.True(t, far.Saved)
		if b.fault.link != "up" {
			require.Equal(t, []string{id}, far.NotReached, "staff are told that the lane may be open")
		} else {
			require.Contains(t, append(far.Confirmed, far.Sent...), id)
		}
		require.Equal(t, "operator", b.desk.holds()[id])
		require.Equal(t, "paused", b.till.stand()[b.n].Phase)
	}
	if b.fault.link == "up" {
		b.inForce()
	}
}

// end has what people did meanwhile enforced, and the lane as good as before.
func (b bout) end() {
	t := b.t
	b.fault.end(b.lane)
	b.till.until(b.n, "it is overcome", isUp)
	if b.fault.link == "up" {
		require.Equal(t, b.before.Since, b.till.stand()[b.n].Since, "the link was up throughout")
		require.Empty(t, b.desk.lost()[laneID(b.n)])
	}
	b.inForce()
	switch b.way {
	case isStopped:
		b.session = b.till.sell(b.n)
	case isHeld:
		require.True(t, b.desk.hold(b.n, false).Saved)
	}
	b.way = goesOn
	b.inForce()
	now := b.till.stand()[b.n]
	require.Equal(t, "running", now.Phase)
	require.Equal(t, b.session, *now.Session)
}

// inForce waits until the hardware does what is wanted.
func (b bout) inForce() {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		shown := b.lane.Shown()
		switch b.way {
		case isStopped:
			return !shown.Open && shown.Session == uuid.Nil
		case isHeld:
			return !shown.Open && shown.Hold && shown.Session.String() == b.session
		}
		return shown.Open && shown.Session.String() == b.session
	}, patience, 5*time.Millisecond, "what people want is in force")
}
