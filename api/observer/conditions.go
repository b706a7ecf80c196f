package observer

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Readings are what is known of the gateway as a whole at one moment. What is counted is counted from the start on.
type Readings struct {
	ClockAhead   time.Duration // of the machine, to that of the store; 0 where it has none
	ClockSteps   uint64
	Suspends     uint64
	Flushes      uint64               // to the store
	SlowFlushes  uint64               // that took longer than half a second
	Overloaded   uint64               // requests refused as too many were carried out
	Limited      map[uuid.UUID]uint64 // requests of each range refused as it sends too many
	Certificates []Certificate
	LeaseNotHeld bool                 // this is one of several nodes, and its newest renewal has failed
	Lost         map[uuid.UUID]uint64 // how often another node has claimed a range that ran here
	TakenOver    map[uuid.UUID]uint64 // how often this node took a range over from one that was not heard of any more
	ReloadFailed bool
	Products     uint64 // requests to the integrators' products APIs, but for those that nobody waited for any more
	ProductsLost uint64 // of them, those without products
	Differences  int    // that the newest verification has found
}

// Certificate is the TLS certificate in use at an address.
type Certificate struct {
	Address             string // http, operations, controllers or nodes
	NotBefore, NotAfter time.Time
	Problem             string // why that in the files cannot be used, empty while it is the one in use
}

// What counts as how much in how long.
const (
	flapWithin  = 2 * time.Minute
	flaps       = 3 // times that a link came up anew
	loopWithin  = time.Minute
	loopPanics  = 3
	panicShown  = 10 * time.Minute // after the last panic, and after what happens at one moment
	slowWithin  = 30 * time.Second
	slowFlushes = 3 // and one in ten
	limitWithin = 30 * time.Second
	limited     = 20 // requests

	productsWithin = 5 * time.Minute
	productsLost   = 3 // requests, and half of all

	clockTolerated = 250 * time.Millisecond
	endsSoon       = 21 * 24 * time.Hour
)

// advisoryCodes are those of what holds an actor up. What is not in it is normal for a while, or is told otherwise.
var advisoryCodes = map[lanes.WhyCode]AdvisoryCode{
	lanes.WhyStoreDown: StoreDown, lanes.WhyNotRunning: RangeNotRunning, lanes.WhyParked: LaneParked,
	lanes.WhyHold:   HoldUnconfirmed,
	lanes.WhyAtHand: ActorBlocked, lanes.WhySaving: NotSaved, lanes.WhyUnsaved: NotSaved, lanes.WhyGone: WebhookGone,
	lanes.WhyFailing: WebhookFailing, lanes.WhyFault: HardwareFault, lanes.WhyContested: ControllerContested,
	lanes.WhyDials:    LinkDown,
	lanes.WhyDialling: LinkDown, lanes.WhyAwaits: LinkDown, lanes.WhyKeys: KeysRunOut, lanes.WhyBehind: WebhookBehind,
	lanes.WhyPurchases: PurchasesUnresolved,
	lanes.WhyBacklog:   RequestsWait, lanes.WhyMoving: LaneReserved, lanes.WhyTogether: LaneReserved,
}

// actorOf names an actor across looks.
type actorOf struct {
	rangeID, lane uuid.UUID
	kind, webhook string
}

// signs are what shows only in the course of time: how often, and how fast something grows.
type signs struct {
	linkedSince map[uuid.UUID]time.Time // by lane
	links       map[uuid.UUID]*growth   // made anew, by lane
	panics      map[actorOf]*growth
	givenUp     map[actorOf]*growth   // events
	dropped     map[actorOf]*growth   // events
	limited     map[uuid.UUID]*growth // requests, by range
	lost, taken map[uuid.UUID]*growth // ranges
	flushes     growth
	slow        growth
	overloaded  growth
	products    growth
	noProducts  growth
	steps       growth
	suspends    growth
}

func newSigns() *signs {
	return &signs{
		linkedSince: map[uuid.UUID]time.Time{}, links: map[uuid.UUID]*growth{}, panics: map[actorOf]*growth{},
		givenUp: map[actorOf]*growth{}, dropped: map[actorOf]*growth{},
		limited: map[uuid.UUID]*growth{}, lost: map[uuid.UUID]*growth{}, taken: map[uuid.UUID]*growth{},
	}
}

// growth is how a count has grown of late. Its zero value is a count of 0.
type growth struct {
	steps []grown // the oldest first
}

type grown struct {
	at    time.Time
	count uint64 // the total since then
}

// note takes the count at now, and forgets what was before the time that is of interest. A count that is lower than
// before has begun anew.
func (g *growth) note(now time.Time, count uint64, within time.Duration) {
	if count < g.total() {
		g.steps = nil
	}
	if count != g.total() {
		g.steps = append(g.steps, grown{now, count})
	}
	for len(g.steps) > 1 && now.Sub(g.steps[1].at) > within {
		g.steps = g.steps[1:]
	}
}

// total is the count.
func (g *growth) total() uint64 {
	if len(g.steps) == 0 {
		return 0
	}
	return g.steps[len(g.steps)-1].count
}

// by is how much the count has grown within the time before now.
func (g *growth) by(now time.Time, within time.Duration) uint64 {
	before := uint64(0) // it began at 0
	for _, step := range g.steps {
		if now.Sub(step.at) > within {
			before = step.count
		}
	}
	return g.total() - before
}

// since is when it grew first within the time before now.
func (g *growth) since(now time.Time, within time.Duration) time.Time {
	for _, step := range g.steps {
		if now.Sub(step.at) <= within {
			return step.at
		}
	}
	return time.Time{}
}

// growthOf returns the growth of that key, a new one if there is none.
func growthOf[K comparable](all map[K]*growth, key K) *growth {
	g := all[key]
	if g == nil {
		g = &growth{}
		all[key] = g
	}
	return g
}

// conditions returns what is not as it should be: of the actors in the order of the look, then of the gateway.
func (s *signs) conditions(l look, r Readings, rangeName func(uuid.UUID) string) (all []condition) {
	for i := range l.actors {
		all = s.ofActor(all, l.at, &l.actors[i], rangeName)
	}
	all = s.ofRanges(all, l.at, r, rangeName)
	return s.ofGateway(all, l.at, r)
}

func (s *signs) ofActor(all []condition, now time.Time, a *observed, rangeName func(uuid.UUID) string) []condition {
	add := func(code AdvisoryCode, since time.Time, why lanes.Why, sentence string) {
		c := condition{
			subject:   subject{code: code, rangeID: a.rangeID, lane: a.Lane, kind: a.Kind, webhook: a.Webhook},
			rangeName: a.rangeName, laneName: a.Name, since: since, why: why, sentence: sentence,
		}
		if c.rangeName == "" {
			c.rangeName = rangeName(a.rangeID)
		}
		all = append(all, c)
	}
	if a.Why != nil {
		for i := -1; i < len(a.Also); i++ {
			why := *a.Why
			if i >= 0 {
				why = a.Also[i]
			}
			code, found := advisoryCodes[why.Code]
			switch {
			case code == LinkDown && a.State == string(lanes.LinkFaulty):
				code = LinkFaulty
			case why.Code == lanes.WhyStarting && a.Lane != uuid.Nil:
				code, found = LaneNotLoaded, true
			}
			if found {
				add(code, why.Since, why, "")
			}
		}
	}
	if n := a.Panics.Count; n > 0 {
		key := actorOf{a.rangeID, a.Lane, a.Kind, a.Webhook}
		panics := growthOf(s.panics, key)
		panics.note(now, uint64(n), panicShown)
		said := fmt.Sprintf("the last on %s: %s.", a.Panics.Message, a.Panics.Said)
		if in := panics.by(now, loopWithin); in >= loopPanics {
			add(PanicLoop, panics.since(now, loopWithin), lanes.Why{},
				fmt.Sprintf("It has panicked %d times within a minute, %s", in, said))
		}
		if in := panics.by(now, panicShown); in > 0 {
			add(Panicked, panics.since(now, panicShown), lanes.Why{},
				fmt.Sprintf("It has panicked (%s within 10 minutes), %s", number(int(in), "panic", "panics"), said))
		}
	}
	if a.Kind == "events" {
		s.ofEvents(now, a, add)
	}
	if a.Kind == "connection" && a.State == string(lanes.LinkUp) {
		if before, found := s.linkedSince[a.Lane]; !found || !before.Equal(a.Since) {
			s.linkedSince[a.Lane] = a.Since
			if found {
				links := growthOf(s.links, a.Lane)
				links.note(now, links.total()+1, flapWithin)
			}
		}
	}
	if links := s.links[a.Lane]; links != nil && a.Kind == "connection" {
		if n := links.by(now, flapWithin); n >= flaps {
			add(LinkFlapping, links.since(now, flapWithin), lanes.Why{},
				fmt.Sprintf("The link has been lost and made anew %d times within 2 minutes.", n))
		} else if n == 0 {
			delete(s.links, a.Lane)
		}
	}
	return all
}

// ofEvents adds what a webhook has lost of late.
func (s *signs) ofEvents(now time.Time, a *observed, add func(AdvisoryCode, time.Time, lanes.Why, string)) {
	for _, sign := range []struct {
		code  AdvisoryCode
		known map[actorOf]*growth
		count uint64
		as    string
	}{
		{EventsGivenUp, s.givenUp, a.Lost.GivenUp, "given up, after retries in vain"},
		{EventsDropped, s.dropped, a.Lost.Dropped, "dropped, the oldest of too many that waited"},
	} {
		lost := growthOf(sign.known, actorOf{a.rangeID, a.Lane, a.Kind, a.Webhook})
		lost.note(now, sign.count, panicShown)
		if n := lost.by(now, panicShown); n > 0 {
			add(sign.code, lost.since(now, panicShown), lanes.Why{},
				fmt.Sprintf("%s %s. They are in the event log, and can be sent again.",
					number(int(n), "event was", "events were"), sign.as))
		}
	}
}

func (s *signs) ofRanges(all []condition, now time.Time, r Readings, rangeName func(uuid.UUID) string) []condition {
	for _, sign := range []struct {
		code   AdvisoryCode
		counts map[uuid.UUID]uint64
		known  map[uuid.UUID]*growth
		within time.Duration
		least  uint64
		say    func(n uint64) string
	}{
		{RequestsLimited, r.Limited, s.limited, limitWithin, limited, func(n uint64) string {
			return fmt.Sprintf("%d requests of the POS of this range were refused within 30 s: it sends more than "+
				"http.limits.requests.", n)
		}},
		{RangeLost, r.Lost, s.lost, panicShown, 1, func(uint64) string {
			return "Another node has claimed the range while it ran here: this one has let go of it."
		}},
		{RangeTakenOver, r.TakenOver, s.taken, panicShown, 1, func(uint64) string {
			return "This node has taken the range over from one that was not heard of any more."
		}},
	} {
		for _, id := range slices.SortedFunc(maps.Keys(sign.counts), compareIDs) {
			g := growthOf(sign.known, id)
			g.note(now, sign.counts[id], sign.within)
			if n := g.by(now, sign.within); n >= sign.least {
				all = append(all, condition{
					subject: subject{code: sign.code, rangeID: id, kind: "range"}, rangeName: rangeName(id),
					since: g.since(now, sign.within), sentence: sign.say(n),
				})
			}
		}
	}
	return all
}

func compareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

func (s *signs) ofGateway(all []condition, now time.Time, r Readings) []condition {
	add := func(code AdvisoryCode, since time.Time, format string, about ...any) {
		all = append(all, condition{
			subject: subject{code: code}, since: since,
			sentence: fmt.Sprintf(format, about...),
		})
	}
	s.flushes.note(now, r.Flushes, slowWithin)
	s.slow.note(now, r.SlowFlushes, slowWithin)
	if slow, flushes := s.slow.by(now, slowWithin), s.flushes.by(now, slowWithin); slow >= slowFlushes &&
		slow*10 >= flushes {
		add(StoreSlow, s.slow.since(now, slowWithin), "%d of %d flushes to the store took longer than half a second "+
			"within 30 s: look at its disk, or at Redis.",
			slow, flushes)
	}
	s.overloaded.note(now, r.Overloaded, limitWithin)
	if n := s.overloaded.by(now, limitWithin); n > 0 {
		add(Overloaded, s.overloaded.since(now, limitWithin),
			"%d requests were refused within 30 s, as too many are carried out at a time.", n)
	}
	s.products.note(now, r.Products, productsWithin)
	s.noProducts.note(now, r.ProductsLost, productsWithin)
	if lost, asked := s.noProducts.by(now, productsWithin), s.products.by(now, productsWithin); lost >= productsLost &&
		lost*2 >= asked {
		add(ProductsFailing, s.noProducts.since(now, productsWithin), "%d of %d requests to the products APIs of the "+
			"integrators failed within 5 minutes: the shop at the lanes is empty or old.", lost, asked)
	}
	if r.Differences > 0 {
		add(VerifyDifferences, time.Time{}, "The newest verification has found %s between what is on record and what "+
			"is computed from it.", number(r.Differences, "difference", "differences"))
	}
	if r.ClockAhead.Abs() > clockTolerated {
		add(ClockOffset, time.Time{}, "The machine's clock is %s off that of the Redis server: look at NTP on both. "+
			"Over 2 s this node takes no ranges.",
			r.ClockAhead.Round(time.Millisecond))
	}
	s.steps.note(now, r.ClockSteps, panicShown)
	if s.steps.by(now, panicShown) > 0 {
		add(ClockStepped, s.steps.since(now, panicShown), "The machine's clock was set, or has drifted, by more "+
			"than a second. No session's time changes by it.")
	}
	s.suspends.note(now, r.Suspends, panicShown)
	if s.suspends.by(now, panicShown) > 0 {
		add(MachineSuspended, s.suspends.since(now, panicShown), "The machine was suspended while the gateway ran: "+
			"nothing could be sold, stopped or held meanwhile.")
	}
	if r.LeaseNotHeld {
		add(LeaseNotHeld, time.Time{},
			"This node could not renew its lease: the others take its ranges when it has ended.")
	}
	if r.ReloadFailed {
		add(ReloadFailed, time.Time{}, "The newest reload was refused: what is in the configuration file is not "+
			"in force. The log says why.")
	}
	for _, c := range r.Certificates {
		all = append(all, ofCertificate(now, c)...)
	}
	return all
}

func ofCertificate(now time.Time, c Certificate) (all []condition) {
	add := func(code AdvisoryCode, since time.Time, format string, about ...any) {
		all = append(all, condition{
			subject: subject{code: code, address: c.Address}, since: since,
			sentence: fmt.Sprintf(format, about...),
		})
	}
	on := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	switch {
	case now.After(c.NotAfter):
		add(CertificateEnded, c.NotAfter, "The certificate of the address %s ended on %s: clients refuse it.",
			c.Address, on(c.NotAfter))
	case now.Before(c.NotBefore):
		add(CertificateEnded, time.Time{},
			"The certificate of the address %s is not valid before %s: clients refuse it.", c.Address, on(c.NotBefore))
	case now.Add(endsSoon).After(c.NotAfter):
		add(CertificateEndsSoon, time.Time{}, "The certificate of the address %s ends on %s.", c.Address,
			on(c.NotAfter))
	}
	if c.Problem != "" {
		add(CertificateNotTaken, time.Time{}, "The files of the certificate of the address %s cannot be used: %s.",
			c.Address, c.Problem)
	}
	return all
}
