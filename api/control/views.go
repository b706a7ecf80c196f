package control

import (
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/api/staffops"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// picture is the first message of a stream: the whole state. screens.AppendLanes adds the key lanes, in display order.
type picture struct {
	Now        string              `json:"now"`
	Range      rangeView           `json:"range"`
	Who        string              `json:"who"`
	Releases   bool                `json:"releases_range"` // may end a ceasefire over the range
	Bays       []namedView         `json:"bays"`
	Groups     []namedView         `json:"groups"`
	Holds      []staffops.HoldView `json:"holds"`
	Unresolved int                 `json:"unresolved"`

	Hours *screens.HoursView `json:"hours,omitempty"` // of a range that has opening hours
}

// change is a later message: the changed lanes, and the rest of the state.
type change struct {
	Now        string              `json:"now"`
	Holds      []staffops.HoldView `json:"holds"` // all in force
	Unresolved int                 `json:"unresolved"`
}

type rangeView struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	Purchasing bool      `json:"purchasing"`
	Currency   string    `json:"currency"` // of prices; empty: none is shown
	// Presets are the sales with a button of their own; empty: the form has minutes of its own.
	Presets []v2.PresetView `json:"presets"`
	// Grace says that staff choose whether a session has one: the range has it, and not for every session.
	Grace bool `json:"grace,omitempty"`
	// OpenEnd says that a session may have one, on a lane that can.
	OpenEnd bool `json:"open_end,omitempty"`
}

func viewOfRange(l lanes.Layout) rangeView {
	return rangeView{
		l.Range, l.Name, l.Purchasing, l.Currency, endpoint.Views(l.Presets, v2.ViewOfPreset),
		l.Grace > 0 && !l.GraceForAll, !l.GraceForAll,
	}
}

type namedView struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// laneView is a lane as staff see it, at the time of the message.
type laneView struct {
	ID        uuid.UUID    `json:"lane_id"`
	Bay       uuid.UUID    `json:"bay_id"`
	Name      string       `json:"name"`
	Phase     lanes.Phase  `json:"phase"`
	Session   *sessionView `json:"session"`
	ForSale   bool         `json:"for_sale"`
	Sale      string       `json:"sale"` // decided by staff: configured, open, closed
	Usable    bool         `json:"usable"`
	NotUsable *string      `json:"not_usable_because"`
	Link      string       `json:"link"`
	LinkSince *string      `json:"link_since"`
	Held      bool         `json:"held"`
	// as the hardware reports; a lane that is held and not locked was not reached
	Locked    bool           `json:"locked"`
	Help      *helpView      `json:"help"`
	Stray     *string        `json:"stray_hit"`
	Purchase  *purchaseView  `json:"purchase"`
	Contest   *contestView   `json:"second_controller"`
	Uncleared *unclearedView `json:"uncleared"` // null: it is clear
	Reserved  *reservedView  `json:"reserved,omitempty"`
	// its controller is there and keeps the line open beyond what was sold
	OpenEnd bool `json:"open_end,omitempty"`
}

// contestView is a second controller that was refused, by the addresses of both.
type contestView struct {
	At      string `json:"at"`
	Refused string `json:"refused"`
	Linked  string `json:"linked"`
}

// unclearedView is a lane whose session's time is up, until somebody says that it is clear, or that time is over.
type unclearedView struct {
	Session uuid.UUID `json:"session_id"`
	Since   string    `json:"since"`
	LeftMS  int64     `json:"left_ms"` // until it counts as clear
}

// reservedView is a lane that is being sold: a POS has reserved it while its customer pays.
type reservedView struct {
	ID     uuid.UUID `json:"reservation_id"`
	Until  string    `json:"until"`
	LeftMS int64     `json:"left_ms"`
}

type sessionView struct {
	ID           uuid.UUID `json:"session_id"`
	Customer     string    `json:"customer_name"`
	Group        uuid.UUID `json:"group_id"`
	Duration     int       `json:"duration"` // minutes sold
	LeftMS       int64     `json:"left_ms"`
	BeganAt      *string   `json:"began_at"`
	CreatedAt    string    `json:"created_at"`
	Purchasing   bool      `json:"purchasing"` // in effect
	PausedByHold bool      `json:"paused_by_hold"`
	ExternalID   string    `json:"external_id"` // by which the POS knows it; empty: none
	RanOnMS      int64     `json:"ran_on_ms"`   // while the gateway was down; staff may give it back
	// The sessions that it goes on with, the latest first: it was reopened.
	GoesOnWith []uuid.UUID `json:"goes_on_with,omitempty"`
	GraceMS    *int64      `json:"grace_ms,omitempty"` // its time is used up: it is on the lane for so long
	// OpenEnd is nil where the session has none.
	OpenEnd *screens.OpenEnd `json:"open_end,omitempty"`
	// Of a session that waits, and begins together with others.
	StartsMS *int64     `json:"starts_ms,omitempty"` // until then
	StartID  *uuid.UUID `json:"start_id,omitempty"`
	screens.Marks
}

type helpView struct {
	At     string `json:"at"`
	Coming bool   `json:"coming"`
}

type purchaseView struct {
	ID      uuid.UUID           `json:"purchase_id"`
	Phase   lanes.PurchasePhase `json:"phase"`
	Minutes int                 `json:"minutes"`
}

// free is the phase of a lane without a session.
const free lanes.Phase = "free"

func viewOf(s lanes.LaneStatus, now lanes.Instant) laneView {
	shown := laneView{
		ID: s.ID, Bay: s.Bay, Name: s.Name, Phase: free,
		ForSale: s.Lane.ForSale(), Sale: s.Lane.Sale.String(), Usable: s.NotUsable == "",
		NotUsable: endpoint.Optional(s.NotUsable),
		Link:      string(s.Link), LinkSince: endpoint.OptionalStamp(&s.LinkSince),
		Held: s.Lane.Held, Locked: s.Locked, Stray: endpoint.OptionalStamp(s.Lane.Stray),
		OpenEnd: s.Lane.Unproven == nil,
	}
	if call := s.Lane.Help; call != nil {
		shown.Help = &helpView{endpoint.Stamp(call.At), call.Coming}
	}
	if c := s.Contest; c != nil {
		shown.Contest = &contestView{endpoint.Stamp(c.At), c.Refused, c.Linked}
	}
	if left := s.Lane.ToClear(now); left > 0 {
		last := s.Lane.Uncleared
		shown.Uncleared = &unclearedView{last.Session, endpoint.Stamp(last.Since.Wall), left.Milliseconds()}
	}
	if left := s.Lane.ReservedFor(now); left > 0 {
		shown.Reserved = &reservedView{s.Lane.Reservation.ID, endpoint.Stamp(now.Wall.Add(left)), left.Milliseconds()}
	}
	session := s.Lane.Session
	if session == nil {
		return shown
	}
	view := s.Lane.View(now)
	shown.Phase, shown.Session = session.Phase, &sessionView{
		ID: view.ID, Customer: view.Customer, Group: view.Group, Duration: view.Minutes,
		LeftMS:  view.Remaining.Milliseconds(),
		BeganAt: endpoint.OptionalStamp(view.Began), CreatedAt: endpoint.Stamp(view.Created),
		Purchasing:   view.Purchasing,
		PausedByHold: session.ByHold, ExternalID: session.Correlation.IDOrNone(), RanOnMS: session.RanOn.Milliseconds(),
		GoesOnWith: session.GoesOnWith,
		Marks:      screens.MarksOf(s.Lane),
		GraceMS:    s.Lane.GraceLeft(now),
		OpenEnd:    screens.OpenEndOf(s.Lane, now),
	}
	if shown.Session.StartsMS = s.Lane.UntilStart(now); shown.Session.StartsMS != nil {
		shown.Session.StartID = &session.Start.ID
	}
	if p := session.Purchase; p != nil {
		shown.Purchase = &purchaseView{p.ID, p.Phase, p.Minutes()}
	}
	return shown
}

// countUnresolved returns how many purchases of the lane wait for staff.
func countUnresolved(lane lanes.Lane) int {
	count := 0
	for _, p := range lane.Open {
		if p.Phase == lanes.Unresolved {
			count++
		}
	}
	return count
}
