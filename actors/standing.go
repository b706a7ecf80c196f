package actors

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/actors/metrics"
	"rangegate/lanes"
)

// readings are how the ranges stand, read when somebody looks: each range's board is walked once, its committer asked once,
// and no actor at all. A range that stopped, or that another process owns, has no numbers any more.
type readings struct{ of *Gateway }

// Standing is the metrics about how the ranges stand.
func (g *Gateway) Standing() prometheus.Collector { return readings{g} }

var (
	lanesDesc     = ofRange("lanes", "Lanes of the range.")
	notUsableDesc = ofRange("lanes_not_usable", "Lanes that cannot be sold because of their hardware: the link is down for longer than link_grace, the "+
		"controller is faulty or reports a fault, or the lane is parked. Normal is 0.")
	heldDesc        = ofRange("lanes_held", "Lanes that a hold lies over (a ceasefire, or one of a lane): their fire lines are to be locked.")
	unconfirmedDesc = ofRange("lanes_hold_unconfirmed", "Lanes under a hold whose hardware has not confirmed that the fire line is locked. Normal is 0, "+
		"a second after a hold began: look at each of them.")
	parkedDesc = ofRange("lanes_parked", "Lanes that panicked more than 5 times in a minute: held, not for sale, tried again after a minute. "+
		"Normal is 0; anything else is a defect of the gateway.")
	sessionsDesc = ofRange("sessions", "Active sessions by phase: waiting (the customer has not entered), running, paused.", "phase")
	linksDesc    = ofRange("links", "Lanes by how the link to their hardware stands: up, down (cannot be reached), faulty (the controller is there and "+
		"not in order). Normal is all up.", "state")
	holdStartedDesc = ofRange("hold_started_timestamp_seconds", "When the oldest hold in force began, by what it lies over: range, bay or lane. Absent "+
		"without one.", "scope")
	lanesUnsavedDesc = ofRange("lanes_unsaved", "Lanes with a change that is not durable yet. Some for some ms are normal; those that stay are lost "+
		"when the gateway is killed before the store is back.")
	writesUnsavedDesc = ofRange("store_writes_unsaved", "Changes that wait to be durable: of lanes, and of events, keys and holds. Normal is near 0.")
	storeAwayDesc     = ofRange("store_away", "1 while the store takes nothing from the range, or takes longer than a second: lanes keep their time and "+
		"take closings only. Normal is 0.")
	lastFlushDesc = ofRange("store_last_flush_timestamp_seconds", "When the store last made something of the range durable. Normal is less than 15 s "+
		"ago: without any change there is a checkpoint every 10 s.")
	eventsWaitingDesc = ofRange("events_waiting", "Events that wait for their delivery to the webhook. Normal is near 0; at the range's webhook.queue "+
		"the oldest are dropped.")
	oldestEventDesc = ofRange("events_oldest_timestamp_seconds", "When the oldest event happened that waits for its delivery. Absent when none waits. "+
		"Normal is some seconds ago at most.")
	purchasesPendingDesc    = ofRange("purchases_pending", "Purchases that are on their way to the integrator. Normal is some, for some seconds.")
	purchasesUnresolvedDesc = ofRange("purchases_unresolved", "Purchases that wait for staff: nobody here knows what the integrator decided, or the "+
		"session had ended. Normal is 0: staff settle them on the control screen.")
)

func ofRange(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(metrics.Namespace+"_"+name, help, append([]string{"range"}, labels...), nil)
}

// Describe names them all.
func (s readings) Describe(to chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{
		lanesDesc, notUsableDesc, heldDesc, unconfirmedDesc, parkedDesc, sessionsDesc, linksDesc, holdStartedDesc, lanesUnsavedDesc, writesUnsavedDesc, storeAwayDesc,
		lastFlushDesc, eventsWaitingDesc, oldestEventDesc, purchasesPendingDesc, purchasesUnresolvedDesc,
	} {
		to <- one
	}
}

// Collect reads them.
func (s readings) Collect(to chan<- prometheus.Metric) {
	for _, r := range s.of.running() {
		if context.Cause(r.background) == nil {
			reading{to, r.id.String()}.of(r)
		}
	}
}

// reading is of one range.
type reading struct {
	to    chan<- prometheus.Metric
	named string // the range
}

func (n reading) of(r *Range) {
	holds := r.Holds()
	now := r.board.Statistics(holds)
	n.count(lanesDesc, now.Lanes)
	n.count(notUsableDesc, now.NotUsable)
	n.count(heldDesc, now.Held)
	n.count(unconfirmedDesc, now.Unconfirmed)
	n.count(parkedDesc, now.Parked)
	for phase, many := range now.Sessions {
		n.count(sessionsDesc, many, string(phase))
	}
	for state, many := range now.Links {
		n.count(linksDesc, many, string(state))
	}
	n.count(purchasesPendingDesc, now.Purchases[lanes.Pending])
	n.count(purchasesUnresolvedDesc, now.Purchases[lanes.Unresolved])
	for scope, began := range since(holds) {
		n.moment(holdStartedDesc, began, scope)
	}

	store := r.committer.backlog()
	away := 0
	if store.away {
		away = 1
	}
	n.count(storeAwayDesc, away)
	n.count(lanesUnsavedDesc, store.lanes)
	n.count(writesUnsavedDesc, store.writes)
	if !store.flushed.IsZero() {
		n.moment(lastFlushDesc, store.flushed)
	}

	n.count(eventsWaitingDesc, int(r.eventsWaiting.Load()))
	if oldest := r.oldestEvent.Load(); oldest != nil {
		n.moment(oldestEventDesc, *oldest)
	}
}

func (n reading) count(what *prometheus.Desc, many int, labels ...string) {
	n.give(what, float64(many), labels)
}

// moment is a time of the wall clock, in Unix seconds.
func (n reading) moment(what *prometheus.Desc, at time.Time, labels ...string) {
	n.give(what, float64(at.UnixMilli())/1e3, labels)
}

func (n reading) give(what *prometheus.Desc, value float64, labels []string) {
	n.to <- prometheus.MustNewConstMetric(what, prometheus.GaugeValue, value, append([]string{n.named}, labels...)...)
}

// since is when the oldest hold in force began, by the kind of its scope.
func since(holds lanes.Holds) map[string]time.Time {
	oldest := map[string]time.Time{}
	for _, hold := range holds.InForce {
		if known, found := oldest[hold.Kind]; !found || hold.Since.Before(known) {
			oldest[hold.Kind] = hold.Since
		}
	}
	return oldest
}

// backlog is how far the committer is with what it has to save.
type backlog struct {
	away    bool
	flushed time.Time // when the last flush was durable, zero before the first
	writes  int       // that are not durable yet
	lanes   int       // that they are of
}

// backlog holds the lock for no longer than it takes to copy what waits: nothing that a write has is changed later on.
func (c *committer) backlog() backlog {
	c.mu.Lock()
	now := backlog{away: c.away, flushed: c.flushed}
	unsaved := make([]*write, 0, len(c.flying)+len(c.waiting))
	unsaved = append(append(unsaved, c.flying...), c.waiting...)
	c.mu.Unlock()
	of := map[uuid.UUID]struct{}{}
	for _, w := range unsaved {
		for _, lane := range w.lanes {
			of[lane.ID] = struct{}{}
		}
	}
	now.writes, now.lanes = len(unsaved), len(of)
	return now
}
