// Package holds keeps the holds of one range, as a value: the record that is in force, what of it is being saved,
// and which hardware has confirmed the end of a hold. It does no I/O, reads no clock, and knows no actor: each
// method of Holds returns what is to be done, and the range's actor does it (actors/ceasefire.go).
//
// A hold belongs to the range. Its record says which holds are in force and which have ended, and is saved with
// every lane that a hold closes, so that neither is ever there without the other. What happens, in its order:
//
//	Set        the record has the hold at once: every lane under it closes, and only then it is saved
//	Lift       the record without the hold is saved; the one in force still has it
//	Lifted     that is saved: the record in force loses the hold, and what no other hold covers opens
//	Confirmed  the hardware of a lane has confirmed that it is released
//	Forget     the end of a hold that all hardware under it has confirmed explains no later lock: it is forgotten
//	Found      a controller has come up locked: may it be released?
//	Broken     a reload would change what a hold lies over: it is refused
//	Rearranged a hold was set after Broken had looked, and a reload has changed what it lies over
//
// Two promises (SPEC.md, ceasefire):
//
//   - A hold ends only when its own lift is saved, and of two that cross the hold wins: one that is set over the
//     same scope while the lift is being saved stays in force.
//   - A lock that no known end of a hold explains stays until staff lift it.
//
// Progress is how far one hold, or its end, has come on every lane under it, for whoever set or lifted it.
package holds
