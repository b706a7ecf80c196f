package integrator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	keepAlive    = 15 * time.Second // between two comments on an idle stream
	writeTimeout = 10 * time.Second
)

// snapshot is the first event of a stream.
type snapshot struct {
	Arrived []Arrival `json:"arrived"` // oldest first
	Next    Next      `json:"next"`
	Checks  bool      `json:"checks_signatures"`
}

// stream sends server-sent events: first `all`, then `arrived` for each arrival in order, and `next` when the next answer
// changes. A slow reader misses the arrivals that are no longer kept.
func (in *Integrator) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := sender{w, http.NewResponseController(w)}
	list, next, changed := in.inbox.since(0)
	sent := last(list, 0)
	ok := out.send("all", snapshot{Arrived: list, Next: next, Checks: len(in.keys) > 0})
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	for ok {
		select {
		case <-changed:
			var current Next
			list, current, changed = in.inbox.since(sent)
			for _, arrival := range list {
				ok = ok && out.send("arrived", arrival)
			}
			if current != next {
				ok = ok && out.send("next", current)
			}
			sent, next = last(list, sent), current
		case <-idle.C:
			ok = out.write(": still here\n\n")
		case <-r.Context().Done():
			return
		case <-in.closed:
			return
		}
	}
}

// last returns the number of the last arrival, or the number before for an empty list.
func last(list []Arrival, before int) int {
	if len(list) == 0 {
		return before
	}
	return list[len(list)-1].Number
}

// sender writes events. Its methods return false when the reader is gone.
type sender struct {
	w          http.ResponseWriter
	connection *http.ResponseController
}

func (s sender) send(event string, data any) bool {
	encoded, err := json.Marshal(data) // has no line break, so it is one line of the stream
	return err == nil && s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event, encoded))
}

func (s sender) write(text string) bool {
	// The server's write deadline is for a whole answer, and a stream has no end.
	_ = s.connection.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := s.w.Write([]byte(text))
	return err == nil && s.connection.Flush() == nil
}
