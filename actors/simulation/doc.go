// Package simulation sends events that a developer asks for, to try a receiver with: as real ones, beside every
// lane's order. It owns the minutes that simulated purchases may add yet, and no state of a lane.
//
//	reserve  room for the minutes that the event may sell, if it is about an active session
//	save     the event, as one that is being attempted and is simulated
//	send     the one attempt
//	settle   the outcome is saved; with the minutes, if the receiver lets the session buy them
//
// The door: Simulate.
package simulation
