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
	places map[uuid.UUID]lanes.Place // of the layout
}

func settingsOf(s Settings) *settings {
	all := &settings{Settings: s, places: make(map[uuid.UUID]lanes.Place, len(s.Layout.Lanes))}
	for _, place := range s.Layout.Lanes {
		all.places[place.ID] = place
	}
	return all
}

// settings are those in force now. Whoever needs two things of them that go together asks once.
func (r *Range) settings() *settings { return r.configured.Load() }
