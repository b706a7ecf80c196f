// Package frame is LINK.md version 1 as text: the messages that a gateway and a lane's controller send each other,
// written and read. Reading is strict where LINK.md has a rule, and passes over types and keys that it does not know.
//
// What is read comes as the values that the rest of the program works with:
//
//	from the gateway      link.Lane (hello), link.State (state), lanes.Log (ack)
//	from the controller   Hello, Applied, lanes.Report
package frame

import (
	"encoding/json"

	"github.com/google/uuid"

	"rangegate/lanes/link"
)

const (
	// Subprotocol names the protocol in the WebSocket handshake.
	Subprotocol = "rangegate.lane.v1"
	// Longest is how long a message may be, in bytes.
	Longest = 16 << 10

	protocol = 1
)

// Hello is a controller's answer to the gateway's hello.
type Hello struct {
	Lane uuid.UUID // whose controller it says it is
	link.Hello
}

// Applied is the revision of a state that is in force.
type Applied uint64

// The types of messages.
const (
	typeHello   = "hello"
	typeState   = "state"
	typeAck     = "ack"
	typeApplied = "applied"
	typeReport  = "report"
)

// written is the text of a message. Every type that is written here can be.
func written(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return text
}

// orNull is nil for the id of nothing.
func orNull(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
