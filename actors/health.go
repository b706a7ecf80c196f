package actors

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/actors/delivery"
	"rangegate/actors/metrics"
	"rangegate/lanes"
)

// Health returns how the range is doing. No actor is asked.
func (r *Range) Health() lanes.Health {
	now := r.clock.Now()
	links, unwell := r.board.Links(now)
	health := lanes.Health{
		Links: links, Lanes: unwell, Insecure: r.settings().InsecureLinks,
		Writable: r.committer.Writable(), Unsaved: r.committer.Backlog().Writes,
		Waiting: r.delivery.Waiting(), LateP99: r.lateness.P99(now), Restarts: r.tree.Restarts(),
		LevelAt:   r.delivery.LevelAt(now.Wall),
		Uncleared: r.board.Statistics(now, r.Holds()).Uncleared,
		Turns:     r.board.Turns(now),
	}
	for _, webhook := range r.delivery.Health() {
		health.Retrying += webhook.Retrying
	}
	return health
}

// Actors returns how the actors of the range are doing. None of them is asked.
func (r *Range) Actors() lanes.ActorHealth {
	now, settings := r.clock.Now(), r.settings()
	health := lanes.ActorHealth{Health: r.Health(), Live: r.tree.Live()}

	for lane, restarts := range r.tree.LaneRestarts() {
		restarts.Lane, restarts.Name = lane, settings.name(lane)
		health.Restarted = append(health.Restarted, restarts)
	}
	slices.SortFunc(health.Restarted, func(a, b lanes.LaneRestarts) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name))
	})
	health.Restarted, health.RestartedLanes = firstUnwell(health.Restarted)

	health.Slowest = r.commands.Slowest(now)
	for i := range health.Slowest {
		health.Slowest[i].Name = settings.name(health.Slowest[i].Lane)
	}
	slices.SortFunc(health.Slowest, func(a, b lanes.LaneCommand) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Name, b.Name))
	})
	health.Slowest, _ = firstUnwell(health.Slowest)

	for lane, unsaved := range r.committer.Backlog().Lanes {
		unsaved.Lane, unsaved.Name = lane, settings.name(lane)
		health.NotSaved = append(health.NotSaved, unsaved)
	}
	slices.SortFunc(health.NotSaved, func(a, b lanes.LaneUnsaved) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name))
	})
	health.NotSaved, health.NotSavedLanes = firstUnwell(health.NotSaved)
	return health
}

// firstUnwell returns the head of a list that begins with the worst, and the length of the list.
func firstUnwell[T any](sorted []T) ([]T, int) {
	return sorted[:min(len(sorted), lanes.MaxUnwell)], len(sorted)
}

// LaneActor returns how a lane and its actors are doing. None of them is asked. found is false for a lane of
// another range.
func (r *Range) LaneActor(lane uuid.UUID) (health lanes.LaneHealth, found bool) {
	status, link, found := r.board.Lane(lane)
	if !found {
		return lanes.LaneHealth{}, false
	}
	now := r.clock.Now()
	health = lanes.LaneHealth{
		Link: link.LinkHealth, Held: status.Lane.Held, Locked: status.Locked, NotUsable: status.NotUsable,
		Hardware: status.Hardware,
		Restarts: r.tree.LaneRestarts()[lane], Unsaved: r.committer.Backlog().Lanes[lane],
		Commands: r.commands.Newest(lane),
	}
	health.Restarts.Lane, health.Restarts.Name = lane, status.Name
	health.Unsaved.Lane, health.Unsaved.Name = lane, status.Name
	if turn := status.Lane.Turn; turn != nil {
		hours := status.Lane.Hours
		health.Turn, health.TurnCounts = new(turn.Time(now, hours)), turn.Counts && hours.At(now.Wall).Open
	}
	health.LastTurn = status.Lane.LastTurn
	if s := status.Lane.Session; s != nil {
		health.Session, health.Phase, health.Remaining = s.ID, s.Phase, s.Remaining(now)
	}
	return health, true
}

// rangeGauges computes the gauges of the ranges at scrape time without messaging an actor. A range that
// stopped, or that another process owns, has none.
type rangeGauges struct{ gateway *Gateway }

// Gauges is the collector of the metrics that tell the present state of the ranges.
func (g *Gateway) Gauges() prometheus.Collector { return rangeGauges{g} }

var (
	lanesDesc     = rangeDesc("lanes", "Lanes of the range.")
	notUsableDesc = rangeDesc("lanes_not_usable", "Lanes that cannot be sold because of their hardware: the link "+
		"is down for longer than link_grace, the controller is faulty or reports a fault, or the lane is "+
		"parked. Normal is 0.")
	heldDesc = rangeDesc("lanes_held",
		"Lanes that a hold lies over (a ceasefire, or one of a lane): their fire lines are to be locked.")
	unconfirmedDesc = rangeDesc("lanes_hold_unconfirmed", "Lanes under a hold whose hardware has not confirmed "+
		"that the fire line is locked. Normal is 0, a second after a hold began: look at each of them.")
	parkedDesc = rangeDesc("lanes_parked", "Lanes that panicked more than 5 times in a minute: held, not for "+
		"sale, tried again after a minute. Normal is 0; anything else is a defect of the gateway.")
	unclearedDesc = rangeDesc("lanes_not_clear", "Lanes whose session's time is up, and of which nobody has said "+
		"that they are clear. Normal is some, for clear_after at most.")
	sessionsDesc = rangeDesc("sessions",
		"Active sessions by phase: waiting (the customer has not entered), running, paused.", "phase")
	linksDesc = rangeDesc("links", "Lanes by how the link to their hardware stands: up, down (cannot be reached), "+
		"faulty (the controller is there and not in order). Normal is all up.", "state")
	insecureDesc = rangeDesc("lanes_link_insecure", "Lanes whose link can be taken over by whoever is on its "+
		"network, as it lacks wss, link_tls or a key. Normal is 0; in production only a range with "+
		"insecure_links has any.")
	holdStartedDesc = rangeDesc("hold_started_timestamp_seconds",
		"When the oldest hold in force began, by what it lies over: range, bay or lane. Absent without one.", "scope")
	lanesUnsavedDesc = rangeDesc("lanes_unsaved", "Lanes with a change that is not durable yet. Some for some ms "+
		"are normal; those that stay are lost when the gateway is killed before the store is back.")
	keysDesc = rangeDesc("idempotency_keys", "Idempotency keys in use, or kept with their answer for 24 h. "+
		"At 100,000 requests with new keys are refused until the oldest one expires.")
	writesUnsavedDesc = rangeDesc("store_writes_unsaved",
		"Changes that wait to be durable: of lanes, and of events, keys and holds. Normal is near 0.")
	storeAwayDesc = rangeDesc("store_away", "1 while the store takes nothing from the range, or takes longer than "+
		"a second: lanes keep their time and take closings only. Normal is 0.")
	lastFlushDesc = rangeDesc("store_last_flush_timestamp_seconds", "When the store last made something of "+
		"the range durable. Normal is less than 15 s ago: without any change there is a checkpoint every 10 s.")
	eventsWaitingDesc = rangeDesc("events_waiting", "Events that wait for their delivery to the webhook. Normal "+
		"is near 0; at the range's webhook.queue the oldest are dropped.", "webhook")
	oldestEventDesc = rangeDesc("events_oldest_timestamp_seconds", "When the oldest event happened that waits "+
		"for its delivery. Absent when none waits. Normal is some seconds ago at most.", "webhook")
	eventsRetryingDesc = rangeDesc("events_awaiting_retry", "Events whose delivery failed and that webhook.retry "+
		"tries again. Normal is 0; at 50,000 further ones are given up.", "webhook")
	webhookGoneDesc = rangeDesc("webhook_gone", "1 while no event is sent because the webhook has answered "+
		"410 Gone, which webhook.retry heeds. Normal is 0: the address has to be changed, and the configuration "+
		"reloaded.", "webhook")
	purchasesPendingDesc = rangeDesc("purchases_pending",
		"Purchases that are on their way to the integrator. Normal is some, for some seconds.")
	purchasesUnresolvedDesc = rangeDesc("purchases_unresolved", "Purchases that wait for staff: nobody here knows "+
		"what the integrator decided, or the session had ended. Normal is 0: staff settle them on the control screen.")
	helpCallsDesc = rangeDesc("help_calls", "Open calls for help, by what staff have done: waiting (nobody "+
		"has answered), coming (somebody is on the way). Normal is some, for some minutes.", "state")
	oldestHelpCallDesc = rangeDesc("help_calls_oldest_timestamp_seconds", "When the oldest call for help was made "+
		"that nobody has answered. Absent when none waits. Normal is a minute ago at most.")
)

func rangeDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(metrics.Namespace+"_"+name, help, append([]string{"range"}, labels...), nil)
}

// Describe implements prometheus.Collector.
func (g rangeGauges) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		lanesDesc, notUsableDesc, heldDesc, unconfirmedDesc, parkedDesc, unclearedDesc, sessionsDesc,
		linksDesc, insecureDesc,
		holdStartedDesc, lanesUnsavedDesc,
		keysDesc, writesUnsavedDesc, storeAwayDesc, lastFlushDesc, eventsWaitingDesc, oldestEventDesc,
		purchasesPendingDesc, purchasesUnresolvedDesc,
		helpCallsDesc, oldestHelpCallDesc, eventsRetryingDesc, webhookGoneDesc,
	} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (g rangeGauges) Collect(to chan<- prometheus.Metric) {
	for _, r := range g.gateway.running() {
		if context.Cause(r.life) == nil {
			scrape{to, r.id.String()}.collect(r)
		}
	}
}

// scrape collects the gauges of one range.
type scrape struct {
	to    chan<- prometheus.Metric
	label string
}

func (s scrape) collect(r *Range) {
	holds := r.Holds()
	lanesNow := r.board.Statistics(r.clock.Now(), holds)
	s.count(lanesDesc, lanesNow.Lanes)
	s.count(notUsableDesc, lanesNow.NotUsable)
	s.count(heldDesc, lanesNow.Held)
	s.count(unconfirmedDesc, lanesNow.Unconfirmed)
	s.count(parkedDesc, lanesNow.Parked)
	s.count(unclearedDesc, lanesNow.Uncleared)
	for phase, n := range lanesNow.Sessions {
		s.count(sessionsDesc, n, string(phase))
	}
	for state, n := range lanesNow.Links {
		s.count(linksDesc, n, string(state))
	}
	s.count(insecureDesc, r.settings().InsecureLinks)
	s.count(purchasesPendingDesc, lanesNow.Purchases[lanes.Pending])
	s.count(purchasesUnresolvedDesc, lanesNow.Purchases[lanes.Unresolved])
	s.count(helpCallsDesc, lanesNow.HelpCalled, "waiting")
	s.count(helpCallsDesc, lanesNow.HelpComing, "coming")
	if !lanesNow.OldestHelpCall.IsZero() {
		s.timestamp(oldestHelpCallDesc, lanesNow.OldestHelpCall)
	}
	oldest := map[string]time.Time{} // kind of scope → when its oldest hold began
	for _, hold := range holds.InForce {
		if began, found := oldest[hold.Kind]; !found || hold.Since.Before(began) {
			oldest[hold.Kind] = hold.Since
		}
	}
	for kind, began := range oldest {
		s.timestamp(holdStartedDesc, began, kind)
	}

	backlog := r.committer.Backlog()
	storeDown := 0
	if backlog.StoreDown {
		storeDown = 1
	}
	s.count(storeAwayDesc, storeDown)
	s.count(lanesUnsavedDesc, len(backlog.Lanes))
	s.count(writesUnsavedDesc, backlog.Writes)
	s.count(keysDesc, r.keys.Count())
	if !backlog.LastFlush.IsZero() {
		s.timestamp(lastFlushDesc, backlog.LastFlush)
	}

	for _, webhook := range r.delivery.Health() {
		s.collectWebhook(webhook)
	}
}

// collectWebhook collects the gauges of one webhook of a range.
func (s scrape) collectWebhook(h delivery.WebhookHealth) {
	s.count(eventsWaitingDesc, h.Waiting, h.Webhook)
	s.count(eventsRetryingDesc, h.Retrying, h.Webhook)
	gone := 0
	if h.Gone {
		gone = 1
	}
	s.count(webhookGoneDesc, gone, h.Webhook)
	if h.Oldest != nil {
		s.timestamp(oldestEventDesc, *h.Oldest, h.Webhook)
	}
}

func (s scrape) count(desc *prometheus.Desc, n int, labels ...string) {
	s.gauge(desc, float64(n), labels)
}

// timestamp is a time of the wall clock, in Unix seconds.
func (s scrape) timestamp(desc *prometheus.Desc, at time.Time, labels ...string) {
	s.gauge(desc, float64(at.UnixMilli())/1e3, labels)
}

func (s scrape) gauge(desc *prometheus.Desc, value float64, labels []string) {
	s.to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{s.label}, labels...)...)
}
