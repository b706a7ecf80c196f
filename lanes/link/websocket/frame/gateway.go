package frame

import (
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// What a controller does when it loses the gateway.
const (
	runOut = "run_out"
	hold   = "hold"
)

// longestNote is how many characters of the customer's message about a purchase are sent: a state with it and with the
// longest name stays below Longest, however they are written in JSON.
const longestNote = 1000

// GatewayHello is the first message of a gateway.
func GatewayHello(lane link.Lane) []byte {
	onLoss := runOut
	if lane.HoldOnLoss {
		onLoss = hold
	}
	return written(struct {
		Type     string    `json:"type"`
		Protocol int       `json:"protocol"`
		Range    uuid.UUID `json:"range_id"`
		Lane     uuid.UUID `json:"lane_id"`
		Epoch    uint64    `json:"epoch"`
		OnLoss   string    `json:"on_loss"`
	}{typeHello, protocol, lane.Range, lane.ID, lane.Epoch, onLoss})
}

type session struct {
	ID         uuid.UUID   `json:"session_id"`
	Customer   string      `json:"customer_name"`
	Group      uuid.UUID   `json:"group_id"`
	Phase      lanes.Phase `json:"phase"`
	Remaining  int64       `json:"remaining_ms"`
	Purchasing bool        `json:"enable_purchasing"`
}

type purchase struct {
	ID      uuid.UUID           `json:"purchase_id"`
	Phase   lanes.PurchasePhase `json:"phase"`
	Message string              `json:"user_message"`
}

// State is the whole state that is wanted, with the time that remains of its session at now. A part of a millisecond is
// taken from the customer: no lane is open longer than it was sold.
func State(s link.State, now lanes.Instant) []byte {
	message := struct {
		Type     string    `json:"type"`
		Revision uint64    `json:"revision"`
		Hold     bool      `json:"hold"`
		Session  *session  `json:"session"`
		Purchase *purchase `json:"purchase"`
	}{Type: typeState, Revision: s.Revision, Hold: s.Hold}
	if on := s.Session; on != nil {
		message.Session = &session{on.ID, on.Customer, on.Group, on.Phase, milliseconds(on.Remaining(now)), s.Purchasing}
		if latest := on.Purchase; latest != nil {
			message.Purchase = &purchase{latest.ID, latest.Phase, beginning(latest.UserMessage)}
		}
	}
	return written(message)
}

// beginning is as much of the note as is sent.
func beginning(note string) string {
	if characters := []rune(note); len(characters) > longestNote {
		return string(characters[:longestNote-1]) + "…"
	}
	return note
}

// Ack says that the report of that number, and all before it of that log, are saved.
func Ack(log lanes.Log) []byte {
	return written(struct {
		Type string `json:"type"`
		Log  string `json:"log_id"`
		Seq  uint64 `json:"seq"`
	}{typeAck, log.ID, log.Seq})
}

// FromGateway reads what a gateway sent: a link.Lane, link.State or lanes.Log, or nil for a type that this version does
// not know. The session of a state has the time that remains as Left; Since, when that was, is for the reader to set.
// The error says which rule the message breaks.
func FromGateway(text []byte) (any, error) {
	k := parse(text)
	var message any
	switch k.text("type") {
	case typeHello:
		if k.count("protocol", 0) != protocol {
			k.breaks("protocol", "1")
		}
		message = link.Lane{
			Range: k.id("range_id"), ID: k.id("lane_id"), Epoch: k.count("epoch", 0),
			HoldOnLoss: k.oneOf("on_loss", runOut, hold) == hold,
		}
	case typeState:
		message = readState(k)
	case typeAck:
		message = lanes.Log{ID: k.text("log_id"), Seq: k.count("seq", 1)}
	}
	if err := k.err(); err != nil {
		return nil, err
	}
	return message, nil
}

func readState(k keys) link.State {
	s := link.State{Revision: k.count("revision", 1), Hold: k.flag("hold")}
	if !k.given("session") {
		return s
	}
	on := k.object("session")
	s.Session = &lanes.Session{
		ID: on.id("session_id"), Customer: on.text("customer_name"), Group: on.id("group_id"),
		Phase: readPhase(on), Left: on.span("remaining_ms"),
	}
	s.Purchasing = on.flag("enable_purchasing")
	if k.given("purchase") {
		latest := k.object("purchase")
		s.Session.Purchase = &lanes.Purchase{
			ID: latest.id("purchase_id"), UserMessage: latest.optionalText("user_message"),
			Phase: lanes.PurchasePhase(latest.oneOf("phase",
				string(lanes.Pending), string(lanes.Accepted), string(lanes.Declined), string(lanes.Unresolved))),
		}
	}
	return s
}

func readPhase(k keys) lanes.Phase {
	return lanes.Phase(k.oneOf("phase", string(lanes.Waiting), string(lanes.Running), string(lanes.Paused)))
}

func milliseconds(d time.Duration) int64 { return max(0, d).Milliseconds() }
