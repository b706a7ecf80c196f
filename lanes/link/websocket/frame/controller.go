package frame

import (
	"encoding/json"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// ControllerHello is the first message of a controller, in answer to the gateway's.
func ControllerHello(h Hello) []byte {
	type state struct {
		Hold      bool         `json:"hold"`
		Session   *uuid.UUID   `json:"session_id"`
		Phase     *lanes.Phase `json:"phase"`
		Remaining *int64       `json:"remaining_ms"`
		Faults    []string     `json:"faults"`
	}
	inForce := state{Hold: h.Hold, Session: orNull(h.Session), Faults: append([]string{}, h.Faults...)}
	if h.Session != uuid.Nil {
		remaining := milliseconds(h.Left)
		inForce.Phase, inForce.Remaining = &h.Phase, &remaining
	}
	return written(struct {
		Type     string    `json:"type"`
		Protocol int       `json:"protocol"`
		Lane     uuid.UUID `json:"lane_id"`
		Log      string    `json:"log_id"`
		Firmware string    `json:"firmware"`
		State    state     `json:"state"`
	}{typeHello, protocol, h.Lane, h.LogID, h.Firmware, inForce})
}

// AppliedRevision says that the state of that revision is in force.
func AppliedRevision(revision uint64) []byte {
	return written(struct {
		Type     string `json:"type"`
		Revision uint64 `json:"revision"`
	}{typeApplied, revision})
}

// Report says that something happened. The log that it is of is the one in the controller's hello.
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
	}{Type: typeReport, Seq: r.Log.Seq, Session: orNull(r.Session), Kind: r.Kind, Age: milliseconds(r.Age)}
	switch r.Kind {
	case lanes.ReportPurchase:
		items := append([]lanes.Item{}, r.Items...)
		message.Purchase, message.Items = orNull(r.Purchase), &items
	case lanes.ReportFault:
		message.Detail = &r.Detail
	}
	return written(message)
}

// FromController reads what a controller sent: a Hello, Applied or lanes.Report, or nil for a type that this version
// does not know. A report's log has no name yet: that is in the hello. A kind of report that LINK.md does not have is a
// report all the same, as it has its number in the log. The error says which rule the message breaks.
func FromController(text []byte) (any, error) {
	k := parse(text)
	var message any
	switch k.text("type") {
	case typeHello:
		message = readHello(k)
	case typeApplied:
		message = Applied(k.count("revision", 1))
	case typeReport:
		message = readReport(k)
	}
	if err := k.err(); err != nil {
		return nil, err
	}
	return message, nil
}

func readHello(k keys) Hello {
	if k.count("protocol", 0) != protocol {
		k.breaks("protocol", "1")
	}
	h := Hello{Lane: k.id("lane_id")}
	h.LogID, h.Firmware = k.text("log_id"), k.optionalText("firmware")
	if h.LogID == "" {
		k.breaks("log_id", "a name")
	}
	state := k.object("state")
	h.Hold = state.flag("hold")
	if h.Session = state.optionalID("session_id"); h.Session != uuid.Nil {
		h.Phase, h.Left = readPhase(state), state.span("remaining_ms")
	}
	if state.given("faults") {
		for _, raw := range state.list("faults") {
			var fault *string
			if json.Unmarshal(raw, &fault) != nil || fault == nil {
				state.breaks("faults", "a list of texts")
				break
			}
			h.Faults = append(h.Faults, *fault)
		}
	}
	return h
}

func readReport(k keys) lanes.Report {
	r := lanes.Report{
		Log: lanes.Log{Seq: k.count("seq", 1)}, Kind: k.text("kind"),
		Session: k.optionalID("session_id"), Age: k.span("age_ms"),
	}
	switch r.Kind {
	case lanes.ReportPurchase:
		r.Purchase = k.id("purchase_id")
		for _, raw := range k.list("items") {
			item := keys{within: "items.", broken: k.broken}
			if json.Unmarshal(raw, &item.values) != nil || item.values == nil {
				k.breaks("items", "a list of objects")
				break
			}
			r.Items = append(r.Items, lanes.Item{ID: item.text("id"), Qty: item.quantity("qty")})
		}
	case lanes.ReportFault:
		r.Detail = k.text("detail")
	}
	return r
}
