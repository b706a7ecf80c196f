package cluster

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"rangegate/lanes"
)

// call and reply are a request about one lane, and its answer.
type (
	call struct {
		kind    string // create, modify, pause, resume, stop, buy, move, read
		session string // of all but create and read
		minutes int    // of create, modify and buy
		lane    int    // of create and move: where the session is then
	}
	reply struct {
		outcome outcome
		code    string // of a refusal
		state   state  // of a read; of a create its session
	}
)

// outcome is what a client knows of its request.
type outcome string

const (
	done    outcome = "done"    // acknowledged: it has happened, and is durable
	refused outcome = "refused" // nothing was changed
	maybe   outcome = "maybe"   // it has happened as a whole, or not at all
	inForce outcome = "inForce" // not_saved: in force on the lane, and lost if its node is lost before it is saved
)

// state is the session on a lane, or on the two that it moves between: none, with an empty id.
type state struct {
	session string
	phase   string
	minutes int
	lane    int
}

// unnamed is the session of a create whose answer was lost: its id is in the next read, or in the next
// purchase at the lane.
const unnamed = "?"

// possible is a state that a lane may have. What is in force and not saved may be lost: then the lane is as
// it was saved last.
type possible struct {
	state
	volatile bool
	saved    state // when volatile
}

// laneModel is a lane that handles one request after the other.
var laneModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{possible{}} },
	Step: func(from, input, output any) (next []any) {
		p, c, r := from.(possible), input.(call), output.(reply)
		for _, p := range p.alternatives(c) {
			next = append(next, p.step(c, r)...)
		}
		return next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}).ToModel()

// alternatives are what the lane may be like when a request comes to it: as it is, or as it was saved last. A
// purchase knows the session by its id, which may be the unnamed one.
func (p possible) alternatives(c call) []possible {
	all := []possible{p}
	if p.volatile {
		all = append(all, possible{state: p.saved})
	}
	for _, p := range all {
		if c.kind == "buy" && p.session == unnamed {
			p.session = c.session
			if p.saved.session == unnamed {
				p.saved.session = c.session
			}
			all = append(all, p)
		}
	}
	return all
}

// step returns what may be after a request: nothing, when its answer contradicts the state.
func (p possible) step(c call, r reply) []any {
	if c.kind == "read" {
		return p.read(r.state)
	}
	after, why := p.apply(c, r.state.session)
	switch r.outcome {
	case done:
		if why == "" {
			return []any{possible{state: after}}
		}
	case refused:
		// These say that the gateway could not do it at the moment: they fit every state.
		passing := map[string]bool{
			"store_unavailable": true, "starting": true, "overloaded": true, "not_owner": true, "lane_not_usable": true, "not_reached": true,
		}
		if passing[r.code] || r.code == why {
			return []any{p}
		}
	case maybe:
		if why == "" {
			return []any{p, possible{state: after}}
		}
		return []any{p}
	case inForce:
		if why == "" {
			return []any{p, possible{after, true, p.state}}
		}
		return []any{p}
	}
	return nil
}

// read compares the state with what was seen of it: the phase or the minutes may not have been.
func (p possible) read(seen state) []any {
	if p.session == unnamed && seen.session != "" {
		p.session = seen.session
	}
	if p.session == seen.session && (seen.session == "" || p.lane == seen.lane) && (seen.phase == "" || p.phase == seen.phase) && (seen.minutes == 0 || p.minutes == seen.minutes) {
		return []any{p}
	}
	return nil
}

// apply returns the state after the request, or the code of its refusal. created is the id of a create's
// session, when it is known.
func (p possible) apply(c call, created string) (after state, refusal string) {
	after = p.state
	switch {
	case c.kind == "create" && p.session != "":
		return after, "lane_occupied"
	case c.kind == "create" && created == "":
		return state{unnamed, "running", c.minutes, c.lane}, ""
	case c.kind == "create":
		return state{created, "running", c.minutes, c.lane}, ""
	case p.session == unnamed: // whose id no client knows, so that this is about another
		return after, "session_ended"
	case c.session != p.session:
		return after, "session_ended"
	}
	switch c.kind {
	case "modify", "buy":
		if after.minutes += c.minutes; after.minutes > lanes.MaxMinutes {
			return p.state, "duration_out_of_range"
		}
	case "pause":
		if p.phase != "running" {
			return after, "not_running"
		}
		after.phase = "paused"
	case "resume":
		if p.phase != "paused" {
			return after, "not_paused"
		}
		after.phase = "running"
	case "move":
		if p.lane == c.lane {
			return after, "lane_occupied"
		}
		after.lane = c.lane
	case "stop":
		after = state{}
	}
	return after, ""
}
