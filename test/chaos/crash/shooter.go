package crash

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/lanesim"

	"rangegate/test/support"
)

// shooter makes reports on a lane, and records them.
type shooter struct {
	hardware   *hardware
	lane       string
	controller *lanesim.Controller
	rng        *rand.Rand
	reports    []report
}

// report is a call for help or a shot carrier.
type report struct {
	event    string       // the webhook's name for it
	sessions [2]uuid.UUID // the lane's session just before and just after: the report is about one of them
	at       span
}

const (
	longestLull = 200 * time.Millisecond // between two events on a lane
	mostKept    = 8                      // reports that a controller keeps before its shooter waits
)

func newShooter(h *hardware, lane int, seed uint64) *shooter {
	return &shooter{
		hardware: h, lane: support.LaneID(lane), controller: h.controllers.Controller(lane),
		rng: rand.New(rand.NewPCG(seed, uint64(clientCount+lane)+1)),
	}
}

// shoot makes one event after the other on the lane, with or without a gateway, until ctx ends.
func (s *shooter) shoot(ctx context.Context) {
	for support.Wait(ctx, time.Duration(s.rng.Int64N(int64(longestLull)))) {
		if s.controller.Unacked() >= mostKept {
			continue
		}
		switch dice := s.rng.IntN(100); {
		case dice < 40:
			s.report("help", s.controller.Help)
		case dice < 80:
			s.report("carrierHit", s.controller.HitCarrier)
		case dice < 98:
			s.hardware.enter(s.controller)
		default:
			s.controller.Drop() // the connection
		}
	}
}

// report makes a report, unless there is no session for it.
func (s *shooter) report(event string, do func() error) {
	r := report{event: event, at: span{lo: now()}}
	r.sessions[0] = s.controller.Shown().Session
	if do() != nil {
		return
	}
	r.sessions[1] = s.controller.Shown().Session
	r.at.hi = now()
	s.reports = append(s.reports, r)
}
