package actorstatus

import (
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// laneView is the state of one lane and its latest commands.
type laneView struct {
	At        string `json:"at"`
	RangeName string `json:"range"`
	laneName
	Session  *sessionView  `json:"session"` // null: the lane is free
	Held     bool          `json:"hold"`
	Locked   bool          `json:"locked"` // the hardware has confirmed the hold
	Unusable *string       `json:"not_usable_because"`
	Link     laneLink      `json:"link"`
	Restarts laneRestarts  `json:"restarts"` // of its actors, after panics
	Unsaved  *laneUnsaved  `json:"unsaved"`  // null: everything is saved
	Commands []commandView `json:"commands"` // newest first
}

// sessionView names no customer.
type sessionView struct {
	ID      uuid.UUID   `json:"session_id"`
	Phase   lanes.Phase `json:"phase"`
	Minutes float64     `json:"minutes_remaining"`
}

type laneLink struct {
	State     lanes.LinkState `json:"state"`
	Since     string          `json:"since"`
	Restarts  int             `json:"restarts"`
	LastError string          `json:"last_error"`
}

type laneRestarts struct {
	Count int     `json:"count"`
	Last  *string `json:"last_at"`
	Kind  string  `json:"last_kind"`
	On    string  `json:"last_on"` // the message
}

type laneUnsaved struct {
	Since   string `json:"since"`
	Changes int    `json:"changes"`
}

// commandView is a command and its result.
type commandView struct {
	At      string     `json:"at"`
	By      lanes.By   `json:"by"`
	Who     string     `json:"who"`
	Command string     `json:"command"`
	Result  string     `json:"result"`
	Took    float64    `json:"took_ms"`
	Waited  float64    `json:"waited_ms"`
	Session *uuid.UUID `json:"session_id"`
	Trace   string     `json:"trace_id"`
}

func viewOf(now time.Time, rangeID uuid.UUID, rangeName string, health lanes.LaneHealth) laneView {
	v := laneView{
		At: endpoint.Stamp(now), RangeName: rangeName, laneName: laneName{rangeID, health.Link.Lane, health.Link.Name},
		Held: health.Held, Locked: health.Locked,
		Link:     laneLink{health.Link.Link, endpoint.Stamp(health.Link.Since), health.Link.Restarts, health.Link.LastError},
		Restarts: laneRestarts{Count: health.Restarts.Restarts, Kind: health.Restarts.Kind, On: health.Restarts.Message},
		Commands: []commandView{},
	}
	if health.Session != uuid.Nil {
		v.Session = &sessionView{health.Session, health.Phase, health.Remaining.Round(time.Millisecond).Minutes()}
	}
	if health.NotUsable != "" {
		v.Unusable = &health.NotUsable
	}
	if health.Restarts.Restarts > 0 {
		last := endpoint.Stamp(health.Restarts.Last)
		v.Restarts.Last = &last
	}
	if health.Unsaved.Changes > 0 {
		v.Unsaved = &laneUnsaved{endpoint.Stamp(health.Unsaved.Since), health.Unsaved.Changes}
	}
	for _, c := range health.Commands {
		v.Commands = append(v.Commands, viewOfCommand(c))
	}
	return v
}

func viewOfCommand(c lanes.Commanded) commandView {
	v := commandView{
		At: endpoint.Stamp(c.At), By: c.By, Who: c.Who, Command: c.Command, Result: c.Result,
		Took: milliseconds(c.Took), Waited: milliseconds(c.Waited), Trace: c.Trace,
	}
	if c.Session != uuid.Nil {
		v.Session = &c.Session
	}
	return v
}
