package api

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// fakeFlight is a flight recorder that is on.
type fakeFlight struct {
	dumps []FlightDump
	err   error
}

func (f *fakeFlight) Dumps() (recording bool, dumps []FlightDump, err error) {
	return true, f.dumps, f.err
}

func (f *fakeFlight) Newest() (name string, content []byte, err error) {
	if f.err != nil || len(f.dumps) == 0 {
		return "", nil, f.err
	}
	return f.dumps[0].Name, []byte("go 1.26 trace\x00"), nil
}

// Operators get the newest dump as it is, and a code when there is none.
func TestTheDumpsOfTheFlightRecorder(t *testing.T) {
	f := &fakeFlight{dumps: []FlightDump{}}
	s := operationsSettings(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	s.Flight = f
	h := NewOperations(s)
	for _, path := range []string{"/debug/flight", "/debug/flight/newest"} {
		require.Equal(t, 401, send(h, "GET", path).Code, path)
	}
	require.JSONEq(t, `{"recording":true,"dumps":[]}`, sendAuthorized(h, "GET", "/debug/flight", "").Body.String())
	none := sendAuthorized(h, "GET", "/debug/flight/newest", "")
	require.Equal(t, 404, none.Code)
	require.Contains(t, none.Body.String(), `"code":"no_dump"`)

	at := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	f.dumps = []FlightDump{{"flight-20260501-120000.000.trace", at, 14}}
	require.JSONEq(t, `{"recording":true,"dumps":[{"name":"flight-20260501-120000.000.trace",`+
		`"at":"2026-05-01T12:00:00Z","bytes":14}]}`, sendAuthorized(h, "GET", "/debug/flight", "").Body.String())
	newest := sendAuthorized(h, "GET", "/debug/flight/newest", "")
	require.Equal(t, 200, newest.Code)
	require.Equal(t, "go 1.26 trace\x00", newest.Body.String())
	require.Equal(t, "attachment; filename=flight-20260501-120000.000.trace",
		newest.Header().Get("Content-Disposition"))

	f.err = errors.New("the disk fails")
	require.Equal(t, 500, sendAuthorized(h, "GET", "/debug/flight/newest", "").Code)
}
