package api

import (
	"context"
	"mime"
	"net/http"
	"time"

	"rangegate/api/endpoint"
)

// Flight is the flight recorder: the execution traces that it has dumped.
type Flight interface {
	// Dumps returns whether it records, and its dumps, the newest first.
	Dumps() (recording bool, dumps []FlightDump, err error)
	// Newest returns the newest dump; without one the name is empty.
	Newest() (name string, content []byte, err error)
}

// FlightDump is one execution trace.
type FlightDump struct {
	Name  string    `json:"name"`
	At    time.Time `json:"at"`
	Bytes int       `json:"bytes"`
}

type flightView struct {
	Recording bool         `json:"recording"`
	Dumps     []FlightDump `json:"dumps"` // the newest first
}

const noDump = "no_dump"

func flightEndpoint(f Flight) endpoint.Endpoint {
	return endpoint.Handle("GET", "/", http.StatusOK, "The dumps of the flight recorder", endpoint.NoInput,
		func(context.Context, endpoint.Empty) (view flightView, err error) {
			view.Recording, view.Dumps, err = f.Dumps()
			return view, err
		})
}

// newestDump answers with the newest dump as it is, for go tool trace.
func newestDump(f Flight, fail endpoint.FailFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, content, err := f.Newest()
		if err == nil && name == "" {
			err = endpoint.Refusal(noDump)
		}
		if err != nil {
			fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		_, _ = w.Write(content)
	}
}
