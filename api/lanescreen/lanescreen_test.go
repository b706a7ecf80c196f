package lanescreen

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/catalog"
	"rangegate/lanes"
)

const cartOf = `{"purchase_id":"` + purchase1 + `","session_id":"` + session1 + `","items":`

func TestAShootersCommandsGoToTheirLane(t *testing.T) {
	for _, c := range []struct {
		path, body string
		status     int
		command    string
	}{
		{"/start", `{"session_id":"` + session1 + `"}`, 204, lane1 + ": enter {Session:" + session1 + " Age:0s}"},
		{"/help", "", 204, lane1 + ": call_help {}"},
		{"/purchase", cartOf + `[{"id":"time","qty":30},{"id":"9mm","qty":2}]}`, 202, lane1 + ": " + session1 +
			" buys [{time 30} {9mm 2}] in " + purchase1},
		{"/start", `{}`, 400, ""},
		{"/purchase", `{}`, 400, ""},
		{"/purchase", cartOf + `{"id":"time","qty":30}}`, 400, ""},
		{"/purchase", cartOf + `"time"}`, 400, ""},
		{"/purchase", cartOf + `[{"id":"time","qty":1.5}]}`, 400, ""},
		{"/purchase", cartOf + `[{"id":"time","qty":"30"}]}`, 400, ""},
		{"/purchase", cartOf + `[{"id":"time","quantity":30}]}`, 400, ""},
	} {
		f := newFixture(t).opened()
		response := f.send("POST", "/lane/"+lane1+c.path, c.body)
		require.Equal(t, c.status, response.Code, "%s %s: %s", c.path, c.body, response.Body)
		require.Equal(t, c.command, f.last)
		if c.status < 400 {
			require.Empty(t, response.Body.String())
			f.err = lanes.ErrStoreUnavailable
			require.Equal(t, http.StatusServiceUnavailable, f.send("POST", "/lane/"+lane1+c.path, c.body).Code)
			f.starting = true
			require.Contains(t, f.send("POST", "/lane/"+lane1+c.path, c.body).Body.String(), `"code":"starting"`)
		}
	}
}

// openStream opens the stream of the first lane over a real connection. next returns its messages, without beats.
func (f *fixture) openStream() (next func() string) {
	server := httptest.NewServer(f.handler)
	request, err := http.NewRequest("GET", server.URL+"/lane/"+lane1+"/stream", nil)
	require.NoError(f.t, err)
	request.AddCookie(f.cookies[lane1])
	response, err := http.DefaultClient.Do(request)
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		_ = response.Body.Close()
		server.Close()
	})
	lines := bufio.NewScanner(response.Body)
	return func() string {
		event := ""
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				event = name
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && event != "beat" {
				return event + " " + data
			}
		}
		return ""
	}
}

func TestTheStreamShowsItsLane(t *testing.T) {
	f := newFixture(t).opened()
	next := f.openStream()
	const now = `{"now":"2026-05-01T12:01:30.250Z","lane":`
	require.Equal(t, `picture `+now+
		`{"name":"Lane 1","phase":"running","held":false,"for_sale":false,"reserved":false,"help":null,"purchasing":true,"currency":"EUR","clear_ms":0,`+
		`"session":{"session_id":"`+session1+
		`","customer_name":"Jo Smith","duration":60,"left_ms":2910000,"paused_by_hold":false},"purchase":null},"hours":null}`,
		next())
	f.change(0, func(l *lanes.Lane) {
		s := *l.Session
		s.Phase, s.ByHold = lanes.Paused, true
		s.Purchase = &lanes.Purchase{ID: uuid.MustParse(purchase1), Phase: lanes.Declined, UserMessage: "Sold out."}
		l.Held, l.Session, l.Help = true, &s, &lanes.HelpCall{Coming: true}
	})
	require.Equal(t, `change `+now+
		`{"name":"Lane 1","phase":"paused","held":true,"for_sale":false,"reserved":false,"help":{"coming":true},"purchasing":true,"currency":"EUR","clear_ms":0,`+
		`"session":{"session_id":"`+session1+
		`","customer_name":"Jo Smith","duration":60,"left_ms":3000000,"paused_by_hold":true},`+
		`"purchase":{"purchase_id":"`+purchase1+`","phase":"refused","user_message":"Sold out."}},"hours":null}`, next())
	f.change(0, func(l *lanes.Lane) {
		l.Session, l.Help, l.Held, l.Sale = nil, nil, false, lanes.OnSale
		l.Uncleared, l.ClearAfter = &lanes.Uncleared{Since: noon}, 2*time.Minute
	})
	require.Equal(t, `change `+now+
		`{"name":"Lane 1","phase":"free","held":false,"for_sale":true,"reserved":false,"help":null,"purchasing":false,"currency":"EUR","clear_ms":30000,"session":null,"purchase":null},"hours":null}`, next())
	f.change(0, func(l *lanes.Lane) {
		l.Uncleared, l.Reservation = nil, &lanes.Reservation{ID: uuid.New(), Made: noon, Term: 2 * time.Minute}
	})
	require.Equal(t, `change `+now+
		`{"name":"Lane 1","phase":"free","held":false,"for_sale":true,"reserved":true,"help":null,"purchasing":false,"currency":"EUR","clear_ms":0,"session":null,"purchase":null},"hours":null}`, next())

	hours, members := &lanes.Hours{Zone: time.UTC}, uuid.New()
	hours.Week[noon.Wall.Weekday()] = []lanes.Opening{{From: 9 * 60, To: 20 * 60}}
	f.change(0, func(l *lanes.Lane) {
		l.GroupHours = map[uuid.UUID]*lanes.Hours{members: hours}
		l.Session = &lanes.Session{ID: uuid.MustParse(session1), Group: members, Phase: lanes.Waiting}
	})
	require.Contains(t, next(), `"hours":{"open":true,"closes_at":"2026-05-01T20:00:00.000Z"`)
	f.change(0, func(l *lanes.Lane) { l.Session = nil })
	require.Contains(t, next(), `"hours":null`, "the lane itself has none")
}

// Whose session has moved is told where to, and not that the time is over; what is on that lane is nobody's here.
func TestTheStreamSaysWhereItsSessionHasMoved(t *testing.T) {
	f := newFixture(t).opened()
	next := f.openStream()
	next()
	session := f.lanes[0].Lane.Session
	f.change(1, func(l *lanes.Lane) { l.Session = session })
	f.change(0, func(l *lanes.Lane) { l.Session = nil })
	require.Contains(t, next(), `"session":null,"purchase":null,"moved_to":"Lane 2"}`)
	f.change(1, func(l *lanes.Lane) { l.Session = nil })
	f.change(0, func(l *lanes.Lane) { l.Held = true })
	require.NotContains(t, next(), "moved_to", "it has ended there")
	f.change(1, func(l *lanes.Lane) { l.Session = &lanes.Session{ID: uuid.New(), Phase: lanes.Running} })
	f.change(0, func(l *lanes.Lane) { l.Held = false })
	require.NotContains(t, next(), "moved_to", "another one is there")
}

// messageCounter counts the messages of a stream inside a synctest bubble.
type messageCounter struct {
	http.ResponseWriter
	messages atomic.Int32
}

func (c *messageCounter) Write(text []byte) (int, error) {
	if !strings.HasPrefix(string(text), "event: beat") {
		c.messages.Add(1)
	}
	return len(text), nil
}

func (c *messageCounter) FlushError() error { return nil }

func TestChangesOfOtherLanesWakeNoScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t).opened()
		ctx, cancel := context.WithCancel(t.Context())
		request := httptest.NewRequestWithContext(ctx, "GET", "/lane/"+lane1+"/stream", nil)
		request.AddCookie(f.cookies[lane1])
		seen := &messageCounter{ResponseWriter: httptest.NewRecorder()}
		var stream sync.WaitGroup
		stream.Go(func() { f.handler.ServeHTTP(seen, request) })
		for range 10 {
			time.Sleep(time.Second)
			f.change(1, func(l *lanes.Lane) { l.Held = !l.Held })
		}
		time.Sleep(time.Second)
		require.EqualValues(t, 1, seen.messages.Load())
		f.mu.Lock()
		require.Equal(t, 1, f.reads)
		f.mu.Unlock()
		f.change(0, func(l *lanes.Lane) { l.Held = true })
		time.Sleep(time.Second)
		require.EqualValues(t, 2, seen.messages.Load())
		cancel()
		stream.Wait()
	})
}

func TestTheOpenScreensOfALaneAreLimited(t *testing.T) {
	f := newFixture(t).opened()
	for range maxStreams {
		require.NotEmpty(t, f.openStream()())
	}
	require.Empty(t, f.openStream()())
	require.Equal(t, http.StatusServiceUnavailable, f.send("GET", "/lane/"+lane1+"/stream", "").Code)
}

func TestProductsAreFetchedForTheSessionOnTheLane(t *testing.T) {
	f := newFixture(t).opened()
	f.shop = catalog.Catalogue{
		Time: []catalog.Product{{
			ID: "time", DisplayName: "Lane time", Price: "0.40", MinQty: 15, MaxQty: 120,
			IncrementBy: 15,
		}},
		Ammo: []catalog.Product{
			{ID: "a", DisplayName: "A", Price: "1e3", MinQty: 1, MaxQty: 9, IncrementBy: 1},
			{ID: "b", DisplayName: "B", Price: "12345678901234567.123456", MinQty: 1, MaxQty: 9, IncrementBy: 1},
		},
	}
	response := f.send("GET", "/lane/"+lane1+"/products", "")
	require.JSONEq(t,
		`{"time":[{"id":"time","display_name":"Lane time","price":"0.40","max_qty":120,"min_qty":15,"increment_by":15,"picture":""}],`+
			`"targets":[],"ammo":[`+
			`{"id":"a","display_name":"A","price":"1000","max_qty":9,"min_qty":1,"increment_by":1,"picture":""},`+
			`{"id":"b","display_name":"B","price":"12345678901234567.123456","max_qty":9,"min_qty":1,"increment_by":1,"picture":""}],"rentals":[]}`,
		response.Body.String())
	require.Equal(t, session1, f.shopping)
	require.JSONEq(t,
		`[{"id":"time","display_name":"Lane time","price":"0.40","max_qty":120,"min_qty":15,"increment_by":15,"picture":""}]`,
		f.send("GET", "/lane/"+lane1+"/time", "").Body.String())

	f.noShop = &catalog.Failed{}
	require.Equal(t, http.StatusBadGateway, f.send("GET", "/lane/"+lane1+"/products", "").Code)
	f.change(0, func(l *lanes.Lane) { l.Purchasing = false })
	require.Contains(t, f.send("GET", "/lane/"+lane1+"/products", "").Body.String(), `"code":"no_purchasing"`)
	require.Contains(t, f.send("GET", "/lane/"+lane1+"/time", "").Body.String(), `"code":"no_purchasing"`)
	f.change(0, func(l *lanes.Lane) { l.Session = nil })
	require.Contains(t, f.send("GET", "/lane/"+lane1+"/products", "").Body.String(), `"code":"session_not_found"`)
}

// A shooter is offered as much time as fits before the range closes, and none where too little does.
func TestOnlyTimeThatFitsIsOffered(t *testing.T) {
	f := newFixture(t).opened() // the session on the lane ends at 12:50
	f.shop = catalog.Catalogue{Time: []catalog.Product{{
		ID: "time", DisplayName: "Lane time", Price: "0.40", MinQty: 15,
		MaxQty: 120, IncrementBy: 15,
	}}}
	closing := func(minutes int) {
		f.change(0, func(l *lanes.Lane) {
			hours := &lanes.Hours{Zone: time.UTC}
			hours.Week[noon.Wall.Weekday()] = []lanes.Opening{{From: 9 * 60, To: 12*60 + minutes}}
			l.Hours = hours
		})
	}
	closing(90)
	require.Contains(t, f.send("GET", "/lane/"+lane1+"/products", "").Body.String(), `"max_qty":39,`)
	require.Contains(t, f.send("GET", "/lane/"+lane1+"/time", "").Body.String(), `"max_qty":39,`)
	closing(65)
	require.Contains(t, f.send("GET", "/lane/"+lane1+"/products", "").Body.String(), `"time":[]`)
	require.JSONEq(t, `[]`, f.send("GET", "/lane/"+lane1+"/time", "").Body.String())
	closing(0)
	require.JSONEq(t, `[]`, f.send("GET", "/lane/"+lane1+"/time", "").Body.String(), "it is closed")
}
