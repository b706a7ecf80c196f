package delivery

import (
	"slices"

	"rangegate/lanes"
)

// outboxes are those of a range: of the webhooks that are configured, in their order, then of those that
// were. Nobody changes them: a reload replaces them, so that an event is logged for one configuration or for
// the other. There is always one; of a range without a webhook it is one that sends nothing.
type outboxes []route

// route says which webhook an outbox is for.
type route struct {
	box      *outbox
	receiver Receiver
	former   []string // further names by which entries of the event log name the outbox
	removed  bool     // the configuration does not have the webhook any more: what waits is recorded as not sent
}

// successor returns which of the webhooks a range's only webhook, which has no name, becomes when there are
// several, and which of them becomes the only one again: the one that decides purchases, else the first.
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

// openOutboxes makes the outboxes at the start: those of its webhooks, and one for each other that pending
// events are for. A webhook without a name goes on for the heir of the last lanes.Checkpoint.
func (d *Delivery) openOutboxes(receivers []Receiver, pending []lanes.Logged, lastHeir string) {
	var routes outboxes
	for _, to := range atLeastOne(receivers) {
		routes = append(routes, route{receiver: to})
	}
	if heir := routes.successor(); heir.receiver.Name != "" {
		heir.former = []string{""}
	} else if lastHeir != "" {
		heir.former = []string{lastHeir}
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
		routes[i].box = d.newOutbox(sorted[routes[i].receiver.Name])
	}
	d.putOutboxes(routes)
}

// rearrange has the outboxes fit webhooks that are configured anew, and returns those that are new.
func (d *Delivery) rearrange(receivers []Receiver) (added []*outbox) {
	receivers = atLeastOne(receivers)
	before := slices.Clone(*d.outboxes.Load())
	routes := make(outboxes, len(receivers))
	take := func(i, at int) {
		if at >= 0 {
			routes[i] = before[at]
			before = slices.Delete(before, at, at+1)
		}
	}
	heir, formerHeir := successor(receivers), before.successor().box
	for i, to := range receivers {
		take(i, slices.IndexFunc(before, func(was route) bool { return was.receiver.Name == to.Name }))
	}
	if at := slices.IndexFunc(before, func(was route) bool { return was.box == formerHeir }); at >= 0 &&
		routes[heir].box == nil &&
		(before[at].receiver.Name == "" || receivers[heir].Name == "") {
		take(heir, at)
	}
	for i, to := range receivers {
		if routes[i].box == nil {
			routes[i].box = d.newOutbox(nil)
			added = append(added, routes[i].box)
		} else if was := routes[i].receiver.Name; was != to.Name && !slices.Contains(routes[i].former, was) {
			routes[i].former = append(slices.Clone(routes[i].former), was)
		}
		routes[i].receiver, routes[i].removed = to, false
	}
	for _, was := range before {
		routes = append(routes, route{was.box, Receiver{Name: was.receiver.Name}, was.former, true})
	}
	d.putOutboxes(routes)
	return added
}

func (d *Delivery) putOutboxes(routes outboxes) {
	if heir := routes.successor().receiver.Name; heir != "" {
		d.Committer.SetHeir(heir)
	}
	d.outboxes.Store(&routes)
	for _, to := range routes {
		d.Metrics.ShowWebhook(to.receiver.Name)
		if to.receiver.Webhook == nil { // what awaits its retry is given up now, not when it would be due
			to.box.retries.makeAllDue(d.Clock.Now().Wall)
		}
	}
}

// successor returns the route that goes on when the range is to have a single webhook without a name.
func (o outboxes) successor() *route {
	var receivers []Receiver
	for _, to := range o {
		if !to.removed {
			receivers = append(receivers, to.receiver)
		}
	}
	return &o[successor(receivers)]
}

// find returns the route of the webhook with that name, nil for one that the range has not had since it was
// started. One that is configured goes before one that was.
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
func (d *Delivery) outboxOf(webhook string) *outbox {
	routes := *d.outboxes.Load()
	if routes[0].receiver.Name == webhook {
		return routes[0].box
	}
	if to := routes.find(webhook); to != nil {
		return to.box
	}
	return nil
}

// IsTo reports whether webhook receives the event, under its current or a former name.
func (d *Delivery) isTo(event lanes.Logged, webhook string) bool {
	return event.Webhook == webhook || d.outboxOf(webhook) != nil && d.outboxOf(event.Webhook) == d.outboxOf(webhook)
}

// wakeActors has the actors look at what they have to do.
func (d *Delivery) wakeActors() {
	for _, to := range *d.outboxes.Load() {
		to.box.send(&announced{})
	}
}

// distribute sends each events actor those of the events that are its own and that are wanted, in their
// order.
func (d *Delivery) distribute(events []lanes.Logged, wanted func(lanes.Logged) bool) {
	for _, to := range *d.outboxes.Load() {
		var own []lanes.Logged
		for _, event := range events {
			if wanted(event) && d.outboxOf(event.Webhook) == to.box {
				own = append(own, event)
			}
		}
		if len(own) > 0 {
			to.box.send(&announced{own})
		}
	}
}
