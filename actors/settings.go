package actors

import (
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Settings is what the configuration says of one range.
type Settings struct {
	Layout lanes.Layout
	Grace  time.Duration // how long a lane whose link is down stays usable
	Driver link.Driver
	// HoldOnLoss has controllers lock the fire line when they lose the gateway. Each hears of it when its link is made.
	HoldOnLoss bool
	Webhook    Webhook // nil: events are kept in the event log as not sent
	Delivery
	Catalogue Catalogue // nil: purchases go unchecked
	// Retire are lanes that the layout does not have, and whose sessions end when the range starts.
	Retire []uuid.UUID
}

// Delivery bounds what the range has under way with its webhook.
type Delivery struct {
	Slots int // deliveries at a time; purchases have slots of their own
	Queue int // events that may wait for delivery: beyond them the oldest are dropped
}

// settings are a range's Settings in force. A reload puts others in their place, whole; nobody changes them.
type settings struct {
	Settings
	at map[uuid.UUID]int32 // lane → its place in the layout
}

func settingsOf(s Settings) *settings {
	all := &settings{Settings: s, at: make(map[uuid.UUID]int32, len(s.Layout.Lanes))}
	for i, place := range s.Layout.Lanes {
		all.at[place.ID] = int32(i)
	}
	return all
}

// place is the lane in the layout.
func (s *settings) place(lane uuid.UUID) (place lanes.Place, has bool) {
	i, has := s.at[lane]
	if has {
		place = s.Layout.Lanes[i]
	}
	return place, has
}

// has tells whether the lane is in the layout.
func (s *settings) has(lane uuid.UUID) bool {
	_, has := s.at[lane]
	return has
}

// name is the lane's, empty for one that has left.
func (s *settings) name(lane uuid.UUID) string {
	place, _ := s.place(lane)
	return place.Name
}

// settings are those in force now. Whoever needs two things of them that go together asks once.
func (r *Range) settings() *settings { return r.configured.Load() }
