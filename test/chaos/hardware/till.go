package hardware

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

const v2 = "/api/v2/pos"

// pos is a POS client of a gateway that answers.
type pos struct {
	t testing.TB
	process.Client
}

func (p pos) ask(method, path, body string, status int, into any) {
	p.t.Helper()
	answer, err := p.Do(method, v2+path, body)
	require.NoError(p.t, err)
	require.Equal(p.t, status, answer.Status, "%s %s: %s", method, path, answer.Body)
	if into != nil {
		require.NoError(p.t, json.Unmarshal([]byte(answer.Body), into), answer.Body)
	}
}

// sell begins a session on the lane.
func (p pos) sell(n int) (session string) {
	p.t.Helper()
	answer, err := p.trySell(n)
	require.NoError(p.t, err)
	require.Equal(p.t, 201, answer.Status, answer.Body)
	var sold struct {
		ID string `json:"session_id"`
	}
	require.NoError(p.t, json.Unmarshal([]byte(answer.Body), &sold))
	return sold.ID
}

func (p pos) trySell(n int) (process.Answer, error) {
	return p.Do("POST", v2+"/sessions",
		fmt.Sprintf(`{"customer_name":"Jo","lane_id":%q,"group_id":%q,"duration":240}`, laneID(n), group))
}

// remaining is the session's time left by the gateway's clock.
func (p pos) remaining(session string) time.Duration {
	p.t.Helper()
	var view struct {
		Minutes float64 `json:"minutes_remaining"`
	}
	p.ask("GET", "/sessions/"+session, "", 200, &view)
	return time.Duration(view.Minutes * float64(time.Minute))
}

// standing is how a lane stands, as GET /lanes/status and GET /lanes say.
type standing struct {
	Lane    string  `json:"lane_id"`
	Session *string `json:"session_id"`
	Phase   string  `json:"phase"`
	Hold    bool    `json:"hold"`
	Link    string  `json:"link"`
	Since   string  `json:"link_since"`
	Why     *string `json:"not_usable_because"`
	Usable  bool    `json:"is_usable"`
}

func (s standing) why() string {
	if s.Why == nil {
		return ""
	}
	return *s.Why
}

// stand is how all lanes stand, in their order.
func (p pos) stand() []standing {
	p.t.Helper()
	var all, usable []standing
	p.ask("GET", "/lanes/status", "", 200, &all)
	p.ask("GET", "/lanes", "", 200, &usable)
	require.Len(p.t, usable, len(all))
	for i := range all {
		require.Equal(p.t, all[i].Lane, usable[i].Lane)
		all[i].Usable = usable[i].Usable
	}
	return all
}

// until waits until the lane stands so.
func (p pos) until(n int, what string, is func(standing) bool) {
	p.t.Helper()
	var last standing
	for end := time.Now().Add(2 * patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if last = p.stand()[n]; is(last) {
			return
		}
	}
	require.Fail(p.t, what, "lane %d stands so: %+v %s", n, last, last.why())
}

func isUp(s standing) bool { return s.Link == "up" && s.Usable && s.Why == nil }

// event is one in the gateway's log.
type event struct {
	Cursor  string `json:"cursor"`
	Payload struct {
		Event   string `json:"event"`
		Lane    string `json:"lane_id"`
		Session string `json:"session_id"`
	} `json:"payload"`
}

// events is the whole log.
func (p pos) events() (log []event) {
	p.t.Helper()
	after := "0"
	for {
		var page struct {
			Events []event `json:"events"`
			Next   string  `json:"next"`
		}
		p.ask("GET", "/events?limit=1000&after="+after, "", 200, &page)
		if len(page.Events) == 0 {
			return log
		}
		log, after = append(log, page.Events...), page.Next
	}
}
