package lanes

import (
	"time"

	"github.com/google/uuid"
)

// Health is how the machinery behind a range is doing, for staff and operators.
type Health struct {
	Links    map[LinkState]int // lanes by how their link stands; every state is there
	Lanes    []LinkHealth      // whose link is not up, or was made anew of late: the worst first, at most MaxUnwell
	Writable bool              // the store took the last write in time
	Unsaved  int               // changes that are not durable yet
	Waiting  int               // events that wait for their delivery
	LateP99  time.Duration     // of the timers that ended sessions of late: 99 of 100 were not later
	Restarts map[string]int    // actors of the range that were started again after a panic, by kind
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

// MaxUnwell bounds the list of a Health.
const MaxUnwell = 100
