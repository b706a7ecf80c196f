package lanesim

import (
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// RandomFaults returns the first random faults of a lane.
func RandomFaults(seed uint64, lane uuid.UUID, count int) (all []string) {
	for f := range randomFaults(seed, lane, Kinds, time.Minute) {
		if all = append(all, fmt.Sprint(f)); len(all) == count {
			break
		}
	}
	return all
}

// SetKind begins or ends one of Kinds.
func (c *Controller) SetKind(kind string, on bool) { c.setKind(kind, on) }

// Ports returns the ports of the controllers.
func (cs *Controllers) Ports() (ports []string) {
	for _, c := range cs.lanes {
		address, _ := url.Parse(c.address)
		ports = append(ports, address.Port())
	}
	return ports
}
