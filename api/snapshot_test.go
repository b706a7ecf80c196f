package api

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func (s *fakeOperatedRange) Snapshot(lane uuid.UUID) (lanes.Snapshot, bool) {
	return lanes.Snapshot{Boot: "a boot", Lane: lanes.Lane{ID: lane, Session: &lanes.Session{
		ID: uuid.MustParse(theSession), Customer: "Jo Smith", Phase: lanes.Paused,
	}, Reservation: &lanes.Reservation{Token: "a digest"}}}, lane == uuid.MustParse(theLane)
}

func (s *fakeOperatedRange) NoteNames(_ context.Context, who string, lane, session uuid.UUID) error {
	if session != uuid.MustParse(theSession) {
		return lanes.ErrSessionNotFound
	}
	return s.act("read_names", who, lane)
}

// An operator sees what would be saved of a lane, without names. Whoever wants those is on record, and gets nothing
// when that cannot be.
func TestTheSnapshotOfALane(t *testing.T) {
	fake := &fakeOperatedRange{}
	h := newOperationsWith(prometheus.NewRegistry(), fake, "operator")
	at := "/observer/lanes/" + theLane + "/snapshot"
	require.Equal(t, 401, send(h, "GET", at).Code)
	require.Equal(t, 401, send(h, "GET", at+"?names=true").Code)
	read := func(query string) (body map[string]any) {
		response := sendAuthorized(h, "GET", at+query, "")
		require.Equal(t, 200, response.Code, response.Body)
		require.NoError(t, json.Unmarshal(response.Body.Bytes(), &body))
		require.NotContains(t, response.Body.String(), "a digest")
		return body
	}
	body := read("?names=false")
	require.Equal(t, false, body["names"])
	require.Equal(t, map[string]any{"since": "2026-05-01T12:00:00.250Z", "changes": 4.0}, body["unsaved"])
	snapshot := body["snapshot"].(map[string]any)
	require.Equal(t, "a boot", snapshot["boot"])
	session := snapshot["session"].(map[string]any)
	require.Equal(t, []any{"(redacted)", "paused"}, []any{session["customer_name"], session["phase"]})
	require.Equal(t, body["snapshot"], read("?range=" + someRange)["snapshot"])
	require.Empty(t, fake.acts)

	named := read("?names=true")
	require.Equal(t, "Jo Smith", named["snapshot"].(map[string]any)["session"].(map[string]any)["customer_name"])
	require.Equal(t, []string{"operator read_names"}, fake.acts)

	fake.refused = lanes.ErrNotOwner
	refused := sendAuthorized(h, "GET", at+"?names=true", "")
	require.Equal(t, "not_owner", codeOf(t, refused))
	require.NotContains(t, refused.Body.String(), "Jo Smith")
	code := func(path string) string { return codeOf(t, sendAuthorized(h, "GET", path, "")) }
	require.Equal(t, "lane_not_found", code("/observer/lanes/"+theSession+"/snapshot?names=true"))
	require.Equal(t, "not_owner", code(at+"?range="+otherRange))
	require.Equal(t, "invalid_request", code(at+"?names=yes"))
	require.Equal(t, []string{"operator read_names"}, fake.acts)
}
