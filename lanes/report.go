package lanes

import (
	"time"

	"github.com/google/uuid"
)

// What a lane's controller reports (LINK.md, Controller to gateway).
const (
	ReportEntered    = "entered"
	ReportHelp       = "help"
	ReportCarrierHit = "carrier_hit"
	ReportPurchase   = "purchase"
)

// Report is something that happened on the lane, as its controller tells it. A report that was taken in before, and
// one about a session that is not on the lane, changes nothing but how far the log was read: a late report about an
// ended session never touches the next one.
type Report struct {
	Log      Log       // the controller's log and the report's number in it
	Kind     string    // ReportEntered, ReportHelp, ReportCarrierHit, ReportPurchase
	Session  uuid.UUID // uuid.Nil: about no session
	Age      time.Duration
	Purchase uuid.UUID // of a ReportPurchase: its id at the lane
	Items    []Item    // likewise
}

func (r Report) Name() string { return "report " + r.Kind }

func (r Report) decide(now Instant, c *Change) error {
	if r.Log.ID == c.Lane.Log.ID && r.Log.Seq <= c.Lane.Log.Seq {
		c.Note = "reported before"
		return nil
	}
	c.Lane.Log = r.Log
	s, err := c.on(r.Session)
	if err != nil {
		c.Note = "not about the session on this lane"
		return nil
	}
	happened := now.Add(-max(0, r.Age))
	switch r.Kind {
	case ReportEntered:
		if err := (Enter{Session: r.Session, Age: r.Age}).decide(now, c); err != nil {
			c.Note = err.Error()
		}
	case ReportHelp:
		c.happened(Help, &s, c.Lane.ID, happened)
		c.stands(s, now)
	case ReportCarrierHit:
		c.happened(CarrierHit, &s, c.Lane.ID, happened)
		c.stands(s, now)
	case ReportPurchase:
		c.asked(Buy{Session: r.Session, Purchase: r.Purchase, Items: r.Items, Age: r.Age}, now)
	default:
		c.Note = "a kind of report that this gateway does not know"
	}
	return nil
}
