// Package hardware is what a lane knows of its hardware, as a value: the link to its controller, the state that
// is wanted of it, what of that it was sent, and whether its fire line is locked. It does no I/O, reads no clock,
// and knows no actor and no range. Each method of Line tells it what has happened, and returns the Effects, which
// the lane's actor carries out (actors/link.go). So each order of events is a story: see testdata.
//
// In the life of a lane the methods are called in this order, each as often as it happens:
//
//	Start      the lane begins: its controller is dialled
//	Want       the state of the lane, when it changes; while the link is down nothing is sent, Up does that
//	Up         the controller has said hello: it is sent what is wanted
//	Decided    it came up locked, nobody knew why, and the range has decided whether it may be released
//	Applied    it has confirmed a state
//	Failed     the link has failed, or could not be made: the next dial follows after a back-off
//	RetryOver  the back-off is over
//	GraceOver  the link is down for so long that the lane is not usable any more
//	HearAgain  reports were dropped: the connection ends, and the controller tells them in the next one
//	Renew      the controller is reached in another way from now on
//
// Hardware tells operators what is wanted, and what the controller has said last.
//
// Three promises (SPEC.md, ceasefire; LINK.md, Safety):
//
//   - A controller that is locked for a reason that nobody knows is sent nothing that releases it before the
//     range has decided.
//   - A gateway that may have lost the range sends nothing that opens the fire line.
//   - The fire line is shown as locked only if the controller has confirmed the newest state that it was sent on
//     this connection, and that state is a held one.
package hardware
