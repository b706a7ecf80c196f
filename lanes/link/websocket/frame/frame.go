// Package frame encodes and decodes the messages of LINK.md version 1 between a gateway and a lane's
// controller. Decoding is strict where LINK.md has a rule, and ignores unknown types and keys.
//
// Messages are decoded to
//
//	from the gateway      Greeting (hello), ProvenState (state), lanes.Log (ack)
//	from the controller   Hello, Applied, lanes.Report
package frame

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

const (
	// Subprotocol names the protocol in the WebSocket handshake.
	Subprotocol = "rangegate.lane.v1"
	// Longest is the limit of a message in bytes.
	Longest = 16 << 10

	protocol = 1
)

// Hello is a controller's answer to the gateway's hello.
type Hello struct {
	Lane uuid.UUID // that the controller belongs to
	link.Hello
	Challenge, Proof string // empty on a lane without a key
}

// Greeting is the gateway's hello.
type Greeting struct {
	link.Lane
	Challenge string // empty on a lane without a key
}

// ProvenState is a state as it comes from the gateway.
type ProvenState struct {
	link.State
	Proof string // in the first state of a connection, empty on a lane without a key
}

// Applied is the revision of the state in force.
type Applied uint64

// The types of messages.
const (
	typeHello   = "hello"
	typeState   = "state"
	typeAck     = "ack"
	typeApplied = "applied"
	typeReport  = "report"
)

func encode(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err) // every message of this package can be encoded
	}
	return text
}

// pointerOrNil returns nil for uuid.Nil, which encodes as null.
func pointerOrNil(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// object is a JSON object that is decoded. Each method reads one key and states its rule; the first broken
// rule is kept. Keys are case-sensitive (encoding/json alone accepts SEQ for seq), and null means that a key
// is missing.
//
// With a shape nothing is decoded: the methods note their rules there instead, for the schema (schema.go). A
// reader therefore reads the same keys whatever their values are, but for those in ifGiven and ifEqual.
type object struct {
	values map[string]json.RawMessage
	prefix string // the key of the object with a dot; empty for a message
	first  *error // the first broken rule
	shape  *shape // nil: values are decoded
}

func parse(text []byte) object {
	o := object{first: new(error)}
	switch {
	case len(text) > Longest:
		*o.first = fmt.Errorf("a message of %d bytes", len(text))
	case !utf8.Valid(text):
		*o.first = fmt.Errorf("a message that is not UTF-8")
	case json.Unmarshal(text, &o.values) != nil || o.values == nil:
		*o.first = fmt.Errorf("a message that is not a JSON object")
	}
	return o
}

func (o object) err() error { return *o.first }

// fail keeps the first broken rule. It quotes no value, which may be long, or a customer's name.
func (o object) fail(key, rule string) {
	if *o.first == nil {
		*o.first = fmt.Errorf("%s%s: wants %s", o.prefix, key, rule)
	}
}

// has reports whether the key is there. The schema then lets it be missing or null.
func (o object) has(key string) bool {
	if o.shape != nil {
		o.shape.optional[key] = true
		return true
	}
	raw, found := o.values[key]
	return found && string(raw) != "null"
}

func (o object) text(key string) string {
	if o.notes(key, textRule) {
		return ""
	}
	var text *string
	if json.Unmarshal(o.values[key], &text) != nil || text == nil {
		o.fail(key, "text")
		return ""
	}
	return *text
}

// name reads a text that is not empty.
func (o object) name(key string) string {
	if o.notes(key, nameRule) {
		return ""
	}
	text := o.text(key)
	if text == "" {
		o.fail(key, "a name")
	}
	return text
}

// note reads a text for people. It should have no more than 200 characters; a longer one is read all the same.
func (o object) note(key string) string {
	if o.notes(key, noteRule) {
		return ""
	}
	return o.text(key)
}

// constant reads a number that can only be this one.
func (o object) constant(key string, value uint64) {
	if o.shape != nil {
		o.notes(key, ruleOf("integer", "const", value))
	} else if o.count(key, 0) != value {
		o.fail(key, strconv.FormatUint(value, 10))
	}
}

// oneOf reads a text that must be one of the values.
func oneOf[T ~string](o object, key string, values ...T) T {
	if o.shape != nil {
		o.notes(key, wordsRule(values))
		return values[0]
	}
	text := T(o.text(key))
	if !slices.Contains(values, text) {
		o.fail(key, fmt.Sprintf("one of %v", values))
	}
	return text
}

func (o object) flag(key string) bool {
	if o.notes(key, flagRule) {
		return false
	}
	switch string(o.values[key]) {
	case "true":
		return true
	case "false":
	default:
		o.fail(key, "true or false")
	}
	return false
}

// count reads a whole number without sign, fraction or exponent.
func (o object) count(key string, minimum uint64) uint64 {
	if o.shape != nil {
		o.notes(key, countRule(minimum, math.MaxUint64))
		return minimum
	}
	n, err := strconv.ParseUint(string(o.values[key]), 10, 64)
	if err != nil || n < minimum {
		o.fail(key, fmt.Sprintf("a whole number from %d", minimum))
	}
	return n
}

func (o object) quantity(key string) int {
	if o.notes(key, quantityRule) {
		return 0
	}
	n, err := strconv.Atoi(string(o.values[key]))
	if err != nil {
		o.fail(key, "a whole number")
	}
	return n
}

// maxMilliseconds is the longest time.Duration.
const maxMilliseconds = uint64(math.MaxInt64 / time.Millisecond)

// duration reads a number of milliseconds.
func (o object) duration(key string) time.Duration {
	if o.shape != nil {
		o.notes(key, countRule(0, maxMilliseconds))
		return 0
	}
	n := o.count(key, 0)
	if n > maxMilliseconds {
		o.fail(key, "a time that is less than 292 years")
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// optionalDuration reads a number of milliseconds; given is false if the key is missing.
func (o object) optionalDuration(key string) (d time.Duration, given bool) {
	if !o.has(key) {
		return 0, false
	}
	return o.duration(key), true
}

// optionalDurations reads a list of numbers of milliseconds; none if the key is missing.
func (o object) optionalDurations(key string) (all []time.Duration) {
	if !o.has(key) || o.notes(key, durationsRule) {
		return nil
	}
	for _, raw := range o.list(key) {
		item := object{values: map[string]json.RawMessage{key: raw}, prefix: o.prefix, first: o.first}
		all = append(all, item.duration(key))
	}
	return all
}

// id reads a UUID with its hyphens; uuid.Parse alone accepts other forms.
func (o object) id(key string) uuid.UUID {
	if o.notes(key, idRule) {
		return uuid.Nil
	}
	text := o.text(key)
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(uuid.Nil.String()) || id == uuid.Nil {
		o.fail(key, "a UUID")
		return uuid.Nil
	}
	return id
}

func (o object) optionalID(key string) uuid.UUID {
	if !o.has(key) {
		return uuid.Nil
	}
	return o.id(key)
}

func (o object) object(key string) object {
	if o.shape != nil {
		return o.noteObject(key)
	}
	inner := object{prefix: o.prefix + key + ".", first: o.first}
	if json.Unmarshal(o.values[key], &inner.values) != nil || inner.values == nil {
		o.fail(key, "an object")
	}
	return inner
}

func (o object) list(key string) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(o.values[key], &list) != nil || list == nil {
		o.fail(key, "a list")
	}
	return list
}

// texts reads a list of texts.
func (o object) texts(key string) (texts []string) {
	if o.notes(key, listRule) {
		return nil
	}
	for _, raw := range o.list(key) {
		var text *string
		if json.Unmarshal(raw, &text) != nil || text == nil {
			o.fail(key, "a list of texts")
			break
		}
		texts = append(texts, *text)
	}
	return texts
}

// each reads a list of objects, one call for each.
func (o object) each(key string, read func(item object)) {
	if o.shape != nil {
		o.noteList(key, read)
		return
	}
	for _, raw := range o.list(key) {
		item := object{prefix: key + ".", first: o.first}
		if json.Unmarshal(raw, &item.values) != nil || item.values == nil {
			o.fail(key, "a list of objects")
			break
		}
		read(item)
	}
}

// ifGiven reads further keys of the object where this one is there.
func (o object) ifGiven(key string, read func(object)) {
	if o.shape != nil {
		o.noteIf(key, given, read)
	} else if o.has(key) {
		read(o)
	}
}

// ifEqual reads further keys of the object where the text of this one, which has been read, is the wanted one.
func (o object) ifEqual(key, text, wanted string, read func(object)) {
	if o.shape != nil {
		o.noteIf(key, wordRule(wanted)(), read)
	} else if text == wanted {
		read(o)
	}
}

// The values of on_loss: what a controller does when it loses the gateway.
const (
	runOut = "run_out"
	hold   = "hold"
)

// openEnd is the capability of a controller to keep a line open beyond what was sold.
const openEnd = "open_end"

// longestNote limits the characters of the message about a purchase: a state with it and with the longest
// name is shorter than Longest in any JSON encoding.
const longestNote = 1000

// GatewayHello encodes the first message of a gateway.
func GatewayHello(g Greeting) []byte {
	onLoss := runOut
	if g.HoldOnLoss {
		onLoss = hold
	}
	return encode(struct {
		Type      string    `json:"type"`
		Protocol  int       `json:"protocol"`
		Range     uuid.UUID `json:"range_id"`
		Lane      uuid.UUID `json:"lane_id"`
		Epoch     uint64    `json:"epoch"`
		OnLoss    string    `json:"on_loss"`
		Challenge string    `json:"challenge,omitempty"`
	}{typeHello, protocol, g.Range, g.ID, g.Epoch, onLoss, g.Challenge})
}

type session struct {
	ID         uuid.UUID   `json:"session_id"`
	Customer   string      `json:"customer_name"`
	Group      uuid.UUID   `json:"group_id"`
	Phase      lanes.Phase `json:"phase"`
	Remaining  int64       `json:"remaining_ms"`
	Purchasing bool        `json:"enable_purchasing"`
	WarnAt     []int64     `json:"warn_at_ms,omitempty"`
	StartAt    *int64      `json:"start_at_ms,omitempty"`
	Beyond     *int64      `json:"beyond_ms,omitempty"`
}

type purchase struct {
	ID      uuid.UUID           `json:"purchase_id"`
	Phase   lanes.PurchasePhase `json:"phase"`
	Message string              `json:"user_message"`
}

// State encodes the complete desired state, with the time that its session has left at now. Its
// milliseconds are rounded down, those until its start up: no lane is open longer than it was sold, or before that.
func State(s ProvenState, now lanes.Instant) []byte {
	message := struct {
		Type     string    `json:"type"`
		Revision uint64    `json:"revision"`
		Hold     bool      `json:"hold"`
		Session  *session  `json:"session"`
		Purchase *purchase `json:"purchase"`
		Proof    string    `json:"proof,omitempty"`
	}{Type: typeState, Revision: s.Revision, Hold: s.Hold, Proof: s.Proof}
	if current := s.Session; current != nil {
		message.Session = &session{
			current.ID, current.Customer, current.Group, current.Phase,
			milliseconds(current.Remaining(now)), s.Purchasing, nil, nil, nil,
		}
		if current.HasOpenEnd() {
			message.Session.Beyond = new(milliseconds(current.RunsFor(now) - current.Remaining(now)))
		}
		for _, left := range s.WarnAt {
			message.Session.WarnAt = append(message.Session.WarnAt, milliseconds(left))
		}
		if current.Phase == lanes.Waiting && current.Start != nil {
			message.Session.StartAt = new(milliseconds(current.Start.At.Since(now) + time.Millisecond - 1))
		}
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

// FromGateway decodes a message of a gateway: a Greeting, ProvenState or lanes.Log, or nil for an unknown
// type. The session of a state has its remaining time as Left, and the Mono of its start is the time until then; the
// caller sets Since, and adds it to the start. Nothing is sold, so that its open end is what it may go on beyond that.
// The error names the broken rule.
func FromGateway(text []byte) (any, error) {
	return decode(text, fromGateway)
}

// reader reads a message of a type.
type reader struct {
	kind string
	read func(object) any
}

// fromGateway are the messages of a gateway.
var fromGateway = []reader{
	{typeHello, func(o object) any { return readGreeting(o) }},
	{typeState, func(o object) any { return ProvenState{readState(o), o.optionalToken("proof")} }},
	{typeAck, func(o object) any { return lanes.Log{ID: o.text("log_id"), Seq: o.count("seq", 1)} }},
}

func decode(text []byte, readers []reader) (message any, err error) {
	o := parse(text)
	kind := o.text("type")
	for _, r := range readers {
		if r.kind == kind {
			message = r.read(o)
		}
	}
	if err := o.err(); err != nil {
		return nil, err
	}
	return message, nil
}

func readGreeting(o object) Greeting {
	o.constant("protocol", protocol)
	return Greeting{
		Lane: link.Lane{
			Range: o.id("range_id"), ID: o.id("lane_id"), Epoch: o.count("epoch", 0),
			HoldOnLoss: oneOf(o, "on_loss", runOut, hold) == hold,
		},
		Challenge: o.optionalToken("challenge"),
	}
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
	s.WarnAt = current.optionalDurations("warn_at_ms")
	s.Session.OpenEnd, _ = current.optionalDuration("beyond_ms")
	if ahead, given := current.optionalDuration("start_at_ms"); given {
		s.Session.Start = &lanes.Start{At: lanes.Instant{Mono: ahead}}
	}
	o.ifGiven("session", func(o object) {
		if !o.has("purchase") {
			return
		}
		latest := o.object("purchase")
		s.Session.Purchase = &lanes.Purchase{
			ID: latest.id("purchase_id"), UserMessage: latest.text("user_message"),
			Phase: oneOf(latest, "phase", lanes.Pending, lanes.Accepted, lanes.Declined, lanes.Unresolved),
		}
	})
	return s
}

func readPhase(o object) lanes.Phase {
	return oneOf(o, "phase", lanes.Waiting, lanes.Running, lanes.Paused)
}

func milliseconds(d time.Duration) int64 { return max(0, d).Milliseconds() }

// ControllerHello encodes the first message of a controller, which answers the gateway's hello.
func ControllerHello(h Hello) []byte {
	type state struct {
		Hold      bool         `json:"hold"`
		Session   *uuid.UUID   `json:"session_id"`
		Phase     *lanes.Phase `json:"phase"`
		Remaining *int64       `json:"remaining_ms"`
		Beyond    *int64       `json:"beyond_ms,omitempty"`
		Faults    []string     `json:"faults"`
	}
	inForce := state{Hold: h.Hold, Session: pointerOrNil(h.Session), Faults: append([]string{}, h.Faults...)}
	if h.Session != uuid.Nil {
		remaining := milliseconds(h.Left)
		inForce.Phase, inForce.Remaining = &h.Phase, &remaining
		if h.Beyond > 0 {
			inForce.Beyond = new(milliseconds(h.Beyond))
		}
	}
	capabilities := h.Capabilities
	if h.OpenEnd && !slices.Contains(capabilities, openEnd) {
		capabilities = append(slices.Clone(capabilities), openEnd)
	}
	return encode(struct {
		Type      string    `json:"type"`
		Protocol  int       `json:"protocol"`
		Lane      uuid.UUID `json:"lane_id"`
		Log       string    `json:"log_id"`
		Firmware  string    `json:"firmware"`
		State     state     `json:"state"`
		Capable   []string  `json:"capabilities,omitempty"`
		Challenge string    `json:"challenge,omitempty"`
		Proof     string    `json:"proof,omitempty"`
	}{typeHello, protocol, h.Lane, h.LogID, h.Firmware, inForce, capabilities, h.Challenge, h.Proof})
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

// FromController decodes a message of a controller: a Hello, Applied or lanes.Report, or nil for an unknown
// type. The report's log has no id, which is in the hello. A report of an unknown kind is decoded, because it
// has a number in the log. The error names the broken rule.
func FromController(text []byte) (any, error) {
	return decode(text, fromController)
}

// fromController are the messages of a controller.
var fromController = []reader{
	{typeHello, func(o object) any { return readHello(o) }},
	{typeApplied, func(o object) any { return Applied(o.count("revision", 1)) }},
	{typeReport, func(o object) any { return readReport(o) }},
}

func readHello(o object) Hello {
	o.constant("protocol", protocol)
	h := Hello{Lane: o.id("lane_id")}
	h.LogID = o.name("log_id")
	if o.has("firmware") {
		h.Firmware = o.note("firmware")
	}
	state := o.object("state")
	h.Hold, h.Session = state.flag("hold"), state.optionalID("session_id")
	state.ifGiven("session_id", func(session object) {
		h.Phase, h.Left = readPhase(session), session.duration("remaining_ms")
		h.Beyond, _ = session.optionalDuration("beyond_ms")
	})
	if state.has("faults") {
		h.Faults = state.texts("faults")
	}
	if o.has("capabilities") {
		capabilities := o.texts("capabilities")
		h.OpenEnd, h.Capabilities = slices.Contains(capabilities, openEnd), bounded(capabilities)
	}
	h.Challenge, h.Proof = o.optionalToken("challenge"), o.optionalToken("proof")
	return h
}

// bounded returns as many of the capabilities as are kept.
func bounded(capabilities []string) (kept []string) {
	for _, name := range capabilities {
		if len(kept) < link.MaxCapabilities && len(name) <= link.LongestCapability {
			kept = append(kept, name)
		}
	}
	return kept
}

func readReport(o object) lanes.Report {
	r := lanes.Report{
		Log: lanes.Log{Seq: o.count("seq", 1)}, Kind: o.text("kind"),
		Session: o.optionalID("session_id"), Age: o.duration("age_ms"),
	}
	o.ifEqual("kind", r.Kind, lanes.ReportPurchase, func(o object) {
		r.Purchase = o.id("purchase_id")
		o.each("items", func(item object) {
			r.Items = append(r.Items, lanes.Item{ID: item.text("id"), Qty: item.quantity("qty")})
		})
	})
	o.ifEqual("kind", r.Kind, lanes.ReportFault, func(o object) { r.Detail = o.note("detail") })
	return r
}
