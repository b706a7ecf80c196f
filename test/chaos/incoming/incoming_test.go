package incoming

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// A range whose controllers dial sells, holds and stops as any other; its sessions and its links outlive a crash.
func TestARangeWhoseControllersDial(t *testing.T) {
	config, dialled := configure(t, support.IncomingLanes(1, 2))
	hardware := support.NewDialling(t, dialled, 1, 2) // before there is a gateway
	g := config.Serve(t)
	waitLinked(t, g, 2)
	session := g.POS().Sell(1, 30)
	hardware.WaitOpen(1, session)
	require.NoError(t, hardware.Controller(1).Help())
	hardware.WaitAcked(1)

	support.Eventually(t, "both confirm", func() bool { return len(g.HoldRange(true).Confirmed) == 2 })
	require.False(t, hardware.Controller(1).Shown().Open)
	g.HoldRange(false)
	hardware.WaitOpen(1, session)

	g.Kill()
	require.True(t, hardware.Controller(1).Shown().Open, "what runs goes on without a gateway")
	g = config.Serve(t)
	waitLinked(t, g, 2)
	hardware.WaitOpen(1, session)
	g.POS().Command(session, "/stop")
	hardware.WaitLocked(1)
	require.Zero(t, attempts(g, "refused"))
}

// A reload changes which side dials, and the key, lane by lane; the other lanes keep their links.
func TestAReloadChangesWhoDials(t *testing.T) {
	config, dialled := configure(t, nil)
	listening := support.NewControllers(t, 1, 1)
	dialling := support.NewDialling(t, dialled, 1, 3)
	config.Ranges[0].Lanes = []string{listening.Lane(1), support.IncomingLane(2), support.IncomingLane(3)}
	g := config.Serve(t)
	waitLinked(t, g, 3)
	session := g.POS().Sell(1, 30)
	listening.WaitOpen(1, session)

	config.Ranges[0].Lanes[0] = support.IncomingLane(1)
	g.Configure(config.String())
	g.Signal(syscall.SIGHUP)
	dialling.WaitOpen(1, session)
	waitLinked(t, g, 4)

	config.Ranges[0].Lanes[0] = listening.Lane(1)
	config.Ranges[0].Lanes[2] = strings.Replace(support.IncomingLane(3), `key: "`, `key: "another-`, 1)
	g.Configure(config.String())
	g.Signal(syscall.SIGHUP)
	waitLinked(t, g, 5)
	support.Eventually(t, "the key has changed", func() bool { return attempts(g, "refused") > 0 })
	g.POS().Command(session, "/stop")
	listening.WaitLocked(1)
	second := g.POS().Sell(2, 30)
	dialling.WaitOpen(2, second)
	require.EqualValues(t, 3, g.Metrics().Sum("rangegate_links_total", `what="down"`), "lane 1 twice, and lane 3")

	// The address itself needs a restart.
	config.Sections[0] = "controllers: {address: " + support.FreeAddress(t) + "}"
	g.Configure(config.String())
	answer := g.Operate("POST", "/reload", "")
	require.Equal(t, 409, answer.Status)
	require.Contains(t, answer.Body, "controllers.address")
}

// A controller that starts anew replaces its own older connection. A second one with the lane's key is
// refused while the first answers, and both addresses are told.
func TestASecondControllerOfALane(t *testing.T) {
	config, dialled := configure(t, support.IncomingLanes(1, 1))
	g := config.Serve(t)
	hardware := support.NewDialling(t, dialled, 1, 1)
	waitLinked(t, g, 1)
	session := g.POS().Sell(1, 30)
	hardware.WaitOpen(1, session)

	second, err := lanesim.New(lanesim.Settings{Now: support.Now, DialOnRequest: true},
		lanesim.Lane{ID: uuid.MustParse(support.LaneID(1)), Dial: support.LinkURL(dialled, 1), Key: support.LinkKey(1)})
	require.NoError(t, err)
	t.Cleanup(second.Close)
	err = second.Controller(uuid.MustParse(support.LaneID(1))).Dial(t.Context())
	require.ErrorContains(t, err, "another controller of this lane is linked")
	support.Eventually(t, "it is counted", func() bool { return attempts(g, "contested") == 1 })
	g.WaitLogged("a second controller dialled for the lane and was refused")
	require.Regexp(t, `"refused":"127.0.0.1:\d+","linked":"127.0.0.1:\d+"`, g.Log())
	require.Zero(t, g.Metrics().Sum("rangegate_links_total", `what="down"`), "the first one has noticed nothing")

	go func() { // again from the same hardware: its older connection gives way
		_ = hardware.Controller(1).Dial(t.Context())
	}()
	support.Eventually(t, "it is replaced", func() bool {
		return g.Metrics().Sum("rangegate_link_failures_total", `cause="replaced"`) >= 1
	})
	support.Eventually(t, "it is open on the newer connection", func() bool {
		return hardware.Controller(1).Shown().Open
	})
	g.POS().Command(session, "/stop")
	hardware.WaitLocked(1)

	// One that is there and says nothing is no controller any more: the second one takes the lane.
	hardware.Silence(1)
	go func() { _ = second.Controller(uuid.MustParse(support.LaneID(1))).Dial(t.Context()) }()
	taken := g.POS().Sell(1, 30)
	support.Eventually(t, "the second controller opens", func() bool {
		shown := second.Controller(uuid.MustParse(support.LaneID(1))).Shown()
		return shown.Open && shown.Session.String() == taken
	})
}
