// Package delivery kills the real gateway again and again while it delivers events to a receiver that is slow, refuses,
// hangs and hangs up, and compares what the receiver wrote down with the gateway's event log (DESIGN.md, law 3): per
// lane the right order, no event twice, none missing but those whose attempt a kill interrupted.
//
//	kill_test.go   the story        receiver.go  the integrator's side
//	till.go        POS clients      judge.go     the log against what arrived
package delivery
