package screens

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

var open = &lanes.Hours{Zone: time.UTC, Week: [7][]lanes.Opening{time.Friday: {{From: 9 * 60, To: 22 * 60}}}}

// A screen is told when the range closes, and once it is closed, when it opens.
func TestAScreenIsToldTheOpeningHours(t *testing.T) {
	friday := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	require.Nil(t, ViewHours(nil, friday))
	require.JSONEq(t,
		`{"open":true,"closes_at":"2026-05-01T22:00:00.000Z","opens_at":null,"last_call_ms":1800000,"time_zone":"UTC"}`,
		string(Encode(ViewHours(open, friday))))
	require.JSONEq(t,
		`{"open":false,"closes_at":null,"opens_at":"2026-05-08T09:00:00.000Z","last_call_ms":1800000,"time_zone":"UTC"}`,
		string(Encode(ViewHours(open, friday.Add(10*time.Hour)))))
}

// Bays and groups that have hours of their own are told beside those of the range, within which they are.
func TestAScreenIsToldTheHoursOfTheParts(t *testing.T) {
	friday := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	require.Nil(t, ViewHoursOf(lanes.Layout{Bays: []lanes.Bay{{}}, Groups: []lanes.Group{{}}}, friday))
	early := &lanes.Hours{Zone: time.UTC, Week: [7][]lanes.Opening{time.Friday: {{From: 9 * 60, To: 18 * 60}}}}
	layout := lanes.Layout{Terms: lanes.Terms{Hours: open, GroupHours: map[uuid.UUID]*lanes.Hours{{2}: early}}}
	layout.Bays, layout.Groups = []lanes.Bay{{ID: uuid.UUID{3}}, {ID: uuid.UUID{1}, Hours: early}},
		[]lanes.Group{{ID: uuid.UUID{2}}, {ID: uuid.UUID{4}}}
	require.JSONEq(t, `{"open":true,"closes_at":"2026-05-01T22:00:00.000Z","opens_at":null,"last_call_ms":1800000,"time_zone":"UTC","parts":[
		{"bay_id":"01000000-0000-0000-0000-000000000000","open":true,"closes_at":"2026-05-01T18:00:00.000Z","opens_at":null},
		{"group_id":"02000000-0000-0000-0000-000000000000","open":true,"closes_at":"2026-05-01T18:00:00.000Z","opens_at":null}]}`,
		string(Encode(ViewHoursOf(layout, friday))))
	layout.Hours = nil
	require.Contains(t, string(Encode(ViewHoursOf(layout, friday))),
		`{"open":true,"closes_at":null,"opens_at":null,"last_call_ms":1800000,"time_zone":"UTC","parts":[{"bay_id"`)
}

// Each beat says how they stand: nobody changes anything when a range closes.
func TestABeatHasTheOpeningHours(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	response := httptest.NewRecorder()
	beats := 0
	Feed{
		Next: func() (string, any, <-chan struct{}) { return "", nil, nil },
		Beat: func() (time.Time, bool) {
			if beats++; beats == 2 {
				cancel()
			}
			return time.Date(2026, 5, 1, 12, 0, beats, 0, time.UTC), beats < 2
		},
		Hours: func(now time.Time) *HoursView { return ViewHours(open, now) }, Closing: nil,
	}.Follow(response, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	require.Contains(t, response.Body.String(),
		`data: {"now":"2026-05-01T12:00:01.000Z","hours":{"open":true,"closes_at":"2026-05-01T22:00:00.000Z",`)
	require.Equal(t, 1, strings.Count(response.Body.String(), "event: beat"))
}
