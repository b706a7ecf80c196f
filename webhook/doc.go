// Package webhook sends events to the integrator's webhook (SPEC.md part 6).
//
// A Client makes the one attempt to deliver an event: a POST of its Body, which this package never sends twice. It returns
// the outcome as a lanes.Attempt, and the answer to a purchaseRequest as a lanes.Answer:
//
//	lanes.Event ──► Body, request, requestBody ──► egress.Transport ──► the integrator's receiver
//	               request.go, sign.go             egress/               │
//	                                                                     │ an answer, or none
//	lanes.Attempt, lanes.Answer ◄── client.go, answer.go ◄───────────────┘
//
// The outcome of an attempt without an answer depends on whether the body was read. A transport reads it after it has
// written the headers: the receiver cannot have an unread body, and may have a body that was read:
//
//	status 2xx                                  delivered, whatever the answer's body
//	any other status                            refused; a redirect is not followed
//	body unread                                 unreachable: no name, no connection, no TLS, not allowed, no time
//	body read, then no answer in time           timed out
//	body read, then the connection broke,
//	or the caller gave up                       interrupted
//
// Requests are signed as in Standard Webhooks, once for each secret of the integrator. In production the transport is
// guarded: it connects to public addresses only, whatever a host name resolves to.
package webhook
