// Package webhook is the integrator's webhook as the gateway speaks to it (SPEC.md part 6).
//
// A Client makes the one attempt to deliver an event: a POST of its Body, which nothing here ever sends twice. What
// became of it is a lanes.Attempt, what the integrator said to a purchaseRequest a lanes.Answer:
//
//	lanes.Event ──► Body ──► letter ──► request ──► Transport ──► the integrator's receiver
//	               body.go  letter.go  request.go   guard.go        │
//	                                   sign.go                      │ an answer, or none
//	lanes.Attempt, lanes.Answer ◄── outcome.go, reason.go, answer.go┘
//
// The letter decides what an attempt without an answer comes to. A transport reads a request's body after it has
// written the headers; so a letter that was never opened has reached nobody, and one that was may have:
//
//	answered with 2xx                           delivered, whatever becomes of the answer's body
//	answered with anything else                 refused; a redirect is not followed
//	letter never opened                         unreachable: no name, no connection, no TLS, not allowed, no time
//	letter opened, then no answer in time       timed out
//	letter opened, then the connection broke,
//	or whoever asked gave up                    interrupted
//
// Requests are signed as Standard Webhooks says, once for each secret that the integrator has, none for none. In
// production the Transport is guarded: it connects to public addresses only, whatever a host name resolves to.
package webhook
