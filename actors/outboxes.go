package actors

import (
	"cmp"
	"context"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"rangegate/lanes"
)

// outboxes are those of a range: of the webhooks that are configured, in their order, then of those that were. Nobody changes them: a reload
// replaces them, so that an event is logged for one configuration or for the other. There is always one; of a range without a webhook it
// is one that sends nothing.
type outboxes []route

// route says which webhook an outbox is for.
type route struct {
	box      *outbox
	receiver Receiver
	former   []string // further names by which entries of the event log name the outbox
	removed  bool     // the configuration does not have the webhook any more: what waits is recorded as not sent
}

// successor returns which of the webhooks a range's only webhook, which has no name, becomes when there are several, and which of them becomes the
// only one again: the one that decides purchases, else the first.
func successor(receivers []Receiver) int {
	if only := slices.IndexFunc(receivers, func(to Receiver) bool { return to.Name == "" }); only >= 0 {
		return only
	}
	return max(0, slices.IndexFunc(receivers, func(to Receiver) bool { return to.Purchases }))
}

// atLeastOne returns the webhooks of a range, and in place of none one that nothing is sent to.
func atLeastOne(receivers []Receiver) []Receiver {
	if len(receivers) == 0 {
		return []Receiver{{}}
	}
	return receivers
}

// openOutboxes makes the outboxes of a range that was loaded: those of its webhooks, and one for each other that pending events are for.
func (r *Range) openOutboxes(receivers []Receiver, pending []lanes.Logged) {
	var routes outboxes
	for _, to := range atLeastOne(receivers) {
		routes = append(routes, route{receiver: to})
	}
	if heir := &routes[successor(atLeastOne(receivers))]; heir.receiver.Name != "" {
		heir.former = []string{""}
	}
	sorted := map[string][]lanes.Logged{}
	for _, event := range pending {
		to := routes.find(event.Webhook)
		if to == nil {
			routes = append(routes, route{receiver: Receiver{Name: event.Webhook}, removed: true})
			to = &routes[len(routes)-1]
		}
		sorted[to.receiver.Name] = append(sorted[to.receiver.Name], event)
	}
	for i := range routes {
		routes[i].box = r.newOutbox(sorted[routes[i].receiver.Name])
	}
	r.putOutboxes(routes)
}

// rearrangeOutboxes has the outboxes fit webhooks that are configured anew, and returns those that are new.
func (r *Range) rearrangeOutboxes(receivers []Receiver) (added []*outbox) {
	receivers = atLeastOne(receivers)
	before := slices.Clone(*r.outboxes.Load())
	routes := make(outboxes, len(receivers))
	take := func(i, at int) {
		if at >= 0 {
			routes[i] = before[at]
			before = slices.Delete(before, at, at+1)
		}
	}
	heir, formerHeir := successor(receivers), before.successor()
	for i, to := range receivers {
		take(i, slices.IndexFunc(before, func(was route) bool { return was.receiver.Name == to.Name }))
	}
	if at := slices.IndexFunc(before, func(was route) bool { return was.box == formerHeir }); at >= 0 && routes[heir].box == nil &&
		(before[at].receiver.Name == "" || receivers[heir].Name == "") {
		take(heir, at)
	}
	for i, to := range receivers {
		if routes[i].box == nil {
			routes[i].box = r.newOutbox(nil)
			added = append(added, routes[i].box)
		} else if was := routes[i].receiver.Name; was != to.Name && !slices.Contains(routes[i].former, was) {
			routes[i].former = append(slices.Clone(routes[i].former), was)
		}
		routes[i].receiver, routes[i].removed = to, false
	}
	for _, was := range before {
		routes = append(routes, route{was.box, Receiver{Name: was.receiver.Name}, was.former, true})
	}
	r.putOutboxes(routes)
	return added
}

func (r *Range) putOutboxes(routes outboxes) {
	r.outboxes.Store(&routes)
	for _, to := range routes {
		r.metrics.ShowWebhook(to.receiver.Name)
		if to.receiver.Webhook == nil { // what awaits its retry is given up now, not when it would be due
			to.box.retries.hurry(r.clock.Now().Wall)
		}
	}
}

// successor returns the outbox that goes on when the range is to have a single webhook without a name.
func (o outboxes) successor() *outbox {
	var receivers []Receiver
	for _, to := range o {
		if !to.removed {
			receivers = append(receivers, to.receiver)
		}
	}
	return o[successor(receivers)].box
}

// find returns the route of the webhook with that name, nil for one that the range has not had since it was started. One that is configured
// goes before one that was.
func (o outboxes) find(webhook string) *route {
	for _, removed := range []bool{false, true} {
		for _, matches := range []func(*route) bool{
			func(to *route) bool { return to.receiver.Name == webhook },
			func(to *route) bool { return slices.Contains(to.former, webhook) },
		} {
			for i := range o {
				if o[i].removed == removed && matches(&o[i]) {
					return &o[i]
				}
			}
		}
	}
	return nil
}

// outboxOf returns the outbox of the webhook with that name, or nil.
func (r *Range) outboxOf(webhook string) *outbox {
	routes := *r.outboxes.Load()
	if routes[0].receiver.Name == webhook {
		return routes[0].box
	}
	if to := routes.find(webhook); to != nil {
		return to.box
	}
	return nil
}

// isTo reports whether the event is delivered to the webhook with that name, which it may have had another one for.
func (r *Range) isTo(event lanes.Logged, webhook string) bool {
	return event.Webhook == webhook || r.outboxOf(webhook) != nil && r.outboxOf(event.Webhook) == r.outboxOf(webhook)
}

// outboxFor returns the first outbox whose webhook gets events of the kind, and that webhook; nil if none does.
func (r *Range) outboxFor(kind lanes.Kind) (*outbox, *Receiver) {
	for i, to := range *r.outboxes.Load() {
		if to.receiver.Webhook != nil && to.receiver.gets(kind) {
			return to.box, &(*r.outboxes.Load())[i].receiver
		}
	}
	return nil, nil
}

// appendLogged appends the event as it enters the log: once for each webhook that gets it, unattempted, or final when nothing is sent. A
// purchase is sent at once by whoever asked for it. trace is that of the request that caused it.
func (r *Range) appendLogged(log []lanes.Logged, event lanes.Event, trace string) []lanes.Logged {
	first, why := len(log), lanes.NoWebhook
	for _, to := range *r.outboxes.Load() {
		if to.receiver.Webhook == nil {
			continue
		}
		if why = lanes.NotWanted; !to.receiver.gets(event.Kind) {
			continue
		}
		entry := lanes.Logged{Event: event, Webhook: to.receiver.Name, Copy: len(log) > first, Trace: trace}
		switch why := to.box.whyNotSent(); {
		case why != "":
			entry.Attempt = new(notSent(event, why))
		case event.Kind == lanes.PurchaseRequest:
			r.underWay.begin(entry)
			entry.Attempt = &lanes.Attempt{At: event.At, Error: lanes.Interrupted}
		}
		log = append(log, entry)
	}
	if len(log) == first {
		log = append(log, lanes.Logged{Event: event, Attempt: new(notSent(event, why)), Trace: trace})
	}
	return log
}

func notSent(event lanes.Event, why string) lanes.Attempt {
	return lanes.Attempt{At: event.At, Error: why}
}

// announce sends saved events to the events actors, except purchases, whose attempt runPurchase makes. Before such an actor has started
// there is no need to: it begins with what is unattempted.
func (r *Range) announce(events []lanes.Logged) {
	r.distribute(events, func(e lanes.Logged) bool { return e.Attempt == nil || e.Attempt.Error != lanes.Interrupted })
}

// distribute sends each events actor those of the events that are its own and that are wanted, in their order.
func (r *Range) distribute(events []lanes.Logged, wanted func(lanes.Logged) bool) {
	for _, to := range *r.outboxes.Load() {
		var own []lanes.Logged
		for _, event := range events {
			if wanted(event) && r.outboxOf(event.Webhook) == to.box {
				own = append(own, event)
			}
		}
		if len(own) > 0 {
			to.box.send(&announced{own})
		}
	}
}

// wakeOutboxes has the events actors look at what they have to do.
func (r *Range) wakeOutboxes() {
	for _, to := range *r.outboxes.Load() {
		to.box.send(&announced{})
	}
}

// isEventsActor reports whether the actor is that of an outbox.
func (r *Range) isEventsActor(pid *actor.PID) bool {
	return slices.ContainsFunc(*r.outboxes.Load(), func(to route) bool { return pid.Equal(to.box.actor.Load()) })
}

// ResumeDeliveries has the webhooks called again that have answered 410, because their operator has looked at the configuration.
func (g *Gateway) ResumeDeliveries() {
	for _, r := range g.running() {
		for _, to := range *r.outboxes.Load() {
			if to.box.gone.Swap(nil) != nil {
				to.box.named(r.log.Info()).Msg("the webhook that has answered 410 is called again")
				to.box.send(&announced{})
			}
		}
	}
}

// awaitDeliveries waits until no delivery to any webhook is under way, or ctx ends.
func (r *Range) awaitDeliveries(ctx context.Context) (err error) {
	for _, to := range *r.outboxes.Load() {
		err = cmp.Or(to.box.awaitDeliveries(ctx), err)
	}
	return err
}
