package lanes_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// warningModel knows of each session, as seen from outside, the times left that it has had more than left, and was
// not told of since.
type warningModel map[uuid.UUID]map[time.Duration]bool

// observe notes which times left lie ahead of the session.
func (w warningModel) observe(lane lanes.Lane, now lanes.Instant) {
	if lane.Session == nil {
		return
	}
	ahead := w[lane.Session.ID]
	if ahead == nil {
		ahead = map[time.Duration]bool{}
		w[lane.Session.ID] = ahead
	}
	warnings := lane.Warnings
	if lane.Session.WarnAt != nil {
		warnings = lane.Session.WarnAt
	}
	for _, left := range warnings {
		if lane.Session.Remaining(now) > left {
			ahead[left] = true
		}
	}
}

// reached returns the times left that lie ahead of the session no more when so much remains, longest first.
func (w warningModel) reached(session uuid.UUID, remaining time.Duration) (reached []time.Duration) {
	for left, ahead := range w[session] {
		if ahead && remaining <= left {
			reached = append(reached, left)
		}
	}
	slices.Sort(reached)
	slices.Reverse(reached)
	return reached
}

func (w warningModel) follow(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command,
	now lanes.Instant,
) {
	var endings []lanes.Ending
	for _, event := range change.Events {
		require.Equal(t, event.Kind == lanes.SessionEnding, event.Ending != nil)
		if event.Ending != nil {
			require.Equal(t, now.Wall.Add(event.Ending.Remaining), event.Ending.EndsAt, "it is true when it is made")
			endings = append(endings, *event.Ending)
		}
	}
	switch cmd := command.(type) {
	case lanes.Warn:
		remaining := before.Session.Remaining(now)
		require.Len(t, endings, 1, "what was reached meanwhile is told once")
		require.Equal(t, remaining, endings[0].Remaining)
		w.tell(t, before.Session.ID, remaining)
	case lanes.Advance:
		if before.Session.Remaining(now) == 0 { // no time is left that could run: it is in its grace, or beyond
			require.Empty(t, endings)
			break
		}
		remaining := max(0, before.Session.Remaining(now)-cmd.By)
		var left []time.Duration
		for _, ending := range endings {
			left = append(left, ending.Remaining)
		}
		require.Equal(t, w.reached(before.Session.ID, remaining), left, "each that is passed is told, in its order")
		if len(endings) > 0 {
			w.tell(t, before.Session.ID, remaining)
		}
	default:
		require.Empty(t, endings)
	}
	w.observe(change.Lane, now)
}

func (w warningModel) tell(t *rapid.T, session uuid.UUID, remaining time.Duration) {
	reached := w.reached(session, remaining)
	require.NotEmpty(t, reached, "nothing is told twice")
	for _, left := range reached {
		w[session][left] = false
	}
}

// check checks that a warning is due exactly when the session's time runs and one was reached that was not told.
func (w warningModel) check(t *rapid.T, lane lanes.Lane, now lanes.Instant) {
	w.observe(lane, now)
	due := false
	if s := lane.Session; s != nil && s.Phase == lanes.Running && s.Remaining(now) > 0 {
		due = len(w.reached(s.ID, s.Remaining(now))) > 0
	}
	require.Equal(t, due, lane.WarningDue(now))
}

// Screens mark a session where it is warned first and last, and one that is not warned in its last five minutes.
func TestWhenScreensMarkASession(t *testing.T) {
	for _, c := range []struct {
		of, own    []time.Duration // the range's warnings, the session's
		soon, last time.Duration
	}{
		{nil, nil, lanes.SoonLeft, lanes.LastLeft},
		{[]time.Duration{10 * time.Minute, 5 * time.Minute, 2 * time.Minute}, nil, 10 * time.Minute, 2 * time.Minute},
		{[]time.Duration{10 * time.Minute}, nil, 10 * time.Minute, time.Minute},
		{[]time.Duration{10 * time.Minute}, []time.Duration{}, lanes.SoonLeft, lanes.LastLeft},
		{[]time.Duration{10 * time.Minute}, []time.Duration{3 * time.Minute}, 3 * time.Minute, time.Minute},
		{nil, []time.Duration{time.Minute}, time.Minute, time.Minute},
		// sold for half an hour
		{nil, []time.Duration{time.Hour, 3 * time.Minute, 2 * time.Minute}, 3 * time.Minute, 2 * time.Minute},
	} {
		lane := lanes.Lane{
			Session: &lanes.Session{Sold: 30 * time.Minute, WarnAt: c.own},
			Terms:   lanes.Terms{Warnings: c.of},
		}
		soon, last := lane.Marks()
		require.Equal(t, []time.Duration{c.soon, c.last}, []time.Duration{soon, last})
	}
}
