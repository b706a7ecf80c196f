package lanescreen

import (
	"net/http"
	"slices"

	"github.com/google/uuid"

	"rangegate/api/screens"
	"rangegate/lanes"
)

// told is one message: the lane, whole.
type told struct {
	Now  string `json:"now"`
	Lane shown  `json:"lane"`
}

type beat struct {
	Now string `json:"now"`
}

// shown is the lane as its shooter sees it, at the moment of the message.
type shown struct {
	Name       string      `json:"name"`
	Phase      lanes.Phase `json:"phase"`
	Held       bool        `json:"held"`
	Help       *help       `json:"help"`
	Purchasing bool        `json:"purchasing"`
	Session    *session    `json:"session"`
	Purchase   *purchase   `json:"purchase"`
}

type help struct {
	Coming bool `json:"coming"`
}

type session struct {
	ID           uuid.UUID `json:"session_id"`
	Customer     string    `json:"customer_name"`
	Duration     int       `json:"duration"` // minutes sold
	LeftMS       int64     `json:"left_ms"`
	PausedByHold bool      `json:"paused_by_hold"`
}

type purchase struct {
	ID          uuid.UUID           `json:"purchase_id"`
	Phase       lanes.PurchasePhase `json:"phase"`
	UserMessage string              `json:"user_message"`
}

// free is the phase of a lane without a session.
const free lanes.Phase = "free"

func laneShown(s lanes.LaneStatus, now lanes.Instant) shown {
	lane := shown{Name: s.Name, Phase: free, Held: s.Lane.Held}
	if s.Lane.Help != nil {
		lane.Help = &help{s.Lane.Help.Coming}
	}
	on := s.Lane.Session
	if on == nil {
		return lane
	}
	view := s.Lane.View(now)
	lane.Phase, lane.Purchasing = view.Phase, view.Purchasing
	lane.Session = &session{view.ID, view.Customer, view.Minutes, view.Remaining.Milliseconds(), on.ByHold}
	if p := on.Purchase; p != nil {
		lane.Purchase = &purchase{p.ID, p.Phase, p.UserMessage}
	}
	return lane
}

// stream is the live picture of the lane: `picture` first, then `change` whenever something has, and `beat` in between.
func (l *screen) stream(w http.ResponseWriter, r *http.Request) {
	at := laneIn(r.Context())
	leave, in := l.streams[at.id].Enter()
	if !in {
		l.fail(w, r, screens.Full{What: "screens of this lane are open"})
		return
	}
	defer leave()
	l.Streams.Inc()
	defer l.Streams.Dec()
	running, err := l.Range(at.Range)
	if err != nil {
		l.fail(w, r, err)
		return
	}
	version, event := uint64(0), "picture"
	screens.Feed{
		Next: func() (string, any, <-chan struct{}) {
			changed, next, wake := running.Changes(version)
			version = next
			i := slices.IndexFunc(changed, func(s lanes.LaneStatus) bool { return s.ID == at.id })
			if i < 0 {
				return "", nil, wake
			}
			now, kind := running.Now(), event
			event = "change"
			return kind, told{screens.Stamp(now.Wall), laneShown(changed[i], now)}, wake
		},
		Beat: func() (any, bool) {
			now, err := l.Range(at.Range)
			return beat{screens.Stamp(running.Now().Wall)}, err == nil && now == running
		},
		Closing: l.Closing,
	}.Follow(w, r)
}
