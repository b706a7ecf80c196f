package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// storedRecords is what a fakeOperatedRange has in its store, oldest first.
type storedRecords struct {
	events []lanes.Logged
	acts   []lanes.Act
	ended  map[uuid.UUID]lanes.Ended
	links  []lanes.LinkChange
	silent bool // the store does not answer

	asked []lanes.TracedCommand
	kept  lanes.KeptAnswer
}

func (s *fakeOperatedRange) Deliveries(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error) {
	return readStored(ctx, s.silent, s.events, after, limit, func(e lanes.Logged) uint64 { return e.Cursor })
}

func (s *fakeOperatedRange) Acts(ctx context.Context, after uint64, limit int) ([]lanes.Act, error) {
	return readStored(ctx, s.silent, s.storedRecords.acts, after, limit, func(a lanes.Act) uint64 { return a.Cursor })
}

func readStored[E any](
	ctx context.Context, silent bool, all []E, after uint64, limit int, cursor func(E) uint64,
) ([]E, error) {
	if silent {
		<-ctx.Done()
		return nil, lanes.ErrTimeout
	}
	begin := slices.IndexFunc(all, func(record E) bool { return cursor(record) > after })
	if begin < 0 {
		return nil, nil
	}
	return all[begin:min(len(all), begin+limit)], nil
}

func (s *fakeOperatedRange) EndedSession(_ context.Context, id uuid.UUID) (lanes.Ended, error) {
	if ended, found := s.ended[id]; found {
		return ended, lanes.ErrSessionEnded
	}
	return lanes.Ended{}, lanes.ErrSessionNotFound
}

func (s *fakeOperatedRange) Latest(context.Context) (event, ended, act uint64) {
	return uint64(len(s.events)), 0, uint64(len(s.storedRecords.acts))
}

func (s *fakeOperatedRange) LinkChanges(uuid.UUID) []lanes.LinkChange { return s.links }

func (s *fakeOperatedRange) ServedSince() time.Time { return noon.Add(-time.Hour) }

// anEvening is a session on the lane that a hold paused and that staff stopped, while another lane was busy.
func anEvening() storedRecords {
	lane, session := uuid.MustParse(theLane), uuid.MustParse(theSession)
	event := func(cursor uint64, kind lanes.Kind, after time.Duration, d *lanes.Decision) lanes.Logged {
		return lanes.Logged{Cursor: cursor, Trace: fmt.Sprintf("%032x", cursor), Event: lanes.Event{
			ID: lanes.EventID(session, cursor), Kind: kind, Session: session, Lane: lane,
			At: noon.Add(after), Decision: d,
		}}
	}
	copied := event(2, lanes.SessionCreated, time.Minute, nil)
	copied.Copy = true
	elsewhere := event(3, lanes.SessionStarted, 90*time.Second, nil)
	elsewhere.Event.Lane = uuid.New()
	return storedRecords{
		events: []lanes.Logged{
			event(1, lanes.SessionCreated, time.Minute, &lanes.Decision{
				Command: "create", By: lanes.ByPOS, Minutes: 30,
			}),
			copied, elsewhere,
			event(4, lanes.SessionPaused, 2*time.Minute, &lanes.Decision{
				Command: "hold", By: lanes.ByStaff, Held: true,
			}),
			event(5, lanes.SessionStopped, 3*time.Minute, &lanes.Decision{
				Command: "stop", By: lanes.ByStaff, Late: time.Second, Passed: 1500 * time.Millisecond,
			}),
		},
		acts: []lanes.Act{
			{Cursor: 1, At: noon.Add(2 * time.Minute), Who: "sam", What: lanes.DidHold, Detail: "range"},
			{Cursor: 2, At: noon.Add(2 * time.Minute), Who: "sam", What: lanes.DidHold, Detail: "bay Another"},
			{
				Cursor: 3, At: noon.Add(3*time.Minute + time.Second), Who: "sam", What: "stop", Lane: lane,
				Session: session,
			},
			{Cursor: 4, At: noon.Add(4 * time.Minute), Who: "root", What: lanes.DidRestart, Lane: lane},
		},
		ended: map[uuid.UUID]lanes.Ended{session: {
			Session: lanes.Session{ID: session, Customer: "Jo Smith", Sold: 30 * time.Minute},
			At:      noon.Add(3 * time.Minute),
			Lane:    lane, Reason: "staff", Used: 90 * time.Second, Paused: time.Minute,
		}},
		links: []lanes.LinkChange{
			{At: noon.Add(5 * time.Minute), Link: lanes.LinkUp, Firmware: "3.1"},
			{At: noon.Add(270 * time.Second), Link: lanes.LinkDown, Error: "no route"},
		},
	}
}

// What an operator reads of a lane is in one order, the newest first: its link, what staff did, sessions with what they
// follow from, commands, restarts. Other lanes are not in it, and no customer is.
func TestTheTimelineOfALane(t *testing.T) {
	h := newOperationsWith(prometheus.NewRegistry(), &fakeOperatedRange{storedRecords: anEvening()}, "operator")
	at := "/observer/lanes/" + theLane + "/timeline?from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z"
	require.Equal(t, 401, send(h, "GET", at).Code)
	response := sendAuthorized(h, "GET", at, "")
	require.Equal(t, 200, response.Code, response.Body)
	require.NotContains(t, response.Body.String(), "Jo Smith")
	var body struct {
		Moments    []map[string]any
		Next       *string
		Remembered string `json:"remembered_since"`
		From, To   string
	}
	require.NoError(t, json.Unmarshal(response.Body.Bytes(), &body))
	var shown []string
	for _, m := range body.Moments {
		shown = append(shown, fmt.Sprint(m["at"].(string)[11:19], " ", m["kind"], " ", m["what"]))
	}
	require.Equal(t, []string{
		"12:05:00 link up", "12:04:30 link down", "12:04:00 staff restart", "12:03:01 session sessionStopped",
		"12:03:01 staff stop", "12:02:00 session sessionPaused", "12:02:00 hold hold",
		"12:01:00 session sessionCreated",
		"12:00:00 command pause", "12:00:00 command expire", "12:00:00 restart lane", "11:00:00 restart range",
	}, shown)
	require.Nil(t, body.Next)
	require.Equal(t, "2026-05-01T11:00:00.250Z", body.Remembered)

	stopped := body.Moments[3]
	require.Equal(t, map[string]any{
		"end_reason": "staff", "minutes_sold": 30.0, "minutes_used": 1.5, "minutes_paused": 1.0,
	}, stopped["ended"])
	event := stopped["event"].(map[string]any)
	require.Equal(t, "2026-05-01T12:03:00.250Z", event["occurred_at"])
	require.Equal(t, map[string]any{
		"command": "stop", "by": "staff", "at": "2026-05-01T12:03:01.250Z", "hold": false, "minutes": 0.0,
		"since_clock_changed_ms": 1500.0,
	}, event["decision"])
	require.Equal(t, "00000000000000000000000000000005", stopped["trace_id"])
	require.Equal(t, "no route", body.Moments[1]["detail"])
	require.Equal(t, map[string]any{
		"result": "ceasefire", "decided_at": "2026-05-01T12:00:00.250Z", "answered_at": "2026-05-01T12:00:00.255Z",
		"waited_ms": 0.0, "took_ms": 5.0,
	}, body.Moments[8]["command"])
}

// An act that a command in the answer is, is not told twice.
func TestAnActOfACommandIsOneMoment(t *testing.T) {
	store := storedRecords{acts: []lanes.Act{
		{Cursor: 1, At: noon.Add(2 * time.Millisecond), Who: "sam", What: "pause", Lane: uuid.MustParse(theLane)},
	}}
	fake := &fakeOperatedRange{storedRecords: store}
	kinds := func() (kinds []string) {
		h := newOperationsWith(prometheus.NewRegistry(), fake, "operator")
		for _, m := range timelineOf(t, h, "?from=2026-05-01T12:00:00Z&to=2026-05-02T00:00:00Z")["moments"].([]any) {
			kinds = append(kinds, m.(map[string]any)["kind"].(string))
		}
		return kinds
	}
	require.Equal(t, []string{"staff", "command", "command", "restart"}, kinds(), "the command was refused")
	fake.commanded = "ok"
	require.Equal(t, []string{"command", "command", "restart"}, kinds())
	store.acts[0].Who = "alex"
	require.Equal(t, []string{"staff", "command", "command", "restart"}, kinds())
}

func timelineOf(t *testing.T, h http.Handler, query string) (body map[string]any) {
	t.Helper()
	response := sendAuthorized(h, "GET", "/observer/lanes/"+theLane+"/timeline"+query, "")
	require.Equal(t, 200, response.Code, response.Body)
	require.NoError(t, json.Unmarshal(response.Body.Bytes(), &body))
	return body
}

// A long timeline is read page by page, each moment once.
func TestTheTimelineIsPaged(t *testing.T) {
	lane, session := uuid.MustParse(theLane), uuid.MustParse(theSession)
	store := storedRecords{}
	for i := range 2500 {
		store.events = append(store.events, lanes.Logged{Cursor: uint64(i) + 1, Event: lanes.Event{
			ID: lanes.EventID(session, uint64(i)+1), Kind: lanes.Help, Session: session, Lane: lane,
			At: noon.Add(time.Duration(i) * 10 * time.Second),
		}})
	}
	h := newOperationsWith(prometheus.NewRegistry(), &fakeOperatedRange{storedRecords: store}, "operator")
	query := url.Values{"from": {"2026-05-01T12:00:01Z"}, "to": {"2026-05-02T12:00:00Z"}, "limit": {"70"}}
	seen, pages := map[string]bool{}, 0
	for {
		body := timelineOf(t, h, "?"+query.Encode())
		pages++
		moments := body["moments"].([]any)
		require.LessOrEqual(t, len(moments), 70)
		for _, m := range moments {
			id := m.(map[string]any)["event"].(map[string]any)["event_id"].(string)
			require.False(t, seen[id], "twice")
			seen[id] = true
		}
		if body["next"] == nil {
			break
		}
		query.Set("cursor", body["next"].(string))
	}
	require.Len(t, seen, 2499, "but for the one before it begins")
	require.Less(t, pages, 60)
}

// A store that does not answer is a clear refusal, before the request's own time is over.
func TestATimelineWithoutAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeOperatedRange{storedRecords: storedRecords{silent: true}}
		begun := time.Now()
		response := sendAuthorized(newOperationsWith(prometheus.NewRegistry(), fake, "operator"), "GET",
			"/observer/lanes/"+theLane+"/timeline", "")
		require.Equal(t, 503, response.Code)
		require.Equal(t, 3*time.Second, time.Since(begun))
		require.Equal(t, "store_unavailable", codeOf(t, response))
		require.Contains(t, response.Body.String(), "cannot be read now")
		require.Equal(t, "3", response.Header().Get("Retry-After"))
	})
}

func TestATimelineThatIsRefused(t *testing.T) {
	h := newOperationsWith(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	code := func(lane, query string) string {
		return codeOf(t, sendAuthorized(h, "GET", "/observer/lanes/"+lane+"/timeline"+query, ""))
	}
	require.Equal(t, "lane_not_found", code(theSession, ""))
	require.Equal(t, "lane_not_found", code(theSession, "?range="+someRange))
	require.Equal(t, "not_owner", code(theLane, "?range="+otherRange))
	require.Equal(t, "not_found", code(theLane, "?range="+theSession))
	for query, field := range map[string]string{
		"from=noon": "from", "to=later": "to", "limit=501": "limit", "cursor=old": "cursor",
		"from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z": "from",
	} {
		refused := sendAuthorized(h, "GET", "/observer/lanes/"+theLane+"/timeline?"+query, "")
		require.Equal(t, 400, refused.Code, query)
		require.Contains(t, refused.Body.String(), `"`+field+`"`)
	}
}
