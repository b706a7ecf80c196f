package sim

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// How the playground's shooters behave: they enter some seconds after the sale, and while they shoot they call for
// help, hit the carrier and buy more time now and then.
const (
	soonest = 3 * time.Second
	latest  = 10 * time.Second
	mishap  = 10 * time.Minute // on average between two calls for help, two carrier hits, two purchases
	more    = 15               // minutes that they buy at a time
)

// shooter is the customer of a session, for as long as they do the same thing.
type shooter struct {
	session uuid.UUID
	buys    bool        // lane purchasing is in effect
	doing   lanes.Phase // Waiting: about to enter; Running: shooting, unless held; Paused: nothing
	chance  *rand.Rand
	timers  []*time.Timer
}

func newShooter(shown Shown, seed uint64) *shooter {
	s := &shooter{session: shown.Session, doing: shown.Phase, buys: shown.Purchasing}
	high, low := binary.BigEndian.Uint64(s.session[:8]), binary.BigEndian.Uint64(s.session[8:])
	s.chance = rand.New(rand.NewPCG(high^seed, low))
	return s
}

// habits are the reports that come of what the shooter does.
func (s *shooter) habits() []string {
	switch s.doing {
	case lanes.Waiting:
		return []string{lanes.ReportEntered}
	case lanes.Running:
		if s.buys {
			return []string{lanes.ReportHelp, lanes.ReportCarrierHit, lanes.ReportPurchase}
		}
		return []string{lanes.ReportHelp, lanes.ReportCarrierHit}
	}
	return nil
}

// basket is what they buy, if that is what they do.
func (s *shooter) basket(kind string) basket {
	if kind != lanes.ReportPurchase {
		return basket{}
	}
	return basket{uuid.New(), []lanes.Item{{ID: lanes.TimeItem, Qty: more}}}
}

// until is how long it takes them. Mishaps have no memory: the time to the next one is drawn anew after a pause,
// without making them rarer.
func (s *shooter) until(kind string) time.Duration {
	if kind == lanes.ReportEntered {
		return soonest + time.Duration(s.chance.Int64N(int64(latest-soonest)+1))
	}
	return time.Duration(s.chance.ExpFloat64() * float64(mishap))
}

// able tells whether what is in force still lets them do it.
func (s *shooter) able(f fireLine, now lanes.Instant) bool {
	return f.session == s.session && f.phase == s.doing && (s.doing == lanes.Waiting || f.open(now))
}

// rest drops their plans. One whose timer has fired finds them gone.
func (s *shooter) rest() {
	for _, timer := range s.timers {
		timer.Stop()
	}
}
