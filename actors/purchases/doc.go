// Package purchases takes what shooters buy at their lanes to the integrator, and has each lane settle what came of
// it. It owns no state of a lane: it reads the range's board, and asks the lane by a command.
//
// A purchase runs once, in a goroutine of its own that outlives a panic of its lane:
//
//	check    against the catalogue, as far as that can be reached
//	slot     one of those kept for purchases, so that it waits for no other event
//	request  saved as sent, together with its event
//	send     the one attempt
//	settle   what it came to, in one write with the time it adds and the outcome of the event
//
// What cannot be sent within SendWithin bought nothing: the shop is busy. What a crash interrupts before it was
// requested goes on afterwards, if there is time left; after that nobody knows what the integrator decided.
//
// The door: Start, whenever a lane has a state in force; Settled, when a lane has settled one; Any.
package purchases
