package integrator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	breath   = 15 * time.Second // between two signs of life on a stream that has nothing to say
	stuckFor = 10 * time.Second // that a reader may take to take what is written
)

// everything is the beginning of a stream.
type everything struct {
	Arrived []Arrival `json:"arrived"` // oldest first
	Next    Next      `json:"next"`
	Checks  bool      `json:"checks_signatures"`
}

// stream is what arrived and what arrives, as server-sent events: `all` first, then `arrived` for each arrival in order,
// and `next` whenever the next answer is another one. A reader that is too slow misses what is no longer kept.
func (in *Integrator) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := sender{w, http.NewResponseController(w)}
	list, next, changed := in.desk.since(0)
	seen := last(list, 0)
	ok := out.send("all", everything{Arrived: list, Next: next, Checks: len(in.keys) > 0})
	breathe := time.NewTicker(breath)
	defer breathe.Stop()
	for ok {
		select {
		case <-changed:
			var now Next
			list, now, changed = in.desk.since(seen)
			for _, arrival := range list {
				ok = ok && out.send("arrived", arrival)
			}
			if now != next {
				ok = ok && out.send("next", now)
			}
			seen, next = last(list, seen), now
		case <-breathe.C:
			ok = out.write(": still here\n\n")
		case <-r.Context().Done():
			return
		case <-in.closed:
			return
		}
	}
}

func last(list []Arrival, before int) int {
	if len(list) == 0 {
		return before
	}
	return list[len(list)-1].Number
}

// sender writes one event at a time. It answers false when the reader is gone.
type sender struct {
	w          http.ResponseWriter
	connection *http.ResponseController
}

func (s sender) send(event string, data any) bool {
	encoded, err := json.Marshal(data) // of which no line break comes, so it is one line of the stream
	return err == nil && s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event, encoded))
}

func (s sender) write(text string) bool {
	// The server's own deadline is one for a whole answer, and this one has no end.
	_ = s.connection.SetWriteDeadline(time.Now().Add(stuckFor))
	_, err := s.w.Write([]byte(text))
	return err == nil && s.connection.Flush() == nil
}
