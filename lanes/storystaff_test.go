package lanes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"

	"rangegate/lanes"
)

// The steps of a story about staff. A step that staff take has by-staff among its words, and is on record.
//
//	offer sale=closed      open, closed, or configured
//	call-help              the customer, at the screen of the lane
//	help-coming  help-done  hit-noted  cleared
//	help-done called=10:00:00   the call of then, and no other
//	hit-noted hit=10:00:00      likewise the hit
//	cleared of=another          the customers of another session than the one that ended last have left
//	reopen                 the session that ended last
//	make-up give           of the time that ran while the gateway was down; without give: nothing

// staffCommand is the command of a step about staff, nil for another step.
func staffCommand(t *testing.T, d *datadriven.TestData, session uuid.UUID) lanes.Command {
	switch d.Cmd {
	case "offer":
		return lanes.Offer{Sale: map[string]lanes.Sale{
			"open": lanes.OnSale, "closed": lanes.OffSale, "configured": lanes.AsConfigured,
		}[word(t, d, "sale")]}
	case "call-help":
		return lanes.CallHelp{}
	case "help-coming":
		return lanes.HelpComing{Called: timeOf(t, d, "called")}
	case "help-done":
		return lanes.HelpDone{Called: timeOf(t, d, "called")}
	case "hit-noted":
		return lanes.HitNoted{Hit: timeOf(t, d, "hit")}
	case "count-turn":
		return lanes.CountTurn{}
	case "cleared":
		if d.HasArg("of") {
			return lanes.Cleared{Session: uuid.Max}
		}
		return lanes.Cleared{}
	case "make-up":
		return lanes.MakeUp{Session: session, Give: d.HasArg("give")}
	}
	return nil
}

// timeOf is when that happened which a step is about; zero: whichever it is.
func timeOf(t *testing.T, d *datadriven.TestData, name string) time.Time {
	if !d.HasArg(name) {
		return time.Time{}
	}
	at, err := time.Parse(time.DateTime, "2026-05-01 "+word(t, d, name))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// issuer is who gives the command.
func issuer(d *datadriven.TestData) lanes.By {
	if d.HasArg("by-staff") {
		return lanes.ByStaff
	}
	return lanes.ByPOS
}

// describeRecord describes the record of a step that staff took.
func describeRecord(
	now lanes.Instant, d *datadriven.TestData, before lanes.Lane, command lanes.Command, change lanes.Change,
) string {
	if issuer(d) != lanes.ByStaff || !change.Changes(before) {
		return ""
	}
	act := lanes.Did("sam", now, before, command, change)
	text := fmt.Sprintf("on record: %s at %s: %s", act.Who, act.At.Format("15:04:05"), act.What)
	if act.Detail != "" {
		text += " " + act.Detail
	}
	if act.Session != uuid.Nil {
		text += ", session " + strings.TrimLeft(act.Session.String()[24:], "0")
	}
	if act.AfterClosing {
		text += ", after closing"
	}
	return text + "\n"
}

// describeForStaff describes what staff see of a lane beside its session and its purchases.
func describeForStaff(lane lanes.Lane, now lanes.Instant) string {
	var out strings.Builder
	if lane.Sale != lanes.AsConfigured {
		fmt.Fprintf(&out, "  staff have it %s, for sale: %v\n", lane.Sale, lane.ForSale())
	}
	if help := lane.Help; help != nil {
		fmt.Fprintf(&out, "  help was called at %s", help.At.Format("15:04:05"))
		if help.Coming {
			out.WriteString(", and is coming")
		}
		out.WriteString("\n")
	}
	if left := lane.ToClear(now); left > 0 {
		fmt.Fprintf(&out, "  to be cleared since %s, counts as clear in %s\n",
			lane.Uncleared.Since.Wall.Format("15:04:05"), left)
	}
	if r := lane.Reservation; r != nil {
		if left := lane.ReservedFor(now); left > 0 {
			fmt.Fprintf(&out, "  being sold, reserved for %s more\n", left)
		} else {
			out.WriteString("  was reserved last, which is over\n")
		}
	}
	if lane.Stray != nil {
		fmt.Fprintf(&out, "  a carrier was hit at %s without a session\n", lane.Stray.Format("15:04:05"))
	}
	if s := lane.Session; s != nil && s.RanOn > 0 {
		fmt.Fprintf(&out, "  ran on for %s while the gateway was down\n", s.RanOn)
	}
	return out.String()
}
