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
//	buy id=a time=30       the customer buys it
//	ask-pos id=a           the moment before it is sent to the POS
//	pos-answers id=a status=402      what came of that, under it what the POS says to the customer; or error=timed-out
//	busy id=a              it could not be sent in time
//	clear id=a credit      staff settle it by hand
//	report kind=purchase seq=1 id=a time=30

// purchases is what a story remembers of its purchases.
type purchases struct {
	names    map[uuid.UUID]string
	sessions map[uuid.UUID]uuid.UUID // by purchase
}

func newPurchases() purchases {
	return purchases{map[uuid.UUID]string{uuid.Nil: "without an id"}, map[uuid.UUID]uuid.UUID{uuid.Nil: uuid.Nil}}
}

// purchase is the id of the purchase that the step is about.
func (p purchases) purchase(t *testing.T, d *datadriven.TestData, session uuid.UUID) uuid.UUID {
	var name string
	d.ScanArgs(t, "id", &name)
	if name == "none" {
		return uuid.Nil
	}
	id := uuid.NewSHA1(uuid.Nil, []byte(name))
	if _, named := p.names[id]; !named {
		p.names[id], p.sessions[id] = "purchase "+name, session
	}
	return id
}

// parseItems reads the items from the step's other words.
func parseItems(t *testing.T, d *datadriven.TestData) (items []lanes.Item) {
	for _, arg := range d.CmdArgs {
		switch {
		case len(arg.Vals) != 1 || strings.Contains(" id log seq kind ago ", " "+arg.Key+" "):
			continue
		case arg.Key == "different-items":
			for i := range parseNumber(t, arg) {
				items = append(items, lanes.Item{ID: fmt.Sprintf("item-%d", i), Qty: 1})
			}
		case arg.Key == "a-name-so-long":
			items = append(items, lanes.Item{ID: strings.Repeat("ü", parseNumber(t, arg)), Qty: 1})
		case arg.Key == "no-name":
			items = append(items, lanes.Item{Qty: parseNumber(t, arg)})
		default:
			items = append(items, lanes.Item{ID: arg.Key, Qty: parseNumber(t, arg)})
		}
	}
	return items
}

func parseNumber(t *testing.T, arg datadriven.CmdArg) int {
	n, err := strconv.Atoi(arg.Vals[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// command is the command of a step about purchases, nil for another step.
func (p purchases) command(t *testing.T, d *datadriven.TestData, session uuid.UUID) lanes.Command {
	switch d.Cmd {
	case "buy":
		return lanes.Buy{Session: session, Purchase: p.purchase(t, d, session), Items: parseItems(t, d)}
	case "ask-pos":
		id := p.purchase(t, d, session)
		return lanes.Request{Session: p.sessions[id], Purchase: id}
	case "pos-answers":
		return p.settle(p.purchase(t, d, session), verdict(t, d))
	case "busy":
		return p.settle(p.purchase(t, d, session), lanes.Busy("no slot was free for 5 s"))
	case "clear":
		id := p.purchase(t, d, session)
		return lanes.Clear{Session: p.sessions[id], Purchase: id, Credit: d.HasArg("credit")}
	}
	return nil
}

func (p purchases) settle(id uuid.UUID, settle lanes.Settle) lanes.Settle {
	settle.Session, settle.Purchase = p.sessions[id], id
	return settle
}

// verdict is what the answer of the POS comes to, or that there is none.
func verdict(t *testing.T, d *datadriven.TestData) lanes.Settle {
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

// describeSettled names the purchase that the change ends, and the reason in the log.
func (p purchases) describeSettled(change lanes.Change) string {
	if change.Settled == nil {
		return ""
	}
	return p.names[change.Settled.ID] + " " + outcome(change.Settled)
}

// describe lists the purchases of the lane: the one that the customer sees, and those that are kept for staff.
func (p purchases) describe(lane lanes.Lane) string {
	var out strings.Builder
	if lane.Session != nil && lane.Session.Purchase != nil {
		shown := lane.Session.Purchase
		fmt.Fprintf(&out, "  the customer sees %s: %s", p.names[shown.ID], shown.Phase)
		if shown.UserMessage != "" {
			fmt.Fprintf(&out, ", %q", shown.UserMessage)
		}
		out.WriteString("\n")
	}
	for _, open := range lane.Open {
		fmt.Fprintf(&out, "  kept for staff: %s, %s", p.names[open.ID], outcome(open))
	}
	return out.String()
}

// outcome is the phase of the purchase and the reason for it.
func outcome(p *lanes.Purchase) string {
	text := string(p.Phase)
	if p.Reason != "" {
		text += ", because: " + p.Reason
	}
	return text + "\n"
}

func describeItems(items []lanes.Item) string {
	var out strings.Builder
	for _, item := range items {
		fmt.Fprintf(&out, " %s=%d", item.ID, item.Qty)
	}
	return out.String()
}
