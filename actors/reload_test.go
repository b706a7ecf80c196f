package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/store"
)

// dialCount is a driver that counts how often each lane was dialled.
type dialCount struct {
	link.Driver
	mu    sync.Mutex
	times map[uuid.UUID]int
}

func (d *dialCount) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	d.mu.Lock()
	d.times[lane.ID]++
	d.mu.Unlock()
	return d.Driver.Dial(ctx, lane, to)
}

// counting has the rig's links be dialled through a driver that counts.
func counting(d *dialCount) option {
	return func(g *rig) {
		d.Driver, d.times = g.settings.Driver, map[uuid.UUID]int{}
		g.settings.Driver = d
	}
}

// reload gives the rig's range those settings.
func (g *rig) reload(force bool, change func(s *Settings), renew ...uuid.UUID) error {
	g.Helper()
	to := g.settings
	to.Layout.Lanes = slices.Clone(to.Layout.Lanes)
	to.Layout.Bays = slices.Clone(to.Layout.Bays)
	change(&to)
	err := g.gateway.Reload(g.Context(), Reload{Change: []Changed{{to, renew}}, Force: force, Who: "operator"})
	if err == nil {
		g.settings = to
	}
	synctest.Wait()
	g.pass(time.Second)
	require.True(g, g.gateway.Ready(1))
	return err
}

// Of 200 lanes 100 have sessions. Lanes come, change and go, and of all others neither a connection nor a deadline moves.
func TestAReloadTouchesNothingButWhatItIsAbout(t *testing.T) {
	dials := &dialCount{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		var sold []uuid.UUID
		for i := range 100 {
			sold = append(sold, g.create(i, 30))
		}
		g.pass(time.Minute)
		before := g.Sessions()
		renamed, renewed, gone := g.lane(3), g.lane(4), []uuid.UUID{g.lane(150), g.lane(199)}
		came := lanes.Place{ID: uuid.New(), Name: "A new lane", Accessible: true}
		began := g.clock.Now()
		require.NoError(t, g.reload(false, func(s *Settings) {
			s.Layout.Lanes[3].Name = "Lane three"
			s.Layout.Lanes[5].Accessible = false
			s.Layout.Lanes = slices.DeleteFunc(s.Layout.Lanes, func(p lanes.Place) bool { return slices.Contains(gone, p.ID) })
			s.Layout.Lanes = append([]lanes.Place{came}, s.Layout.Lanes...) // the others move up on the board
		}, renewed))
		passed := g.clock.Now().Since(began)

		after := g.Sessions()
		require.Len(t, after, 100)
		for i, view := range after {
			require.Equal(t, sold[i], view.ID)
			require.Equal(t, before[i].Remaining-passed, view.Remaining, "its time went on, to the nanosecond")
			found, err := g.Session(g.Context(), sold[i])
			require.NoError(t, err)
			require.Equal(t, view, found, "where it is shown now")
		}
		dials.mu.Lock()
		for lane, times := range dials.times {
			want := 1
			if lane == renewed {
				want = 2
			}
			require.Equal(t, want, times, "lane %s", lane)
		}
		require.Len(t, dials.times, 201)
		dials.mu.Unlock()

		shown := g.Lanes()
		require.Len(t, shown, 199)
		require.Equal(t, came, shown[0].Place)
		require.Equal(t, lanes.LinkUp, shown[0].Link)
		require.Equal(t, "Lane three", shown[4].Name)
		require.Equal(t, renamed, shown[4].ID)
		require.False(t, shown[6].Lane.Accessible)
		g.create(0, 30) // at the new lane
		require.True(t, g.open(0))
		_, err := g.Create(g.request(), gone[0], g.sale(30), nil)
		require.Equal(t, lanes.ErrLaneNotFound, err)

		g.pass(40 * time.Minute)
		for _, session := range sold {
			require.Equal(t, 30*time.Minute, g.ended(session).Used)
		}
		g.restart()
		require.Len(t, g.Lanes(), 199)
	}, withLanes(200), counting(dials))
}

func TestALaneThatIsInUseStaysAndEverythingElseWithIt(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(1, 30)
		err := g.reload(false, func(s *Settings) {
			s.Layout.Lanes[0].Name = "Another name"
			s.Layout.Lanes = s.Layout.Lanes[:1]
		})
		require.ErrorIs(t, err, ErrInUse)
		require.ErrorContains(t, err, g.lane(1).String())
		require.ErrorContains(t, err, session.String())
		require.Equal(t, "Lane 1", g.Lanes()[0].Name)
		require.True(t, g.open(1))
		g.create(2, 30) // it was to leave as well, was ready to, and is for sale again

		require.NoError(t, g.reload(true, func(s *Settings) { s.Layout.Lanes = s.Layout.Lanes[:1] }), "forced")
		require.Len(t, g.Lanes(), 1)
		require.EqualValues(t, lanes.ByStaff, g.ended(session).Reason)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, g.happened(session))
		g.restart()
	}, withLanes(3))
}

func TestALaneThatComesUnderACeasefireIsHeld(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.hold(everywhere)
		require.NoError(t, g.reload(false, func(s *Settings) {
			s.Layout.Lanes = append(s.Layout.Lanes, lanes.Place{ID: uuid.New(), Bay: s.Layout.Bays[0].ID, Name: "New", Accessible: true})
		}))
		g.create(4, 30)
		g.requireHeld(0, 1, 2, 3, 4)
		g.lift(everywhere)
		g.requireOpen(4)
	}, withBays)
}

// A configuration is no way around a hold: it neither takes what lies under one out, nor the other way round.
func TestNoHoldLosesWhatItLiesOver(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.hold(g.overBay(1))
		for name, change := range map[string]func(*Settings){
			"out of it":   func(s *Settings) { s.Layout.Lanes[2].Bay = s.Layout.Bays[0].ID },
			"into it":     func(s *Settings) { s.Layout.Lanes[0].Bay = s.Layout.Bays[1].ID },
			"without bay": func(s *Settings) { s.Layout.Bays, s.Layout.Lanes = s.Layout.Bays[:1], s.Layout.Lanes[:2] },
		} {
			require.ErrorIs(t, g.reload(false, change), ErrInUse, name)
		}
		g.requireHeld(2, 3)
		g.lift(g.overBay(1))
		require.NoError(t, g.reload(false, func(s *Settings) { s.Layout.Lanes[2].Bay = s.Layout.Bays[0].ID }))
		g.hold(g.overBay(0))
		g.requireHeld(0, 1, 2)
	}, withBays)
}

func TestALaneThatComesBackIsAsItWas(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		all := slices.Clone(g.settings.Layout.Lanes)
		require.NoError(t, g.StaffLane(g.request(), "sam", g.lane(1), lanes.Offer{Sale: lanes.OffSale}))
		for _, restarted := range []bool{false, true} {
			require.NoError(t, g.reload(false, func(s *Settings) { s.Layout.Lanes = s.Layout.Lanes[:1] }))
			if restarted {
				g.restart()
			}
			require.NoError(t, g.reload(false, func(s *Settings) { s.Layout.Lanes = all }))
			require.False(t, g.Lanes()[1].Lane.ForSale(), "staff had closed it for sale")
		}
	})
}

func TestRangesComeAndGo(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		other := g.settings
		other.Layout.Range, other.Layout.Lanes = uuid.New(), places(3)
		session := g.create(0, 30)
		require.NoError(t, g.gateway.Reload(g.Context(), Reload{Begin: []Settings{other}}))
		synctest.Wait()
		require.True(t, g.gateway.Ready(2))
		there, err := g.gateway.Range(other.Layout.Range)
		require.NoError(t, err)
		_, err = there.Create(g.request(), other.Layout.Lanes[2].ID, g.sale(30), nil)
		require.NoError(t, err)

		err = g.gateway.Reload(g.Context(), Reload{End: []uuid.UUID{other.Layout.Range}})
		require.ErrorIs(t, err, ErrInUse)
		require.True(t, g.gateway.Ready(2))
		require.NoError(t, g.gateway.Reload(g.Context(), Reload{End: []uuid.UUID{other.Layout.Range}, Force: true, Who: "operator"}))
		_, err = g.gateway.Range(other.Layout.Range)
		require.Equal(t, lanes.ErrStarting, err)
		require.True(t, g.gateway.Ready(1))
		require.Equal(t, []uuid.UUID{session}, g.onBoard())
	})
}

// What is refused late leaves nothing behind of what was done early: here the end of a session that cannot be saved.
func TestARefusedReloadTakesBackTheRangesThatItBegan(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		other := g.settings
		other.Layout.Range, other.Layout.Lanes = uuid.New(), places(3)
		g.create(1, 30)
		smaller := g.settings
		smaller.Layout.Lanes = smaller.Layout.Lanes[:1]
		g.store.hook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if batch.Range == other.Layout.Range {
				return flush()
			}
			return errors.New("the disk is gone")
		})
		err := g.gateway.Reload(g.Context(), Reload{Begin: []Settings{other}, Change: []Changed{{Settings: smaller}}, Force: true})
		require.ErrorIs(t, err, lanes.ErrNotSaved)
		g.store.hook(nil)
		g.pass(time.Minute)
		require.True(t, g.gateway.Ready(1))
		require.Len(t, g.Lanes(), 2)
	})
}

// The gateway that serves a range keeps it when another one's reload, which was to take it over, is refused.
func TestARefusedReloadTakesNoRangeFromAnotherGateway(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		other := g.settings
		other.Layout.Range, other.Layout.Lanes = uuid.New(), places(3)
		epoch, err := g.store.Claim(g.Context(), other.Layout.Range, g.clock.Now().Wall)
		require.NoError(t, err)
		g.create(1, 30)
		smaller := g.settings
		smaller.Layout.Lanes = smaller.Layout.Lanes[:1]
		err = g.gateway.Reload(g.Context(), Reload{Begin: []Settings{other}, Change: []Changed{{Settings: smaller}}})
		require.ErrorIs(t, err, ErrInUse)
		require.NoError(t, g.store.Flush(g.Context(), store.Batch{Range: other.Layout.Range, Epoch: epoch, N: 1, Now: g.clock.Now().Wall}))
	})
}

// The lane may be taken away just when somebody wants it: they get an answer, whichever came first.
func TestALaneThatLeavesUnderTheHandsOfItsPOS(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for range 20 {
			var asking sync.WaitGroup
			answers := make([]error, 20)
			lane := g.lane(1)
			for i := range answers {
				asking.Go(func() {
					session := g.sale(30)
					if _, answers[i] = g.Create(g.request(), lane, session, nil); answers[i] == nil {
						_, _ = g.On(g.request(), session.Session, lanes.Stop{Session: session.Session, By: lanes.ByPOS}, nil)
					}
				})
			}
			all := g.settings.Layout.Lanes
			err := g.reload(false, func(s *Settings) { s.Layout.Lanes = s.Layout.Lanes[:1] })
			asking.Wait()
			for _, answer := range answers {
				require.NotEqual(t, lanes.ErrTimeout, answer)
			}
			if err == nil {
				require.Empty(t, g.onBoard())
				require.NoError(t, g.reload(false, func(s *Settings) { s.Layout.Lanes = all }))
			}
			g.pass(time.Minute)
		}
	})
}

// Nothing that is sent to a lane which is just being stopped is lost: either the lane has it before it stops, or it hears that
// there is no such lane.
func TestALaneThatIsAskedWhileItStops(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		all, lane := g.settings.Layout.Lanes, g.lane(1)
		for range 300 {
			asked := make([]*request, 8)
			var asking sync.WaitGroup
			for i := range asked {
				asked[i] = &request{ctx: t.Context(), command: lanes.Pause{Session: uuid.New()}, reply: make(chan reply, 1)}
				asking.Go(func() { g.sendTo(lane, asked[i]) })
			}
			for _, now := range [][]lanes.Place{all[:1], all} {
				to := g.settings
				to.Layout.Lanes = now
				require.NoError(t, g.exchange(t.Context(), Changed{Settings: to}, "operator"))
				asking.Wait()
			}
			synctest.Wait()
			for _, a := range asked {
				require.Len(t, a.reply, 1)
			}
		}
	})
}

func TestAnotherWebhookTakesOver(t *testing.T) {
	first, second := &inbox{}, &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		require.NoError(t, g.reload(false, func(s *Settings) { s.Webhook = second }))
		g.stop(session)
		require.NoError(t, g.reload(false, func(s *Settings) { s.Webhook = nil }))
		g.create(1, 30)
		g.pass(time.Minute)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, first.kinds())
		require.Equal(t, []lanes.Kind{lanes.SessionStopped}, second.kinds())
	}, withWebhook(first))
}
