package v2

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// fakeRange accepts every command and records it.
type fakeRange struct {
	Range
	created  *lanes.Create
	modified *lanes.Modify
}

func (r *fakeRange) Layout() lanes.Layout { return lanes.Layout{} }

func (r *fakeRange) Create(
	_ context.Context, lane uuid.UUID, command lanes.Create, _ *lanes.Key,
) (*lanes.SessionView, error) {
	r.created = &command
	return &lanes.SessionView{ID: command.Session, Lane: lane, Group: command.Group, Minutes: command.Minutes}, nil
}

func (r *fakeRange) On(
	_ context.Context, _ uuid.UUID, command lanes.Command, _ *lanes.Key,
) (*lanes.SessionView, error) {
	modify := command.(lanes.Modify)
	r.modified = &modify
	return &lanes.SessionView{}, nil
}

// send sends one request to the endpoints of a fake range.
func send(t *testing.T, method, path, body string) (*fakeRange, *httptest.ResponseRecorder) {
	r := &fakeRange{}
	codes := endpoint.Errors{}
	for _, code := range append(SessionCodes("event_not_found", "not_redeliverable", "webhook_not_configured",
		"webhook_gone", "cursor_gone", "not_saved", "not_running", "not_waiting", "start_scheduled", "start_not_found",
		"batch_refused", "reservation_not_found", "lane_reserved", "reservation_over", "reservation_limit",
		"no_lanes_fit", "lane_not_usable", "lane_lacks_capability", "not_paused", "in_grace", "ceasefire",
		"duration_out_of_range",
		"no_time_left", "after_closing", "group_not_found", "lane_not_found", "lane_occupied", "lane_not_accessible",
		"lane_not_clear"),
		"invalid_request", "not_found", "method_not_allowed", "request_timeout", "too_large", "unsupported_media_type",
		"timeout", "internal") {
		codes[code] = endpoint.Error{Status: http.StatusBadRequest, Sentence: code}
	}
	a := &endpoint.API{
		Errors: codes,
		Defect: func(_ *http.Request, cause error, _ []byte) { t.Error("defect:", cause) },
	}
	router := a.Router()
	a.Mount(router, "/", Handlers{
		RangeOf: func(context.Context) (Range, error) { return r, nil },
		Readers: newReaders(0),
	}.Endpoints())
	response := httptest.NewRecorder()
	router.ServeHTTP(response, httptest.NewRequest(method, path, strings.NewReader(body)))
	return r, response
}

// Every body is a well-formed sale or is refused; nothing else reaches a lane.
func FuzzCreateBody(f *testing.F) {
	whole := `{"customer_name":"Jo Smith","lane_id":"44444444-4444-4444-8444-000000000001","group_id":"33333333-3333-4333-8333-000000000001","duration":60}`
	for _, seed := range []string{
		whole, `{}`, `null`, `[]`, "", whole + "{}", "\xff", `{"customer_name":"\u0000"}`,
		strings.Replace(whole, "60", "60.0", 1), strings.Replace(whole, "60", "6e1", 1),
		strings.Replace(whole, "60", "481", 1),
		strings.Replace(whole, "60", "99999999999999999999", 1), strings.Replace(whole, "}", `,"auto_start":null}`, 1),
		strings.Replace(whole, "}", `,"auto_start":"yes"}`, 1), strings.Replace(whole, "}", `,"duration":1}`, 1),
		strings.Replace(whole, "Jo Smith", strings.Repeat("ü", 201), 1), strings.Repeat(`{"a":`, 5000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r, response := send(t, "POST", "/sessions", body)
		require.Equal(t, response.Code == http.StatusCreated, r.created != nil)
		if r.created == nil {
			require.Equal(t, http.StatusBadRequest, response.Code)
			return
		}
		var sale struct {
			Customer string    `json:"customer_name"`
			Lane     uuid.UUID `json:"lane_id"`
			Group    uuid.UUID `json:"group_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &sale), "an accepted body is JSON")
		require.GreaterOrEqual(t, r.created.Minutes, lanes.MinMinutes)
		require.LessOrEqual(t, r.created.Minutes, lanes.MaxMinutes)
		require.NotEmpty(t, r.created.Customer)
		require.LessOrEqual(t, utf8.RuneCountInString(r.created.Customer), 200)
		require.Equal(t, strings.TrimSpace(r.created.Customer), r.created.Customer)
	})
}

// Every query is a non-zero number of minutes or is refused.
func FuzzModifyQuery(f *testing.F) {
	for _, seed := range []string{
		"time=15", "time=-15", "time=+15", "time=%2B15", "time=0", "time=-0", "time=", "", "time=1.5", "time=1e3",
		"time=1000001",
		"time=99999999999999999999", "time=1&time=2", "time=%zz", "TIME=5", "time=٣", "time= 5", "time=5 ", "time=--5",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		path := "/sessions/" + uuid.NewString() + "/modify?" + strings.Map(printable, query)
		r, response := send(t, "POST", path, "")
		require.Equal(t, response.Code == http.StatusNoContent, r.modified != nil)
		if r.modified != nil {
			require.NotZero(t, r.modified.Minutes)
			require.LessOrEqual(t, r.modified.Minutes, wellFormedMinutes)
			require.GreaterOrEqual(t, r.modified.Minutes, -wellFormedMinutes)
			return
		}
		require.Equal(t, http.StatusBadRequest, response.Code)
	})
}

// printable drops the characters that a request line cannot contain.
func printable(r rune) rune {
	if r <= ' ' || r == 0x7f || r == '#' {
		return -1
	}
	return r
}
