// Package screens has staff and shooters at the screens of the real binary: stories that a browser plays, Debian's
// chromium steered by playwright-core. A story is a .mjs file of its name; what it does to the world around the screens
// (the POS, the lanes' controllers, the gateway's power) it asks of the test that runs it.
//
//	fixture_test.go     the range: its controllers, its configuration   story.mjs    a story's browser, and what becomes of it
//	integrator_test.go  the integrator: products, webhook               control.mjs  staff at the control screen
//	world_test.go       what a story may ask for                        lane.mjs     a shooter at the lane screen
//	story_test.go       the stories                                     pos.mjs      the POS, and the world around the screens
//	nginx_test.go       nginx in front of the gateway
//	demo_test.go        the demo integrator beside it
//	                                                                    times.mjs    times on a screen, right or wrong
//	                                                                    sizes.mjs    the sizes and languages of screens
//	                                                                    measuring.js what measure.mjs has every page measure
package screens

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// patience ends a story that hangs, so that its output is shown. A busy machine took 8 minutes for one that
// did not hang.
const patience = 15 * time.Minute

// soakPatience is for a story of every size in every language: EVERY_SIZE, which make soak sets.
const soakPatience = time.Hour

// A day at the range, from signing in to the last customer's time running out: what staff and shooters do at
// the screens is what the other screen shows, what the lanes' hardware does and what reaches the POS.
func TestADayAtTheRange(t *testing.T) {
	t.Parallel()
	play(t, "day")
}

// The display of a lane stays on, and the device of staff says that somebody calls while their page is hidden.
func TestTheDevicesOfAScreen(t *testing.T) {
	t.Parallel()
	play(t, "awake")
}

// Two control screens and a lane screen: what is done at one, the gateway tells the others, which ask for nothing.
func TestScreensSeeTheSame(t *testing.T) {
	t.Parallel()
	play(t, "together")
}

// The gateway is killed, and stopped, under open screens: they recover by themselves, and show no wrong time meanwhile.
func TestTheGatewayIsStartedAnewUnderOpenScreens(t *testing.T) {
	t.Parallel()
	play(t, "restart")
}

// A tab that was frozen, and devices that slept, show the right time as soon as they are awake.
func TestScreensThatSlept(t *testing.T) {
	t.Parallel()
	play(t, "asleep")
}

// Every page and state, in light and dark, is one that axe has nothing to say against.
func TestScreensAreForEverybody(t *testing.T) {
	t.Parallel()
	play(t, "access")
}

// Staff and a shooter who have a keyboard alone: everything can be reached, and the focus is never lost.
func TestByKeyboardAlone(t *testing.T) {
	t.Parallel()
	play(t, "keyboard")
}

// Who may not see or do something: a wrong PIN, another range's cookie, another lane's key, a page of another site, a
// session that has ended.
func TestWhoMayNot(t *testing.T) {
	t.Parallel()
	play(t, "refused")
}

// A POS that is a page of another origin calls the API, if the configuration names that origin; a page of any
// other does not.
func TestAPOSInABrowser(t *testing.T) {
	t.Parallel()
	play(t, "browserpos", func(f *fixture,
		world string,
	) {
		f.config.HTTP = fmt.Sprintf("cors: {origins: [%q]}", world)
	})
}

// How the actors are, as an operator sees it: each of them and why it is stuck, what is not in order, one lane with its
// latest commands.
func TestThePageOfTheActors(t *testing.T) {
	t.Parallel()
	play(t, "actors", func(f *fixture, _ string) { f.useRedis() })
}

// A lane that panics on every sale, in a build that is made to: why it was restarted, that it is parked, and how an
// operator has it tried again.
func TestALaneThatIsParked(t *testing.T) {
	t.Parallel()
	play(t, "parked", func(f *fixture, _ string) {
		f.config.Binary = support.BuildWith(t, support.Defect{
			File: "actors/lane.go", Sound: "\tchange, err := l.lane.Decide(q.at, q.command)\n",
			Broken: "\tif sale, sells := q.command.(lanes.Create); sells && sale.Customer == \"A defect\" {\n" +
				"\t\tpanic(\"a planted defect\")\n\t}\n\tchange, err := l.lane.Decide(q.at, q.command)\n",
		})
	})
}

// The sales that the configuration of the range names have a button each, also for several lanes and in German.
func TestTheSalesOfARange(t *testing.T) {
	t.Parallel()
	play(t, "presets", func(f *fixture, _ string) {
		north := &f.config.Ranges[0]
		north.Settings = append(north.Settings, "presets: [{minutes: 20}, {minutes: 60, group: "+
			"33333333-3333-4333-8333-000000000002}, {minutes: 60}]")
	})
}

// A session that is warned at minutes of its own: the screens mark it then.
func TestASessionThatIsWarned(t *testing.T) {
	t.Parallel()
	play(t, "warned")
}

// A range that closes soon: the screens say so, and staff sell nothing past closing but what they decide to.
func TestARangeThatClosesSoon(t *testing.T) {
	t.Parallel()
	play(t, "hours", func(f *fixture, _ string) {
		north := &f.config.Ranges[0]
		hours, _ := support.ClosingIn(29)
		north.Settings = append(north.Settings, hours)
	})
}

// A bay that closes before its range: its lanes say so, and staff move nobody there who stays longer but whom they
// decide to.
func TestABayThatClosesBeforeItsRange(t *testing.T) {
	t.Parallel()
	play(t, "schedule", func(f *fixture, _ string) {
		north := &f.config.Ranges[0]
		ofRange, _ := support.ClosingIn(300)
		ofBay, _ := support.ClosingIn(29)
		north.Settings = append(north.Settings, ofRange)
		north.Bays[1] = support.Entry(bay(2), "Bay B", ofBay)
	})
}

// Staff send an event again whose delivery the integrator has refused: the page shows what became of it, and
// the log who did it.
func TestStaffSendAnEventAgain(t *testing.T) {
	t.Parallel()
	play(t, "redeliver")
}

// A vendor looks at the demo integrator, which pulls the events, has them sent again, and knows a repeat by
// its webhook-id.
func TestTheDemoIntegrator(t *testing.T) {
	t.Parallel()
	address := support.FreeAddress(t)
	beside := func(f *fixture) string { return runDemoIntegrator(f, address) }
	playAt(t, "demo", beside, func(f *fixture, _ string) {
		f.config.Ranges[0].Settings = []string{fmt.Sprintf("webhook: {url: %q, secrets: [%s]}", "http://"+address+
			"/webhook", support.Secret)}
	})
}

// A page reads the events by the browser's own EventSource, through nginx with its default buffering and the
// configuration and the script of docs/integrators.md. The gateway is killed, and stopped: the page has every
// event once.
func TestEventsInABrowserThroughNginx(t *testing.T) {
	t.Parallel()
	playAt(t, "pulling", runNginx)
}

// A ceasefire under frightened fingers: one press begins it, however it is made, and nothing ends it but a
// hold of a second and a half.
func TestACeasefireUnderFrightenedFingers(t *testing.T) {
	t.Parallel()
	play(t, "ceasefire")
}

// A ceasefire without a network, without a gateway and without a sign-in is in force, or the screen says
// loudly that it is not.
func TestACeasefireThatDidNotArrive(t *testing.T) {
	t.Parallel()
	play(t, "unset")
}

// In a ceasefire no lane moves, and those that were not reached are named where everybody sees them.
func TestNoLaneMovesInACeasefire(t *testing.T) {
	t.Parallel()
	play(t, "still")
}

// A range with 60 lanes on a tablet, one with 200 on a large display: all of them are in sight, and none moves.
func TestAFullHouse(t *testing.T) {
	t.Parallel()
	play(t, "fullhouse", func(f *fixture, _ string) {
		f.config.Ranges = append(f.config.Ranges, manyLanes(t, 60, 5, 60), manyLanes(t, 200, 10, 200))
	})
}

// Every control and text at the sizes of telephones, tablets and desks, in two languages, with 12, 60 and 200
// lanes, in every state: nothing is cut, covered, too small or too near. Each size is measured in one of the
// languages with one of the numbers of lanes, by make soak in both with all of them.
func TestEveryControlAtEverySize(t *testing.T) {
	t.Parallel()
	play(t, "measure", func(f *fixture, _ string) {
		f.config.Ranges = append(f.config.Ranges, manyLanes(t, 12, 2, 12), manyLanes(t, 60, 5, 60),
			manyLanes(t, 200, 10, 200))
	})
}

// A display on the wall that nobody touches: 12, 60 and 200 lanes, a ceasefire, and whatever happens to the gateway.
func TestTheWallBoard(t *testing.T) {
	t.Parallel()
	play(t, "wall", func(f *fixture, _ string) {
		f.config.Ranges = append(f.config.Ranges, manyLanes(t, 12, 2, 12), manyLanes(t, 60, 5, 60),
			manyLanes(t, 200, 10, 200))
	})
}

// The tasks that are wanted most often, and how many touches they take.
func TestAnEveningAtTheCounter(t *testing.T) {
	t.Parallel()
	play(t, "counter")
}

// The second of two presses, at the counter and at the lane.
func TestWhoeverPressesTwiceMeansWhatWasThere(t *testing.T) {
	t.Parallel()
	play(t, "twice")
}

// A lane that is reserved for a checkout is being sold on every screen of staff, until it is sold or staff end that.
func TestALaneForACheckout(t *testing.T) {
	t.Parallel()
	play(t, "checkout")
}

// The time of sessions is used up that were sold with a grace.
func TestAGrace(t *testing.T) {
	t.Parallel()
	play(t, "grace", func(f *fixture, _ string) {
		north := &f.config.Ranges[0]
		north.Settings = append(north.Settings, "grace: 1h", "presets: [{minutes: 30, grace: true}, {minutes: 45}]")
	})
}

// Sessions with an open end go on beyond their minutes, and are paid afterwards.
func TestAnOpenEnd(t *testing.T) {
	t.Parallel()
	play(t, "openend", func(f *fixture, _ string) {
		north := &f.config.Ranges[0]
		north.Settings = append(north.Settings, "presets: [{minutes: 30, open_end: 60}, {minutes: 45}]")
	})
}

// A relay of twenty lanes is sold and started together by a few touches.
func TestARelay(t *testing.T) {
	t.Parallel()
	play(t, "relay", func(f *fixture, _ string) { f.config.Ranges = append(f.config.Ranges, manyLanes(t, 20, 2, 20)) })
}

// From the address of the gateway to the board, and from one user to the next at the same screen.
func TestComingInAndTakingTurns(t *testing.T) {
	t.Parallel()
	play(t, "turns")
}

// A shooter scans the code that staff hand out, and has the time on a telephone until the session ends.
func TestTheShootersOwnTelephone(t *testing.T) {
	t.Parallel()
	play(t, "telephone")
}

// scene is what a story is told of the world.
type scene struct {
	API        string `json:"api"`
	Operations string `json:"operations"`
	Operator   string `json:"operator"` // the operations token
	World      string `json:"world"`
	// nginx in front of the gateway, or the demo integrator beside it; empty without
	Front        string      `json:"front"`
	Range        string      `json:"range"`
	Token        string      `json:"token"`
	PIN          string      `json:"pin"`
	Lanes        []sceneLane `json:"lanes"` // lanes[0] is Lane 1
	Board        string      `json:"board"` // the key of the wall board
	AnotherRange string      `json:"another_range"`
	AnotherLane  string      `json:"another_lane"`
	Chromium     string      `json:"chromium"`
	Kept         string      `json:"kept"` // the directory for screenshots of a failed story
}

type sceneLane struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

// play has the story played at a range of its own, whose configuration change may change. world is the origin
// of other pages.
func play(t *testing.T, story string, change ...func(f *fixture, world string)) {
	playAt(t, story, func(*fixture) (front string) { return "" }, change...)
}

// playAt is play with what inFront starts in front of the gateway or beside it.
func playAt(
	t *testing.T, story string, inFront func(f *fixture) (front string), change ...func(f *fixture, world string),
) {
	// The shell takes half of the processor time of the whole browser, and has neither Screen Wake Lock nor
	// notifications.
	browser := "chromium-headless-shell"
	if story == "awake" {
		browser = "chromium"
	}
	node, chromium := support.Program(t, "node"), support.Program(t, browser)
	for _, installed := range []string{"playwright-core", "axe-core", "qr"} {
		if _, err := os.Stat("node_modules/" + installed); err != nil {
			support.Missing(t, "the npm packages of test/screens are not installed (make tools)")
		}
	}
	f := newFixture(t)
	world := f.world()
	for _, change := range change {
		change(f, world)
	}
	f.serve()
	scene := scene{
		API: f.gateway.API, Operations: f.gateway.Operations, Operator: support.Operator, World: world,
		Range: support.RangeID, Token: support.Token, PIN: pin,
		Front: inFront(f), Board: boardKey, AnotherRange: otherRange, AnotherLane: otherLane,
		Chromium: chromium, Kept: kept(t),
	}
	for n := range laneCount {
		scene.Lanes = append(scene.Lanes, sceneLane{support.LaneID(n + 1), screenKey(n + 1)})
	}
	argument, err := json.Marshal(scene)
	require.NoError(t, err)

	limit := patience
	if os.Getenv("EVERY_SIZE") != "" {
		limit = soakPatience
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, story+".mjs", string(argument))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // the browser too
	cmd.WaitDelay = 5 * time.Second
	output, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", story, output)
	if err != nil {
		log := filepath.Join(scene.Kept, "gateway.log")
		require.NoError(t, os.WriteFile(log, []byte(f.gateway.Log()), 0o600))
		require.NoError(t, err, "%s; the gateway's log is %s", story, log)
	}
}

// kept is a directory that stays when the test fails.
func kept(t *testing.T) string {
	dir, err := os.MkdirTemp("", "rangegate-screens-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	return dir
}
