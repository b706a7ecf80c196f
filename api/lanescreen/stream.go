package lanescreen

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

// message is one message of the stream: the whole lane.
type message struct {
	Now   string             `json:"now"`
	Lane  laneView           `json:"lane"`
	Hours *screens.HoursView `json:"hours"` // of the lane, to the group of its session; null: it has none
}

// laneView is the lane as its shooter sees it, at the time of the message.
type laneView struct {
	Name       string      `json:"name"`
	Phase      lanes.Phase `json:"phase"`
	Held       bool        `json:"held"`
	ForSale    bool        `json:"for_sale"` // and in working order
	Reserved   bool        `json:"reserved"` // a POS is being paid for it
	Help       *helpView   `json:"help"`
	Purchasing bool        `json:"purchasing"`
	Currency   string      `json:"currency"` // of prices; empty: none is shown
	// the last session's time is up, and its customer has so long to clear the lane
	ClearMS  int64         `json:"clear_ms"`
	Session  *sessionView  `json:"session"`
	Purchase *purchaseView `json:"purchase"`
	MovedTo  string        `json:"moved_to,omitempty"` // the name of the lane to which its last session has moved
}

type helpView struct {
	Coming bool `json:"coming"`
}

type sessionView struct {
	ID           uuid.UUID `json:"session_id"`
	Customer     string    `json:"customer_name"`
	Duration     int       `json:"duration"` // minutes sold
	LeftMS       int64     `json:"left_ms"`
	PausedByHold bool      `json:"paused_by_hold"`
	StartsMS     *int64    `json:"starts_ms,omitempty"` // until it begins together with others
	GraceMS      *int64    `json:"grace_ms,omitempty"`  // its time is used up: it is on the lane for so long
	screens.Marks
	// OpenEnd is nil where the session has none.
	OpenEnd *screens.OpenEnd `json:"open_end,omitempty"`
}

type purchaseView struct {
	ID          uuid.UUID           `json:"purchase_id"`
	Phase       lanes.PurchasePhase `json:"phase"`
	UserMessage string              `json:"user_message"`
}

// free is the phase of a lane without a session.
const free lanes.Phase = "free"

func viewOf(s lanes.LaneStatus, now lanes.Instant) laneView {
	lane := laneView{
		Name: s.Name, Phase: free, Held: s.Lane.Held, ForSale: s.Lane.ForSale() && s.NotUsable == "",
		Reserved: s.Lane.ReservedFor(now) > 0, ClearMS: s.Lane.ToClear(now).Milliseconds(),
	}
	if s.Lane.Help != nil {
		lane.Help = &helpView{s.Lane.Help.Coming}
	}
	session := s.Lane.Session
	if session == nil {
		return lane
	}
	view := s.Lane.View(now)
	lane.Phase, lane.Purchasing = view.Phase, view.Purchasing
	lane.Session = &sessionView{
		view.ID, view.Customer, view.Minutes, view.Remaining.Milliseconds(), session.ByHold,
		s.Lane.UntilStart(now), s.Lane.GraceLeft(now), screens.MarksOf(s.Lane), screens.OpenEndOf(s.Lane, now),
	}
	if p := session.Purchase; p != nil {
		lane.Purchase = &purchaseView{p.ID, p.Phase, p.UserMessage}
	}
	return lane
}

// stream sends the live state of the lane: first `picture`, then `change` after every change, and `beat` in between.
func (l *screen) stream(w http.ResponseWriter, r *http.Request) {
	lane := screens.KeyOf(r.Context())
	slots := l.streams.Of(lane.ID)
	if !slots.TryAcquire() {
		l.fail(w, r, screens.Overloaded("screens of this lane are open"))
		return
	}
	defer slots.Release()
	l.Streams.Inc()
	defer l.Streams.Dec()
	running, err := l.Range(lane.Range)
	if err != nil {
		l.fail(w, r, err)
		return
	}
	seen, nextEvent, shown := uint64(0), "picture", uuid.Nil // shown is the last session that the screen has shown
	screens.Feed{
		Next: func() (string, any, <-chan struct{}) {
			status, version, wake, found := running.LaneChange(lane.ID)
			if !found || version == seen {
				return "", nil, wake
			}
			now, event := running.Now(), nextEvent
			seen, nextEvent = version, "change"
			view := viewOf(status, now)
			view.Currency = running.Layout().Currency
			if view.Session != nil {
				shown = view.Session.ID
			} else if to, _, _, moved := running.SessionChange(shown); moved {
				view.MovedTo = to.Name
			}
			return event, message{endpoint.Stamp(now.Wall), view, screens.ViewHours(status.Lane.SaleHours(), now.Wall)},
				wake
		},
		Beat: func() (time.Time, bool) {
			current, err := l.Range(lane.Range)
			return running.Now().Wall, err == nil && current == running
		},
		Hours: func(now time.Time) *screens.HoursView {
			status, _ := running.LaneStatus(lane.ID)
			return screens.ViewHours(status.Lane.SaleHours(), now)
		},
		Ended: running.Ended(), Closing: l.Closing,
	}.Follow(w, r)
}
