package lanes

import (
	"github.com/google/uuid"
)

// Layout is what a range is made of, in display order. It is a value: a reload makes another.
type Layout struct {
	Range      uuid.UUID
	Name       string
	Purchasing bool   // the range offers lane purchasing
	Currency   string // of its prices, as ISO 4217 names it; empty: none is shown
	Terms
	Bays    []Bay
	Groups  []Group
	Presets []Preset // the sales that staff make by one touch
	Lanes   []Place
}

// Bay groups lanes.
type Bay struct {
	ID    uuid.UUID
	Name  string
	Hours *Hours // its own, within the range's; nil: those of the range. See TermsOf
}

// Group is an access group.
type Group struct {
	ID   uuid.UUID
	Name string
}

// Preset is a sale that has a button of its own.
type Preset struct {
	Minutes int        // MinMinutes to MaxMinutes
	Group   *uuid.UUID // the access group; nil: the one that staff choose
	Grace   bool       // see Create
	OpenEnd int        // likewise
}

// Place is a lane in the layout.
type Place struct {
	ID         uuid.UUID
	Bay        uuid.UUID
	Name       string
	Accessible bool // open for sale
}

// Owner is the node that serves a range, as the others reach it. Without nodes every range is Here.
type Owner struct {
	Here    bool   // it is this process
	Name    string // of the node
	Address string // host:port for the other nodes
	Epoch   uint64 // of its claim
}

// SellsAs reports whether both have the same rules for what is sold on the lane at that place.
func (l Layout) SellsAs(other Layout, place Place) bool {
	return l.Purchasing == other.Purchasing && l.TermsOf(place).SameTerms(other.TermsOf(place))
}

// HasGroup reports whether the range has the access group.
func (l Layout) HasGroup(id uuid.UUID) bool {
	for _, group := range l.Groups {
		if group.ID == id {
			return true
		}
	}
	return false
}
