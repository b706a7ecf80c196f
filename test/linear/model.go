// Package linear judges whether what clients were answered about a lane fits one order of their requests:
// what was acknowledged has happened, once, and what was refused has not. Porcupine searches for the order.
package linear

import (
	"cmp"
	"fmt"

	"github.com/anishathalye/porcupine"

	"rangegate/lanes"
)

// Call is a request about one lane.
type Call struct {
	Kind    string // create, start, modify, pause, resume, stop, buy, move, read
	Session string // of all but create and read
	Minutes int    // of create, modify and buy
	Lane    int    // of create and move: where the session is then
	Grace   bool   // of create: it is sold with a grace
	Waiting bool   // of create: it begins when it is asked to
	OpenEnd int    // of create: the minutes that may be used in all; 0: it ends with those that were sold
	// Reservation is of create: the token of the one that keeps the lane. Who keeps a lane is not judged here.
	Reservation string
}

// Reply is what was answered.
type Reply struct {
	Outcome Outcome
	Code    string // of a refusal
	State   State  // of a read; of a create its session
}

// Outcome is what a client knows of its request.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"    // acknowledged: it has happened, and is durable
	Refused Outcome = "refused" // nothing was changed
	Maybe   Outcome = "maybe"   // it has happened as a whole, or not at all
	InForce Outcome = "inForce" // not_saved: in force on the lane, and lost if its node is lost before it is saved
)

// State is the session on a lane, or on the two that it moves between: none, with an empty id.
type State struct {
	Session string
	Phase   string
	Minutes int
	Lane    int
}

// unnamed is the session of a create whose answer was lost: its id is in the next read, or in the next
// purchase at the lane.
const unnamed = "?"

// possible is a state that a lane may have. What is in force and not saved may be lost: then the lane is as
// it was saved last.
type possible struct {
	State
	volatile bool
	saved    State // when volatile
}

// laneModel is a lane that handles one request after the other.
var laneModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{possible{}} },
	Step: func(from, input, output any) (next []any) {
		p, c, r := from.(possible), input.(Call), output.(Reply)
		for _, p := range p.alternatives(c) {
			next = append(next, p.step(c, r)...)
		}
		return next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}).ToModel()

// alternatives are what the lane may be like when a request comes to it: as it is, or as it was saved last. A
// purchase knows the session by its id, which may be the unnamed one.
func (p possible) alternatives(c Call) []possible {
	all := []possible{p}
	if p.volatile {
		all = append(all, possible{State: p.saved})
	}
	for _, p := range all {
		if c.Kind == "buy" && p.Session == unnamed {
			p.Session = c.Session
			if p.saved.Session == unnamed {
				p.saved.Session = c.Session
			}
			all = append(all, p)
		}
	}
	return all
}

// step returns what may be after a request: nothing, when its answer contradicts the state.
func (p possible) step(c Call, r Reply) []any {
	if c.Kind == "read" {
		return p.read(r.State)
	}
	after, why := p.apply(c, r.State.Session)
	switch r.Outcome {
	case Done:
		if why == "" {
			return []any{possible{State: after}}
		}
	case Refused:
		// These say that the gateway could not do it at the moment: they fit every state.
		passing := map[string]bool{
			"store_unavailable": true, "starting": true, "overloaded": true, "not_owner": true, "lane_not_usable": true,
			"not_reached":   true,
			"lane_reserved": true, "reservation_over": true,
		}
		// A lane whose state is about to change is no destination, whatever comes of the change.
		if passing[r.Code] || r.Code == why || c.Kind == "move" && r.Code == "lane_occupied" {
			return []any{p}
		}
	case Maybe:
		if why == "" {
			return []any{p, possible{State: after}}
		}
		return []any{p}
	case InForce:
		if why == "" {
			return []any{p, possible{after, true, p.State}}
		}
		return []any{p}
	}
	return nil
}

// read compares the state with what was seen of it: the phase or the minutes may not have been.
func (p possible) read(seen State) []any {
	if p.Session == unnamed && seen.Session != "" {
		p.Session = seen.Session
	}
	if p.Session == seen.Session && (seen.Session == "" || p.Lane == seen.Lane) &&
		(seen.Phase == "" || p.Phase == seen.Phase) && (seen.Minutes == 0 || p.Minutes == seen.Minutes) {
		return []any{p}
	}
	return nil
}

// apply returns the state after the request, or the code of its refusal. created is the id of a create's
// session, when it is known.
func (p possible) apply(c Call, created string) (after State, refusal string) {
	after = p.State
	switch {
	case c.Kind == "create" && p.Session != "":
		return after, "lane_occupied"
	case c.Kind == "create":
		after = State{cmp.Or(created, unnamed), "running", c.Minutes, c.Lane}
		if c.Waiting {
			after.Phase = "waiting"
		}
		return after, ""
	case p.Session == unnamed: // whose id no client knows, so that this is about another
		return after, "session_ended"
	case c.Session != p.Session:
		return after, "session_ended"
	}
	switch c.Kind {
	case "modify", "buy":
		if after.Minutes += c.Minutes; after.Minutes > lanes.MaxMinutes {
			return p.State, "duration_out_of_range"
		}
	case "start":
		if p.Phase != "waiting" {
			return after, "not_waiting"
		}
		after.Phase = "running"
	case "pause":
		if p.Phase != "running" {
			return after, "not_running"
		}
		after.Phase = "paused"
	case "resume":
		if p.Phase != "paused" {
			return after, "not_paused"
		}
		after.Phase = "running"
	case "move":
		if p.Lane == c.Lane {
			return after, "lane_occupied"
		}
		after.Lane = c.Lane
	case "stop":
		after = State{}
	}
	return after, ""
}
