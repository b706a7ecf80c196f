package wallboard

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

// picture is the first message of a stream: the whole state. screens.AppendLanes adds the key lanes, in display order.
type picture struct {
	Now     string     `json:"now"`
	Version string     `json:"version"` // of the page's files: a page of another version loads itself again
	Range   string     `json:"range"`   // its name
	Names   bool       `json:"names"`   // lanes have customers
	Bays    []bayView  `json:"bays"`
	Holds   []holdView `json:"holds"`

	Hours *screens.HoursView `json:"hours,omitempty"` // of a range that has opening hours
}

// change is a later message: the changed lanes, and all holds.
type change struct {
	Now   string     `json:"now"`
	Holds []holdView `json:"holds"`
}

type bayView struct {
	ID   uuid.UUID `json:"bay_id"`
	Name string    `json:"name"`
}

// holdView is a hold in force, without who has set it.
type holdView struct {
	Scope string     `json:"scope"` // range, bay, lane
	ID    *uuid.UUID `json:"id"`    // null: the range
}

// laneView is what a board shows of a lane, at the time of the message.
type laneView struct {
	ID       uuid.UUID   `json:"lane_id"`
	Bay      uuid.UUID   `json:"bay_id"`
	Name     string      `json:"name"`
	Phase    lanes.Phase `json:"phase"` // of its session; free without one
	LeftMS   int64       `json:"left_ms"`
	StartsMS *int64      `json:"starts_ms,omitempty"` // until its session begins together with others
	Customer string      `json:"customer,omitempty"`  // shortened; only where names are shown
	// the last session's time is up, and its customer has so long to clear the lane
	ClearMS  int64  `json:"clear_ms"`
	Reserved *int64 `json:"reserved_ms,omitempty"` // a POS is being paid for it, and keeps it so long
	GraceMS  *int64 `json:"grace_ms,omitempty"`    // its time is used up: it is on the lane for so long
	ForSale  bool   `json:"for_sale"`
	Usable   bool   `json:"usable"`
	Link     bool   `json:"link"` // it is up
	Held     bool   `json:"held"`
	Locked   bool   `json:"locked"` // as the hardware reports; a lane that is held and not locked was not reached
	Help     string `json:"help"`   // called, coming, or empty
	screens.Marks
	// OpenEnd is nil where the session has none.
	OpenEnd *screens.OpenEnd `json:"open_end,omitempty"`
}

// free is the phase of a lane without a session.
const free lanes.Phase = "free"

// viewer returns the function that makes the view of a lane.
func viewer(names bool) func(lanes.LaneStatus, lanes.Instant) laneView {
	return func(s lanes.LaneStatus, now lanes.Instant) laneView {
		shown := laneView{
			ID: s.ID, Bay: s.Bay, Name: s.Name, Phase: free, ClearMS: s.Lane.ToClear(now).Milliseconds(),
			ForSale: s.Lane.ForSale(), Usable: s.NotUsable == "", Link: s.Link == lanes.LinkUp, Held: s.Lane.Held,
			Locked: s.Locked,
		}
		if call := s.Lane.Help; call != nil {
			shown.Help = "called"
			if call.Coming {
				shown.Help = "coming"
			}
		}
		if left := s.Lane.ReservedFor(now); left > 0 {
			shown.Reserved = new(left.Milliseconds())
		}
		if s.Lane.Session != nil {
			view := s.Lane.View(now)
			shown.Phase, shown.LeftMS = view.Phase, view.Remaining.Milliseconds()
			shown.StartsMS, shown.GraceMS, shown.Marks = s.Lane.UntilStart(now), s.Lane.GraceLeft(now),
				screens.MarksOf(s.Lane)
			shown.OpenEnd = screens.OpenEndOf(s.Lane, now)
			if names {
				shown.Customer = shortName(view.Customer)
			}
		}
		return shown
	}
}

// shortName returns the first word of a name and the initial of the last one: "Jo S." of "Jo Smith". A last
// word that is no word, such as the number in "Walk-in 12", stays as it is.
func shortName(name string) string {
	words := strings.Fields(name)
	if len(words) == 0 {
		return ""
	}
	first, last := words[0], words[len(words)-1]
	if len(words) == 1 {
		return first
	}
	if initial, _ := utf8.DecodeRuneInString(last); unicode.IsLetter(initial) {
		last = string(initial) + "."
	}
	return first + " " + last
}

// stream sends the live state of the range: first `picture`, then `change` after every change, and `beat` in
// between. It ends when the range no longer runs here, and with a reload of the configuration.
func (b *screen) stream(w http.ResponseWriter, r *http.Request) {
	rangeID := screens.KeyOf(r.Context()).Range
	slots := b.streams.Of(rangeID)
	if !slots.TryAcquire() {
		b.fail(w, r, screens.Overloaded("wall boards of this range are open"))
		return
	}
	defer slots.Release()
	b.Streams.Inc()
	defer b.Streams.Dec()
	running, err := b.Range(rangeID)
	if err != nil {
		b.fail(w, r, err)
		return
	}
	f := &follower{r: running, names: b.Boards[rangeID].Names, version: b.version, frames: b.frames[rangeID]}
	screens.Feed{
		Next: f.next,
		Beat: func() (time.Time, bool) {
			current, err := b.Range(rangeID)
			return running.Now().Wall, err == nil && current == running
		},
		Hours: func(now time.Time) *screens.HoursView { return screens.ViewHoursOf(running.Layout(), now) },
		Ended: running.Ended(), Closing: b.Closing,
	}.Follow(w, r)
}

// follower is the state of one stream: what its board was sent.
type follower struct {
	r       Range
	names   bool
	version string // of the files
	frames  *screens.FrameCache[laneView]
	started bool
	seen    uint64 // version of the range's lanes
	holds   []lanes.HoldRecord
}

func (f *follower) next() (event string, data any, wake <-chan struct{}) {
	after := f.seen
	changed, seen, wake := f.r.Changes(after)
	f.seen = seen
	holds := f.r.Holds().InForce
	if f.started && len(changed) == 0 && slices.Equal(holds, f.holds) {
		return "", nil, wake
	}
	f.holds = holds
	now, encoded := f.frames.Lanes(f.r, after, seen, changed)
	views := endpoint.Views(holds, func(hold lanes.HoldRecord) holdView {
		return holdView{hold.Kind, endpoint.Optional(hold.ID)}
	})
	if f.started {
		return "change", screens.AppendLanes(change{now, views}, encoded), wake
	}
	f.started = true
	layout := f.r.Layout()
	return "picture", screens.AppendLanes(picture{
		Now: now, Version: f.version, Range: layout.Name, Names: f.names,
		Bays:  endpoint.Views(layout.Bays, func(bay lanes.Bay) bayView { return bayView{bay.ID, bay.Name} }),
		Holds: views, Hours: screens.ViewHoursOf(layout, f.r.Now().Wall),
	}, encoded), wake
}
