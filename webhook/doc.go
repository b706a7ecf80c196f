// Package webhook is the integrator's webhook as the gateway speaks to it (SPEC.md part 6).
//
// A Client makes the one attempt to deliver an event: a POST of its Body, which nothing here ever sends twice. What
// became of it is a lanes.Attempt, what the integrator said to a purchaseRequest a lanes.Answer:
//
//	lanes.Event ──► Body ──► request, requestBody ──► egress.Transport ──► the integrator's receiver
//	               body.go   request.go, sign.go      egress/               │
//	                                                                        │ an answer, or none
//	lanes.Attempt, lanes.Answer ◄── outcome.go, answer.go ◄─────────────────┘
//
// Whether the body was read decides what an attempt without an answer comes to. A transport reads it after it has written
// the headers; so one that was never read has reached nobody, and one that was may have:
//
//	answered with 2xx                           delivered, whatever becomes of the answer's body
//	answered with anything else                 refused; a redirect is not followed
//	body never read                             unreachable: no name, no connection, no TLS, not allowed, no time
//	body read, then no answer in time           timed out
//	body read, then the connection broke,
//	or whoever asked gave up                    interrupted
//
// Requests are signed as Standard Webhooks says, once for each secret that the integrator has, none for none. In
// production the transport is guarded: it connects to public addresses only, whatever a host name resolves to.
package webhook
