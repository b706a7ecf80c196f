package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// switchboard is a driver whose connections a story makes, hears and breaks itself.
type switchboard struct {
	answer func(ctx context.Context) error // how a dial ends; nil: it connects at once

	mu    sync.Mutex
	first []lanes.Report // what every controller says first
	dials []dialling
	lines []*openLine // that were connected, oldest first
}

type dialling struct {
	begun time.Time
	took  time.Duration
}

type openLine struct {
	to     link.Receiver
	on     *switchboard
	states []link.State
	acks   []lanes.Log
	closed bool
}

var errNoAnswer = errors.New("the controller does not answer")

func (s *switchboard) Dial(ctx context.Context, _ link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	begun := time.Now()
	s.mu.Lock()
	answer, first := s.answer, s.first
	s.mu.Unlock()
	for _, report := range first {
		to.Reported(report)
	}
	var err error
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dials = append(s.dials, dialling{begun, time.Since(begun)})
	}()
	if answer != nil {
		if err = answer(ctx); err != nil {
			return nil, link.Hello{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line := &openLine{to: to, on: s}
	s.lines = append(s.lines, line)
	return line, link.Hello{}, nil
}

// answers says how dials end from now on.
func (s *switchboard) answers(answer func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// says is what controllers say from now on as soon as they are connected.
func (s *switchboard) says(first ...lanes.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = first
}

func fails(context.Context) error { return errNoAnswer }

// newest is the connection that was made last.
func (s *switchboard) newest() *openLine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines[len(s.lines)-1]
}

// made is how many connections there were.
func (s *switchboard) made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

// dialled is the dials so far.
func (s *switchboard) dialled() []dialling {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dials)
}

// gaps is how long the link waited after each dial before the next.
func (s *switchboard) gaps() (gaps []time.Duration) {
	dials := s.dialled()
	for i, dial := range dials[1:] {
		gaps = append(gaps, dial.begun.Sub(dials[i].begun)-dials[i].took)
	}
	return gaps
}

func (l *openLine) Send(s link.State) {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	l.states = append(l.states, s)
}

func (l *openLine) Ack(log lanes.Log) {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	l.acks = append(l.acks, log)
}

func (l *openLine) Close() {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	l.closed = true
}

// told is the states that came over the connection.
func (l *openLine) told() []link.State {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	return slices.Clone(l.states)
}

// acked is the acknowledgements that came over the connection.
func (l *openLine) acked() []lanes.Log {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	return slices.Clone(l.acks)
}

func (l *openLine) isClosed() bool {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	return l.closed
}

// breaks lets the connection fail.
func (l *openLine) breaks() {
	l.to.Down(errNoAnswer)
	synctest.Wait()
}

// onLine tells a story of a range of one lane, whose hardware is at the switchboard.
func onLine(t *testing.T, s *switchboard, story func(*testing.T, *rig)) {
	inFakeTime(t, story, withLanes(1), withDriver(s))
}

func TestALinkThatCannotBeMadeIsTriedMoreAndMoreRarely(t *testing.T) {
	s := &switchboard{answer: fails}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.pass(15 * time.Minute)
		gaps, short, long := s.gaps(), 0, 0
		ceiling := firstBackOff
		for _, gap := range gaps {
			require.LessOrEqual(t, gap, ceiling)
			ceiling = min(2*ceiling, lastBackOff)
			if gap > lastBackOff/2 {
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
		g.pass(lastBackOff)
		for range 5 {
			g.pass(settledAfter)
			s.newest().breaks()
			before := s.made()
			g.pass(firstBackOff)
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
			g.pass(lastBackOff)
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
	onLine(t, s, func(t *testing.T, g *rig) {
		g.pass(20 * time.Second)
		require.Greater(t, len(s.dialled()), 3)
		s.answers(nil)
		g.pass(lastBackOff)
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		g.create(0, 30)
		require.NotNil(t, s.newest().told()[len(s.newest().told())-1].Session)
	})
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
		g.pass(lastBackOff)
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
		g.pass(firstBackOff)
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
		g.pass(lastBackOff)
		close(connected)
		synctest.Wait()
		require.Equal(t, []lanes.Log{help.Log}, s.newest().acked())
	})
}
