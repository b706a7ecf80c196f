package observer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

// framesFollowedFor is how long the frames of a link are followed at most.
const framesFollowedFor = 10 * time.Minute

// framesPath is where the stream of a lane's frames is, behind the lane.
const framesPath = "/frames"

// followsFrames reports whether the request is for the stream of a lane's frames, whatever it accepts.
func followsFrames(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, framesPath) }

// framesBegin is the first message.
type framesBegin struct {
	At        string `json:"at"`
	Until     string `json:"until"`
	RangeName string `json:"range"`
	laneName
}

// framesView is what went over the link since the message before.
type framesView struct {
	Frames  []frameView `json:"frames"`
	Dropped uint64      `json:"dropped"` // before these, as they were not taken in time
}

// frameView is one frame. It has neither secrets nor names.
type frameView struct {
	At         string          `json:"at"`
	Direction  string          `json:"direction"` // sent by the gateway, or received
	Kind       string          `json:"kind"`
	Bytes      int64           `json:"bytes"`
	Controller *string         `json:"controller"` // its address; null: it is simulated in the process
	Problem    *string         `json:"problem"`    // the rule that it breaks
	Frame      json.RawMessage `json:"frame"`      // null: nothing of it may be shown, or nothing is in it
}

// framesEnd is the last message.
type framesEnd struct {
	Reason string `json:"reason"`
	framesView
}

// Why frames are followed no more.
const (
	framesTimeOver = "time_over"
	framesClosing  = "closing"       // the gateway stops, or has another configuration
	framesNotOwner = "not_owner"     // another node serves the range
	framesStopped  = "range_stopped" // here
)

// followFrames begins to follow the frames of a lane's link, on record, and sends them for framesFollowedFor.
func (s *observerOf) followFrames(
	ctx context.Context, of laneOf,
) (func(http.ResponseWriter, *http.Request), error) {
	r, err := s.running(of)
	if err != nil {
		return nil, err
	}
	health, found := r.LaneActor(of.lane)
	if !found {
		return nil, lanes.ErrLaneNotFound
	}
	followed, err := r.FollowFrames(ctx, s.Who(ctx), of.lane)
	if err != nil {
		return nil, err
	}
	layout := r.Layout()
	stream := &frameStream{
		followed: followed, closing: s.Closing, rangeName: layout.Name,
		lane: laneName{layout.Range, of.lane, health.Link.Name},
	}
	return stream.serve, nil
}

// frameStream is one look at the frames of a link.
type frameStream struct {
	followed  lanes.FollowedFrames
	closing   <-chan struct{}
	rangeName string
	lane      laneName
	begun     bool
}

func (s *frameStream) serve(w http.ResponseWriter, r *http.Request) {
	defer s.followed.Stop()
	limited, cancel := context.WithTimeout(r.Context(), framesFollowedFor)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-limited.Done():
		case <-s.followed.Ended:
		}
	}()
	screens.Feed{
		Next: s.next, Beat: func() (time.Time, bool) { return time.Now(), true },
		Ended: ended, Closing: s.closing, Last: s.last,
	}.Follow(w, r)
}

// next returns what has come since the call before, as screens.Feed.Next does.
func (s *frameStream) next() (event string, data any, wake <-chan struct{}) {
	if !s.begun {
		s.begun = true
		now, at := time.Now(), make(chan struct{})
		close(at) // there may be frames by now
		return "begin", framesBegin{
			endpoint.Stamp(now), endpoint.Stamp(now.Add(framesFollowedFor)), s.rangeName, s.lane,
		}, at
	}
	view := s.frames()
	if len(view.Frames) == 0 {
		return "", nil, s.followed.Wake
	}
	return "frames", view, s.followed.Wake
}

// last returns the message that says why the stream ends, as screens.Feed.Last does.
func (s *frameStream) last() (event string, data any) {
	reason := framesTimeOver
	switch {
	case isClosed(s.followed.Ended) && errors.Is(s.followed.Why(), lanes.ErrNotOwner):
		reason = framesNotOwner
	case isClosed(s.closing):
		reason = framesClosing
	case isClosed(s.followed.Ended):
		reason = framesStopped
	}
	return "end", framesEnd{reason, s.frames()}
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

func (s *frameStream) frames() framesView {
	frames, dropped := s.followed.Next()
	return framesView{endpoint.Views(frames, viewOfFrame), dropped}
}

func viewOfFrame(f lanes.LinkFrame) frameView {
	view := frameView{
		At: endpoint.Stamp(f.At), Direction: "received", Kind: f.Kind, Bytes: f.Bytes,
		Controller: endpoint.Optional(f.Address), Problem: endpoint.Optional(f.Problem), Frame: f.Shown,
	}
	if f.Sent {
		view.Direction = "sent"
	}
	return view
}
