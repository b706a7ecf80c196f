package lanes

import (
	"time"

	"github.com/google/uuid"
)

// Health is the state of what serves a range: links, store, webhook and actors. It is for staff and operators.
type Health struct {
	Links    map[LinkState]int // lanes by the state of their link; every state is present
	Lanes    []LinkHealth      // whose link is not up, or was made anew of late: the worst first, at most MaxUnwell
	Insecure int               // lanes whose link can be taken over from its network: no wss, link_tls or key
	Writable bool              // the store took the last write in time
	Unsaved  int               // changes that are not durable yet
	Waiting  int               // events that wait for their delivery
	Retrying int               // failed events that are sent again later
	// when the last of them will have been, if the webhook takes each from now on; zero: none
	LevelAt  time.Time
	LateP99  time.Duration  // of the timers that ended sessions of late: 99 of 100 were not later
	Restarts map[string]int // actors of the range that were started again after a panic, by kind

	Uncleared int // lanes whose session's time is up, and that are not clear
	Turns     TurnFigures
}

// StoreHealth is how the store and the webhooks of a range are doing, for operators.
type StoreHealth struct {
	Epoch      uint64
	Flush      uint64        // number of the last durable flush in the epoch
	LastFlush  time.Time     // zero: none yet
	Took       time.Duration // of that
	Failures   int           // attempts to flush that failed since the range was loaded
	FailedAt   time.Time     // the last of them; zero: none has
	Error      string        // of it
	Outage     StoreOutage
	Unsaved    int       // changes that are not durable yet
	Checkpoint time.Time // of the last one that is durable; zero: none is
	Offset     *Offset   // of the wall clock; nil: not measured
	Keys       int       // idempotency keys
	MostKeys   int
	Webhooks   []WebhookState
}

// WebhookState is what waits for a webhook, and how it has answered of late.
type WebhookState struct {
	Name     string // empty: the only one
	Waiting  int    // events that wait for their first attempt
	Retrying int    // events that await their retry
	Oldest   time.Time
	Gone     bool // it has answered 410
	Failing  Failing
}

// LinkHealth is how a lane's link is doing.
type LinkHealth struct {
	Lane      uuid.UUID
	Name      string
	Link      LinkState
	Since     time.Time // it is in that state
	Restarts  int       // connections that failed or could not be made since the gateway started
	LastError string    // of the last of them, empty when there was none
}

// LinkChange is a link that has come to be in another state.
type LinkChange struct {
	At       time.Time
	Link     LinkState
	Error    string // that the link was lost with; empty for one that is up
	Firmware string // of the controller that it is up to, empty where that does not say
	// Capabilities are what that controller can do beside the protocol, by its hello.
	Capabilities []string
	Address      string // where that is, as the gateway sees it; empty for one in the process
}

// MaxLinkChanges is how many changes of its link a lane remembers.
const MaxLinkChanges = 20

// MaxUnwell bounds every list of a Health and of an ActorHealth.
const MaxUnwell = 100

// ActorHealth is how the actors of a range are doing, for operators. No customer is named in it.
type ActorHealth struct {
	Health
	Live      map[string]int // actors by kind
	Restarted []LaneRestarts // lanes with actors that were started again: the latest first, at most MaxUnwell
	Slowest   []LaneCommand  // the command of each lane that took longest of late: the longest first, at most MaxUnwell
	NotSaved  []LaneUnsaved  // lanes with changes that are not durable yet: the oldest first, at most MaxUnwell

	RestartedLanes, NotSavedLanes int // how many there are in all
}

// LaneRestarts is what became of a lane's actors, its link's and its connections' included, since the gateway started.
type LaneRestarts struct {
	Lane     uuid.UUID
	Name     string
	Restarts int
	Last     time.Time
	Kind     string // of the actor that panicked last
	Message  string // that it panicked on, as the log names it
}

// Panics are those of the actors of one kind, of a lane or of a range, since the range was started here.
type Panics struct {
	Count   int
	Last    time.Time
	Message string // that the last one was on, as the log names it
	Said    string // the text of the last one
}

// LaneCommand is a command and the lane that it reached.
type LaneCommand struct {
	Lane uuid.UUID
	Name string
	Commanded
}

// LaneUnsaved is the changes of a lane that are not durable yet.
type LaneUnsaved struct {
	Lane    uuid.UUID
	Name    string
	Since   time.Time // the oldest of them
	Changes int       // 0: everything is saved
}

// TracedCommand is a LaneCommand with what became of it at the lane's hardware.
type TracedCommand struct {
	LaneCommand
	Sent    time.Time // the state that it has led to went to the controller; zero: none did, or it is not remembered
	Applied time.Time // the controller has confirmed that state; zero likewise
}

// MaxCommands is how many commands a lane remembers.
const MaxCommands = 50

// Commanded is a command that reached a lane, and what became of it.
type Commanded struct {
	At      time.Time // it reached the lane
	By      By
	Who     string // of staff; operator, or empty where nobody in particular asked
	Command string
	Result  string        // ok, or the code of the refusal
	Took    time.Duration // from then on to its answer, the save included
	Waited  time.Duration // of that, until it was decided
	Session uuid.UUID     // that it was about, or that was on the lane; uuid.Nil: none
	Trace   string        // of the request, empty without one
}

// Hardware is what is wanted of the hardware of a lane, and what its controller has said last of its state.
type Hardware struct {
	Wanted  *HardwareState // nil: nothing yet, as the lane is not loaded
	Applied *HardwareState // nil: this life of the lane has heard nothing of its controller
	InHello bool           // the controller has said Applied in its hello, and confirmed nothing since
	Stage   Stage          // of Wanted, empty while that is nil
}

// HardwareState is a state of a lane's hardware, and since when it is wanted or known to be in force. Never modified.
type HardwareState struct {
	Since   time.Time
	Hold    bool
	Session uuid.UUID     // uuid.Nil: none, and the fire line is locked
	Phase   Phase         // of the session
	Left    time.Duration // likewise, at Since
}

// Stage is how far the state that is wanted of a lane's hardware has come.
type Stage string

// The stages.
const (
	Unlinked  Stage = "unlinked"    // the link is not up: it goes to the controller as soon as that is
	Undecided Stage = "undecided"   // not sent: it would release a controller that is locked for no known reason
	MayBeLost Stage = "may_be_lost" // not sent: it would open the fire line, and another gateway may have the range
	Sent      Stage = "sent"        // and not confirmed yet
	InForce   Stage = "in_force"    // the controller has confirmed it
)

// LaneHealth is how a lane and its actors are doing, for operators. No customer is named in it.
type LaneHealth struct {
	Link      LinkHealth
	Session   uuid.UUID // uuid.Nil: the lane is free
	Phase     Phase     // of the session
	Remaining time.Duration
	Held      bool   // a hold lies over the lane
	Locked    bool   // its hardware has confirmed that
	NotUsable string // why it is not, empty when it is
	Hardware  Hardware

	Turn       *time.Duration // that the lane has waited for its next session; nil: it does not wait
	TurnCounts bool           // it is not held, for sale or sold, and the range is open
	LastTurn   *TurnTime      // nil: none is over

	Restarts LaneRestarts
	Unsaved  LaneUnsaved
	Commands []Commanded // the newest first, at most MaxCommands; those of this life of the gateway
}
