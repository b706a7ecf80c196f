package lanes

import (
	"time"

	"github.com/google/uuid"
)

// Act is something that staff did, on record. Cursors ascend in the order of saving.
type Act struct {
	Cursor  uint64    `json:"cursor"`
	At      time.Time `json:"at"`
	Who     string    `json:"who"`
	What    string    `json:"what"`             // the name of a command, or hold, lift, settle
	Lane    uuid.UUID `json:"lane_id"`          // uuid.Nil: about no single lane
	Session uuid.UUID `json:"session_id"`       // uuid.Nil: about none
	Detail  string    `json:"detail,omitempty"` // such as the minutes, or the scope of a hold
}
