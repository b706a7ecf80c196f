package actors

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
)

// skewedMachine is a machine whose clocks differ from those of this one.
type skewedMachine struct {
	clock.Clock
	boot       string
	mono, wall time.Duration // ahead
}

func (m skewedMachine) Boot() string { return m.boot }

func (m skewedMachine) Now() lanes.Instant {
	now := m.Clock.Now()
	return lanes.Instant{Wall: now.Wall.Add(m.wall), Mono: now.Mono + m.mono}
}

// skewedNode is one of several gateways on the same Redis server, each on a machine of its own.
type skewedNode struct {
	*sharing
	clock *clock.Shared
}

// skewedNodes are on machines whose wall clocks are by so much ahead.
func skewedNodes(t *testing.T, server *redistest.Server, wall ...time.Duration) (nodes []skewedNode) {
	t.Helper()
	for i, ahead := range wall {
		machine := skewedMachine{realClock(t), fmt.Sprintf("machine-%d", i), time.Duration(i+1) * 7 * time.Hour, ahead}
		n := skewedNode{}
		n.sharing = startSharing(t, server.URL(), func(reference clock.Reference) clock.Clock {
			n.clock = clock.NewShared(machine, reference)
			return n.clock
		})
		nodes = append(nodes, n)
	}
	return nodes
}

func (n skewedNode) measure(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return n.clock.Measure(t.Context()) == nil }, nodePatience,
		10*time.Millisecond)
}

// soldLane is a range with one session that runs from lane to lane's new owner.
type soldLane struct {
	settings Settings
	session  uuid.UUID
	before   time.Time // the sale was asked for
	after    time.Time // and made
}

func sellOn(t *testing.T, first skewedNode) *soldLane {
	t.Helper()
	group := uuid.New()
	s := &soldLane{session: uuid.New(), settings: Settings{
		Grace: 30 * time.Second, Driver: sim.New(realClock(t).Now), Receivers: oneReceiver(&fakeWebhook{}, 1, 100),
		Layout: lanes.Layout{
			Range: uuid.New(), Name: "Shared", Groups: []lanes.Group{{ID: group, Name: "Public"}},
			Lanes: makePlaces(1),
		},
	}}
	r := first.take(t, s.settings)
	s.before = time.Now()
	_, err := r.Create(t.Context(), s.settings.Layout.Lanes[0].ID,
		lanes.Create{Session: s.session, Group: group, Customer: "Jo", Minutes: 300, AutoStart: true}, nil)
	require.NoError(t, err)
	s.after = time.Now()
	return s
}

// requireExact requires that the session has used the time that went by, off by so much at most for all moves together.
func (s *soldLane) requireExact(t *testing.T, owner skewedNode, off time.Duration) {
	t.Helper()
	r, err := owner.gateway.Range(s.settings.Layout.Range)
	require.NoError(t, err)
	least := time.Since(s.after)
	lane, found := r.board.Find(s.session)
	require.True(t, found)
	used := lane.Session.Used(r.clock.Now())
	require.Greater(t, used, least-off)
	require.Less(t, used, time.Since(s.before)+off)
}

// measured is far below the skew of the machines, and far above what measuring on a busy machine is off by.
const measured = time.Second

// The range moves from machine to machine, none of which stops it, within one checkpoint interval, with and
// without a change after the take-over. No machine saves a checkpoint of its own accord meanwhile.
func TestARangeThatMovesTwiceAtOnceKeepsItsTime(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		nodes := skewedNodes(t, redistest.Start(t), -time.Hour, time.Hour, -2*time.Hour)
		for _, n := range nodes {
			n.measure(t)
		}
		s := sellOn(t, nodes[0])
		for _, n := range append(nodes[1:], nodes[0], nodes[2]) {
			r := n.take(t, s.settings)
			if changed {
				_, err := r.On(t.Context(), s.session, lanes.Modify{Session: s.session, Minutes: 1}, nil)
				require.NoError(t, err)
			}
		}
		s.requireExact(t, nodes[2], measured)
	}
}

// Redis restarts, which makes its clock another one by name. Whoever takes the range over has measured the
// clock before or has not, and the one after or has not, and so has the machine that is lost.
func TestATakeOverAfterARestartOfRedisKeepsTheTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                          string
		firstMeasures, secondMeasures bool // after the restart
		fresh                         bool // the second one was not there before
		skew                          time.Duration
	}{
		{"nobody has measured again", false, false, false, time.Hour},
		{"the one that takes over has", false, true, false, time.Hour},
		{"the one that is lost has", true, false, false, time.Hour},
		{"both have", true, true, false, time.Hour},
		{"one that is new has not, and the one that is lost has", true, false, true, time.Hour},
		{
			"one that is new takes over, and the one that is lost has not measured again", false, true, true,
			3800 * time.Millisecond,
		},
		{"neither, and the one that takes over is new", false, false, true, -3800 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			nodes := skewedNodes(t, server, -test.skew/2, test.skew/2)
			first, second := nodes[0], nodes[1]
			first.measure(t)
			if !test.fresh {
				second.measure(t)
			}
			s := sellOn(t, first)
			server.Restart()
			if test.firstMeasures {
				first.measure(t)
				r, err := first.gateway.Range(s.settings.Layout.Range)
				require.NoError(t, err)
				r.committer.Checkpoint()
				require.NoError(t, r.committer.Drain(t.Context()))
			}
			if test.secondMeasures {
				second.measure(t)
			}
			time.Sleep(5 * time.Second) // a session that would have to go back in time shows it
			second.take(t, s.settings)
			s.requireExact(t, second, measured)
		})
	}
}

// A node that takes a range over may be lost after its first flush, whatever that was: it has all lanes in
// use, and how its clock is off.
func TestTheFirstFlushOfAnOwnerHasItsClock(t *testing.T) {
	t.Parallel()
	nodes := skewedNodes(t, redistest.Start(t), 0, time.Hour)
	for _, n := range nodes {
		n.measure(t)
	}
	s := sellOn(t, nodes[0])
	require.NoError(t, nodes[1].take(t, s.settings).committer.Drain(t.Context()))
	loaded, err := nodes[0].store.Load(t.Context(), store.InAnyEpoch(s.settings.Layout.Range))
	require.NoError(t, err)
	require.Equal(t, loaded.Checkpoint.Boot, loaded.Lanes[0].Boot)
	require.NotNil(t, loaded.Checkpoint.Offset)
}
