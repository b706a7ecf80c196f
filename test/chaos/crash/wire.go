package crash

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"rangegate/test/support"
)

// The bodies of the API, as far as a client needs them (WIRE.md, Views and New paths).
type (
	sessionView struct {
		ID        string     `json:"session_id"`
		Lane      string     `json:"lane_id"`
		Group     string     `json:"group_id"`
		Duration  int        `json:"duration"`
		Began     *time.Time `json:"began_at"`
		Created   time.Time  `json:"created_at"`
		Remaining *float64   `json:"minutes_remaining"`
	}
	endedView struct {
		sessionView
		Customer string    `json:"customer_name"`
		Ended    time.Time `json:"ended_at"`
		Reason   string    `json:"end_reason"`
		Used     float64   `json:"minutes_used"`
		Paused   float64   `json:"minutes_paused"`
	}
	laneStatus struct {
		Lane    string  `json:"lane_id"`
		Session *string `json:"session_id"`
		Phase   phase   `json:"phase"`
		Hold    bool    `json:"hold"`
		Link    string  `json:"link"`
	}
	event struct {
		Cursor     uint64    `json:"cursor,string"`
		ID         string    `json:"id"`
		OccurredAt time.Time `json:"occurred_at"`
		Payload    struct {
			Event   string `json:"event"`
			Session string `json:"session_id"`
			Lane    string `json:"lane_id"`
		} `json:"payload"`
		Attempt *attempt `json:"attempt"` // nil: not attempted
	}
)

// pageSize is the most that a page of a log may hold.
const pageSize = 1000

// posClient is a POS client of one process of the gateway.
type posClient struct {
	support.Client
	process   *support.Gateway
	ownership *ownership
}

func (x *fixture) connect(process *support.Gateway) posClient {
	x.mu.Lock()
	x.stills = append(x.stills, process.Stillness(x.t.Context()))
	x.mu.Unlock()
	// Each process has a pool of its own, so that no connection outlives it.
	return posClient{support.Client{
		API: process.API + support.V2, Range: support.RangeID, Token: support.Token,
		HTTP: &http.Client{
			Timeout: 2 * support.Patience, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * clientCount},
		},
	}, process, &ownership{fixture: x}}
}

// Do makes a request, and checks its answer against who has the range.
func (p posClient) Do(method, path, body string, headers ...string) (support.Answer, error) {
	sent := now()
	answer, err := p.Client.Do(method, path, body, headers...)
	if err == nil {
		p.ownership.check(sent, method, path, answer)
	}
	return answer, err
}

// hangUp closes idle connections.
func (p posClient) hangUp() { p.HTTP.CloseIdleConnections() }

// read reads a view, and returns when.
func (p posClient) read(path string, into any) (support.Answer, span, error) {
	asked := now()
	answer, err := p.Do(http.MethodGet, path, "")
	at := span{asked, now()}
	if err == nil && answer.Status == http.StatusOK {
		err = json.Unmarshal([]byte(answer.Body), into)
	}
	return answer, at, err
}

// mustRead reads what a gateway that is ready does not refuse, but for a while in which its store stands still.
func (p posClient) mustRead(path string, into any) (at span, err error) {
	answer, err := support.Repeat(func() (answer support.Answer, err error) {
		answer, at, err = p.read(path, into)
		return answer, err
	}, func(a support.Answer) bool { return a.IsForNow() && a.Code() != "not_owner" })
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("GET %s: %d %s", path, answer.Status, answer.Body)
	}
	return at, err
}

// events reads the event log behind the cursor, to its end.
func (p posClient) events(after uint64) ([]event, error) {
	var all []event
	for {
		var page struct{ Events []event }
		if _, err := p.mustRead(fmt.Sprintf("/events?after=%d&limit=%d", after, pageSize), &page); err != nil {
			return all, err
		}
		all = append(all, page.Events...)
		if len(page.Events) < pageSize {
			return all, nil
		}
		after = all[len(all)-1].Cursor
	}
}

// history reads all sessions that have ended.
func (p posClient) history() ([]endedView, error) {
	var all []endedView
	for after := "0"; ; {
		var page struct {
			Sessions []endedView
			Next     string
		}
		if _, err := p.mustRead(fmt.Sprintf("/history?after=%s&limit=%d", after, pageSize), &page); err != nil {
			return all, err
		}
		all = append(all, page.Sessions...)
		if len(page.Sessions) < pageSize {
			return all, nil
		}
		after = page.Next
	}
}
