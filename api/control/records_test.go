package control

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// remember puts ended sessions on record, of which the cursors run from first to last. Every hundredth is of Ada.
func (r *rig) remember(first, last uint64) {
	for cursor := first; cursor <= last; cursor++ {
		customer := "Jo Smith"
		if cursor%100 == 0 {
			customer = "Ada Lovelace"
		}
		r.history = append(r.history, lanes.Ended{
			Cursor: cursor, Lane: theLane, At: noon.Wall, Reason: lanes.Expired, Used: 30 * time.Minute, Paused: 15 * time.Second,
			Session: lanes.Session{ID: uuid.New(), Group: theGroup, Customer: customer, Sold: time.Hour, Created: noon},
		})
	}
}

// walk reads the pages of a log to its end, and answers the cursors in the order in which they came.
func (b *browser) walk(path, list string) (cursors []uint64, pages int) {
	before := ""
	for {
		answer := b.ask("GET", path+before, "")
		require.Equal(b.t, http.StatusOK, answer.Code, answer.Body)
		var page map[string]json.RawMessage
		require.NoError(b.t, json.Unmarshal(answer.Body.Bytes(), &page))
		var found []struct{ Cursor string }
		require.NoError(b.t, json.Unmarshal(page[list], &found))
		for _, each := range found {
			cursor, err := strconv.ParseUint(each.Cursor, 10, 64)
			require.NoError(b.t, err)
			cursors = append(cursors, cursor)
		}
		pages++
		var next *string
		require.NoError(b.t, json.Unmarshal(page["next"], &next))
		if next == nil {
			return cursors, pages
		}
		before = "&before=" + *next
	}
}

// down is the numbers from first down to last, in steps.
func down(first, last, step uint64) (all []uint64) {
	for n := first; n >= last; n -= step {
		all = append(all, n)
		if n < step {
			break
		}
	}
	return all
}

func TestTheHistoryIsReadNewestFirstAndWhole(t *testing.T) {
	for _, c := range []struct{ first, last uint64 }{{1, 0}, {1, 1}, {1, 99}, {1, 100}, {1, 101}, {1, 1234}} {
		r := newRig(t)
		r.remember(c.first, c.last)
		cursors, pages := r.signedIn().walk("/control/api/history?limit=100", "sessions")
		require.Equal(t, down(c.last, c.first, 1), cursors)
		require.Equal(t, max(1, int(c.last+99)/100), pages, "no page is empty but the only one")
	}
}

func TestASearchGoesThroughALongHistoryInPieces(t *testing.T) {
	r := newRig(t)
	r.remember(1, 25_000)
	cursors, pages := r.signedIn().walk("/control/api/history?limit=500&search=lovelace", "sessions")
	require.Equal(t, down(25_000, 100, 100), cursors)
	require.Equal(t, 2, pages, "one answer looks at 20,000 records")
}

func TestALogOfWhichTheOldestAreGone(t *testing.T) {
	all := []uint64{4_000_001, 4_000_002, 4_000_900, 4_001_700}
	l := log[uint64]{4_001_700, func(_ context.Context, after uint64, limit int) ([]uint64, error) {
		return behind(all, func(c uint64) uint64 { return c }, after, limit), nil
	}, func(c uint64) uint64 { return c }}
	any := func(uint64) bool { return true }
	found, next, err := l.backwards(t.Context(), 0, 3, any)
	require.NoError(t, err)
	require.Equal(t, []uint64{4_001_700, 4_000_900, 4_000_002}, found)
	found, next, err = l.backwards(t.Context(), next, 3, any)
	require.NoError(t, err)
	require.Equal(t, []uint64{4_000_001}, found)
	require.Zero(t, next)
}

func TestWhatIsLookedFor(t *testing.T) {
	r := newRig(t)
	r.remember(1, 100)
	b := r.signedIn()
	id := r.history[40].Session.ID.String()
	for search, n := range map[string]int{"": 100, "ADA": 1, "%20jo%20": 99, "lane+1": 100, id: 1, id[:13]: 1, "bay": 0, "%25": 0} {
		cursors, _ := b.walk("/control/api/history?limit=500&search="+search, "sessions")
		require.Len(t, cursors, n, search)
	}
}

func TestAnEndedSession(t *testing.T) {
	r := newRig(t)
	r.remember(1, 1)
	session := r.history[0].Session
	require.JSONEq(t, `{"sessions":[{"cursor":"1","session_id":"`+session.ID.String()+`","lane_id":"`+lane1+`","lane_name":"Lane 1",`+
		`"group_id":"33333333-3333-4333-8333-000000000001","group_name":"Public","customer_name":"Jo Smith",`+
		`"created_at":"2026-05-01T12:00:00.250Z","began_at":null,"ended_at":"2026-05-01T12:00:00.250Z","end_reason":"expired",`+
		`"duration":60,"minutes_used":30,"minutes_paused":0.25}],"next":null}`,
		r.signedIn().ask("GET", "/control/api/history", "").Body.String())
}

func TestDeliveries(t *testing.T) {
	r := newRig(t)
	event := lanes.Event{ID: uuid.New(), Kind: lanes.Help, Session: theSession, Lane: theLane, At: noon.Wall}
	r.events = []lanes.Logged{
		{Cursor: 1, Event: event, Attempt: &lanes.Attempt{At: noon.Wall, Status: 500, Error: lanes.Refused, Duration: 35 * time.Millisecond}},
		{Cursor: 2, Event: event, Simulated: true},
	}
	payload := `{"event":"help","session_id":"` + session1 + `","lane_id":"` + lane1 + `"}`
	require.JSONEq(t, `{"events":[`+
		`{"cursor":"2","occurred_at":"2026-05-01T12:00:00.250Z","lane_name":"Lane 1","payload":`+payload+`,"simulated":true,"attempt":null},`+
		`{"cursor":"1","occurred_at":"2026-05-01T12:00:00.250Z","lane_name":"Lane 1","payload":`+payload+`,"simulated":false,`+
		`"attempt":{"at":"2026-05-01T12:00:00.250Z","status":500,"error":"refused","duration_ms":35}}],"next":null}`,
		r.signedIn().ask("GET", "/control/api/deliveries", "").Body.String())
	cursors, pages := r.signedIn().walk("/control/api/deliveries?limit=1", "events")
	require.Equal(t, []uint64{2, 1}, cursors)
	require.Equal(t, 2, pages)
}

func TestWhatStaffDid(t *testing.T) {
	r := newRig(t)
	r.acts = []lanes.Act{
		{Cursor: 1, At: noon.Wall, Who: "alex", What: lanes.DidHold, Detail: "range"},
		{Cursor: 2, At: noon.Wall, Who: "sam", What: lanes.DidModify, Lane: theLane, Session: theSession, Detail: "+15"},
	}
	require.JSONEq(t, `{"acts":[`+
		`{"cursor":"2","at":"2026-05-01T12:00:00.250Z","who":"sam","what":"modify","lane_id":"`+lane1+`","lane_name":"Lane 1","session_id":"`+session1+`","detail":"+15"},`+
		`{"cursor":"1","at":"2026-05-01T12:00:00.250Z","who":"alex","what":"hold","lane_id":null,"lane_name":"","session_id":null,"detail":"range"}],"next":null}`,
		r.signedIn().ask("GET", "/control/api/acts", "").Body.String())
}

func TestAStoreThatCannotBeRead(t *testing.T) {
	r := newRig(t)
	b := r.signedIn()
	r.refuses = lanes.ErrStoreUnavailable
	for _, path := range []string{"/control/api/history", "/control/api/deliveries", "/control/api/acts", "/control/history.csv"} {
		require.Equal(t, http.StatusServiceUnavailable, b.ask("GET", path, "").Code, path)
	}
}

func TestTheHistoryAsATable(t *testing.T) {
	r := newRig(t)
	r.remember(1, 1200)
	names := []string{`=HYPERLINK("http://evil.example","x")`, "+1", "-1", "@sum", " =1", `Jo "the eye", Smith`, "Jürgen – Ø", "a=b"}
	for i, name := range names {
		r.history[i].Session.Customer = name
	}
	answer := r.signedIn().ask("GET", "/control/history.csv", "")
	require.Equal(t, http.StatusOK, answer.Code)
	require.Equal(t, "text/csv; charset=utf-8", answer.Header().Get("Content-Type"))
	require.Equal(t, `attachment; filename="sessions-2026-05-01.csv"`, answer.Header().Get("Content-Disposition"))
	text, marked := strings.CutPrefix(answer.Body.String(), "\xef\xbb\xbf")
	require.True(t, marked, "a byte order mark, by which spreadsheets know UTF-8")
	require.Equal(t, strings.Count(text, "\n"), strings.Count(text, "\r\n"), "lines end as RFC 4180 has it")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1201)
	require.Equal(t, heading, rows[0])
	require.Equal(t, []string{
		"2026-05-01T12:00:00.250Z", "expired", "Lane 1", "Public", "Ada Lovelace", "2026-05-01T12:00:00.250Z", "", "60", "30", "0.25",
		r.history[1199].Session.ID.String(),
	}, rows[1], "newest first")
	for i, want := range []string{`'=HYPERLINK("http://evil.example","x")`, "'+1", "'-1", "'@sum", "' =1", `Jo "the eye", Smith`, "Jürgen – Ø", "a=b"} {
		require.Equal(t, want, rows[1200-i][4], "no name is a formula")
	}

	found, err := csv.NewReader(strings.NewReader(r.signedIn().ask("GET", "/control/history.csv?search=lovelace", "").Body.String())).ReadAll()
	require.NoError(t, err)
	require.Len(t, found, 13)
}

// A table that breaks off must not look whole: the connection is cut.
func TestATableThatBreaksOff(t *testing.T) {
	r := newRig(t)
	r.remember(1, 1200)
	b := r.signedIn()
	reads := 0
	r.reading = func() error {
		if reads++; reads > 4 {
			return fmt.Errorf("the store is away")
		}
		return nil
	}
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { b.ask("GET", "/control/history.csv", "") })
}
