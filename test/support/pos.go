package support

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The paths of the two versions of the API.
const (
	V1 = "/api/v1/pos"
	V2 = "/api/v2/pos"
)

// POS is a POS system at a range. Its paths are below V2, unless they begin with /api/.
type POS struct {
	Client
	t testing.TB
}

// POS is a POS system at the range of this package.
func (g *Gateway) POS() POS { return NewPOS(g.t, Client{API: g.API, Range: RangeID, Token: Token}) }

// NewPOS is a POS system with that client.
func NewPOS(t testing.TB, client Client) POS { return POS{client, t} }

// With is the same POS in a subtest.
func (p POS) With(t testing.TB) POS { return POS{p.Client, t} }

// Do makes a request that need not be answered. Unlike the other methods it may be called in any goroutine.
func (p POS) Do(method, path, body string, headers ...string) (Answer, error) {
	if !strings.HasPrefix(path, "/api/") {
		path = V2 + path
	}
	return p.Client.Do(method, path, body, headers...)
}

// Send makes a request that is answered, whatever the answer.
func (p POS) Send(method, path, body string, headers ...string) Answer {
	p.t.Helper()
	answer, err := p.Do(method, path, body, headers...)
	require.NoError(p.t, err)
	return answer
}

// Expect makes a request that is answered with that status. Like a till it asks again when it should have been done
// and the store of a busy machine takes more than a second (503): then nothing was changed.
func (p POS) Expect(status int, method, path, body string, headers ...string) Answer {
	p.t.Helper()
	ask := func() (Answer, error) { return p.Do(method, path, body, headers...) }
	answer, err := Repeat(ask, func(a Answer) bool { return status < 300 && a.IsStoreAway() })
	require.NoError(p.t, err)
	require.Equal(p.t, status, answer.Status, "%s %s: %s", method, path, answer.Body)
	return answer
}

// DoInsisting is Do of a POS that repeats, with one key, what 503 refuses for now and what 504 does not know: the
// store of a busy machine may take its time.
func (p POS) DoInsisting(method, path, body string) (Answer, error) {
	key := uuid.NewString()
	ask := func() (Answer, error) { return p.Do(method, path, body, "Idempotency-Key", key) }
	return Repeat(ask, Answer.IsForNow)
}

// Repeat asks again while the answer is one for now, until Patience is over.
func Repeat(ask func() (Answer, error), isForNow func(Answer) bool) (answer Answer, err error) {
	for end := time.Now().Add(Patience); ; time.Sleep(100 * time.Millisecond) {
		answer, err = ask()
		if err != nil || !isForNow(answer) || time.Now().After(end) {
			return answer, err
		}
	}
}

// Insist is Expect of such a POS.
func (p POS) Insist(status int, method, path, body string) Answer {
	p.t.Helper()
	answer, err := p.DoInsisting(method, path, body)
	require.NoError(p.t, err)
	require.Equal(p.t, status, answer.Status, "%s %s: %s", method, path, answer.Body)
	return answer
}

// Read decodes what GET answers.
func (p POS) Read(path string, into any) {
	p.t.Helper()
	p.Expect(200, "GET", path, "").Decode(p.t, into)
}

// Order is the body of a create: time on the lane for Jo Smith, and further keys, each with a comma before it.
func Order(lane, minutes int, more ...string) string {
	return fmt.Sprintf(`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":%d%s}`,
		LaneID(lane), Group, minutes, strings.Join(more, ""))
}

// Sell creates a session on the lane and returns its id, as Insist does. More is what Order takes.
func (p POS) Sell(lane, minutes int, more ...string) (session string) {
	p.t.Helper()
	return p.Insist(201, "POST", "/sessions", Order(lane, minutes, more...)).SessionID(p.t)
}

// Command gives the session a command that is taken, as "/stop", as Insist does.
func (p POS) Command(session, command string) {
	p.t.Helper()
	p.Insist(204, "POST", "/sessions/"+session+command, "")
}

// Session is a session as a POS sees it. The fields from Customer on are those of the history.
type Session struct {
	ID      string     `json:"session_id"`
	Lane    string     `json:"lane_id"`
	Minutes int        `json:"duration"`
	Began   *time.Time `json:"began_at"`
	Created time.Time  `json:"created_at"`
	Left    Minutes    `json:"minutes_remaining"`

	Customer string    `json:"customer_name"`
	Ended    time.Time `json:"ended_at"`
	Reason   string    `json:"end_reason"`
	Used     Minutes   `json:"minutes_used"`
	Paused   Minutes   `json:"minutes_paused"`
}

// Minutes is a length of time on the wire, exact to the millisecond. Without a value it is 0.
type Minutes struct{ time.Duration }

// UnmarshalJSON reads a number of minutes, or null.
func (m *Minutes) UnmarshalJSON(text []byte) error {
	var number float64 // stays 0 on null
	if err := json.Unmarshal(text, &number); err != nil {
		return err
	}
	*m = Minutes{time.Duration(math.Round(number*60_000)) * time.Millisecond}
	return nil
}

// Session reads an active session.
func (p POS) Session(id string) (session Session) {
	p.t.Helper()
	p.Read("/sessions/"+id, &session)
	return session
}

// Sessions reads the active sessions, by id.
func (p POS) Sessions() map[string]Session {
	p.t.Helper()
	var list []Session
	p.Read("/sessions", &list)
	sessions := make(map[string]Session, len(list))
	for _, session := range list {
		sessions[session.ID] = session
	}
	return sessions
}

// History reads the ended sessions, at most 1,000.
func (p POS) History() []Session {
	p.t.Helper()
	var page struct{ Sessions []Session }
	p.Read("/history?limit=1000", &page)
	return page.Sessions
}

// Ended reads a session from the history, which has to have it once.
func (p POS) Ended(id string) Session {
	p.t.Helper()
	found := slices.DeleteFunc(p.History(), func(s Session) bool { return s.ID != id })
	require.Len(p.t, found, 1, "the session is in the history once")
	return found[0]
}

// LaneStatus is a lane as GET /lanes/status shows it.
type LaneStatus struct {
	Lane             string  `json:"lane_id"`
	Session          *string `json:"session_id"`
	Phase            string  `json:"phase"`
	Hold             bool    `json:"hold"`
	Link             string  `json:"link"`
	LinkSince        string  `json:"link_since"`
	NotUsableBecause *string `json:"not_usable_because"`
}

// LaneStatuses reads every lane, in display order.
func (p POS) LaneStatuses() (statuses []LaneStatus) {
	p.t.Helper()
	p.Read("/lanes/status", &statuses)
	return statuses
}

// Phases are the phases of the sessions on the lanes, by session.
func (p POS) Phases() map[string]string {
	p.t.Helper()
	phases := map[string]string{}
	for _, lane := range p.LaneStatuses() {
		if lane.Session != nil {
			phases[*lane.Session] = lane.Phase
		}
	}
	return phases
}

// WaitLinked waits until every lane's controller is connected.
func (p POS) WaitLinked() {
	p.t.Helper()
	down := func(lane LaneStatus) bool { return lane.Link != "up" }
	EventuallyNone(p.t, "every link is up", func() []LaneStatus { return only(p.LaneStatuses(), down) })
}

var cursors = regexp.MustCompile(`"(cursor|next)":"[0-9]*"`)

// WithoutCursors is an answer of the event log or the history without its cursors: a store that another one
// has replaced gives others.
func WithoutCursors(answer string) string { return cursors.ReplaceAllString(answer, `"$1":""`) }

// Event is an event of the log.
type Event struct {
	Cursor  string    `json:"cursor"`
	ID      string    `json:"id"`
	At      time.Time `json:"occurred_at"`
	Payload struct {
		Event   string `json:"event"`
		Lane    string `json:"lane_id"`
		Session string `json:"session_id"`
	} `json:"payload"`
	Attempt *Attempt `json:"attempt"` // nil: not attempted
}

// Attempt is the one delivery of an event.
type Attempt struct {
	Status *int    `json:"status"`
	Error  *string `json:"error"`
	Word   string  `json:"outcome"`
}

// UnderWay tells whether the event is being attempted now.
func (e Event) UnderWay() bool { return e.Attempt != nil && e.Attempt.Word == "under_way" }

// Interrupted tells whether the event was attempted and the outcome is not known, or not yet.
func (e Event) Interrupted() bool {
	return e.UnderWay() || e.Attempt != nil && e.Attempt.Error != nil &&
		strings.HasPrefix(*e.Attempt.Error, "interrupted")
}

// Outcome is what became of the event: pending, under_way, the status of its attempt, or the first words of its error.
func (e Event) Outcome() string {
	switch {
	case e.Attempt == nil:
		return "pending"
	case e.UnderWay():
		return e.Attempt.Word
	case e.Attempt.Status != nil:
		return fmt.Sprint(*e.Attempt.Status)
	}
	words, _, _ := strings.Cut(*e.Attempt.Error, ":")
	return words
}

// Events reads the event log behind the cursor, to its end. The log begins behind "0".
func (p POS) Events(after string) (log []Event) {
	p.t.Helper()
	for {
		var page struct {
			Events []Event
			Next   string
		}
		p.Read("/events?limit=1000&after="+after, &page)
		if len(page.Events) == 0 {
			return log
		}
		log, after = append(log, page.Events...), page.Next
	}
}

// Deliveries reads the deliveries to one of several webhooks, to the end of the log.
func (p POS) Deliveries(webhook string) (log []Event) {
	p.t.Helper()
	for after := "0"; ; {
		var page struct {
			Events []Event
			Next   string
		}
		p.Read("/events?limit=1000&webhook="+webhook+"&after="+after, &page)
		if page.Next == after {
			return log
		}
		log, after = append(log, page.Events...), page.Next
	}
}

// EventsOf are the events of a session in the log, by name.
func (p POS) EventsOf(session string) (names []string) {
	p.t.Helper()
	for _, event := range p.Events("0") {
		if event.Payload.Session == session {
			names = append(names, event.Payload.Event)
		}
	}
	return names
}

// AttemptedEvents waits until every event was attempted and its outcome is known, and returns the log. After a kill an
// attempt may stay interrupted for ever.
func (p POS) AttemptedEvents() (log []Event) {
	p.t.Helper()
	open := func(e Event) bool {
		return e.Attempt == nil || e.UnderWay() || e.Interrupted() && *e.Attempt.Error == "interrupted"
	}
	EventuallyNone(p.t, "every event is attempted", func() []Event {
		log = p.Events("0")
		return only(log, open)
	})
	return log
}

// only returns those of the list that match.
func only[T any](list []T, matches func(T) bool) (found []T) {
	for _, one := range list {
		if matches(one) {
			found = append(found, one)
		}
	}
	return found
}
