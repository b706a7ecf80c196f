package lanesim

import (
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// Foreseen are the first of a lane's mishaps.
func Foreseen(seed uint64, lane uuid.UUID, many int) (all []string) {
	for m := range mishaps(seed, lane, Kinds, time.Minute) {
		if all = append(all, fmt.Sprint(m)); len(all) == many {
			break
		}
	}
	return all
}

// Have is one of Kinds beginning or ending.
func (c *Controller) Have(kind string, on bool) { c.have(kind, on) }

// Ports are those that the controllers answer on.
func (cs *Controllers) Ports() (ports []string) {
	for _, c := range cs.lanes {
		address, _ := url.Parse(c.address)
		ports = append(ports, address.Port())
	}
	return ports
}
