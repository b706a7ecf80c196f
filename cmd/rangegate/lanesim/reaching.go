package lanesim

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// Refuse makes the controller answer handshakes with an error, until it is taken back. A connection that is up stays.
func (c *Controller) Refuse(on bool) { c.set(func(w *wrong) { w.refuses = on }) }

// Hang makes the controller leave handshakes without an answer, until the gateway gives up.
func (c *Controller) Hang(on bool) { c.set(func(w *wrong) { w.hangs = on }) }

// Pose puts another lane's controller at this address until it is taken back. A connection that is up stays.
func (c *Controller) Pose(on bool) { c.set(func(w *wrong) { w.poses = on }) }

func (c *Controller) hang(gateway context.Context) {
	select {
	case <-gateway.Done():
	case <-c.of.closing:
	}
	panic(http.ErrAbortHandler) // or the server would answer for us
}

// pose is the conversation of another lane's controller, which has reached this lane's address by mistake. The right
// controller hears nothing of it.
func (t *talk) pose() error {
	another := frame.Hello{
		Lane:  uuid.NewSHA1(t.with.lane.ID, []byte("another lane")),
		Hello: link.Hello{LogID: "of another lane", Firmware: "sim"},
	}
	t.say(frame.ControllerHello(another))
	for {
		if _, err := t.read(); err != nil {
			return err
		}
	}
}
