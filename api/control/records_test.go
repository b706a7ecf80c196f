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

// addEnded adds ended sessions with the cursors from first to last. Every hundredth is of Ada.
func (f *fixture) addEnded(first, last uint64) {
	for cursor := first; cursor <= last; cursor++ {
		customer := "Jo Smith"
		if cursor%100 == 0 {
			customer = "Ada Lovelace"
		}
		f.history = append(f.history, lanes.Ended{
			Cursor: cursor, Lane: theLane, At: noon.Wall, Reason: lanes.Expired, Used: 30 * time.Minute,
			Paused:  15 * time.Second,
			Session: lanes.Session{ID: uuid.New(), Group: theGroup, Customer: customer, Sold: time.Hour, Created: noon},
		})
	}
}

// readAll reads all pages of a log, and returns the cursors in the order of the pages.
func (b *browser) readAll(path, list string) (cursors []uint64, pages int) {
	before := ""
	for {
		response := b.send("GET", path+before, "")
		require.Equal(b.t, http.StatusOK, response.Code, response.Body)
		var page map[string]json.RawMessage
		require.NoError(b.t, json.Unmarshal(response.Body.Bytes(), &page))
		var found []struct{ Cursor string }
		require.NoError(b.t, json.Unmarshal(page[list], &found))
		for _, record := range found {
			cursor, err := strconv.ParseUint(record.Cursor, 10, 64)
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

// countDown returns the numbers from first down to last, in steps.
func countDown(first, last, step uint64) (numbers []uint64) {
	for n := first; n >= last; n -= step {
		numbers = append(numbers, n)
		if n < step {
			break
		}
	}
	return numbers
}

func TestTheHistoryIsReadCompletelyNewestFirst(t *testing.T) {
	for _, c := range []struct{ first, last uint64 }{{1, 0}, {1, 1}, {1, 99}, {1, 100}, {1, 101}, {1, 1234}} {
		f := newFixture(t)
		f.addEnded(c.first, c.last)
		cursors, pages := f.signedIn().readAll("/control/api/history?limit=100", "sessions")
		require.Equal(t, countDown(c.last, c.first, 1), cursors)
		require.Equal(t, max(1, int(c.last+99)/100), pages, "only a single page is empty")
	}
}

func TestASearchReadsALongHistoryInPages(t *testing.T) {
	f := newFixture(t)
	f.addEnded(1, 25_000)
	cursors, pages := f.signedIn().readAll("/control/api/history?limit=500&search=lovelace", "sessions")
	require.Equal(t, countDown(25_000, 100, 100), cursors)
	require.Equal(t, 2, pages, "one response reads at most 20,000 records")
}

func TestALogWithoutItsOldestRecords(t *testing.T) {
	cursors := []uint64{4_000_001, 4_000_002, 4_000_900, 4_001_700}
	l := log[uint64]{4_001_700, func(_ context.Context, after uint64, limit int) ([]uint64, error) {
		return readAfter(cursors, func(c uint64) uint64 { return c }, after, limit), nil
	}, func(c uint64) uint64 { return c }}
	found, next, err := l.readBackwards(t.Context(), 0, 3, matchAll)
	require.NoError(t, err)
	require.Equal(t, []uint64{4_001_700, 4_000_900, 4_000_002}, found)
	found, next, err = l.readBackwards(t.Context(), next, 3, matchAll)
	require.NoError(t, err)
	require.Equal(t, []uint64{4_000_001}, found)
	require.Zero(t, next)
}

func TestSearches(t *testing.T) {
	f := newFixture(t)
	f.addEnded(1, 100)
	b := f.signedIn()
	id := f.history[40].Session.ID.String()
	for search, n := range map[string]int{
		"": 100, "ADA+L": 1, "%20jo%20": 99, "lane+1": 100, id: 1, id[:13]: 1,
		"bay": 0, "%25": 0,
	} {
		cursors, _ := b.readAll("/control/api/history?limit=500&search="+search, "sessions")
		require.Len(t, cursors, n, search)
	}
}

func TestSearchesForWhatThePOSKnows(t *testing.T) {
	f := newFixture(t)
	f.addEnded(1, 10)
	f.history[3].Session.Correlation = &lanes.Correlation{ExternalID: "Till-7/4711"}
	f.history[4].At = noon.Add(time.Hour).Wall
	f.history[5].Session.Left = time.Minute
	b := f.signedIn()
	for query, n := range map[string]int{
		"search=till-7": 1, "search=4711": 0, "until=2026-05-01T13:00:00Z": 9,
		"until=2026-05-01T15:00:00%2B02:00": 9, "until=2026-05-01T12:00:00Z": 0,
	} {
		cursors, _ := b.readAll("/control/api/history?limit=500&"+query, "sessions")
		require.Len(t, cursors, n, query)
	}
	require.Equal(t, 1, strings.Count(b.send("GET", "/control/api/history", "").Body.String(), `"may_reopen":true`),
		"with time left")
	for _, path := range []string{"/control/api/history", "/control/history.csv"} {
		refused := b.send("GET", path+"?until=yesterday", "")
		require.Equal(t, http.StatusBadRequest, refused.Code)
		require.Contains(t, refused.Body.String(), `"until":"must be a time such as 2026-05-01T22:00:00Z"`)
	}
}

func TestAnEndedSession(t *testing.T) {
	f := newFixture(t)
	f.addEnded(1, 1)
	session := f.history[0].Session
	require.JSONEq(t, `{"sessions":[{"cursor":"1","session_id":"`+session.ID.String()+`","lane_id":"`+lane1+
		`","lane_name":"Lane 1",`+
		`"group_id":"33333333-3333-4333-8333-000000000001","group_name":"Public","customer_name":"Jo Smith",`+
		`"created_at":"2026-05-01T12:00:00.250Z","began_at":null,"ended_at":"2026-05-01T12:00:00.250Z","end_reason":"expired",`+
		`"duration":60,"minutes_used":30,"minutes_paused":0.25,"minutes_turn":null,"minutes_beyond":null,"minutes_beyond_settled":null,"may_reopen":false}],"next":null}`,
		f.signedIn().send("GET", "/control/api/history", "").Body.String())
}

func TestDeliveries(t *testing.T) {
	f := newFixture(t)
	event := lanes.Event{ID: uuid.New(), Kind: lanes.Help, Session: theSession, Lane: theLane, At: noon.Wall}
	f.events = []lanes.Logged{
		{Cursor: 1, Event: event, Delivery: lanes.Delivery{
			Attempt: &lanes.Attempt{At: noon.Wall, Status: 500, Error: lanes.Refused, Duration: 35 * time.Millisecond},
		}},
		{Cursor: 2, Event: event, Simulated: true},
		{Cursor: 3, Event: event, Delivery: lanes.Delivery{
			Webhook: "books", Copy: true, Attempt: &lanes.Attempt{At: noon.Wall, Status: 204},
			Earlier: make([]lanes.Attempt, 2), Again: true,
		}},
	}
	payload := `{"event":"help","session_id":"` + session1 + `","lane_id":"` + lane1 + `"}`
	require.JSONEq(t, `{"events":[`+
		`{"cursor":"3","occurred_at":"2026-05-01T12:00:00.250Z","lane_name":"Lane 1","payload":`+payload+
		`,"simulated":false,"webhook":"books",`+
		`"attempt":{"at":"2026-05-01T12:00:00.250Z","status":204,"error":null,"duration_ms":0,"outcome":"delivered"},`+
		`"attempts":3,"again":true,"may_go_again":false},`+
		`{"cursor":"2","occurred_at":"2026-05-01T12:00:00.250Z","lane_name":"Lane 1","payload":`+payload+
		`,"simulated":true,"attempt":null,"attempts":0,"again":false,"may_go_again":false},`+
		`{"cursor":"1","occurred_at":"2026-05-01T12:00:00.250Z","lane_name":"Lane 1","payload":`+payload+
		`,"simulated":false,`+
		`"attempt":{"at":"2026-05-01T12:00:00.250Z","status":500,"error":"refused","duration_ms":35,"outcome":"refused"},"attempts":1,"again":false,"may_go_again":true}],"next":null}`,
		f.signedIn().send("GET", "/control/api/deliveries", "").Body.String())
	cursors, pages := f.signedIn().readAll("/control/api/deliveries?limit=1", "events")
	require.Equal(t, []uint64{3, 2, 1}, cursors)
	require.Equal(t, 3, pages)
	require.Equal(t, http.StatusNoContent, f.signedIn().send("POST", "/control/api/deliveries/1/redeliver", "").Code)
	require.Equal(t, []string{"sam 1"}, f.redelivered)
}

func TestTheActsOfStaff(t *testing.T) {
	f := newFixture(t)
	f.acts = []lanes.Act{
		{Cursor: 1, At: noon.Wall, Who: "alex", What: lanes.DidHold, Detail: "range"},
		{
			Cursor: 2, At: noon.Wall, Who: "sam", What: lanes.DidModify, Lane: theLane, Session: theSession,
			Detail: "+15",
		},
	}
	require.JSONEq(t, `{"acts":[`+
		`{"cursor":"2","at":"2026-05-01T12:00:00.250Z","who":"sam","what":"modify","lane_id":"`+lane1+
		`","lane_name":"Lane 1","session_id":"`+session1+`","detail":"+15"},`+
		`{"cursor":"1","at":"2026-05-01T12:00:00.250Z","who":"alex","what":"hold","lane_id":null,"lane_name":"","session_id":null,"detail":"range"}],"next":null}`,
		f.signedIn().send("GET", "/control/api/acts", "").Body.String())
}

func TestAStoreThatCannotBeRead(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	f.err = lanes.ErrStoreUnavailable
	for _, path := range []string{
		"/control/api/history", "/control/api/deliveries", "/control/api/acts",
		"/control/history.csv",
	} {
		require.Equal(t, http.StatusServiceUnavailable, b.send("GET", path, "").Code, path)
	}
}

func TestTheHistoryAsATable(t *testing.T) {
	f := newFixture(t)
	f.addEnded(1, 1200)
	names := []string{
		`=HYPERLINK("http://evil.example","x")`, "+1", "-1", "@sum", " =1", `Jo "the eye", Smith`,
		"Jürgen – Ø", "a=b", "Jo;=1+1;\t-2", "\u00a0＝1",
	}
	for i, name := range names {
		f.history[i].Session.Customer = name
	}
	f.history[0].Session.Turn = new(450 * time.Second)
	f.history[0].Session.OpenEnd, f.history[0].Session.Settled, f.history[0].Beyond = 2*time.Hour, 10*time.Minute,
		12*time.Minute+30*time.Second
	f.history[0].Session.Correlation = &lanes.Correlation{
		ExternalID: "=1+1",
		Metadata:   map[string]string{"till": "3", "note": `a, "b";=2+2`},
	}
	response := f.signedIn().send("GET", "/control/history.csv", "")
	require.Equal(t, http.StatusOK, response.Code)
	require.Equal(t, "text/csv; charset=utf-8", response.Header().Get("Content-Type"))
	require.Equal(t, `attachment; filename="sessions-2026-05-01.csv"`, response.Header().Get("Content-Disposition"))
	text, ok := strings.CutPrefix(response.Body.String(), "\xef\xbb\xbf")
	require.True(t, ok, "a byte order mark tells spreadsheets that the file is UTF-8")
	require.Equal(t, strings.Count(text, "\n"), strings.Count(text, "\r\n"), "lines end as in RFC 4180")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1201)
	require.Equal(t, csvHeader, rows[0])
	for _, field := range strings.Split(strings.Split(text, "\r\n")[1], ",") {
		require.Regexp(t, `^"[^"]*"$`, field, "every field is in quotes")
	}
	require.Equal(t, []string{
		"2026-05-01T12:00:00.250Z", "expired", "Lane 1", "Public", "Ada Lovelace", "2026-05-01T12:00:00.250Z", "",
		"60", "30", "0.25",
		f.history[1199].Session.ID.String(), "", "", "", "", "",
	}, rows[1], "newest first")
	require.Equal(t, []string{"'=1+1", `{"note":"a, \"b\";\u003d2+2","till":"3"}`, "7.5", "12.5", "10"},
		rows[1200][11:], "what the POS gave the session, its turn-time, and what it used beyond what was sold")
	for i, want := range []string{
		`'=HYPERLINK("http://evil.example","x")`, "'+1", "'-1", "'@sum", "' =1",
		`Jo "the eye", Smith`, "Jürgen – Ø", "a=b", "Jo;'=1+1;'\t-2", "'\u00a0＝1",
	} {
		require.Equal(t, want, rows[1200-i][4], "no name is a formula")
	}

	found, err := csv.NewReader(strings.NewReader(f.signedIn().send("GET", "/control/history.csv?search=lovelace",
		"").Body.String())).ReadAll()
	require.NoError(t, err)
	require.Len(t, found, 13)
}

// An incomplete table must not look complete: the connection is aborted.
func TestATableThatBreaksOff(t *testing.T) {
	f := newFixture(t)
	f.addEnded(1, 1200)
	b := f.signedIn()
	reads := 0
	f.readErr = func() error {
		if reads++; reads > 4 {
			return fmt.Errorf("the store is down")
		}
		return nil
	}
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { b.send("GET", "/control/history.csv", "") })
}

// Tables that nobody reads leave the range's other requests alone: there are only so many at a time.
func TestTooManyTables(t *testing.T) {
	f := newFixture(t)
	f.addEnded(1, 2)
	b := f.signedIn()
	var within func(depth int)
	within = func(depth int) {
		f.readErr = func() error { // while a table is being made
			f.readErr = nil
			if depth < maxTables {
				within(depth + 1)
				require.Equal(t, http.StatusOK, b.send("GET", "/control/history.csv", "").Code)
			} else {
				response := b.send("GET", "/control/history.csv", "")
				require.Equal(t, http.StatusServiceUnavailable, response.Code)
				require.Contains(t, response.Body.String(), "overloaded")
			}
			return nil
		}
	}
	within(1)
	require.Equal(t, http.StatusOK, b.send("GET", "/control/history.csv", "").Code)
	require.Equal(t, http.StatusOK, b.send("GET", "/control/history.csv", "").Code, "once they are sent")
}
