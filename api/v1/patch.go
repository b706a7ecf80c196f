package v1

import (
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// patch is a new duration for a session, or its end.
type patch struct {
	session uuid.UUID
	minutes int // in all; 0 is the end
}

func readPatch(in *endpoint.Input) patch {
	return patch{
		session: in.ID("id", "The session", "7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"),
		minutes: in.Integer("duration", 0, lanes.MaxMinutes, "Minutes in all; 0 ends the session", 90),
	}
}

func (p patch) command() lanes.Command {
	if p.minutes == 0 {
		return lanes.Stop{Session: p.session, By: lanes.ByPOS}
	}
	return lanes.SetDuration{Session: p.session, Minutes: p.minutes}
}

// Changed is what became of a session with a new duration.
type Changed struct {
	ID       uuid.UUID `json:"id"`
	Duration int       `json:"duration" doc:"Minutes sold in all" example:"90" min:"1" max:"480"`
}

// Stopped is what became of one that was ended.
type Stopped struct {
	ID      uuid.UUID `json:"id"`
	Message string    `json:"message" example:"session stopped"`
}

func (p patch) done(view *lanes.SessionView) endpoint.Either[Changed, Stopped] {
	if p.minutes == 0 {
		return endpoint.Second[Changed](Stopped{view.ID, "session stopped"})
	}
	return endpoint.First[Changed, Stopped](Changed{view.ID, view.Minutes})
}
