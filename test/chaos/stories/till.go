package stories

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

const v2 = "/api/v2/pos"

// till is a POS client of a gateway, with a line to its operations address.
type till struct {
	t       testing.TB
	gateway *process.Process
	process.Client
}

// ask makes a request that is answered with that status.
func (p till) ask(method, path, body string, status int, into any) {
	p.t.Helper()
	answer := p.try(method, path, body)
	require.Equal(p.t, status, answer.Status, "%s %s: %s", method, path, answer.Body)
	if into != nil {
		require.NoError(p.t, json.Unmarshal([]byte(answer.Body), into), answer.Body)
	}
}

// try makes a request that is answered somehow.
func (p till) try(method, path, body string, headers ...string) process.Answer {
	p.t.Helper()
	answer, err := p.Do(method, v2+path, body, headers...)
	require.NoError(p.t, err)
	return answer
}

// sale is the body of a create: time on the lane for Jo, and what else it says.
func sale(n, minutes int, more string) string {
	return fmt.Sprintf(`{"customer_name":"Jo","lane_id":%q,"group_id":%q,"duration":%d%s}`, laneID(n), group, minutes, more)
}

// sell begins a session on the lane. More is what else its create says.
func (p till) sell(n, minutes int, more ...string) (session string) {
	p.t.Helper()
	var sold view
	p.ask("POST", "/sessions", sale(n, minutes, strings.Join(more, "")), 201, &sold)
	return sold.ID
}

// book sells a session that waits for its customer.
func (p till) book(n, minutes int) (session string) {
	p.t.Helper()
	return p.sell(n, minutes, `,"auto_start":false`)
}

// does is a command to the session that is taken; the moment is when.
func (p till) does(session, command string) moment {
	p.t.Helper()
	return at(func() { p.ask("POST", "/sessions/"+session+command, "", 204, nil) })
}

// refused is a command to the session that is not taken, with the code that says why.
func (p till) refused(session, command string, status int, code string) {
	p.t.Helper()
	answer := p.try("POST", "/sessions/"+session+command, "")
	require.Equal(p.t, status, answer.Status, answer.Body)
	require.Contains(p.t, answer.Body, `"code":"`+code+`"`)
}

// view is a session as POS sees it. In the history it has more.
type view struct {
	ID      string     `json:"session_id"`
	Lane    string     `json:"lane_id"`
	Minutes int        `json:"duration"`
	Began   *time.Time `json:"began_at"`
	Created time.Time  `json:"created_at"`
	Left    minutes    `json:"minutes_remaining"`

	Ended  time.Time `json:"ended_at"`
	Reason string    `json:"end_reason"`
	Used   minutes   `json:"minutes_used"`
	Paused minutes   `json:"minutes_paused"`
}

// minutes is a time as POS gets it, exact to the millisecond. There is none before the session began.
type minutes struct {
	time.Duration
	given bool
}

func (m *minutes) UnmarshalJSON(text []byte) error {
	var number *float64
	if err := json.Unmarshal(text, &number); err != nil || number == nil {
		return err
	}
	*m = minutes{time.Duration(math.Round(*number*60_000)) * time.Millisecond, true}
	return nil
}

// shows is the session as it is.
func (p till) shows(session string) (v view) {
	p.t.Helper()
	p.ask("GET", "/sessions/"+session, "", 200, &v)
	return v
}

func (p till) left(session string) time.Duration {
	p.t.Helper()
	return p.shows(session).Left.Duration
}

// ended is the session on record, which there is just once.
func (p till) ended(session string) view {
	p.t.Helper()
	var page struct{ Sessions []view }
	p.ask("GET", "/history?limit=1000", "", 200, &page)
	found := slices.DeleteFunc(page.Sessions, func(v view) bool { return v.ID != session })
	require.Len(p.t, found, 1, "the session is on record")
	return found[0]
}

// isOver waits until the session has ended by itself.
func (p till) isOver(session string) view {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.try("GET", "/sessions/"+session, "").Status == 404 }, patience, often)
	return p.ended(session)
}

// advance lets the session's time run out but for so much.
func (p till) advance(session string, but time.Duration) {
	p.t.Helper()
	jump := (p.left(session) - but).Minutes()
	p.ask("POST", "/simulate/advance", fmt.Sprintf(`{"session_id":%q,"minutes":%f}`, session, jump), 204, nil)
}

// standing is how a lane stands.
type standing struct {
	Session *string `json:"session_id"`
	Phase   string  `json:"phase"`
	Link    string  `json:"link"`
	Why     *string `json:"not_usable_because"`
}

func (p till) stand() (all []standing) {
	p.t.Helper()
	p.ask("GET", "/lanes/status", "", 200, &all)
	return all
}

// linked waits until every lane's controller is reached.
func (p till) linked() {
	p.t.Helper()
	down := func(s standing) bool { return s.Link != "up" }
	require.Eventually(p.t, func() bool { return !slices.ContainsFunc(p.stand(), down) }, patience, often, "the links come up")
}

// logged is an event in the gateway's log.
type logged struct {
	ID      string
	At      time.Time `json:"occurred_at"`
	Payload struct {
		Event   string
		Lane    string `json:"lane_id"`
		Session string `json:"session_id"`
	}
	Attempt *struct {
		Status *int
		Error  *string
	}
}

// says is what became of the event's one attempt: a status, or the first words of why there was none.
func (l logged) says() string {
	switch {
	case l.Attempt == nil:
		return "pending"
	case l.Attempt.Status != nil:
		return fmt.Sprint(*l.Attempt.Status)
	}
	word, _, _ := strings.Cut(*l.Attempt.Error, ":")
	return word
}

// events is the log, once everything in it has been attempted and has its outcome. After a kill that may never be.
func (p till) events() []logged {
	p.t.Helper()
	var page struct{ Events []logged }
	under := func(l logged) bool { // as long as it is, it stands there as interrupted
		return l.Attempt == nil || l.Attempt.Error != nil && *l.Attempt.Error == "interrupted"
	}
	require.Eventually(p.t, func() bool {
		p.ask("GET", "/events?limit=1000", "", 200, &page)
		return !slices.ContainsFunc(page.Events, under)
	}, patience, often, "no event waits for ever")
	return page.Events
}

// happened is what the log has of the session, in its order.
func (p till) happened(session string) (kinds []string) {
	p.t.Helper()
	var page struct{ Events []logged }
	p.ask("GET", "/events?limit=1000", "", 200, &page)
	for _, l := range page.Events {
		if l.Payload.Session == session {
			kinds = append(kinds, l.Payload.Event)
		}
	}
	return kinds
}

// operate asks the gateway's operations address, as staff do.
func (p till) operate(method, path, body string, status int) string {
	p.t.Helper()
	request, err := http.NewRequest(method, p.gateway.Operations+path, strings.NewReader(body))
	require.NoError(p.t, err)
	request.Header.Set("Authorization", "Bearer "+operator)
	response, err := http.DefaultClient.Do(request)
	require.NoError(p.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	require.Equal(p.t, status, response.StatusCode, "%s", answer)
	return string(answer)
}

// moment is when something was done: after the one instant and before the other.
type moment struct{ after, before time.Time }

func at(do func()) moment {
	after := time.Now()
	do()
	return moment{after, time.Now()}
}

// rounded is what a time may be off because it, and the instant that it counts from, came to the millisecond.
const rounded = 2 * time.Millisecond

// between holds the time against what lay between two moments.
func between(t testing.TB, is time.Duration, from, to moment, what string) {
	t.Helper()
	require.GreaterOrEqual(t, is, to.after.Sub(from.before)-rounded, what)
	require.LessOrEqual(t, is, to.before.Sub(from.after)+rounded, what)
}
