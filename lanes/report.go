package lanes

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"
)

// What a lane's controller reports (LINK.md, Controller to gateway).
const (
	ReportEntered      = "entered"
	ReportHelp         = "help"
	ReportCarrierHit   = "carrier_hit"
	ReportPurchase     = "purchase"
	ReportFault        = "fault"
	ReportFaultCleared = "fault_cleared"
	ReportCleared      = "cleared"
)

// Report is something that happened on the lane, as its controller tells it. A report that was taken in before, and
// one about a session that is not on the lane, changes nothing but how far the log was read: a late report about an
// ended session never touches the next one.
type Report struct {
	Log      Log       // the controller's log and the report's number in it
	Kind     string    // one of those above
	Session  uuid.UUID // uuid.Nil: about no session
	Age      time.Duration
	Purchase uuid.UUID // of a ReportPurchase: its id at the lane
	Items    []Item    // likewise
	Detail   string    // of a ReportFault: what is wrong

	// Whether the session is known although it is not on this lane: it has ended, or moved. Whoever drives
	// the lane looks that up when it is asked for with ErrElsewhere, and asks again.
	Elsewhere Known
	// Correlation is that of the session, once it was looked up.
	Correlation *Correlation
}

// Known is whether something is known, or has not been looked up.
type Known int

// What may be known.
const (
	NotLookedUp Known = iota
	IsKnown
	IsUnknown
)

// Name implements Command.
func (r Report) Name() string { return "report " + r.Kind }

func (r Report) decide(now Instant, c *Change) error {
	if r.Log.ID == c.Lane.Log.ID && r.Log.Seq <= c.Lane.Log.Seq {
		c.Note = "reported before"
		return nil
	}
	if c.Lane.Log.ID == r.Log.ID {
		c.Missing = r.Log.Seq - c.Lane.Log.Seq - 1
	}
	switch r.Kind { // these are about the lane, whatever session is on it
	case ReportFault, ReportFaultCleared:
		c.Lane.Log, c.Lane.Fault = r.Log, r.fault()
		return nil
	case ReportCleared:
		c.Lane.Log = r.Log
		c.reportCleared(r, now)
		return nil
	}
	s, err := c.sessionOn(r.Session)
	if err != nil {
		return r.late(now, c)
	}
	c.Lane.Log = r.Log
	happened := s.ago(r.Age, now)
	switch r.Kind {
	case ReportEntered:
		if err := (Enter{Session: r.Session, Age: r.Age}).decide(now, c); err != nil {
			c.Note = err.Error()
		}
	case ReportHelp:
		c.addEvent(Help, &s, c.Lane.ID, happened)
		c.raiseHelp(happened)
		c.setSession(s, now)
	case ReportCarrierHit:
		c.addEvent(CarrierHit, &s, c.Lane.ID, happened)
		c.setSession(s, now)
	case ReportPurchase:
		c.reportPurchase(Buy{Session: r.Session, Purchase: r.Purchase, Items: r.Items, Age: r.Age}, now)
	default:
		c.Note = "a kind of report that this gateway does not know"
	}
	return nil
}

func (r Report) fault() string {
	switch {
	case r.Kind == ReportFaultCleared:
		return ""
	case r.Detail == "":
		return "no detail"
	}
	return r.Detail
}

// late is a report about a session that is not on the lane. A call for help and a shot carrier are facts about it all
// the same, as long as anybody knows of it: a carrier costs money. About no session they are for staff. Everything else
// changes nothing.
func (r Report) late(now Instant, c *Change) error {
	kind, fact := map[string]Kind{ReportHelp: Help, ReportCarrierHit: CarrierHit}[r.Kind]
	fact = fact && r.Session != uuid.Nil
	if fact && r.Elsewhere == NotLookedUp {
		return ErrElsewhere
	}
	c.Lane.Log = r.Log
	switch {
	case fact && r.Elsewhere != IsUnknown:
	case r.Session == uuid.Nil && r.Kind == ReportHelp: // only staff can do something about these two
		c.raiseHelp(now)
		return nil
	case r.Session == uuid.Nil && r.Kind == ReportCarrierHit:
		c.noteStrayHit(now)
		return nil
	default:
		c.Note = "not about the session on this lane"
		return nil
	}
	c.decision = Decision{Command: r.Name(), Late: max(0, r.Age)}
	name := []byte(r.Log.ID + "/")
	name = binary.BigEndian.AppendUint64(name, r.Log.Seq)
	c.Events = append(c.Events, Event{
		ID: uuid.NewSHA1(r.Session, name), Kind: kind, Session: r.Session, Lane: c.Lane.ID,
		At:          now.Add(-max(0, r.Age)).Wall,
		Correlation: r.Correlation,
	})
	return nil
}

// Inspect records what the controller says when its link comes up: the faults that it has in force, and what it proves
// of its fire line.
type Inspect struct {
	Faults []string
	Proof  Proof
}

// Name implements Command.
func (Inspect) Name() string { return "inspect" }

func (cmd Inspect) decide(now Instant, c *Change) error {
	c.Lane.Fault = strings.Join(cmd.Faults, "; ")
	c.prove(cmd.Proof, now)
	return nil
}
