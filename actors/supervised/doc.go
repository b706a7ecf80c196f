// Package supervised runs the actors of one range on the actor library, and mends what the library gets
// wrong. No other package knows of those defects.
//
// # Door
//
//	NewSystem         the library's own object, one for all ranges of a process
//	New               the Tree of a range
//	Props, SpawnRoot  how actors of a kind are made; each is an Actor
//	Send, Stop        a message for an actor; the end of one
//	Awaited, Refuse   a message that somebody waits for, and its refusal
//	BeginAnew         an actor ends its own life as by a panic that is none
//	Panicked          a panic outside of an actor's turn that is to be counted as one of it
//	Live, Restarts, Recent, PanicsOf       how many there are, and what became of them
//	Activities                             what each does now
//
// # Order of a message
//
//	sent        one in 64 is timed
//	waits       in the actor's mailbox, and is counted as waiting for actors of that kind
//	taken       one at a time, and noted as what the actor has at hand; an Awaited one is marked: the actor answers it
//	            from now on
//	received    by Actor.Receive, which never blocks
//	left        where an actor stopped before it took the message: an Awaited one is refused
//
// # Order of a panic
//
//	Receive panics     the panic is logged and counted, with its actor, its kind and the message
//	the actor ends     nothing more happens: a Supervisor must not bring it back
//	else               the library suspends the mailbox and tells the parent
//	ChildFailed        the parent decides, in its own turn; a panic of ChildFailed is one of the parent
//	the root           is restarted however often it panics, a second later if it panicked as it started
//	restart            children stop first; the actor is made anew and goes on with its mailbox
//
// # What the library gets wrong
//
//  1. A child that fails while it, or its parent, is being stopped is brought back to life by a restart.
//     So an actor that says IsEnding does not fail any more, and ChildFailed of a parent that ends
//     restarts nothing.
//  2. What an actor leaves in its mailbox when it stops is dropped without a word, and whoever waits for
//     it waits for ever. The mailbox's observer sees each message that leaves it: an Awaited one that was
//     not taken is refused.
//  3. A panic suspends the mailbox until the restart. If the actor is stopped instead, its mailbox stays
//     suspended and drops nothing. ResumeMailbox lets the messages go.
//  4. A message that panics is never reported as received. So the number of waiting messages is put right
//     where the panic is logged.
//  5. A root that panics ten times in ten seconds is stopped for good. A range must not be: SpawnRoot has
//     a guardian of its own.
//  6. RestartStatistics of a child counts its failures, and forgets them with its parent: after a restart
//     of the tree a lane that keeps panicking would begin anew. It also has no kind and no message for
//     operators. So the Tree has a record of its own.
//  7. HandleFailure, in which a parent decides about a child, is called outside of Receive: a panic there
//     passes no guard of the actor's. It passes the one around ChildFailed.
//  8. A goroutine that runs a mailbox begins with a small stack, which most messages outgrow. dispatcher
//     begins with a larger one.
//
// # Leaving the library
//
// It has had no release since 2024, and questions to its maintainers stay unanswered. To leave it would take:
//
//   - a mailbox: a queue for many senders and one taker, which takes 300 messages in a row before it
//     yields;
//   - a process for each actor: started, one message at a time, suspended, restarted, stopped with its
//     children before it;
//   - an address that stays the same over restarts, and says so when its actor has stopped;
//   - a parent's decision about a failed child, in the parent's turn;
//   - a future that ends when an actor has stopped.
//
// Remote actors, routers, persistence and the event stream are not used. Outside of this package the
// library's PID, Context and Supervisor are named.
package supervised
