// Package delivery sends the saved events of one range to its webhooks.
//
// It owns, for each webhook, an outbox: the queue of events that wait, the slots of deliveries, the schedule
// of retries, and one actor that starts attempts. A webhook that hangs holds up no other one. It also owns
// which attempts are being made, and the slots of purchases.
//
// # Door
//
//	Open        begins with what was loaded            Actors     are run by the range, which restarts those that panic
//	Append      an event enters the log: to which webhooks it goes, or why to none
//	Settle      a write with events has an outcome     Announce   it is saved: its events are queued
//	Rearrange   the configuration was reloaded         Resume     webhooks that answered 410 are called again
//	ClockSet    the wall clock was set, or the machine was suspended
//	Receives, PurchaseSlot, SendNow, Record   a purchase or a simulated event, which passes all others
//	EventLog    the event log as its readers see it, who may have events sent again
//	Health, LevelAt, Waiting   how the delivery is doing
//	Close       the range stops                        Drop       it leaves the configuration
//
// # Order of an event
//
//	queued      behind the events of its lane and of its session that are not done, in the order of the log
//	marked      its attempt is saved as interrupted, before the request goes out: no crash sends it twice unseen
//	attempted   once, on a slot
//	recorded    the outcome is saved, as soon as the store takes it
//	retried     if it failed and the webhook has a retry policy: later events of its lane wait for it for a minute at most
//
// What is sent again is not marked: after a crash it is sent once more. It goes in batches at a fixed pace,
// on one slot of its own, so that no event that happens now waits for it.
//
// # Failures
//
//	the store is down        nothing is attempted without its mark; outcomes wait in the committer
//	an actor panics          deliveries under way go on; the next life begins with what is unattempted once they have ended
//	a webhook panics         it costs that attempt only
//	too many events wait     the oldest are recorded as dropped
//	the webhook answers 410  events are recorded as not sent until a reload
//	the webhook is removed   what waits for it is recorded as not sent
//	the range stops          attempts that take too long are cut off, and on record
//	a crash                  an attempt that was marked stays interrupted, and is retried if there is a policy
package delivery
