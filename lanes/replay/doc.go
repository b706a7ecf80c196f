// Package replay computes the sessions of a range again from what is on record of them, and names what comes out
// differently.
//
// It is pure, as package lanes is: whoever reads a store gives it the event log and the history, a record at a time.
//
//	r := replay.New(window, report)
//	r.Event(entry)      each entry of the event log, in the order of their cursors
//	r.Record(ended)     each ended session of the history, in the order of their cursors; r.Wants says when the next are due
//	r.Finish()          afterwards: what has no counterpart
//
// The way of an event:
//
//	number     its id says its number in the session: a gap is a lost event, a number of before comes twice
//	decide     of the first event of a change, its lanes.Decision gives the command and the instant. lanes.Decide decides it on
//	           the lane as computed so far
//	compare    kind, time and lane of the event, and of those that the same change gave rise to, have to be the computed ones
//	settle     sessionStopped: the record in the history has to be the end that was computed
//
// Refusals leave nothing on record, so that only what was done is computed again, not what else might have been.
// A purchase is computed from its event and from what was sold by it; while it is pending, the minutes that it keeps
// free are not.
package replay
