package control

import (
	"github.com/google/uuid"

	"rangegate/api/screens"
	"rangegate/lanes"
)

// picture is the first message of a stream: everything. The lanes, in display order, are put behind the rest of a message,
// as the key lanes: see frames.
type picture struct {
	Now        string     `json:"now"`
	Range      theRange   `json:"range"`
	Who        string     `json:"who"`
	Bays       []named    `json:"bays"`
	Groups     []named    `json:"groups"`
	Holds      []holdView `json:"holds"`
	Unresolved int        `json:"unresolved"`
}

// change is what has changed since the last message: those lanes, and the rest whole.
type change struct {
	Now        string     `json:"now"`
	Holds      []holdView `json:"holds"` // all that are in force
	Unresolved int        `json:"unresolved"`
}

type theRange struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	Purchasing bool      `json:"purchasing"`
}

type named struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// lane is a lane as staff see it, at the moment of the message.
type lane struct {
	ID        uuid.UUID   `json:"lane_id"`
	Bay       uuid.UUID   `json:"bay_id"`
	Name      string      `json:"name"`
	Phase     lanes.Phase `json:"phase"`
	Session   *onLane     `json:"session"`
	ForSale   bool        `json:"for_sale"`
	Sale      string      `json:"sale"` // what staff decided: configured, open, closed
	Usable    bool        `json:"usable"`
	NotUsable *string     `json:"not_usable_because"`
	Link      string      `json:"link"`
	LinkSince *string     `json:"link_since"`
	Held      bool        `json:"held"`
	Locked    bool        `json:"locked"` // the hardware says so; held and not locked is not reached
	Help      *help       `json:"help"`
	Stray     *string     `json:"stray_hit"`
	Purchase  *purchase   `json:"purchase"`
}

type onLane struct {
	ID           uuid.UUID `json:"session_id"`
	Customer     string    `json:"customer_name"`
	Group        uuid.UUID `json:"group_id"`
	Duration     int       `json:"duration"` // minutes sold
	LeftMS       int64     `json:"left_ms"`
	BeganAt      *string   `json:"began_at"`
	CreatedAt    string    `json:"created_at"`
	Purchasing   bool      `json:"purchasing"` // in effect
	PausedByHold bool      `json:"paused_by_hold"`
	RanOnMS      int64     `json:"ran_on_ms"` // while the gateway was down, for staff to make up
}

type help struct {
	At     string `json:"at"`
	Coming bool   `json:"coming"`
}

type purchase struct {
	ID      uuid.UUID           `json:"purchase_id"`
	Phase   lanes.PurchasePhase `json:"phase"`
	Minutes int                 `json:"minutes"`
}

// free is the phase of a lane without a session.
const free lanes.Phase = "free"

func laneOf(s lanes.LaneStatus, now lanes.Instant) lane {
	shown := lane{
		ID: s.ID, Bay: s.Bay, Name: s.Name, Phase: free,
		ForSale: s.Lane.ForSale(), Sale: s.Lane.Sale.String(), Usable: s.NotUsable == "", Link: string(s.Link),
		Held: s.Lane.Held, Locked: s.Locked,
	}
	if s.NotUsable != "" {
		shown.NotUsable = &s.NotUsable
	}
	if !s.LinkSince.IsZero() {
		since := screens.Stamp(s.LinkSince)
		shown.LinkSince = &since
	}
	if call := s.Lane.Help; call != nil {
		shown.Help = &help{screens.Stamp(call.At), call.Coming}
	}
	if s.Lane.Stray != nil {
		at := screens.Stamp(*s.Lane.Stray)
		shown.Stray = &at
	}
	if on := s.Lane.Session; on != nil {
		shown.Phase, shown.Session = on.Phase, sessionShown(s.Lane, now)
		if p := on.Purchase; p != nil {
			shown.Purchase = &purchase{p.ID, p.Phase, p.Minutes()}
		}
	}
	return shown
}

func sessionShown(on lanes.Lane, now lanes.Instant) *onLane {
	view := on.View(now)
	shown := &onLane{
		ID: view.ID, Customer: view.Customer, Group: view.Group, Duration: view.Minutes, LeftMS: view.Remaining.Milliseconds(),
		CreatedAt: screens.Stamp(view.Created), Purchasing: view.Purchasing,
		PausedByHold: on.Session.ByHold, RanOnMS: on.Session.RanOn.Milliseconds(),
	}
	if view.Began != nil {
		began := screens.Stamp(*view.Began)
		shown.BeganAt = &began
	}
	return shown
}

func lanesOf(list []lanes.LaneStatus, now lanes.Instant) []lane {
	shown := make([]lane, len(list))
	for i, each := range list {
		shown[i] = laneOf(each, now)
	}
	return shown
}

// unresolvedOn is how many purchases of the lane wait for staff.
func unresolvedOn(on lanes.Lane) int {
	waiting := 0
	for _, p := range on.Open {
		if p.Phase == lanes.Unresolved {
			waiting++
		}
	}
	return waiting
}

// holdView is a hold in force.
type holdView struct {
	Scope string     `json:"scope"`
	ID    *uuid.UUID `json:"id"` // null: the range
	Who   string     `json:"who"`
	Since string     `json:"since"`
}

func holdsOf(holds lanes.Holds) []holdView {
	shown := []holdView{}
	for _, h := range holds.InForce {
		view := holdView{Scope: h.Kind, Who: h.Who, Since: screens.Stamp(h.Since)}
		if h.ID != uuid.Nil {
			view.ID = &h.ID
		}
		shown = append(shown, view)
	}
	return shown
}
