package lanes

import (
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Act is something that staff did, or a POS whose token has a name, on record. Cursors ascend in the order of
// saving. It names no customer: those leave the history after their own term.
type Act struct {
	Cursor  uint64    `json:"cursor"`
	At      time.Time `json:"at"`
	Who     string    `json:"who"`
	What    string    `json:"what"`             // one of the words below
	Lane    uuid.UUID `json:"lane_id"`          // uuid.Nil: about no single lane
	Session uuid.UUID `json:"session_id"`       // uuid.Nil: about none
	Detail  string    `json:"detail,omitempty"` // see the words below
	// AfterClosing says that minutes were sold, or given back, that are used after the range has closed, or that a
	// session was moved or given a start such that it ends after that.
	AfterClosing bool `json:"after_closing,omitempty"`
}

// What they do, and the detail that it has. Of everything else on a lane the word is the command's name: pause, resume,
// stop, help_coming, help_done, hit_noted, cleared, unschedule_start.
const (
	DidCreate = "create"       // the minutes that were sold: 30
	DidStart  = "start"        // of a session whose customer had not entered
	DidModify = "modify"       // the minutes, with their sign: +15
	DidSet    = "set_duration" // the minutes in all: 90
	DidReopen = "reopen"       // of a session that had ended: the minutes that it goes on with
	DidMove   = "move"         // the name of the lane that the session went to; Lane is the one that it left
	// DidSchedule: of a session that begins together with others. The instant, as RFC 3339 has it, in UTC.
	DidSchedule = "schedule_start"

	// DidReserve: a lane for a POS's customer. For how many seconds: 180.
	DidReserve = "reserve"
	// DidEndReservation: the name of the token that had reserved the lane, empty: it has none.
	DidEndReservation = "end_reservation"

	DidOffer  = "offer"   // what was decided: open, closed or configured
	DidMakeUp = "make_up" // the minutes that were given, with their sign: +3, +0
	DidSettle = "settle"  // credit or drop
	DidHold   = "hold"    // the scope: range, lane, or bay and its name
	DidLift   = "lift"    // likewise

	DidRedeliver     = "redeliver"      // the kind of the event
	DidRedeliverPart = "redeliver_part" // of the event log: how many events; a POS, or an operator

	// What an operator does at the operations address.
	DidTestWebhook = "test_webhook" // whether it can be reached: its name, empty: the range's only one
	DidDebug       = "debug_log"    // the range, or a lane, is logged at debug for a while
	DidBackup      = "backup"       // the store is copied to a new file
	DidDrain       = "drain"        // the range is given to another node: its name
	DidVerify      = "verify"       // the sessions of the store are computed again: how far back, 24 h

	// What an operator does with a lane at the operations address.
	DidReconnect = "reconnect" // the link of its hardware is made anew
	DidUnpark    = "unpark"    // it was parked, and is tried again
	DidRestart   = "restart"   // it begins anew from its last saved state
	// DidReadNames: its snapshot is read with the names in it.
	DidReadNames = "read_names"
	// DidFollowFrames: the frames of its link are followed for a while.
	DidFollowFrames = "follow_frames"

	DidSignIn     = "sign_in"        // at the control screen
	DidSignOut    = "sign_out"       // of it
	DidFailSignIn = "sign_in_failed" // a wrong PIN for that name, whoever sent it
)

// Did returns the record of somebody's command to the lane and of the change that followed.
func Did(who string, at Instant, lane Lane, command Command, change Change) Act {
	act := Act{At: at.Wall, Who: who, What: command.Name(), Lane: lane.ID}
	for _, on := range []*Session{change.Lane.Session, lane.Session} {
		if on != nil {
			act.Session = on.ID
		}
	}
	act.AfterClosing = change.endsAfterClosing(at)
	switch cmd := command.(type) {
	case Create:
		act.Detail = strconv.Itoa(cmd.Minutes)
	case Reopen:
		act.Detail = strconv.Itoa(int(change.Lane.Session.Sold / time.Minute))
	case Enter:
		act.What = DidStart
	case SetDuration:
		act.Detail = strconv.Itoa(cmd.Minutes)
	case Modify:
		act.Detail = signed(cmd.Minutes)
	case MakeUp:
		act.Detail = signed(int((change.Lane.Session.Sold - lane.Session.Sold) / time.Minute))
	case Schedule:
		act.Detail = cmd.Start.At.Wall.UTC().Format(time.RFC3339)
	case Offer:
		act.Session, act.Detail = uuid.Nil, cmd.Sale.String()
	case Reserve:
		act.Session, act.Detail = uuid.Nil, strconv.Itoa(int(cmd.Reservation.Term/time.Second))
	case EndReservation:
		if act.Session = uuid.Nil; lane.Reservation != nil {
			act.Detail = lane.Reservation.By
		}
	case HitNoted:
		act.Session = uuid.Nil
	case Cleared:
		if lane.Uncleared != nil {
			act.Session = lane.Uncleared.Session
		}
	case Clear:
		act.What, act.Session, act.Detail = DidSettle, change.Settled.Session, "drop"
		if cmd.Credit {
			act.Detail = "credit"
		}
	}
	return act
}

func signed(minutes int) string {
	if minutes < 0 {
		return strconv.Itoa(minutes)
	}
	return "+" + strconv.Itoa(minutes)
}
