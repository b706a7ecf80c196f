package lanes

import (
	"strings"
	"time"
)

// Attempt is the one delivery of an event, or why there was none. It is written before the request goes out, as
// interrupted, and again when the outcome is known: a crash between the two leaves it interrupted.
type Attempt struct {
	At       time.Time     `json:"at"`
	Status   int           `json:"status,omitempty"` // the receiver's HTTP status, 0 when it gave none
	Error    string        `json:"error,omitempty"`  // empty for a delivery; else one of the words below, and maybe ": " and more
	Duration time.Duration `json:"duration_ns"`
}

// The errors of attempts, each the first words of Attempt.Error.
const (
	Refused     = "refused"     // the receiver answered, and not with 2xx
	TimedOut    = "timed out"   // no answer in time
	Unreachable = "unreachable" // the request could not be sent
	Interrupted = "interrupted" // begun, and nobody saw its end
	NotSent     = "not sent"    // never begun, and never will be
	Dropped     = "dropped"     // never begun: too many events were waiting, or their range has left
)

// NoWebhook is why an event is not sent that was made while no webhook was configured.
const NoWebhook = NotSent + ": no webhook is configured"

// Outcomes are the words that there are for what became of an event.
var Outcomes = []string{"delivered", "refused", "timed_out", "unreachable", "interrupted", "not_sent", "dropped"}

// Outcome is one word for what became of the event, one of Outcomes.
func (a Attempt) Outcome() string {
	word, _, _ := strings.Cut(a.Error, ":")
	if word == "" {
		return "delivered"
	}
	return strings.ReplaceAll(word, " ", "_")
}

// Answered tells whether the receiver gave a status, whichever.
func (a Attempt) Answered() bool { return a.Status != 0 }
