package lanes_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"

	"rangegate/lanes"
)

// The steps of a story about purchases. A purchase has a name, and its items are the step's other words: the product,
// and how many of it (time=30 targets=2).
//
//	buy id=a time=30       it is asked for
//	ask-pos id=a           the moment before it is sent to the POS
//	pos-answers id=a status=402      what came of that, under it what the POS says to the customer; or error=timed-out
//	busy id=a              it could not be sent in time
//	clear id=a credit      staff settle it by hand
//	report kind=purchase seq=1 id=a time=30

// shop is what a story remembers of its purchases.
type shop struct {
	names   map[uuid.UUID]string
	session map[uuid.UUID]uuid.UUID // it is bought for
}

func newShop() shop {
	return shop{map[uuid.UUID]string{uuid.Nil: "without an id"}, map[uuid.UUID]uuid.UUID{uuid.Nil: uuid.Nil}}
}

// purchase is the id of the purchase that the step is about.
func (s shop) purchase(t *testing.T, d *datadriven.TestData, session uuid.UUID) uuid.UUID {
	var name string
	d.ScanArgs(t, "id", &name)
	if name == "none" {
		return uuid.Nil
	}
	id := uuid.NewSHA1(uuid.Nil, []byte(name))
	if _, known := s.names[id]; !known {
		s.names[id], s.session[id] = "purchase "+name, session
	}
	return id
}

// items is what the step's other words say is bought.
func items(t *testing.T, d *datadriven.TestData) (items []lanes.Item) {
	for _, arg := range d.CmdArgs {
		switch {
		case len(arg.Vals) != 1 || strings.Contains(" id log seq kind ago ", " "+arg.Key+" "):
			continue
		case arg.Key == "different-items":
			for i := range number(t, arg) {
				items = append(items, lanes.Item{ID: fmt.Sprintf("item-%d", i), Qty: 1})
			}
		case arg.Key == "a-name-so-long":
			items = append(items, lanes.Item{ID: strings.Repeat("ü", number(t, arg)), Qty: 1})
		case arg.Key == "no-name":
			items = append(items, lanes.Item{Qty: number(t, arg)})
		default:
			items = append(items, lanes.Item{ID: arg.Key, Qty: number(t, arg)})
		}
	}
	return items
}

func number(t *testing.T, arg datadriven.CmdArg) int {
	n, err := strconv.Atoi(arg.Vals[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// purchasing is the command of a step about purchases, nil for another step.
func (s shop) purchasing(t *testing.T, d *datadriven.TestData, session uuid.UUID) lanes.Command {
	switch d.Cmd {
	case "buy":
		return lanes.Buy{Session: session, Purchase: s.purchase(t, d, session), Items: items(t, d)}
	case "ask-pos":
		id := s.purchase(t, d, session)
		return lanes.Request{Session: s.session[id], Purchase: id}
	case "pos-answers":
		return s.settle(s.purchase(t, d, session), answered(t, d))
	case "busy":
		return s.settle(s.purchase(t, d, session), lanes.Busy("no slot was free for 5 s"))
	case "clear":
		return lanes.Clear{Purchase: s.purchase(t, d, session), Credit: d.HasArg("credit")}
	}
	return nil
}

func (s shop) settle(id uuid.UUID, settle lanes.Settle) lanes.Settle {
	settle.Session, settle.Purchase = s.session[id], id
	return settle
}

// answered is what comes of the answer of the POS, or of there being none.
func answered(t *testing.T, d *datadriven.TestData) lanes.Settle {
	var attempt lanes.Attempt
	if d.HasArg("status") {
		d.ScanArgs(t, "status", &attempt.Status)
		if attempt.Status/100 != 2 {
			attempt.Error = fmt.Sprintf("%s: status %d", lanes.Refused, attempt.Status)
		}
	}
	if d.HasArg("error") {
		d.ScanArgs(t, "error", &attempt.Error)
		attempt.Error = strings.ReplaceAll(attempt.Error, "-", " ")
	}
	return lanes.Verdict(attempt, lanes.Answer{UserMessage: strings.TrimSpace(d.Input)})
}

// tell says what purchase the change ends, and why, as it stands in the log.
func (s shop) tell(change lanes.Change) string {
	p := change.Settled
	if p == nil {
		return ""
	}
	return s.names[p.ID] + " " + s.because(p)
}

// shows is the purchases of the lane: the one that the customer sees, and those that staff see to.
func (s shop) shows(lane lanes.Lane) string {
	var out strings.Builder
	if lane.Session != nil && lane.Session.Purchase != nil {
		p := lane.Session.Purchase
		fmt.Fprintf(&out, "  the customer sees %s: %s", s.names[p.ID], p.Phase)
		if p.UserMessage != "" {
			fmt.Fprintf(&out, ", %q", p.UserMessage)
		}
		out.WriteString("\n")
	}
	for _, open := range lane.Open {
		fmt.Fprintf(&out, "  kept for staff: %s, %s", s.names[open.ID], s.because(open))
	}
	return out.String()
}

func (s shop) because(p *lanes.Purchase) string {
	text := string(p.Phase)
	if p.Reason != "" {
		text += ", because: " + p.Reason
	}
	return text + "\n"
}

func basket(items []lanes.Item) string {
	var out strings.Builder
	for _, item := range items {
		fmt.Fprintf(&out, " %s=%d", item.ID, item.Qty)
	}
	return out.String()
}
