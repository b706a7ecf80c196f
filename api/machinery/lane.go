package machinery

import (
	"time"

	"github.com/google/uuid"

	"rangegate/api/screens"
	"rangegate/lanes"
)

// laneView is one lane: how it stands, and what it was asked of late.
type laneView struct {
	At        string `json:"at"`
	RangeName string `json:"range"`
	laneName
	Session  *sessionView  `json:"session"` // null: the lane is free
	Held     bool          `json:"hold"`
	Locked   bool          `json:"locked"` // the hardware has confirmed the hold
	Why      *string       `json:"not_usable_because"`
	Link     laneLink      `json:"link"`
	Restarts laneRestarts  `json:"restarts"` // of its actors, after a panic
	Unsaved  *laneUnsaved  `json:"unsaved"`  // null: everything is saved
	Commands []commandView `json:"commands"` // the newest first
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
	On    string  `json:"last_on"`
}

type laneUnsaved struct {
	Since   string `json:"since"`
	Changes int    `json:"changes"`
}

// commandView is a command and what became of it.
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

func viewOf(now time.Time, rangeID uuid.UUID, rangeName string, is lanes.LaneHealth) laneView {
	v := laneView{
		At: screens.Stamp(now), RangeName: rangeName, laneName: laneName{rangeID, is.Link.Lane, is.Link.Name},
		Held: is.Held, Locked: is.Locked,
		Link:     laneLink{is.Link.Link, screens.Stamp(is.Link.Since), is.Link.Restarts, is.Link.LastError},
		Restarts: laneRestarts{Count: is.Restarts.Restarts, Kind: is.Restarts.Kind, On: is.Restarts.Message},
		Commands: []commandView{},
	}
	if is.Session != uuid.Nil {
		v.Session = &sessionView{is.Session, is.Phase, is.Remaining.Round(time.Millisecond).Minutes()}
	}
	if is.NotUsable != "" {
		v.Why = &is.NotUsable
	}
	if is.Restarts.Restarts > 0 {
		last := screens.Stamp(is.Restarts.Last)
		v.Restarts.Last = &last
	}
	if is.Unsaved.Changes > 0 {
		v.Unsaved = &laneUnsaved{screens.Stamp(is.Unsaved.Since), is.Unsaved.Changes}
	}
	for _, c := range is.Commands {
		v.Commands = append(v.Commands, viewOfCommand(c))
	}
	return v
}

func viewOfCommand(c lanes.Commanded) commandView {
	v := commandView{
		At: screens.Stamp(c.At), By: c.By, Who: c.Who, Command: c.Command, Result: c.Result,
		Took: milliseconds(c.Took), Waited: milliseconds(c.Waited), Trace: c.Trace,
	}
	if c.Session != uuid.Nil {
		v.Session = &c.Session
	}
	return v
}
