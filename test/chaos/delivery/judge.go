package delivery

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

// logged is an event in the gateway's log.
type logged struct {
	Cursor  string `json:"cursor"`
	ID      string `json:"id"`
	Payload struct {
		Event   string `json:"event"`
		Session string `json:"session_id"`
		Lane    string `json:"lane_id"`
	} `json:"payload"`
	Attempt *struct {
		Status *int    `json:"status"`
		Error  *string `json:"error"`
	} `json:"attempt"`
}

// pending tells whether nobody has begun to deliver the event.
func (l logged) pending() bool { return l.Attempt == nil }

// interrupted tells whether nobody saw how its attempt ended.
func (l logged) interrupted() bool {
	return l.Attempt != nil && l.Attempt.Error != nil && strings.HasPrefix(*l.Attempt.Error, "interrupted")
}

// read is the event log behind the cursor, and the cursor at its end.
func read(t testing.TB, c process.Client, after string) (log []logged, end string) {
	for {
		answer, err := c.Do("GET", v2+"/events?limit=1000&after="+after, "")
		require.NoError(t, err)
		require.Equal(t, 200, answer.Status, answer.Body)
		var page struct {
			Events []logged `json:"events"`
			Next   string   `json:"next"`
		}
		require.NoError(t, json.Unmarshal([]byte(answer.Body), &page))
		if len(page.Events) == 0 {
			return log, page.Next
		}
		log, after = append(log, page.Events...), page.Next
	}
}

// verdict is what the comparison found, beside faults.
type verdict struct{ delivered, refused, lost, unheard int }

// judge compares the log with what arrived.
func judge(t testing.TB, log []logged, arrived []Arrival) (v verdict) {
	place := map[string]int{} // webhook-id → place in the log
	for i, event := range log {
		require.False(t, event.pending(), "every event was attempted: %+v", event)
		place["msg_"+event.ID] = i
	}
	seen := map[string]Arrival{}
	newest := map[string]int{} // lane → place in the log of the newest that arrived
	for _, a := range arrived {
		i, known := place[a.ID]
		require.True(t, known, "nothing arrives that is not in the log: %+v", a)
		_, again := seen[a.ID]
		require.False(t, again, "no event arrives twice: %+v", a)
		seen[a.ID] = a
		if before, any := newest[a.Lane]; any {
			require.Less(t, before, i, "lane %s: %s arrived after a later event", a.Lane, a.Event)
		}
		newest[a.Lane] = i
		require.Equal(t, log[i].Payload.Event, a.Event)
		require.Equal(t, log[i].Payload.Session, a.Session)
	}
	for _, event := range log {
		a, arrived := seen["msg_"+event.ID]
		switch {
		case event.interrupted() && !arrived:
			v.lost++
		case event.interrupted():
			v.unheard++
		default:
			require.True(t, arrived, "an event that is not recorded as interrupted did not arrive: %+v", event)
			if event.Attempt.Error == nil {
				require.Equal(t, 204, a.Answer)
				v.delivered++
			} else {
				require.NotEqual(t, 204, a.Answer, "%+v %s", event, *event.Attempt.Error)
				v.refused++
			}
		}
	}
	return v
}
