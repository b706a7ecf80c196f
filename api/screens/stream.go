package screens

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"rangegate/api/endpoint"
)

const (
	// BeatInterval is the time between two heartbeats of a stream. A screen that has heard nothing for twice
	// as long says so: staff know within five seconds that a gateway hangs.
	BeatInterval = 2 * time.Second
	// minInterval is the minimum time between two messages; changes in between are sent together.
	minInterval = 100 * time.Millisecond
	// writeTimeout is how long a browser may take to accept a message. Then the connection is closed; nothing
	// is queued.
	writeTimeout = 10 * time.Second
)

// StreamType is the content type of a stream.
const StreamType = "text/event-stream"

// Encoded is data that is already JSON, on one line.
type Encoded []byte

// Message is one of several messages.
type Message struct {
	Event string
	Data  any
}

// Feed is the content of one stream. Its functions are called by one goroutine.
type Feed struct {
	// Next returns what has changed since the call before, with no event if nothing has, and a channel for
	// the next change. Data that is a []Message is sent as these, together; the event only says that there are some.
	Next func() (event string, data any, wake <-chan struct{})
	// Beat returns the gateway's time for a heartbeat. If ok is false, the stream ends.
	Beat func() (now time.Time, ok bool)
	// Hours returns how the opening hours stand, which each heartbeat says. nil: there are none.
	Hours func(now time.Time) *HoursView
	// Revoked is closed when the viewer's access ends; the stream ends with the event bye. nil: never.
	Revoked <-chan struct{}
	// Ended is closed when what is shown has stopped here; the stream ends. nil: never. The screen connects again.
	Ended <-chan struct{}
	// Closing is closed when the gateway stops; the stream ends.
	Closing <-chan struct{}
	// Last returns the message with which a stream ends that has Ended, or is Closing. nil: it ends without one.
	Last func() (event string, data any)
}

// Follow serves the feed as server-sent events until one side ends it. A slow browser skips intermediate states.
func (f Feed) Follow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", StreamType)
	w.Header().Set("X-Accel-Buffering", "no") // tells nginx not to buffer
	if r.Method == http.MethodHead {          // a stream has no end, and no response to HEAD has a body
		return
	}
	out := sender{w, http.NewResponseController(w)}
	beat := time.NewTicker(BeatInterval)
	defer beat.Stop()
	for {
		event, data, wake := f.Next()
		if event != "" && !out.send(event, data) {
			return
		}
		pause := time.NewTimer(minInterval)
		if !wait(f, out, r.Context(), beat.C, wake) || !wait(f, out, r.Context(), beat.C, pause.C) {
			return
		}
	}
}

// wait keeps the stream alive until the channel delivers or is closed. It returns false when the stream ends.
func wait[T any](f Feed, out sender, ctx context.Context, beat <-chan time.Time, channel <-chan T) bool {
	for {
		select {
		case <-channel:
			return true
		case <-beat:
			now, ok := f.Beat()
			if !ok || !out.send("beat", f.heartbeat(now)) {
				return false
			}
		case <-f.Revoked:
			out.send("bye", struct{}{})
			return false
		case <-f.Ended:
			f.sayLast(out)
			return false
		case <-f.Closing:
			f.sayLast(out)
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (f Feed) sayLast(out sender) {
	if f.Last != nil {
		out.send(f.Last())
	}
}

// heartbeat is a message between changes.
type heartbeat struct {
	Now   string     `json:"now"`
	Hours *HoursView `json:"hours,omitempty"`
}

func (f Feed) heartbeat(now time.Time) heartbeat {
	beat := heartbeat{Now: endpoint.Stamp(now)}
	if f.Hours != nil {
		beat.Hours = f.Hours(now)
	}
	return beat
}

// sender writes one message at a time.
type sender struct {
	w          http.ResponseWriter
	connection *http.ResponseController
}

// send writes and flushes a message, or several. It returns false when the browser is gone or too slow.
func (s sender) send(event string, data any) bool {
	several, ok := data.([]Message)
	if !ok {
		several = []Message{{event, data}}
	}
	var text []byte
	for _, message := range several {
		text = message.appendTo(text)
	}
	// The server's own write timeout covers a whole response, and a stream has no end. A test's recorder has
	// no deadline.
	_ = s.connection.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := s.w.Write(text)
	return err == nil && s.connection.Flush() == nil
}

// appendTo appends the message to the text of a stream.
func (m Message) appendTo(to []byte) []byte {
	encoded, ok := m.Data.(Encoded)
	if !ok {
		encoded = Encode(m.Data)
	}
	to = slices.Grow(to, len(m.Event)+len(encoded)+len("event: \ndata: \n\n"))
	to = append(append(to, "event: "...), m.Event...)
	to = append(append(to, "\ndata: "...), encoded...)
	return append(to, "\n\n"...)
}

// Encode returns data as JSON on one line. It panics on data that JSON cannot hold, which is a defect.
func Encode(data any) Encoded {
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return encoded
}
