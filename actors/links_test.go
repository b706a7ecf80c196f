package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// onLine tells a story of a range of one lane, whose hardware is at the switchboard.
func onLine(t *testing.T, s *switchboard, story func(*testing.T, *rig), more ...option) {
	inFakeTime(t, story, append(more, withLanes(1), withDriver(s))...)
}

func TestALinkThatCannotBeMadeIsTriedMoreAndMoreRarely(t *testing.T) {
	s := &switchboard{answer: fails}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.pass(15 * time.Minute)
		gaps, short, long := s.gaps(), 0, 0
		ceiling := firstBackoff
		for _, gap := range gaps {
			require.LessOrEqual(t, gap, ceiling)
			ceiling = min(2*ceiling, lastBackoff)
			if gap > lastBackoff/2 {
				long++
			} else {
				short++
			}
		}
		require.Greater(t, len(gaps), 60, "bounded by 15 s")
		require.Greater(t, short, 20, "with full jitter")
		require.Greater(t, long, 20, "with full jitter")
	})
}

func TestALinkThatWasUpForAWhileIsMadeAgainSoon(t *testing.T) {
	s := &switchboard{answer: fails}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.pass(time.Minute)
		s.answers(nil)
		g.pass(lastBackoff)
		for range 5 {
			g.pass(settledAfter)
			s.newest().breaks()
			before := s.made()
			g.pass(firstBackoff)
			require.Equal(t, before+1, s.made())
		}
	})
}

func TestALinkThatKeepsBreakingIsNotMadeAgainSoon(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		var waited time.Duration
		for i := range 40 {
			g.pass(time.Second)
			broken := time.Now()
			s.newest().breaks()
			g.pass(lastBackoff)
			waited += s.dialled()[i+1].begun.Sub(broken)
		}
		require.Greater(t, waited, 40*time.Second, "it backs off, although it comes up each time")
	})
}

func TestADialThatHangsIsGivenUp(t *testing.T) {
	s := &switchboard{answer: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.pass(5 * time.Minute)
		require.Greater(t, len(s.dialled()), 5*60/20)
		for _, dial := range s.dialled() {
			require.Equal(t, 5*time.Second, dial.took)
		}
	})
}

func TestADriverThatPanicsInADialCostsATry(t *testing.T) {
	s := &switchboard{answer: func(context.Context) error { panic(errDefect) }}
	said := &paper{}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.pass(20 * time.Second)
		require.Greater(t, len(s.dialled()), 3)
		for _, panicked := range said.about(t, "a link's driver panicked") {
			require.Equal(t, errDefect.Error(), panicked["panic"], "what it was")
		}
		s.answers(nil)
		g.pass(lastBackoff)
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		g.create(0, 30)
		require.NotNil(t, s.newest().told()[len(s.newest().told())-1].Session)
	}, withLog(zerolog.New(said)))
}

func TestAStopClosesALinkThatIsBeingMade(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		late := make(chan struct{})
		s.newest().breaks()
		s.answers(func(context.Context) error {
			<-late
			return nil
		})
		g.pass(lastBackoff)
		time.AfterFunc(time.Second, func() { close(late) })
		g.shutDown()
		require.Equal(t, 2, s.made())
		for _, line := range s.lines {
			require.True(t, line.isClosed())
		}
	})
}

func TestWhatAnOldConnectionSaysIsNotHeard(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		session := g.book(0, 30)
		old := s.newest()
		old.breaks()
		require.True(t, old.isClosed())
		g.pass(firstBackoff)
		require.Equal(t, 2, s.made())
		old.to.Reported(lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportEntered, Session: session})
		old.breaks()
		old.to.Applied(1)
		g.pass(time.Minute)
		require.Equal(t, 2, s.made())
		require.False(t, s.newest().isClosed())
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		require.Equal(t, lanes.Waiting, g.Sessions()[0].Phase)
	})
}

// The link is made anew while it is being made: of the two dials only the later one counts, whichever comes back first.
func TestADialThatComesBackTooLateIsNotTheLink(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.create(0, 30)
		comesBack := []chan struct{}{make(chan struct{}), make(chan struct{})}
		dials := make(chan chan struct{}, 2)
		dials <- comesBack[0]
		dials <- comesBack[1]
		s.answers(func(context.Context) error { // it is deaf to ctx
			<-<-dials
			return nil
		})
		s.newest().breaks()
		g.pass(firstBackoff)
		g.toLane(0, &renewLink{})
		g.pass(firstBackoff)
		require.Empty(t, dials, "both are under way")

		close(comesBack[0])
		synctest.Wait()
		require.True(t, s.newest().isClosed())
		require.Empty(t, s.newest().told())
		require.Equal(t, lanes.LinkDown, g.Lanes()[0].Link)
		close(comesBack[1])
		synctest.Wait()
		require.Equal(t, 3, s.made())
		require.NotEmpty(t, s.newest().told())
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
	})
}

// The next try is due while the lane is busy with being told that its link is made anew: that is one link, not two.
func TestALinkThatIsMadeAnewAsItIsTriedAgainIsMadeOnce(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		s.newest().breaks()
		stayed := make(chan struct{})
		g.toLane(0, &request{ctx: t.Context(), command: lanes.Modify{Minutes: 1}, done: func(bool) { <-stayed }})
		g.sendTo(g.lane(0), &renewLink{})
		g.pass(firstBackoff)
		close(stayed)
		g.pass(time.Minute)
		require.Equal(t, 2, s.made())
		require.False(t, s.newest().isClosed())
	})
}

// Nobody waits for a dial that is not wanted any more, and it takes no other's turn.
func TestADialThatIsNotWantedAnyMoreEnds(t *testing.T) {
	for name, why := range map[string]func(*rig){
		"made anew": func(g *rig) { g.toLane(0, &renewLink{}) },
		"panic":     func(g *rig) { g.crash(0) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &switchboard{}
			onLine(t, s, func(t *testing.T, g *rig) {
				s.answers(func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
				s.newest().breaks()
				g.pass(firstBackoff)
				before := len(s.dialled())
				why(g)
				require.Len(t, s.dialled(), before+1)
				require.Less(t, s.dialled()[before].took, firstBackoff)
			})
		})
	}
}

// The controller repeats what was not acked as soon as it is connected, before the dial has come back with that.
func TestAReportThatComesWhileTheLinkIsBeingMadeIsAcked(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.create(0, 30)
		help := lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportHelp}
		connected := make(chan struct{})
		s.says(help)
		s.answers(func(context.Context) error {
			<-connected
			return nil
		})
		s.newest().breaks()
		g.pass(lastBackoff)
		close(connected)
		synctest.Wait()
		require.Equal(t, []lanes.Log{help.Log}, s.newest().acked())
	})
}
