package api

import (
	"context"
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// theTrace is that of a pause by a POS whose token is called till-2.
const theTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

func (s *fakeOperatedRange) FindCommands(match func(lanes.Commanded) bool) (found []lanes.TracedCommand) {
	for _, c := range s.asked {
		if match(c.Commanded) {
			found = append(found, c)
		}
	}
	return found
}

func (s *fakeOperatedRange) KeptAnswer(_ context.Context, key string) (lanes.KeptAnswer, bool, error) {
	return s.kept, key == s.kept.Name, nil
}

// aPause is a session that was created and begun, and that the request with theTrace has paused: with what the lane
// remembers of it, two webhooks, an act on record, and an answer kept for its key.
func aPause() storedRecords {
	lane, session, decided := uuid.MustParse(theLane), uuid.MustParse(theSession), noon.Add(2*time.Millisecond)
	event := func(cursor, number uint64, kind lanes.Kind, at time.Time, trace, webhook string) lanes.Logged {
		return lanes.Logged{Cursor: cursor, Trace: trace, Event: lanes.Event{
			ID: lanes.EventID(session, number), Kind: kind, Session: session, Lane: lane, At: at,
			Decision: &lanes.Decision{Command: "pause", By: lanes.ByPOS},
		}, Delivery: lanes.Delivery{Webhook: webhook, Attempt: &lanes.Attempt{
			At: at.Add(10 * time.Millisecond), Status: 200, Duration: 3 * time.Millisecond,
		}}}
	}
	again := event(3, 3, lanes.SessionPaused, decided, theTrace, "pos")
	again.Earlier = []lanes.Attempt{{At: decided, Status: 500, Error: lanes.Refused}}
	second := event(4, 3, lanes.SessionPaused, decided, theTrace, "accounting")
	second.Copy, second.Attempt = true, nil
	return storedRecords{
		events: []lanes.Logged{
			event(1, 1, lanes.SessionCreated, noon.Add(-time.Hour), "another", "pos"),
			event(2, 2, lanes.SessionStarted, noon.Add(-time.Hour), "another", "pos"),
			again, second,
			event(5, 4, lanes.SessionResumed, noon.Add(time.Minute), "a third", "pos"),
		},
		acts: []lanes.Act{
			{Cursor: 1, At: noon.Add(-time.Minute), Who: "till-2", What: "pause", Lane: lane},
			{Cursor: 2, At: decided, Who: "till-2", What: "pause", Lane: lane, Session: session},
			{Cursor: 3, At: decided, Who: "sam", What: "stop", Lane: uuid.New()},
		},
		asked: []lanes.TracedCommand{{
			LaneCommand: lanes.LaneCommand{Lane: lane, Name: "Lane 1", Commanded: lanes.Commanded{
				At: noon, By: lanes.ByPOS, Who: "till-2", Command: "pause", Result: "ok", Took: 8 * time.Millisecond,
				Waited: 2 * time.Millisecond, Session: session, Trace: theTrace,
			}},
			Sent: noon.Add(2 * time.Millisecond), Applied: noon.Add(5 * time.Millisecond),
		}},
		kept: lanes.KeptAnswer{
			Name: "key 1", Status: 200, At: decided, Body: `{"session_id":"` + theSession + `","customer_name":"Jo Smith"}`,
		},
	}
}

// One request, by its trace id or by its key: who asked, on which state it was decided, when it was saved, and what the
// controller and the webhooks got of it.
func TestAllThatIsOnRecordOfARequest(t *testing.T) {
	fake := &fakeOperatedRange{storedRecords: aPause()}
	h := newOperationsWith(prometheus.NewRegistry(), fake, "operator")
	require.Equal(t, 401, send(h, "GET", "/observer/requests?range="+someRange+"&trace_id="+theTrace).Code)
	read := func(name, value string) (body map[string]any) {
		query := url.Values{"range": {someRange}, name: {value}}.Encode()
		response := sendAuthorized(h, "GET", "/observer/requests?"+query, "")
		require.Equal(t, 200, response.Code, response.Body)
		require.NotContains(t, response.Body.String(), "Jo Smith")
		require.NoError(t, json.Unmarshal(response.Body.Bytes(), &body))
		return body
	}
	body := read("trace_id", theTrace)
	require.Equal(t, []any{map[string]any{
		"range_id": someRange, "lane_id": theLane, "name": "Lane 1", "command": "pause", "by": "pos", "who": "till-2",
		"session_id": theSession, "asked_at": "2026-05-01T12:00:00.250Z", "result": "ok",
		"decided_at": "2026-05-01T12:00:00.252Z", "answered_at": "2026-05-01T12:00:00.258Z", "waited_ms": 2.0,
		"took_ms": 8.0, "saved_by": "2026-05-01T12:00:00.258Z", "sent_at": "2026-05-01T12:00:00.252Z",
		"applied_at": "2026-05-01T12:00:00.255Z",
	}}, body["commands"])
	require.Len(t, body["events"], 1, "its copy for another webhook is a delivery of it")
	event := body["events"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"sessionPaused", 3.0, "3"}, []any{event["event"], event["number"], event["cursor"]})
	require.Equal(t, map[string]any{
		"number": 2.0, "event": "sessionStarted", "cursor": "2", "occurred_at": "2026-05-01T11:00:00.250Z",
	}, event["decided_on"])
	deliveries := event["deliveries"].([]any)
	first, second := deliveries[0].(map[string]any), deliveries[1].(map[string]any)
	require.Equal(t, []any{"pos", false, "accounting", true},
		[]any{first["webhook"], first["pending"], second["webhook"], second["pending"]})
	var outcomes []any
	for _, attempt := range first["attempts"].([]any) {
		outcomes = append(outcomes, attempt.(map[string]any)["outcome"])
	}
	require.Equal(t, []any{"refused", "delivered"}, outcomes, "oldest first")
	require.Len(t, body["acts"], 1)
	require.Equal(t, "till-2", body["acts"].([]any)[0].(map[string]any)["who"])
	require.Empty(t, body["not_on_record"])
	require.Equal(t, []any{nil, nil, nil}, []any{body["answer"], body["searched_since"], body["next"]})

	byKey := read("key", "key 1")
	require.Equal(t, map[string]any{"key": "key 1", "at": "2026-05-01T12:00:00.252Z", "status": 200.0}, byKey["answer"])
	for _, member := range []string{"commands", "events", "acts", "trace_id"} {
		require.Equal(t, body[member], byKey[member], member)
	}
	fake.asked = nil // the gateway was restarted
	later := read("key", "key 1")
	require.Equal(t, body["events"], later["events"])
	require.Equal(t, body["acts"], later["acts"])
	require.Equal(t, []any{"command", "saved_by", "sent_at", "applied_at"}, later["not_on_record"])
	fake.events = fake.events[2:] // the older ones are not kept any more
	fake.events[0].Cursor = 1
	require.Contains(t, read("trace_id", theTrace)["not_on_record"], "decided_on")

	nothing := read("key", "key 2")
	require.Equal(t, []any{nil, nil}, []any{nothing["answer"], nothing["trace_id"]})
	require.Equal(t, []any{"trace_id", "command", "saved_by", "sent_at", "applied_at", "events"},
		nothing["not_on_record"])
	require.Equal(t, []any{}, read("trace_id", "of nobody")["events"])
}

// A search through a long log says how far it has come, and goes on from there.
func TestASearchForARequestIsBounded(t *testing.T) {
	store, session := aPause(), uuid.New()
	for i := range 25_000 {
		store.events = append(store.events, lanes.Logged{Cursor: uint64(i) + 6, Event: lanes.Event{
			Kind: lanes.Help, Session: session, At: noon.Add(time.Hour + time.Duration(i)*time.Second),
		}})
	}
	h := newOperationsWith(prometheus.NewRegistry(), &fakeOperatedRange{storedRecords: store}, "operator")
	query, pages := "?range="+someRange+"&trace_id="+theTrace, 0
	for next := ""; ; pages++ {
		var body struct {
			Events []any
			Next   *string
		}
		response := sendAuthorized(h, "GET", "/observer/requests"+query+next, "")
		require.NoError(t, json.Unmarshal(response.Body.Bytes(), &body))
		if body.Next == nil {
			require.Len(t, body.Events, 1)
			break
		}
		require.Empty(t, body.Events)
		next = "&cursor=" + *body.Next
	}
	require.Equal(t, 2, pages)
}

func TestASearchForARequestThatIsRefused(t *testing.T) {
	h := newOperationsWith(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	code := func(query string) string {
		return codeOf(t, sendAuthorized(h, "GET", "/observer/requests?"+query, ""))
	}
	require.Equal(t, "not_owner", code("trace_id=1&range="+otherRange))
	require.Equal(t, "not_found", code("trace_id=1&range="+theLane))
	for query, field := range map[string]string{
		"trace_id=1": "range", "range=" + someRange: "trace_id", "trace_id=1&key=2&range=" + someRange: "trace_id",
	} {
		refused := sendAuthorized(h, "GET", "/observer/requests?"+query, "")
		require.Equal(t, 400, refused.Code)
		require.Contains(t, refused.Body.String(), `"`+field+`"`)
	}
}
