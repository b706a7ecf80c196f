package frame

import (
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// The values of on_loss: what a controller does when it loses the gateway.
const (
	runOut = "run_out"
	hold   = "hold"
)

// longestNote limits the characters of the message about a purchase: a state with it and with the longest name is shorter
// than Longest in any JSON encoding.
const longestNote = 1000

// GatewayHello encodes the first message of a gateway.
func GatewayHello(lane link.Lane) []byte {
	onLoss := runOut
	if lane.HoldOnLoss {
		onLoss = hold
	}
	return encode(struct {
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

// State encodes the complete desired state, with the time that its session has left at now. Milliseconds are rounded down:
// no lane is open longer than it was sold.
func State(s link.State, now lanes.Instant) []byte {
	message := struct {
		Type     string    `json:"type"`
		Revision uint64    `json:"revision"`
		Hold     bool      `json:"hold"`
		Session  *session  `json:"session"`
		Purchase *purchase `json:"purchase"`
	}{Type: typeState, Revision: s.Revision, Hold: s.Hold}
	if current := s.Session; current != nil {
		message.Session = &session{current.ID, current.Customer, current.Group, current.Phase, milliseconds(current.Remaining(now)), s.Purchasing}
		if latest := current.Purchase; latest != nil {
			message.Purchase = &purchase{latest.ID, latest.Phase, truncate(latest.UserMessage)}
		}
	}
	return encode(message)
}

// truncate cuts a note to longestNote characters.
func truncate(note string) string {
	if characters := []rune(note); len(characters) > longestNote {
		return string(characters[:longestNote-1]) + "…"
	}
	return note
}

// Ack encodes the message that the report with that number, and all before it in that log, are saved.
func Ack(log lanes.Log) []byte {
	return encode(struct {
		Type string `json:"type"`
		Log  string `json:"log_id"`
		Seq  uint64 `json:"seq"`
	}{typeAck, log.ID, log.Seq})
}

// FromGateway decodes a message of a gateway: a link.Lane, link.State or lanes.Log, or nil for an unknown type. The session
// of a state has its remaining time as Left; the caller sets Since. The error names the broken rule.
func FromGateway(text []byte) (any, error) {
	o := parse(text)
	var message any
	switch o.text("type") {
	case typeHello:
		if o.count("protocol", 0) != protocol {
			o.fail("protocol", "1")
		}
		message = link.Lane{
			Range: o.id("range_id"), ID: o.id("lane_id"), Epoch: o.count("epoch", 0),
			HoldOnLoss: o.oneOf("on_loss", runOut, hold) == hold,
		}
	case typeState:
		message = readState(o)
	case typeAck:
		message = lanes.Log{ID: o.text("log_id"), Seq: o.count("seq", 1)}
	}
	if err := o.err(); err != nil {
		return nil, err
	}
	return message, nil
}

func readState(o object) link.State {
	s := link.State{Revision: o.count("revision", 1), Hold: o.flag("hold")}
	if !o.has("session") {
		return s
	}
	current := o.object("session")
	s.Session = &lanes.Session{
		ID: current.id("session_id"), Customer: current.text("customer_name"), Group: current.id("group_id"),
		Phase: readPhase(current), Left: current.duration("remaining_ms"),
	}
	s.Purchasing = current.flag("enable_purchasing")
	if o.has("purchase") {
		latest := o.object("purchase")
		s.Session.Purchase = &lanes.Purchase{
			ID: latest.id("purchase_id"), UserMessage: latest.optionalText("user_message"),
			Phase: lanes.PurchasePhase(latest.oneOf("phase",
				string(lanes.Pending), string(lanes.Accepted), string(lanes.Declined), string(lanes.Unresolved))),
		}
	}
	return s
}

func readPhase(o object) lanes.Phase {
	return lanes.Phase(o.oneOf("phase", string(lanes.Waiting), string(lanes.Running), string(lanes.Paused)))
}

func milliseconds(d time.Duration) int64 { return max(0, d).Milliseconds() }
