// Package lanes holds the rules of a shooting lane: what may be asked of it, what follows, and how its time runs.
//
// It is pure. Values go in and values come out; nothing here reads a clock, waits, writes or logs. Whoever drives a
// lane brings the instant and does what the change says:
//
//	change, err := lane.Decide(now, command)
//	  err != nil   refused: nothing changes, the error carries a code (error.go)
//	  otherwise    1. what closes the fire line goes to the hardware at once
//	               2. change.Lane, .Other, .Events and .Ended are saved together; the events are announced
//	                  in the order of saving
//	               3. change.Lane is the lane from now on; a timer is armed at its Deadline
//	               4. what opens the fire line goes to the hardware
//	               5. the answer is given
//
// Dropping a change is its rollback. Only a closing change (hold, pause, stop, expiry) stays in force although it
// could not be saved: a lane that was told to stop has stopped.
//
// The phases of a session (SPEC.md part 3):
//
//	create, auto_start: false          create, auto_start: true
//	         │                                   │
//	         ▼          customer entered         ▼
//	      waiting ──────────────────────────► running ◄──┐
//	         │                                │  │ ▲     │ modify, set duration, advance
//	         │                       pause or │  │ │ resume, or end of the hold
//	         │                           hold ▼  │ │ that made the pause
//	         │                              paused─┘
//	         │ stop                          │   │ stop, expiry: at once, or after the grace (grace.go)
//	         └──────────────► ended ◄────────┴───┘
//
// A purchase at the lane (purchase.go, buy.go) is the session's until the session ends:
//
//	buy ──► pending ──► sent ──► accepted     its minutes are added in this same change
//	           │          ├────► refused      nothing was bought, and the customer is told why
//	           │          └────► unresolved   nobody knows, or the session has ended: Lane.Open keeps it until staff clear it
//	           └───────────────► refused      it could not be sent in time: the shop is busy
//
// A free lane may have a Reservation (reservation.go): until it is over, only the holder of its token buys the lane.
//
// Between two sessions a lane has a Turn (turn.go), from the end of the one to the begin of the other.
//
// While a hold lies over the lane, a session that begins or resumes is paused in the same change, before any of its
// time is used. Waiting and paused sessions keep their time; only a running one has a deadline.
// One in its grace has none left.
package lanes
