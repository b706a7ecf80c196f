package observer

import (
	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// controllerView is the controller that the link of a lane is up to, or was up to last.
type controllerView struct {
	Connected    bool     `json:"connected"`
	Since        string   `json:"since"` // it was connected
	Firmware     *string  `json:"firmware"`
	Capabilities []string `json:"capabilities"`
	Address      *string  `json:"address"` // as the gateway sees it; null: it is simulated in the process
}

// viewOfController returns the controller of the newest change at which the link came up, nil if none is remembered.
func viewOfController(now lanes.LinkState, changes []lanes.LinkChange) *controllerView {
	for _, change := range changes {
		if change.Link == lanes.LinkUp {
			return &controllerView{
				now == lanes.LinkUp, endpoint.Stamp(change.At), endpoint.Optional(change.Firmware),
				append([]string{}, change.Capabilities...), endpoint.Optional(change.Address),
			}
		}
	}
	return nil
}
