package lanes

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Turn is a lane between two sessions: from the end of one that had begun to the begin of the next. What it
// comes to is the turn-time of the lane. A session that ends before it has begun used nothing of the lane, so
// the turn goes on.
//
// A lane that nobody could have sold does not count: time under a hold, and time in which the lane is closed
// for sale and not sold. Time in which its hardware is out of order counts: it is time that could have been
// sold. Nor does time in which the range is closed, by the opening hours that it has when the turn is looked at.
type Turn struct {
	After   uuid.UUID     `json:"after"`      // the session before it
	Counted time.Duration `json:"counted_ns"` // up to Since
	Since   Instant       `json:"since"`      // when it last began to count, or stopped
	Counts  bool          `json:"counts"`     // time counts since then
}

// Time is what has counted up to now, on a lane of a range with these hours.
func (t Turn) Time(now Instant, hours *Hours) time.Duration {
	if !t.Counts {
		return t.Counted
	}
	passed := max(0, now.Since(t.Since))
	return t.Counted + hours.OpenBetween(now.Wall.Add(-passed), now.Wall)
}

// TurnTime is a turn that is over.
type TurnTime struct {
	At   time.Time     `json:"at"` // UTC, when the next session began
	Took time.Duration `json:"took_ns"`
}

// turnCounts reports whether time between sessions counts now. A lane that is sold is waiting for its customer,
// whether or not it may be sold again.
func (l Lane) turnCounts() bool { return !l.Held && (l.Session != nil || l.ForSale()) }

// TurnStale reports whether the configuration has opened or closed the lane for sale since its turn was
// counted last, so that CountTurn has something to do.
func (l Lane) TurnStale() bool { return l.Turn != nil && l.Turn.Counts != l.turnCounts() }

// countTurn begins to count the turn, or stops, where what the lane is has changed.
func (l *Lane) countTurn(now Instant) {
	if l.TurnStale() {
		l.Turn = &Turn{After: l.Turn.After, Counted: l.Turn.Time(now, l.Hours), Since: now, Counts: !l.Turn.Counts}
	}
}

// beginTurn begins a turn at the end of a session, which is off the lane. One that had not begun leaves the
// turn that was under way.
func (l *Lane) beginTurn(s *Session, at Instant) {
	if s.Began != nil {
		l.Turn = &Turn{After: s.ID, Since: at, Counts: l.turnCounts()}
	}
}

// endTurn ends the turn of the lane at the begin of a session, which keeps what it took. The first session of
// a lane has none.
func (c *Change) endTurn(s *Session, began Instant) {
	if c.Lane.Turn == nil {
		return
	}
	last := &TurnTime{At: began.Wall, Took: c.Lane.Turn.Time(began, c.Lane.Hours)}
	c.Lane.Turn, c.Lane.LastTurn = nil, last
	s.Turn, c.Turn = &last.Took, &last.Took
}

// CountTurn counts the turn of a lane anew that the configuration has opened or closed for sale. Every command
// does that; this one does nothing else.
type CountTurn struct{}

// Name implements Command.
func (CountTurn) Name() string { return "count_turn" }

func (CountTurn) decide(Instant, *Change) error { return nil }

// TurnFigures are the turn-times of a range in numbers, at one moment. They come from what is saved of each
// lane.
type TurnFigures struct {
	Waiting int           // lanes whose turn counts, while the range is open
	Longest time.Duration // of those, so far
	Turns   int           // lanes whose newest turn that is over ended within TurnsWithin
	Median  time.Duration // of those turns; 0 without any
}

// TurnsWithin is how far back a TurnFigures goes: a working day, and not the night before it.
const TurnsWithin = 12 * time.Hour

// TurnTimes collects a TurnFigures. The zero value is ready.
type TurnTimes struct {
	now     TurnFigures
	settled []time.Duration
}

// Add adds a lane as it is at now.
func (t *TurnTimes) Add(lane Lane, now Instant) {
	if turn := lane.Turn; turn != nil && turn.Counts {
		if lane.Hours.At(now.Wall).Open {
			t.now.Waiting++
		}
		t.now.Longest = max(t.now.Longest, turn.Time(now, lane.Hours))
	}
	if last := lane.LastTurn; last != nil && now.Wall.Sub(last.At) <= TurnsWithin {
		t.settled = append(t.settled, last.Took)
	}
}

// Figures returns the figures of the lanes that were added. Of two turns in the middle the longer one is the
// median.
func (t *TurnTimes) Figures() TurnFigures {
	figures := t.now
	if figures.Turns = len(t.settled); figures.Turns > 0 {
		slices.Sort(t.settled)
		figures.Median = t.settled[len(t.settled)/2]
	}
	return figures
}
