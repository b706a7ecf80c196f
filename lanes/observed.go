package lanes

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Observed is one actor of a range as its operator sees it. No customer is named in it.
type Observed struct {
	Kind    string // range, lane, connection or events
	Lane    uuid.UUID
	Name    string // of the lane; both are empty for a range and its events
	Webhook string // of events
	State   string
	Since   time.Time // it is in that state; zero: not known

	Mailbox int     // messages that wait in its mailbox
	Waiting int     // what else waits: requests of a lane, events of a webhook, changes of a range that are not saved
	Oldest  Awaited // of those
	AtHand  Awaited // the message that it is busy with
	Taken   uint64  // messages since it was started
	Panics  Panics
	Late    *time.Duration // of a lane: how late its newest timer was that ended a session; nil: none has
	Lost    LostEvents     // of events
	Why     *Why           // what it is held up by; nil: nothing
	Also    []Why          // what it is held up by beside that, the most urgent first
}

// LostEvents are those of a webhook that it has not got, and gets only when somebody asks for them, since the range was
// loaded.
type LostEvents struct {
	GivenUp uint64 // after their retries
	Dropped uint64 // before their first attempt, as too many waited
}

// Awaited is what waits, or is being done, and since when. Its zero value is nothing.
type Awaited struct {
	What  string
	Since time.Time
}

// LaneWork is what a lane's actor does and what waits for it.
type LaneWork struct {
	State   string // one of the states of lanes
	Since   time.Time
	Saving  string    // the command whose change is being saved
	Until   time.Time // when a parked lane is tried again
	Waiting int       // requests
	Oldest  Awaited   // of them
	Late    *time.Duration
}

// The states of the actors, by kind.
const (
	StateRunning   = "running"    // range
	StateStoreDown = "store_down" // range: the store takes nothing
	StateStarting  = "starting"   // range: not every lane is loaded; lane: it is not
	StateReady     = "ready"      // lane, events: it takes what comes
	StateSaving    = "saving"     // lane: a change of it is on its way to the store
	StateMoving    = "moving"     // lane: it is kept free for a session that moves here
	StateTogether  = "together"   // lane: it is part of an operation of several lanes
	StateParked    = "parked"     // lane: it panicked too often
	StateSending   = "sending"    // events: some wait for their attempt
	StateGone      = "gone"       // events: the webhook has answered 410
)

// WhyCode is what holds an actor up.
type WhyCode string

// The codes, the most urgent first.
const (
	WhyStoreDown  WhyCode = "store_down"
	WhyNotRunning WhyCode = "not_running"
	WhyParked     WhyCode = "parked"
	WhyHold       WhyCode = "hold"
	WhyAtHand     WhyCode = "at_hand"
	WhySaving     WhyCode = "saving"
	WhyUnsaved    WhyCode = "unsaved"
	WhyGone       WhyCode = "gone"
	WhyFailing    WhyCode = "failing"
	WhyFault      WhyCode = "fault"
	WhyContested  WhyCode = "contested"
	WhyDials      WhyCode = "dials"
	WhyDialling   WhyCode = "dialling"
	WhyAwaits     WhyCode = "awaits"
	WhyKeys       WhyCode = "keys"
	WhyPurchases  WhyCode = "purchases"
	WhyBehind     WhyCode = "behind"
	WhyBacklog    WhyCode = "backlog"
	WhyStarting   WhyCode = "starting"
	WhyMoving     WhyCode = "moving"
	WhyTogether   WhyCode = "together"
	WhyRetrying   WhyCode = "retrying"
	WhyRestarted  WhyCode = "restarted"
)

// Urgency are the codes, the most urgent first.
var Urgency = []WhyCode{
	WhyStoreDown, WhyNotRunning, WhyParked, WhyHold, WhyAtHand, WhySaving, WhyUnsaved, WhyGone, WhyFailing, WhyFault,
	WhyContested, WhyDials, WhyDialling, WhyAwaits, WhyKeys, WhyPurchases, WhyBehind, WhyBacklog, WhyStarting,
	WhyMoving, WhyTogether, WhyRetrying, WhyRestarted,
}

// Why is what holds an actor up. Which of its values there are depends on the code.
type Why struct {
	Code     WhyCode
	Since    time.Time
	Next     time.Time // when it is tried again, or level
	What     string    // command or message
	Count    int       // lanes, changes, requests, purchases or events
	Attempts int       // that failed in a row
	Error    string    // of the last of them; a fault of the hardware; the text of a panic
	Address  string    // of a controller
	Other    string    // a second controller's; the name of a webhook
}

// How long something lasts before it holds an actor up.
const (
	laneWaits     = time.Second      // a save, a request, a message, a ticket, a hold without its confirmation
	eventsWait    = 10 * time.Second // an event for its attempt
	restartsShown = 10 * time.Minute // for so long a panic is told

	failuresInRow = 3 // attempts of a webhook
)

// lasts returns a Why if since is known and at least so long ago.
func lasts(now, since time.Time, atLeast time.Duration, why Why) *Why {
	if since.IsZero() || now.Sub(since) < atLeast {
		return nil
	}
	lasting := new(Why) // why itself would be allocated at each call, most of which return nil
	*lasting = why
	lasting.Since = since
	return lasting
}

// mostUrgent returns the first reason that there is, and the others.
func mostUrgent(reasons ...*Why) (first *Why, also []Why) {
	for _, why := range reasons {
		switch {
		case why == nil:
		case first == nil:
			first = why
		default:
			also = append(also, *why)
		}
	}
	return first, also
}

// ofActor is what may hold up an actor of any kind: the message that it has at hand, and of late a panic.
func (o Observed) ofActor(now time.Time) (atHand, restarted *Why) {
	atHand = lasts(now, o.AtHand.Since, laneWaits, Why{Code: WhyAtHand, What: o.AtHand.What})
	if p := o.Panics; p.Count > 0 && now.Sub(p.Last) < restartsShown {
		restarted = &Why{Code: WhyRestarted, Since: p.Last, What: p.Message, Count: p.Count, Error: p.Said}
	}
	return atHand, restarted
}

// StoreOutage is how a store that is down answers.
type StoreOutage struct {
	Since    time.Time // it counts as down; zero: it does not
	Attempts int       // to save that have failed since then
	Error    string    // of the last of them, or that none has been answered yet
}

// WhyLane says what holds a lane up. status is the lane as the board shows it, and unsaved what of it is not durable;
// heldSince is when the hold over it began, zero without one.
func (o Observed) WhyLane(
	now time.Time, status LaneStatus, work LaneWork, unsaved LaneUnsaved, outage StoreOutage, heldSince time.Time,
) (*Why, []Why) {
	atHand, restarted := o.ofActor(now)
	var parked, hold, fault, starting *Why
	if work.State == StateParked {
		parked = &Why{
			Code: WhyParked, Since: work.Since, Next: work.Until, What: o.Panics.Message,
			Count: o.Panics.Count, Error: o.Panics.Said,
		}
	}
	if !status.Locked {
		hold = lasts(now, heldSince, laneWaits, Why{Code: WhyHold})
	}
	if status.Lane.Fault != "" {
		fault = &Why{Code: WhyFault, Error: status.Lane.Fault}
	}
	if work.State == StateStarting {
		starting = lasts(now, work.Since, laneWaits, Why{Code: WhyStarting})
	}
	return mostUrgent(parked, hold, atHand,
		o.whySaving(now, work, unsaved, outage), fault, whyPurchases(now, status.Lane.Open),
		lasts(now, work.Oldest.Since, laneWaits, Why{Code: WhyBacklog, What: work.Oldest.What, Count: work.Waiting}),
		starting, o.whyKept(now, work), restarted)
}

func (o Observed) whySaving(now time.Time, work LaneWork, unsaved LaneUnsaved, outage StoreOutage) *Why {
	if work.State == StateSaving {
		return lasts(now, work.Since, laneWaits, Why{
			Code: WhySaving, What: work.Saving, Attempts: outage.Attempts,
			Error: outage.Error,
		})
	}
	return lasts(now, unsaved.Since, laneWaits,
		Why{Code: WhyUnsaved, Count: unsaved.Changes, Attempts: outage.Attempts, Error: outage.Error})
}

// whyPurchases is a lane with purchases that staff have to settle.
func whyPurchases(now time.Time, open []*Purchase) *Why {
	if len(open) == 0 {
		return nil
	}
	oldest := slices.MinFunc(open, func(a, b *Purchase) int { return a.At.Wall.Compare(b.At.Wall) })
	return lasts(now, oldest.At.Wall, laneWaits, Why{Code: WhyPurchases, Count: len(open)})
}

// whyKept is a lane that keeps itself for others.
func (o Observed) whyKept(now time.Time, work LaneWork) *Why {
	switch work.State {
	case StateMoving:
		return lasts(now, work.Since, laneWaits, Why{Code: WhyMoving})
	case StateTogether:
		return lasts(now, work.Since, laneWaits, Why{Code: WhyTogether})
	}
	return nil
}

// LinkProblem is what is known of a link that is not up, or was not of late.
type LinkProblem struct {
	LinkHealth
	InRow   int       // failures without a link that stayed up
	RetryAt time.Time // the next dial; zero: one is under way, or the controller dials
	Awaits  bool      // the controller dials
	Address string    // of the controller, empty for one that dials, and for a simulated one
}

// WhyConnection says what holds up the connection to a lane's hardware.
func (o Observed) WhyConnection(now time.Time, link LinkProblem, contest *Contest) (*Why, []Why) {
	atHand, restarted := o.ofActor(now)
	var contested, down *Why
	if contest != nil {
		contested = &Why{Code: WhyContested, Since: contest.At, Address: contest.Linked, Other: contest.Refused}
	}
	if link.Link != LinkUp {
		down = &Why{
			Code: WhyDialling, Since: link.Since, Next: link.RetryAt, Attempts: link.InRow, Error: link.LastError,
			Address: link.Address,
		}
		switch {
		case link.Awaits:
			down.Code, down.Next = WhyAwaits, time.Time{}
		case link.RetryAt.After(now):
			down.Code = WhyDials
		}
	}
	return mostUrgent(atHand, contested, down, restarted)
}

// WhyRange says what holds up a range that runs here: notLoaded of its lanes are not loaded yet, and unsaved of its
// changes not durable. It keeps that many idempotency keys of mostKeys at most.
func (o Observed) WhyRange(now time.Time, outage StoreOutage, notLoaded, unsaved, keys, mostKeys int) (*Why, []Why) {
	atHand, restarted := o.ofActor(now)
	var down, starting, runOut *Why
	if keys > mostKeys/10*9 {
		runOut = &Why{Code: WhyKeys, Count: keys}
	}
	if !outage.Since.IsZero() {
		down = &Why{
			Code: WhyStoreDown, Since: outage.Since, Count: unsaved, Attempts: outage.Attempts,
			Error: outage.Error,
		}
	}
	if notLoaded > 0 {
		starting = &Why{Code: WhyStarting, Count: notLoaded}
	}
	return mostUrgent(down, atHand, runOut, starting, restarted)
}

// Failing is the newest attempts of a webhook, as far as they have failed in a row. Its zero value is none.
type Failing struct {
	Count int
	Since time.Time // the first of them
	Error string    // of the last
}

// WhyEvents says what holds up the events of a webhook, of which that many are sent again later, the last of them at
// levelAt if it takes each.
func (o Observed) WhyEvents(now time.Time, failing Failing, retrying int, levelAt time.Time) (*Why, []Why) {
	atHand, restarted := o.ofActor(now)
	var gone, fails, again *Why
	if failing.Count >= failuresInRow {
		fails = &Why{
			Code: WhyFailing, Since: failing.Since, Attempts: failing.Count, Error: failing.Error,
			Other: o.Webhook,
		}
	}
	if o.State == StateGone {
		gone = &Why{Code: WhyGone, Other: o.Webhook}
	}
	if retrying > 0 {
		again = &Why{Code: WhyRetrying, Count: retrying, Next: levelAt, Other: o.Webhook}
	}
	return mostUrgent(atHand, gone, fails,
		lasts(now, o.Oldest.Since, eventsWait, Why{Code: WhyBehind, Count: o.Waiting, Other: o.Webhook}),
		again, restarted)
}
