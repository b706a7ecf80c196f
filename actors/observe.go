package actors

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/actors/commit"
	"rangegate/actors/delivery"
	"rangegate/actors/idempotency"
	"rangegate/actors/supervised"
	"rangegate/lanes"
)

// Observer is what operators see of a range's actors, and do with them. Its methods may be called from any goroutine.
type Observer struct{ r *Range }

// Observed returns every actor of the range as its operator sees it: the range's own, those of its webhooks,
// then each lane in display order with its connection behind it. None of them is asked.
func (o *Observer) Observed() iter.Seq[lanes.Observed] {
	return func(yield func(lanes.Observed) bool) {
		seen := o.look(o.r.tree.Activities())
		if !yield(seen.ofRange()) {
			return
		}
		for _, webhook := range o.r.delivery.Health() {
			if !yield(seen.ofEvents(webhook)) {
				return
			}
		}
		for status, link := range o.r.board.All() {
			if !yield(seen.ofLane(status)) || !yield(seen.ofConnection(status, link)) {
				return
			}
		}
	}
}

// ObservedLane returns the two actors of one lane as Observed would, without looking at the others. It returns nil for
// a lane of another range.
func (o *Observer) ObservedLane(lane uuid.UUID) []lanes.Observed {
	status, link, found := o.r.board.Lane(lane)
	if !found {
		return nil
	}
	seen := o.look(o.r.tree.ActivitiesOf(lane))
	return []lanes.Observed{seen.ofLane(status), seen.ofConnection(status, link)}
}

// ServedSince returns when this process began to load the range. What only processes remember is from then on.
func (o *Observer) ServedSince() time.Time { return o.r.since.Wall }

// Snapshot returns what would be saved of the lane now: it is what the board shows. It may name a customer. found is
// false for a lane of another range.
func (o *Observer) Snapshot(lane uuid.UUID) (snapshot lanes.Snapshot, found bool) {
	status, found := o.r.board.LaneStatus(lane)
	return lanes.Snapshot{Lane: status.Lane, Boot: o.r.clock.Boot()}, found
}

// FindCommands returns the commands that match, of those that the lanes remember, oldest first.
func (o *Observer) FindCommands(match func(lanes.Commanded) bool) []lanes.TracedCommand {
	found, settings := o.r.commands.Find(match), o.r.settings()
	for i := range found {
		found[i].Name = settings.name(found[i].Lane)
	}
	return found
}

// KeptAnswer returns the first successful answer to the request with that idempotency key, with its body. found is
// false without one, and while the request is under way. Errors: those of history.Reader.Answer.
func (o *Observer) KeptAnswer(ctx context.Context, key string) (kept lanes.KeptAnswer, found bool, err error) {
	if kept, found = o.r.keys.Kept(key); !found || !kept.InStore {
		return kept, found, nil
	}
	kept, err = o.r.Answer(ctx, key)
	return kept, err == nil, err
}

// StoreHealth returns how the range's store and its webhooks are. No actor is asked.
func (o *Observer) StoreHealth() lanes.StoreHealth {
	r := o.r
	backlog, figures := r.committer.Backlog(), r.committer.Figures()
	health := lanes.StoreHealth{
		Epoch: r.committer.Epoch, Flush: figures.Number, LastFlush: backlog.LastFlush, Took: figures.Took,
		Failures: figures.Failures, FailedAt: figures.FailedAt, Error: figures.Error, Outage: backlog.Outage,
		Unsaved: backlog.Writes, Checkpoint: figures.Checkpoint, Offset: clock.Read(r.clock).Offset,
		Keys: r.keys.Count(), MostKeys: idempotency.MaxKeys,
	}
	for _, webhook := range r.delivery.Health() {
		state := lanes.WebhookState{
			Name: webhook.Webhook, Waiting: webhook.Waiting, Retrying: webhook.Retrying, Gone: webhook.Gone,
			Failing: webhook.Failing,
		}
		if webhook.Oldest != nil {
			state.Oldest = *webhook.Oldest
		}
		health.Webhooks = append(health.Webhooks, state)
	}
	return health
}

// observation is what one look at the actors of a range is made of.
type observation struct {
	r          *Range
	now        time.Time
	settings   *settings
	backlog    commit.Backlog
	holds      lanes.Holds
	activities []supervised.Activity
	root       supervised.Activity
	events     map[string]supervised.Activity // by the actor's id
	lanes      map[actorOf]int32              // in activities
}

// look begins an observation of the actors with these activities.
func (o *Observer) look(activities []supervised.Activity) *observation {
	r := o.r
	seen := &observation{
		r: r, now: r.clock.Now().Wall, settings: r.settings(), backlog: r.committer.Backlog(), holds: r.Holds(),
		activities: activities, events: map[string]supervised.Activity{},
		lanes: make(map[actorOf]int32, len(activities)),
	}
	for i, activity := range activities {
		switch {
		case activity.Lane != uuid.Nil:
			seen.lanes[actorOf{activity.Lane, activity.Kind}] = int32(i)
		case activity.Kind == rangeKind:
			seen.root = activity
		default:
			seen.events[activity.Actor] = activity
		}
	}
	return seen
}

// actorOf names an actor of a lane.
type actorOf struct {
	lane uuid.UUID
	kind string
}

// ofActor begins the row of an actor of a lane.
func (o *observation) ofActor(kind string, lane uuid.UUID) lanes.Observed {
	var activity supervised.Activity
	if i, found := o.lanes[actorOf{lane, kind}]; found {
		activity = o.activities[i]
	}
	return o.actor(kind, lane, activity)
}

// actor begins the row of an actor of that kind.
func (o *observation) actor(kind string, lane uuid.UUID, activity supervised.Activity) lanes.Observed {
	row := lanes.Observed{
		Kind: kind, Lane: lane, Name: o.settings.name(lane), Mailbox: activity.Waiting, Taken: activity.Taken,
		Panics: o.r.tree.PanicsOf(lane, kind),
	}
	if activity.Message != "" {
		row.AtHand = lanes.Awaited{What: activity.Message, Since: o.now.Add(-activity.For)}
	}
	return row
}

func (o *observation) ofRange() lanes.Observed {
	row := o.actor(rangeKind, uuid.Nil, o.root)
	notLoaded := o.r.unready.count()
	row.State, row.Waiting = lanes.StateRunning, o.backlog.Writes
	switch {
	case !o.backlog.Outage.Since.IsZero():
		row.State, row.Since = lanes.StateStoreDown, o.backlog.Outage.Since
	case notLoaded > 0:
		row.State = lanes.StateStarting
	}
	for _, lane := range o.backlog.Lanes {
		if row.Oldest.What == "" || lane.Since.Before(row.Oldest.Since) {
			row.Oldest = lanes.Awaited{What: "save", Since: lane.Since}
		}
	}
	row.Why, row.Also = row.WhyRange(o.now, o.backlog.Outage, notLoaded, o.backlog.Writes, o.r.keys.Count(),
		idempotency.MaxKeys)
	return row
}

func (o *observation) ofEvents(webhook delivery.WebhookHealth) lanes.Observed {
	row := o.actor(eventsKind, uuid.Nil, o.events[webhook.Actor])
	row.Webhook, row.Waiting, row.State = webhook.Webhook, webhook.Waiting, lanes.StateReady
	row.Lost = webhook.Lost
	switch {
	case webhook.Gone:
		row.State = lanes.StateGone
	case webhook.Waiting > 0:
		row.State = lanes.StateSending
	}
	if webhook.Oldest != nil {
		row.Oldest = lanes.Awaited{What: "event", Since: *webhook.Oldest}
	}
	row.Why, row.Also = row.WhyEvents(o.now, webhook.Failing, webhook.Retrying, webhook.LevelAt)
	return row
}

func (o *observation) ofLane(status lanes.LaneStatus) lanes.Observed {
	row, work := o.ofActor(laneKind, status.ID), o.r.works.Of(status.ID).Now()
	row.State, row.Since = cmp.Or(work.State, lanes.StateStarting), work.Since
	row.Waiting, row.Oldest, row.Late = work.Waiting, work.Oldest, work.Late
	row.Why, row.Also = row.WhyLane(o.now, status, work, o.backlog.Lanes[status.ID], o.backlog.Outage,
		o.heldSince(status.Place))
	return row
}

// heldSince is when the oldest hold over the lane began, zero without one.
func (o *observation) heldSince(place lanes.Place) (since time.Time) {
	for _, hold := range o.holds.InForce {
		if hold.Covers(place) && (since.IsZero() || hold.Since.Before(since)) {
			since = hold.Since
		}
	}
	return since
}

func (o *observation) ofConnection(status lanes.LaneStatus, link lanes.LinkProblem) lanes.Observed {
	row := o.ofActor(connectionKind, status.ID)
	row.State, row.Since = string(link.Link), link.Since
	if link.Link != lanes.LinkUp {
		_, link.Awaits = o.settings.awaiter(status.ID)
		if driver, ok := o.settings.Driver.(interface{ Address(lane uuid.UUID) string }); ok {
			link.Address = driver.Address(status.ID)
		}
	}
	row.Why, row.Also = row.WhyConnection(o.now, link, status.Contest)
	return row
}
