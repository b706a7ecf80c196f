package screens

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

const (
	// BeatEvery is how often a stream with nothing to say gives a sign of life.
	BeatEvery = 5 * time.Second
	// rest is between two messages at least: what changes meanwhile comes in one.
	rest = 100 * time.Millisecond
	// stuckFor is how long a browser may take to take a message. Then the connection ends; nothing is kept for it.
	stuckFor = 10 * time.Second
)

// Stream is the content type of a stream.
const Stream = "text/event-stream"

// Encoded is data that is JSON already, on one line.
type Encoded []byte

// Feed is what one stream tells. Its functions are called one at a time.
type Feed struct {
	// Next is what has changed since it was called last, the whole picture at first, and a channel that is closed at the
	// next change. Without an event there is nothing to say.
	Next func() (event string, data any, wake <-chan struct{})
	// Beat is the sign of life. When it answers false the stream ends.
	Beat func() (data any, on bool)
	// Over is closed when whoever watches is not allowed to any longer; the last message says so. nil: never.
	Over <-chan struct{}
	// Closing is closed when the gateway stops.
	Closing <-chan struct{}
}

// Follow serves the feed as server-sent events until one side ends it. A browser that is slow is not told everything: it
// is told what is so when it can hear it.
func (f Feed) Follow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", Stream)
	w.Header().Set("X-Accel-Buffering", "no") // for a proxy in between
	out := sender{w, http.NewResponseController(w)}
	beat := time.NewTicker(BeatEvery)
	defer beat.Stop()
	for {
		event, data, wake := f.Next()
		if event != "" && !out.send(event, data) {
			return
		}
		rested := time.NewTimer(rest)
		if !wait(f, out, r.Context(), beat.C, wake) || !wait(f, out, r.Context(), beat.C, rested.C) {
			return
		}
	}
}

// wait keeps the stream alive until something comes of the channel. It answers false when the stream is to end.
func wait[T any](f Feed, out sender, ctx context.Context, beat <-chan time.Time, channel <-chan T) bool {
	for {
		select {
		case <-channel:
			return true
		case <-beat:
			data, on := f.Beat()
			if !on || !out.send("beat", data) {
				return false
			}
		case <-f.Over:
			out.send("bye", struct{}{})
			return false
		case <-f.Closing:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// sender writes one message at a time. It answers false when the browser is gone.
type sender struct {
	w          http.ResponseWriter
	connection *http.ResponseController
}

func (s sender) send(event string, data any) bool {
	encoded, is := data.(Encoded)
	if !is {
		var err error
		if encoded, err = json.Marshal(data); err != nil { // no line break comes of it, so it is one line of the stream
			panic(err)
		}
	}
	// The server's own deadline is one for a whole answer, and this one has no end. A writer that has none is a test's.
	_ = s.connection.SetWriteDeadline(time.Now().Add(stuckFor))
	message := make([]byte, 0, len(event)+len(encoded)+len("event: \ndata: \n\n"))
	message = append(append(message, "event: "...), event...)
	message = append(append(message, "\ndata: "...), encoded...)
	_, err := s.w.Write(append(message, "\n\n"...))
	return err == nil && s.connection.Flush() == nil
}
