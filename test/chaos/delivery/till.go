package delivery

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"rangegate/test/process"
)

const (
	laneCount = 200
	tillCount = 20 // each has ten lanes of its own

	rangeID = "11111111-1111-4111-8111-111111111111"
	token   = "22222222-2222-4222-8222-222222222222"
	group   = "33333333-3333-4333-8333-000000000001"
	v2      = "/api/v2/pos"
)

func laneID(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

// till is a POS client that does to the sessions of its lanes whatever makes events.
type till struct {
	process.Client
	first int
	step  map[int]int
	made  *atomic.Int64 // events, at least
}

// cycle is what happens to the session of a lane, and how many events each makes.
var cycle = []struct {
	path   string
	events int64
}{{"/pause", 1}, {"/resume", 1}, {"/modify?time=5", 1}, {"/pause", 1}, {"/resume", 1}, {"/stop", 1}}

// work goes round the lanes until the gateway is gone.
func (c till) work() {
	sessions := c.sessions()
	for {
		for n := c.first; n < laneCount; n += tillCount {
			lane := laneID(n)
			if sessions[lane] == "" {
				body := fmt.Sprintf(`{"customer_name":"Jo","lane_id":%q,"group_id":%q,"duration":60}`, lane, group)
				answer, err := c.Do("POST", v2+"/sessions", body)
				if err != nil {
					return
				}
				var session struct {
					ID string `json:"session_id"`
				}
				if answer.Status == 201 && json.Unmarshal([]byte(answer.Body), &session) == nil {
					sessions[lane], c.step[n] = session.ID, 0
					c.made.Add(2)
				}
				continue
			}
			act := cycle[c.step[n]%len(cycle)]
			c.step[n]++
			answer, err := c.Do("POST", v2+"/sessions/"+sessions[lane]+act.path, "")
			if err != nil {
				return
			}
			if answer.Status == 204 {
				c.made.Add(act.events)
			}
			if answer.Status == 404 || act.path == "/stop" {
				sessions[lane] = ""
			}
		}
	}
}

// sessions are the active ones, by lane.
func (c till) sessions() map[string]string {
	byLane := map[string]string{}
	answer, err := c.Do("GET", v2+"/sessions", "")
	var active []struct {
		ID   string `json:"session_id"`
		Lane string `json:"lane_id"`
	}
	if err == nil && json.Unmarshal([]byte(answer.Body), &active) == nil {
		for _, session := range active {
			byLane[session.Lane] = session.ID
		}
	}
	return byLane
}

// tills let all clients work, each until the gateway is gone; wait returns when all have noticed.
func tills(api string, made *atomic.Int64) (wait func()) {
	var working sync.WaitGroup
	for i := range tillCount {
		c := till{process.Client{API: api, Range: rangeID, Token: token}, i, map[int]int{}, made}
		working.Go(c.work)
	}
	return working.Wait
}
