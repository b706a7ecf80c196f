package frame

import (
	"encoding/json"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// ControllerHello encodes the first message of a controller, which answers the gateway's hello.
func ControllerHello(h Hello) []byte {
	type state struct {
		Hold      bool         `json:"hold"`
		Session   *uuid.UUID   `json:"session_id"`
		Phase     *lanes.Phase `json:"phase"`
		Remaining *int64       `json:"remaining_ms"`
		Faults    []string     `json:"faults"`
	}
	inForce := state{Hold: h.Hold, Session: pointerOrNil(h.Session), Faults: append([]string{}, h.Faults...)}
	if h.Session != uuid.Nil {
		remaining := milliseconds(h.Left)
		inForce.Phase, inForce.Remaining = &h.Phase, &remaining
	}
	return encode(struct {
		Type     string    `json:"type"`
		Protocol int       `json:"protocol"`
		Lane     uuid.UUID `json:"lane_id"`
		Log      string    `json:"log_id"`
		Firmware string    `json:"firmware"`
		State    state     `json:"state"`
	}{typeHello, protocol, h.Lane, h.LogID, h.Firmware, inForce})
}

// AppliedRevision encodes the message that the state of that revision is in force.
func AppliedRevision(revision uint64) []byte {
	return encode(struct {
		Type     string `json:"type"`
		Revision uint64 `json:"revision"`
	}{typeApplied, revision})
}

// Report encodes a report. Its log is the one in the controller's hello.
func Report(r lanes.Report) []byte {
	message := struct {
		Type     string        `json:"type"`
		Seq      uint64        `json:"seq"`
		Session  *uuid.UUID    `json:"session_id"`
		Kind     string        `json:"kind"`
		Age      int64         `json:"age_ms"`
		Purchase *uuid.UUID    `json:"purchase_id,omitempty"`
		Items    *[]lanes.Item `json:"items,omitempty"`
		Detail   *string       `json:"detail,omitempty"`
	}{Type: typeReport, Seq: r.Log.Seq, Session: pointerOrNil(r.Session), Kind: r.Kind, Age: milliseconds(r.Age)}
	switch r.Kind {
	case lanes.ReportPurchase:
		items := append([]lanes.Item{}, r.Items...)
		message.Purchase, message.Items = pointerOrNil(r.Purchase), &items
	case lanes.ReportFault:
		message.Detail = &r.Detail
	}
	return encode(message)
}

// FromController decodes a message of a controller: a Hello, Applied or lanes.Report, or nil for an unknown type. The
// report's log has no id, which is in the hello. A report of an unknown kind is decoded, because it has a number in the log.
// The error names the broken rule.
func FromController(text []byte) (any, error) {
	o := parse(text)
	var message any
	switch o.text("type") {
	case typeHello:
		message = readHello(o)
	case typeApplied:
		message = Applied(o.count("revision", 1))
	case typeReport:
		message = readReport(o)
	}
	if err := o.err(); err != nil {
		return nil, err
	}
	return message, nil
}

func readHello(o object) Hello {
	if o.count("protocol", 0) != protocol {
		o.fail("protocol", "1")
	}
	h := Hello{Lane: o.id("lane_id")}
	h.LogID, h.Firmware = o.text("log_id"), o.optionalText("firmware")
	if h.LogID == "" {
		o.fail("log_id", "a name")
	}
	state := o.object("state")
	h.Hold = state.flag("hold")
	if h.Session = state.optionalID("session_id"); h.Session != uuid.Nil {
		h.Phase, h.Left = readPhase(state), state.duration("remaining_ms")
	}
	if state.has("faults") {
		for _, raw := range state.list("faults") {
			var fault *string
			if json.Unmarshal(raw, &fault) != nil || fault == nil {
				state.fail("faults", "a list of texts")
				break
			}
			h.Faults = append(h.Faults, *fault)
		}
	}
	return h
}

func readReport(o object) lanes.Report {
	r := lanes.Report{
		Log: lanes.Log{Seq: o.count("seq", 1)}, Kind: o.text("kind"),
		Session: o.optionalID("session_id"), Age: o.duration("age_ms"),
	}
	switch r.Kind {
	case lanes.ReportPurchase:
		r.Purchase = o.id("purchase_id")
		for _, raw := range o.list("items") {
			item := object{prefix: "items.", first: o.first}
			if json.Unmarshal(raw, &item.values) != nil || item.values == nil {
				o.fail("items", "a list of objects")
				break
			}
			r.Items = append(r.Items, lanes.Item{ID: item.text("id"), Qty: item.quantity("qty")})
		}
	case lanes.ReportFault:
		r.Detail = o.text("detail")
	}
	return r
}
