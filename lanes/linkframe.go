package lanes

import "time"

// LinkFrame is a frame on the link to a lane's hardware as an operator may see it: what either side proves itself by,
// and what names a person, is redacted.
type LinkFrame struct {
	At      time.Time
	Sent    bool   // by the gateway; otherwise it has received it
	Kind    string // the type of a message, or one of the words below
	Address string // of the controller, as the gateway sees it; empty for one in the process
	Bytes   int64  // of its payload
	Shown   []byte // as JSON; nil: nothing of it may be shown
	Problem string // the rule that it breaks, empty for none
}

// The kinds of frames that are no messages of a type which the link has.
const (
	FrameUnknown = "unknown" // a message of another type
	FrameText    = "text"    // a message that is no JSON object
	FrameBinary  = "binary"
	FramePing    = "ping"
	FramePong    = "pong"
	FrameClose   = "close"
)

// FollowedFrames are the frames of a lane's link from the beginning of a look at them on. Its functions may be called
// from any goroutine.
type FollowedFrames struct {
	// Next returns the frames since the call before, and how many before them were dropped. It does not wait.
	Next func() (frames []LinkFrame, dropped uint64)
	// Wake gets a value when there are frames.
	Wake <-chan struct{}
	// Ended is closed when the range has stopped here; Why then returns the reason, as the range's methods do.
	Ended <-chan struct{}
	Why   func() error
	// Stop ends the look. It may be called again.
	Stop func()
}
