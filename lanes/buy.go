package lanes

import (
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Buy is a purchase that a customer asks for at the lane. It is pending from then on. One that is known already is the
// same purchase, and changes nothing.
type Buy struct {
	Session  uuid.UUID
	Purchase uuid.UUID
	Items    []Item
	Age      time.Duration // how long ago the customer asked
	Trace    string        // of the request, empty without one
}

// Name implements Command.
func (Buy) Name() string { return "buy" }

func (cmd Buy) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	if s.Purchase.hasID(cmd.Purchase) {
		c.Answer, c.Note = c.Lane.View(now), "bought before"
		return nil
	}
	if err := cmd.allowed(s, c.Lane, now); err != nil {
		return err
	}
	s.Purchase = cmd.purchase(s, now)
	c.setSession(s, now)
	return nil
}

func (cmd Buy) purchase(s Session, now Instant) *Purchase {
	return &Purchase{
		ID: cmd.Purchase, Session: s.ID, Items: cmd.Items, Phase: Pending, At: s.ago(cmd.Age, now),
		Earlier:      s.Purchase.earlierIDs(),
		RequestTrace: cmd.Trace,
	}
}

// allowed returns the refusal that is known without asking the integrator, nil if there is none.
func (cmd Buy) allowed(s Session, lane Lane, now Instant) error {
	switch {
	case !s.Purchasing || !lane.Purchasing:
		return ErrNoPurchasing
	case s.Purchase.pending():
		return ErrPurchasePending
	case len(lane.Open) >= maxOpen:
		return ErrTooManyOpen
	case cmd.Purchase == uuid.Nil || len(cmd.Items) < 1 || len(cmd.Items) > MaxItems:
		return ErrItems
	}
	for _, item := range cmd.Items {
		length := utf8.RuneCountInString(item.ID)
		if length < 1 || length > MaxProductID || item.Qty < 1 || item.Qty > MaxQty {
			return ErrItems
		}
	}
	if minutes := MinutesIn(cmd.Items); minutes > 0 && time.Duration(minutes)*time.Minute < s.Beyond(now).Owed() {
		return ErrOwesMore
	}
	if s.Sold+time.Duration(MinutesIn(cmd.Items))*time.Minute > MaxMinutes*time.Minute {
		return ErrDurationOutOfRange
	}
	return s.beforeClosing(lane, now, MinutesIn(cmd.Items))
}

// reportPurchase decides a purchase that the lane's controller reports. A refused one becomes the session's
// latest purchase too, so that the customer is told why, unless another one is under way.
func (c *Change) reportPurchase(cmd Buy, now Instant) {
	err := cmd.decide(now, c)
	if err == nil {
		return
	}
	c.Note = err.Error()
	if !errors.Is(err, ErrPurchasePending) {
		s := *c.Lane.Session
		s.Purchase = cmd.purchase(s, now).settled(Declined, customerWords(err), err.Error())
		s.Purchase.Items = nil // whatever they are
		c.Settled = s.Purchase
		c.setSession(s, now)
	}
}

func customerWords(err error) string {
	var closing *AfterClosing
	switch {
	case errors.As(err, &closing) && closing.Closes.IsZero():
		return "It is closed now. Nothing was bought."
	case errors.As(err, &closing):
		return "Closing time is " + closing.Closes.Format("15:04") + ". Nothing was bought."
	case errors.Is(err, ErrOwesMore):
		return "You have played on for longer than that. Please buy more minutes, or ask the staff. Nothing was bought."
	case errors.Is(err, ErrNoPurchasing):
		return "Nothing can be bought in this session."
	case errors.Is(err, ErrDurationOutOfRange):
		return "That would make the session longer than 8 hours. Nothing was bought."
	}
	return sayNotTaken
}

// Request marks the purchase as sent, just before the integrator is asked.
type Request struct {
	Session, Purchase uuid.UUID
	Goods             []Good // of its items; nil: not known
}

// Name implements Command.
func (Request) Name() string { return "purchase_request" }

func (cmd Request) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	switch {
	case err != nil:
		return err
	case !s.Purchase.pending() || s.Purchase.ID != cmd.Purchase || s.Purchase.Event != uuid.Nil:
		return ErrPurchaseNotFound
	}
	c.addEvent(PurchaseRequest, &s, c.Lane.ID, now)
	fact := &c.Events[len(c.Events)-1]
	fact.Items = s.Purchase.Items
	sent := *s.Purchase
	sent.Event, sent.Goods = fact.ID, cmd.Goods
	s.Purchase = &sent
	c.setSession(s, now)
	return nil
}

// Settle ends a pending purchase. Accepted, its minutes are the session's in this same change; whatever staff have to
// see to is kept on the lane until they have. A purchase that is settled already stays as it is.
type Settle struct {
	Session, Purchase uuid.UUID
	Phase             PurchasePhase // Accepted, Declined, Unresolved
	UserMessage       string
	Reason            string
	Trace             string
}

// Name implements Command.
func (Settle) Name() string { return "settle" }

func (cmd Settle) decide(now Instant, c *Change) error {
	if s, err := c.sessionOn(cmd.Session); err == nil && s.Purchase.hasID(cmd.Purchase) {
		c.settle(s, cmd, now)
		return nil
	}
	i := slices.IndexFunc(c.Lane.Open, func(p *Purchase) bool {
		return p.Session == cmd.Session && p.ID == cmd.Purchase
	})
	if i < 0 {
		return ErrPurchaseNotFound
	}
	if open := c.Lane.Open[i]; open.pending() {
		c.Lane.Open = slices.Delete(slices.Clone(c.Lane.Open), i, i+1)
		if cmd.Phase != Declined {
			reason := cmd.Reason
			if cmd.Phase == Accepted {
				reason = "accepted, but the session had ended"
			}
			c.Settled = cmd.settledPurchase(open).settled(Unresolved, saySessionEnd, reason)
			c.Lane.Open = append(c.Lane.Open, c.Settled)
		} else {
			c.Settled = cmd.settledPurchase(open)
		}
	}
	return nil
}

func (cmd Settle) settledPurchase(p *Purchase) *Purchase {
	settled := p.settled(cmd.Phase, cmd.UserMessage, cmd.Reason)
	settled.Trace = cmd.Trace
	return settled
}

// Requested reports whether the purchase that cmd ends was saved as sent: its request is in the event log then. It is
// false for one that is settled, unless staff still have to see to it.
func (l Lane) Requested(cmd Settle) bool {
	p := l.OpenPurchase(cmd.Session, cmd.Purchase)
	return p != nil && p.Event != uuid.Nil
}

// settle ends the latest purchase of the session on the lane.
func (c *Change) settle(s Session, cmd Settle, now Instant) {
	if s.Purchase.ID != cmd.Purchase || !s.Purchase.pending() {
		c.Note = "settled before"
		return
	}
	minutes := s.Purchase.Minutes()
	s.Purchase = cmd.settledPurchase(s.Purchase)
	if cmd.Phase == Accepted && minutes > 0 {
		longer, err := c.extend(s, now, minutes)
		if err == nil {
			s = longer
		} else {
			s.Purchase = s.Purchase.settled(Unresolved, sayAskStaff, "accepted, but "+err.Error())
		}
	}
	c.Settled = s.Purchase
	if s.Purchase.Phase == Unresolved {
		c.Lane.Open = append(slices.Clone(c.Lane.Open), s.Purchase)
	}
	c.setSession(s, now)
}

// Clear is staff settling an unresolved purchase by hand. With credit its minutes are added to its session, or to the
// one that goes on with that.
type Clear struct {
	Session, Purchase uuid.UUID
	Credit            bool
	// Elsewhere says that the session is on another lane: its minutes are added there, by a Modify in the same write.
	Elsewhere bool
}

// Name implements Command.
func (Clear) Name() string { return "clear_purchase" }

func (cmd Clear) decide(now Instant, c *Change) error {
	i := slices.IndexFunc(c.Lane.Open, func(p *Purchase) bool {
		return p.Session == cmd.Session && p.ID == cmd.Purchase && !p.pending()
	})
	if i < 0 {
		return ErrPurchaseNotFound
	}
	open := c.Lane.Open[i]
	c.Lane.Open = slices.Delete(slices.Clone(c.Lane.Open), i, i+1)
	phase := Declined
	if cmd.Credit {
		phase = Accepted
	}
	c.Settled = open.settled(phase, "", "settled by staff")
	adds := cmd.Credit && !cmd.Elsewhere && open.Minutes() > 0
	if c.Lane.Session == nil || !c.Lane.Session.Continues(open.Session) {
		if adds {
			return ErrSessionEnded
		}
		return nil
	}
	s := *c.Lane.Session
	if adds {
		var err error
		if s, err = c.extend(s, now, open.Minutes()); err != nil {
			return err
		}
	}
	if s.ID == open.Session && s.Purchase.ID == open.ID {
		s.Purchase = c.Settled
	}
	c.setSession(s, now)
	return nil
}

// OpenPurchase returns the purchase if it is among Purchases, else nil.
func (l Lane) OpenPurchase(session, purchase uuid.UUID) *Purchase {
	for _, p := range l.Purchases() {
		if p.Session == session && p.ID == purchase {
			return p
		}
	}
	return nil
}

// Purchases returns those of the lane that are not settled: the pending ones, and the unresolved that wait for staff.
func (l Lane) Purchases() []*Purchase {
	open := slices.Clone(l.Open)
	if l.Session != nil && l.Session.Purchase.pending() {
		open = append(open, l.Session.Purchase)
	}
	return open
}
