package actors

import (
	"time"

	"github.com/google/uuid"

	"rangegate/actors/delivery"
	"rangegate/actors/purchases"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Settings is what the configuration says of one range.
type Settings struct {
	Layout lanes.Layout
	Grace  time.Duration // how long a lane whose link is down stays usable
	Driver link.Driver
	// HoldOnLoss makes controllers lock the fire line when they lose the gateway. Each is told when its link is made.
	HoldOnLoss bool
	// InsecureLinks is how many lanes have a link that can be taken over from its network.
	InsecureLinks int
	Receivers     []delivery.Receiver // the webhooks; none: events are kept in the event log as not sent
	Catalogue     purchases.Catalogue // nil: purchases go unchecked
	// Retire are lanes that the layout does not have, and whose sessions end when the range starts.
	Retire []uuid.UUID
}

// settings are a range's Settings in force. A reload replaces them as a whole; nobody changes them.
type settings struct {
	Settings
	at map[uuid.UUID]int32 // lane → its index in the layout
}

func newSettings(s Settings) *settings {
	indexed := &settings{Settings: s, at: make(map[uuid.UUID]int32, len(s.Layout.Lanes))}
	for i, place := range s.Layout.Lanes {
		indexed.at[place.ID] = int32(i)
	}
	return indexed
}

// place returns the lane in the layout.
func (s *settings) place(lane uuid.UUID) (place lanes.Place, found bool) {
	i, found := s.at[lane]
	if found {
		place = s.Layout.Lanes[i]
	}
	return place, found
}

// has reports whether the lane is in the layout.
func (s *settings) has(lane uuid.UUID) bool {
	_, found := s.at[lane]
	return found
}

// name returns the lane's name, empty for one that has left.
func (s *settings) name(lane uuid.UUID) string {
	place, _ := s.place(lane)
	return place.Name
}

// settings returns those in force now. A caller that needs two values that belong together reads them once.
func (r *Range) settings() *settings { return r.inForce.Load() }

// awaiter returns the driver that waits for the lane's controller. ok is false for a lane that is dialled.
func (s *settings) awaiter(lane uuid.UUID) (driver link.Awaiter, ok bool) {
	driver, ok = s.Driver.(link.Awaiter)
	return driver, ok && driver.Awaits(lane)
}
