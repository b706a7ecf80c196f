package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/exam"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
)

type checkController struct {
	Address string        `arg:"" placeholder:"ws://…" help:"Where the controller answers."`
	Lane    uuid.UUID     `required:"" help:"The id of the lane that the controller is for."`
	Range   uuid.UUID     `default:"11111111-1111-4111-8111-111111111111" help:"The id of the range."`
	Key     string        `help:"The lane's key, if it has one."`
	Reports time.Duration `placeholder:"60s" help:"Also wait so long for somebody to do something at the lane."`
}

// Run plays a script with the controller, as the gateway would, and prints which rules of the protocol hold.
func (c checkController) Run(t *terminal) error {
	clock, err := clock.NewSystem()
	if err != nil {
		return err
	}
	driver := websocket.New(websocket.Settings{
		Lanes: map[uuid.UUID]websocket.Target{c.Lane: {Address: c.Address, Key: c.Key}}, Now: clock.Now,
	})
	candidate := exam.Exam{
		Driver: driver, Lane: link.Lane{Range: c.Range, ID: c.Lane, Epoch: uint64(time.Now().UnixMilli())}, Now: clock.Now,
		Out: t.out, Reports: c.Reports,
	}
	if broken := candidate.Run(t.ctx); broken > 0 {
		return fmt.Errorf("%d rules of the lane link are broken", broken)
	}
	return nil
}
