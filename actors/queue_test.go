package actors

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// soon is that many seconds after ten o'clock.
func soon(seconds int) lanes.Instant {
	elapsed := time.Duration(seconds) * time.Second
	return lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC).Add(elapsed), Mono: elapsed}
}

// shooting is a lane whose session has so many seconds from ten o'clock on.
func shooting(seconds int) lanes.Lane {
	sold := time.Duration(seconds) * time.Second
	return lanes.Lane{ID: uuid.UUID{1}, Usable: true, Session: &lanes.Session{
		ID: uuid.UUID{2}, Phase: lanes.Running, Sold: sold, Left: sold, Since: soon(0),
	}}
}

func arrived(at int, command lanes.Command) *request {
	return &request{command: command, at: soon(at)}
}

// names are those of the requests in the order in which the queue gives them, until it is empty. Of what they do to
// the lane only the end of the session's time counts here.
func (w *queue) names(lane lanes.Lane, now int) (names []string) {
	for {
		q := w.next(lane, soon(now))
		if q == nil {
			return names
		}
		names = append(names, q.name())
		if _, expired := q.command.(lanes.Expire); expired {
			lane.Session = nil
		}
	}
}

func TestWhatIsNextOnALane(t *testing.T) {
	lane := shooting(60)
	stop, hold, release := lanes.Stop{Session: lane.Session.ID}, lanes.Hold{}, lanes.Release{}
	for name, c := range map[string]struct {
		queue queue
		now   int
		want  []string
	}{
		"what closes goes before what a client waits for": {
			queue{closing: []*request{arrived(2, stop)}, waiting: []*request{arrived(1, lanes.Modify{})}},
			3,
			[]string{"stop", "modify"},
		},
		"a report goes before what a client waits for": {
			queue{reports: []*request{arrived(2, lanes.Report{})}, waiting: []*request{arrived(1, lanes.Modify{})}},
			3,
			[]string{lanes.Report{}.Name(), "modify"},
		},
		"reports that are paused wait": {
			queue{reports: []*request{arrived(2, lanes.Report{})}, reportsPaused: true}, 3, nil,
		},
		"reports behind one that is looked up wait": {
			queue{reports: []*request{arrived(2, lanes.Report{})}, lookingUp: true}, 3, nil,
		},
		"a stop that came in time goes before the end of the time": {
			queue{closing: []*request{arrived(59, stop)}}, 61, []string{"stop", "expire"},
		},
		"a stop that came late goes after it": {
			queue{closing: []*request{arrived(60, stop)}}, 61, []string{"expire", "stop"},
		},
		"the end of the time goes before every report and client": {
			queue{reports: []*request{arrived(1, lanes.Report{})}, waiting: []*request{arrived(1, lanes.Modify{})}},
			60,
			[]string{"expire", lanes.Report{}.Name(), "modify"},
		},
		"a hold behind a release stays behind it": {
			queue{closing: []*request{arrived(1, release), arrived(2, hold)}}, 3, []string{"release", "hold"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, c.queue.names(lane, c.now))
			require.Zero(t, len(c.queue.closing)+len(c.queue.waiting))
		})
	}
}

// A request of a client counts from when it is decided, and so does a release: no time is given for the wait.
func TestFromWhenARequestCounts(t *testing.T) {
	for _, c := range []struct {
		queue queue
		want  int
	}{
		{queue{waiting: []*request{arrived(1, lanes.Modify{})}}, 9},
		{queue{closing: []*request{arrived(1, lanes.Release{})}}, 9},
		{queue{closing: []*request{arrived(1, lanes.Hold{})}}, 1},
		{queue{reports: []*request{arrived(1, lanes.Report{})}}, 1},
	} {
		require.Equal(t, soon(c.want), c.queue.next(lanes.Lane{}, soon(9)).at)
	}
}

// What the hardware is sent ahead of a save is the lane after everything that closes. A release opens: it waits.
func TestTheLaneAfterWhatCloses(t *testing.T) {
	lane := shooting(60)
	w := &queue{closing: []*request{
		arrived(1, lanes.Hold{}), arrived(2, lanes.Release{}), arrived(3, lanes.Stop{Session: uuid.New()}),
	}}
	closed, changed := w.afterClosings(lane, soon(4))
	require.True(t, changed)
	require.True(t, closed.Held, "the release is left out")
	require.NotNil(t, closed.Session, "the stop is for another session: refused")
	require.False(t, lane.Held)

	w = &queue{closing: []*request{arrived(3, lanes.Stop{Session: lane.Session.ID})}}
	closed, _ = w.afterClosings(lane, soon(4))
	require.Nil(t, closed.Session)

	closed, changed = (&queue{}).afterClosings(lane, soon(60))
	require.True(t, changed)
	require.Nil(t, closed.Session, "its time is over")
	_, changed = (&queue{}).afterClosings(lane, soon(59))
	require.False(t, changed)
}

// Stops and pauses follow their session to the lane that it has moved to. A hold concerns the lane.
func TestWhatFollowsASessionThatMoves(t *testing.T) {
	moved, other := uuid.New(), uuid.New()
	w := &queue{closing: []*request{
		arrived(1, lanes.Stop{Session: moved}), arrived(2, lanes.Hold{}),
		arrived(3, lanes.Pause{Session: other}), arrived(4, lanes.Pause{Session: moved}),
	}}
	var names []string
	for _, q := range w.takeFollowing(moved) {
		names = append(names, q.name())
	}
	require.Equal(t, []string{"stop", "pause"}, names)
	require.Len(t, w.closing, 2)
}

// A controller that got no ack sends its report again, and keeps those that find no place. Once one found none, no
// later one comes in: the ack of that one would make the controller forget the first.
func TestReportsThatFindNoPlace(t *testing.T) {
	const log = "the controller's"
	report := func(seq int) *request {
		return arrived(1, lanes.Report{Log: lanes.Log{ID: log, Seq: uint64(seq)}})
	}
	w := &queue{}
	for seq := range maxReports {
		require.False(t, w.addReport(report(seq)))
	}
	require.False(t, w.addReport(report(7)), "it waits already")
	require.True(t, w.addReport(report(maxReports)), "the first that is dropped")
	require.False(t, w.addReport(report(maxReports+1)))
	require.Len(t, w.reports, maxReports)
	require.False(t, w.takeUnheard(), "those before it are not saved yet")
	again := w.next(lanes.Lane{}, soon(2))
	w.putBack(again)
	require.Same(t, again, w.reports[0])
	require.False(t, w.addReport(report(maxReports+2)))
	w.names(lanes.Lane{}, 2)
	require.True(t, w.takeUnheard(), "the controller is to send them again")
	require.False(t, w.takeUnheard(), "once")
	require.False(t, w.addReport(report(maxReports)), "it has come again")
	require.Len(t, w.reports, 1)
	require.Len(t, slices.Collect(w.all()), 1)
}
