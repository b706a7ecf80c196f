package lanes

import (
	"time"

	"github.com/google/uuid"
)

// Item is a product in a purchase, by the integrator's id, and how many of it. The product TimeItem is lane time, in
// minutes.
type Item struct {
	ID  string `json:"id"`
	Qty int    `json:"qty"`
}

// Good is what an item is called and costs, as the products API had it when it was bought.
type Good struct {
	Name  string `json:"name"`
	Price string `json:"price"` // of one, a decimal number
}

// TimeItem is the id of the one product that is lane time (SPEC.md part 2).
const TimeItem = "time"

// The bounds of a purchase.
const (
	MaxItems     = 50
	MaxQty       = 1_000_000 // of an item; the catalogue knows better
	MaxProductID = 255       // characters
	maxEarlier   = 32        // ids that a session remembers of earlier purchases, and of sessions that it goes on with
	maxOpen      = 100       // purchases that a lane keeps for staff
)

// PurchasePhase is the state of a purchase.
type PurchasePhase string

// The phases of a purchase.
const (
	Pending    PurchasePhase = "pending"    // on its way: saved, and maybe sent
	Accepted   PurchasePhase = "accepted"   // the integrator took it, and its time is in the session
	Declined   PurchasePhase = "refused"    // nothing was bought
	Unresolved PurchasePhase = "unresolved" // nobody here knows, or its time has no session: staff settle it
)

// Purchase is what a customer asked to buy at the lane. It is saved as pending before the integrator is asked, and
// what it came to is saved in one write with the time it adds. It is a value: nobody changes what Items and Earlier
// point to.
type Purchase struct {
	ID          uuid.UUID     `json:"purchase_id"`
	Session     uuid.UUID     `json:"session_id"`
	Items       []Item        `json:"items"`
	Phase       PurchasePhase `json:"phase"`
	At          Instant       `json:"at"`                     // when it was asked for
	Event       uuid.UUID     `json:"event_id"`               // of its purchaseRequest; uuid.Nil: not sent yet
	UserMessage string        `json:"user_message,omitempty"` // for the customer
	Reason      string        `json:"reason,omitempty"`       // why it is refused or unresolved, for staff and logs
	Trace       string        `json:"trace_id,omitempty"`     // the integrator's, for questions about it
	Earlier     []uuid.UUID   `json:"earlier,omitempty"`      // purchases of the session before it, newest first
	// Goods are the items' names and prices, in the order of Items; nil where the products API did not say.
	Goods []Good `json:"goods,omitempty"`
	// RequestTrace is the trace id of the request that asked for it, empty when the lane's controller did.
	RequestTrace string `json:"request_trace,omitempty"`
}

// OpenPurchase is a purchase and the lane that keeps it for staff.
type OpenPurchase struct {
	Purchase
	Lane uuid.UUID `json:"lane_id"`
	// CreditSession is its session, or the one that goes on with that, and CreditLane the lane that has it: there its
	// minutes can be added. uuid.Nil: no lane has it.
	CreditSession uuid.UUID `json:"credit_session_id"`
	CreditLane    uuid.UUID `json:"credit_lane_id"`
}

// Minutes is the lane time in it.
func (p Purchase) Minutes() int { return MinutesIn(p.Items) }

// MinutesIn is the lane time among the items.
func MinutesIn(items []Item) int {
	minutes := 0
	for _, item := range items {
		if item.ID == TimeItem {
			minutes += item.Qty
		}
	}
	return minutes
}

// hasID reports whether the purchase, or one before it, has that id.
func (p *Purchase) hasID(id uuid.UUID) bool {
	if p == nil {
		return false
	}
	for _, earlier := range p.Earlier {
		if earlier == id {
			return true
		}
	}
	return p.ID == id
}

// earlierIDs is the ids to remember with the purchase that follows p.
func (p *Purchase) earlierIDs() []uuid.UUID {
	if p == nil {
		return nil
	}
	earlier := append([]uuid.UUID{p.ID}, p.Earlier...)
	return earlier[:min(len(earlier), maxEarlier)]
}

func (p *Purchase) pending() bool { return p != nil && p.Phase == Pending }

// settled is the purchase as it turned out.
func (p Purchase) settled(phase PurchasePhase, userMessage, reason string) *Purchase {
	p.Phase, p.UserMessage, p.Reason = phase, userMessage, reason
	return &p
}

// The texts for the customer that the gateway chooses itself.
const (
	sayAskStaff   = "Please ask the staff: nobody here knows whether this purchase went through."
	sayNotTaken   = "The purchase was not accepted. Please ask the staff."
	sayUnreached  = "The shop cannot be reached at the moment. Nothing was bought."
	sayBusy       = "The shop is busy. Nothing was bought; please try again in a moment."
	saySessionEnd = "The session has ended. Please ask the staff about this purchase."
)

// Verdict returns how a purchase ends after the one attempt to ask the integrator (SPEC.md part 6): the
// status decides. A request that reached nobody bought nothing; of one that was cut off, or not answered in
// time, the outcome is unknown.
func Verdict(attempt Attempt, answer Answer) Settle {
	settle := Settle{UserMessage: answer.UserMessage, Reason: attempt.Error, Trace: answer.Trace}
	switch {
	case settle.Reason == "":
		settle.Reason = answer.Error
	case answer.Error != "":
		settle.Reason += ": " + answer.Error
	}
	switch attempt.Outcome() {
	case "delivered":
		settle.Phase, settle.UserMessage = Accepted, ""
	case "refused":
		settle.Phase = Declined
		if settle.UserMessage == "" {
			settle.UserMessage = sayNotTaken
		}
	case "unreachable", "not_sent", "dropped":
		settle.Phase, settle.UserMessage = Declined, sayUnreached
	default:
		settle.Phase, settle.UserMessage = Unresolved, sayAskStaff
	}
	return settle
}

// Busy is the end of a purchase that could not be sent in time.
func Busy(reason string) Settle { return Settle{Phase: Declined, UserMessage: sayBusy, Reason: reason} }

// Answer is what the integrator said beside its status: to a purchaseRequest (SPEC.md part 6), and to any
// event when it wants to be tried again.
type Answer struct {
	UserMessage string // for the customer
	Error       string // for logs
	Trace       string // the integrator's trace id

	RetryAfter time.Duration // of a refusal, more than 0; 0: it did not say
}
