package lanes

// Error is a refusal: a sentence for people and logs, and a stable code for programs (WIRE.md, Errors).
type Error struct {
	code     string
	sentence string
}

func (e *Error) Error() string { return e.sentence }

// Code is the stable name of the refusal.
func (e *Error) Code() string { return e.code }

// The refusals of a lane and its range. After each of them nothing has changed.
var (
	ErrLaneNotFound    = &Error{"lane_not_found", "this range has no such lane"}
	ErrGroupNotFound   = &Error{"group_not_found", "this range has no such group"}
	ErrSessionNotFound = &Error{"session_not_found", "this range has no such session"}
	ErrSessionEnded    = &Error{"session_ended", "the session has ended"}

	ErrLaneOccupied      = &Error{"lane_occupied", "lane is occupied by another session"}
	ErrLaneNotAccessible = &Error{"lane_not_accessible", "lane is closed for sale"}
	ErrLaneNotUsable     = &Error{"lane_not_usable", "the lane's hardware is not in working order"}
	ErrNoOpenEnd         = &Error{
		"lane_lacks_capability",
		"the lane's controller is not reached, or does not keep a line open beyond what was sold",
	}
	ErrAfterClosing = &Error{"after_closing", "the range closes before so many minutes would be used"}
	ErrLaneNotClear = &Error{
		"lane_not_clear",
		"the time of the lane's last session is up, and nobody has said that the lane is clear",
	}
	ErrLaneReserved       = &Error{"lane_reserved", "the lane is being sold to somebody else"}
	ErrDurationOutOfRange = &Error{"duration_out_of_range", "the session's duration must stay within 1 to 480 minutes"}
	ErrNoTimeLeft         = &Error{"no_time_left", "that would leave the session no time; to end it, stop it"}

	ErrReservationOver = &Error{"reservation_over", "the lane is not reserved under this token: its reservation " +
		"was ended, or somebody else had the lane since"}
	ErrReservationNotFound = &Error{
		"reservation_not_found",
		"there is no such reservation: it is over, was used or was ended",
	}
	ErrReservationLimit = &Error{
		"reservation_limit",
		"this token would have more lanes reserved at once than it may; nothing was reserved",
	}
	ErrNoLanesFit = &Error{"no_lanes_fit", "so many lanes that fit cannot be sold at the moment; nothing was reserved"}

	ErrNotWaiting = &Error{"not_waiting", "the session has begun already"}
	ErrNotRunning = &Error{"not_running", "the session's time is not running"}
	ErrNotPaused  = &Error{"not_paused", "the session is not paused"}
	ErrCeasefire  = &Error{"ceasefire", "a hold is in force over the lane; a session that the hold paused resumes " +
		"when it ends, one that was paused before stays paused"}
	ErrInGrace = &Error{"in_grace", "the session's time is used up; it ends unless minutes are added"}

	ErrStartScheduled = &Error{"start_scheduled", "the session is to begin with another start; delete that one first"}
	ErrStartNotFound  = &Error{"start_not_found", "no session on the lanes of this range has such a start"}

	ErrNotReopenable = &Error{"not_reopenable", "the session has not ended, ended more than 10 minutes ago or " +
		"without time left, or was reopened before"}

	ErrNoPurchasing     = &Error{"no_purchasing", "lane purchasing is not enabled for this session"}
	ErrPurchasePending  = &Error{"purchase_pending", "another purchase of this lane is under way"}
	ErrPurchaseNotFound = &Error{"purchase_not_found", "no such purchase is open on this lane"}
	// ErrPurchaseNotUnique: the ids of purchases are made at the lanes.
	ErrPurchaseNotUnique = &Error{
		"purchase_not_unique",
		"purchases of several sessions have this id: give the session_id too; nothing was changed",
	}
	ErrOwesMore = &Error{"owes_more", "more minutes were used beyond what was sold than the purchase has"}
	ErrItems    = &Error{"purchase_malformed", "a purchase has an id and 1 to 50 items, each with a product " +
		"id of 1 to 255 characters and a quantity from 1 to 1000000"}
	ErrTooManyOpen = &Error{"too_many_unresolved", "too many purchases of this lane wait for staff"}

	ErrEventNotFound    = &Error{"event_not_found", "the event log of this range has no such event"}
	ErrNotRedeliverable = &Error{
		"not_redeliverable",
		"a purchaseRequest is never sent again, nor an event whose delivery has not ended",
	}

	ErrWebhookNotConfigured = &Error{"webhook_not_configured", "this range has no webhook"}
	ErrWebhookGone          = &Error{
		"webhook_gone",
		"the webhook has answered 410 Gone, and gets nothing until the gateway's configuration is reloaded",
	}
	ErrProductsNotConfigured = &Error{"products_not_configured", "this range has no products API"}
	ErrWebhookFailed         = &Error{"webhook_failed", "the webhook gave no answer"}

	ErrNotParked  = &Error{"not_parked", "the lane is not parked"}
	ErrLaneParked = &Error{
		"lane_parked",
		"the lane is parked after repeated defects of the gateway; it can be tried again, and not restarted",
	}

	ErrTooManyFollowers = &Error{
		"too_many_followers",
		"as many as may follow the frames of this lane's link do so already",
	}

	ErrKeyReused = &Error{"idempotency_key_reused", "this Idempotency-Key was used with another request"}
	ErrKeysFull  = &Error{"overloaded", "too many idempotency keys are kept for this range"}
)

// ErrDue means that the session on the lane is due and has to expire first.
var ErrDue = &Error{"internal", "the session on the lane is due"}

// ErrElsewhere means that the session that a report is about is not on the lane; whether it is known has to
// be looked up.
var ErrElsewhere = &Error{"internal", "whether the session is known has to be looked up"}

// The failures of the gateway itself. What has happened to the lane is in each sentence.
var (
	ErrStoreUnavailable = &Error{"store_unavailable", "the gateway cannot save at the moment; nothing was changed"}
	ErrStarting         = &Error{"starting", "the range is still being brought back; nothing was changed"}
	ErrOverloaded       = &Error{"overloaded", "too many commands wait for this lane; nothing was changed"}
	ErrNotOwner         = &Error{"not_owner", "another gateway serves this range; nothing was changed"}
	// ErrNotOwnerClosed is ErrNotOwner for what closes a fire line: that goes to the hardware before it is saved.
	ErrNotOwnerClosed = &Error{"not_owner", "another gateway serves this range and does not know of this command, " +
		"which may have closed the fire line here; repeat it"}
	ErrNotSaved = &Error{"not_saved", "in force on the lane, not yet durable; repeating is safe"}
	ErrTimeout  = &Error{"timeout", "the outcome is not known; repeat with the same Idempotency-Key"}
	ErrInternal = &Error{"internal", "a defect of the gateway; the log has more under this trace_id"}
)
