package observer

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/logtail"
	"rangegate/api/screens"
)

// LogSettings is the log of this process.
type LogSettings struct {
	Tail  *logtail.Tail        // nil: it cannot be followed
	Level func() zerolog.Level // the lowest one that is written
	// NotWritten returns how many lines the process has left out of its log so far, although their level is written.
	NotWritten func() uint64
}

// mountLog mounts the log. It is that of this node, whichever owns the range that is asked for.
func (s *observerOf) mountLog(r chi.Router, a *endpoint.API, before ...func(http.Handler) http.Handler) {
	if s.Log.Tail == nil {
		return
	}
	a.Mount(r, "/observer/log", []endpoint.Endpoint{
		endpoint.Stream("/", "The log of this node, as it is written", "", readLogFilter, s.followLog),
	}, before...)
}

const maxLogText = 100 // characters

var logLevels = []string{
	zerolog.LevelDebugValue, zerolog.LevelInfoValue, zerolog.LevelWarnValue, zerolog.LevelErrorValue,
}

func readLogFilter(in *endpoint.Input) logtail.Filter {
	filter := logtail.Filter{
		Range: in.QueryOptionalID("range", "Only lines that name that range"),
		Lane:  in.QueryOptionalID("lane", "Only lines that name that lane"),
		Text:  in.QueryText("text", maxLogText, "Only lines that contain this, in upper or lower case"),
	}
	level := in.QueryOneOf("level", zerolog.LevelDebugValue, "The lowest level", logLevels...)
	filter.Level, _ = zerolog.ParseLevel(level) // a fault is refused
	return filter
}

// logCounts is what a follower of the log has got since it began, and what not.
type logCounts struct {
	At          string `json:"at"`
	Node        string `json:"node"`
	Level       string `json:"level"` // the lowest one that is written
	Matching    uint64 `json:"matching"`
	NotMatching uint64 `json:"not_matching"`
	Dropped     uint64 `json:"dropped"`
	NotWritten  uint64 `json:"not_written"`
}

// followLog sends each line that matches as it was written, and the counts whenever they are others.
func (s *observerOf) followLog(
	_ context.Context, filter logtail.Filter,
) (func(http.ResponseWriter, *http.Request), error) {
	if err := s.knows(filter.Range); err != nil {
		return nil, err
	}
	follower, ok := s.Log.Tail.Follow(filter)
	if !ok {
		return nil, screens.Overloaded("follow the log")
	}
	feed := screens.Feed{
		Next: (&logFeed{of: s, follower: follower, notWritten: s.Log.NotWritten()}).next,
		Beat: func() (time.Time, bool) {
			follower.Wake() // what was not written, and another level, are no lines
			return time.Now(), true
		},
		Closing: s.Closing,
	}
	return func(w http.ResponseWriter, r *http.Request) {
		defer follower.Close()
		feed.Follow(w, r)
	}, nil
}

// logFeed is what one follower is sent.
type logFeed struct {
	of         *observerOf
	follower   *logtail.Follower
	notWritten uint64     // when it began
	sent       *logCounts // nil: none yet
	taken      []byte
}

// next returns the lines since the call before, and behind them the counts: where lines were dropped, these are missing
// behind the lines that stand before the count.
func (f *logFeed) next() (event string, data any, wake <-chan struct{}) {
	var counted logtail.Counts
	f.taken, counted = f.follower.Take(f.taken)
	var all []screens.Message
	for line := range bytes.Lines(f.taken) {
		all = append(all, screens.Message{Event: "line", Data: screens.Encoded(bytes.TrimRight(line, "\n"))})
	}
	counts := logCounts{
		Level: f.of.Log.Level().String(), Matching: counted.Matching, NotMatching: counted.NotMatching,
		Dropped: counted.Dropped, NotWritten: f.of.Log.NotWritten() - f.notWritten,
	}
	if f.of.Advisories != nil {
		counts.Node = f.of.Advisories.Node
	}
	if f.sent == nil || *f.sent != counts {
		f.sent = new(counts)
		counts.At = endpoint.Stamp(time.Now())
		all = append(all, screens.Message{Event: "counts", Data: counts})
	}
	if len(all) == 0 {
		return "", nil, f.follower.Waking()
	}
	return "lines", all, f.follower.Waking()
}
