package delivery

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"rangegate/test/support"
)

const (
	laneCount   = 200
	clientCount = 20 // each has ten lanes of its own
)

// posClient is a POS client that does to the sessions of its lanes whatever makes events.
type posClient struct {
	support.POS
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
func (c posClient) work() {
	sessions := c.sessions()
	for {
		for n := c.first; n < laneCount; n += clientCount {
			lane := support.LaneID(n)
			if sessions[lane] == "" {
				answer, err := c.Do("POST", "/sessions", support.Order(n, 60))
				if err != nil {
					return
				}
				var session support.Session
				if answer.Status == 201 && json.Unmarshal([]byte(answer.Body), &session) == nil {
					sessions[lane], c.step[n] = session.ID, 0
					c.made.Add(2)
				}
				continue
			}
			act := cycle[c.step[n]%len(cycle)]
			c.step[n]++
			answer, err := c.Do("POST", "/sessions/"+sessions[lane]+act.path, "")
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
func (c posClient) sessions() map[string]string {
	byLane := map[string]string{}
	answer, err := c.Do("GET", "/sessions", "")
	var active []support.Session
	if err == nil && json.Unmarshal([]byte(answer.Body), &active) == nil {
		for _, session := range active {
			byLane[session.Lane] = session.ID
		}
	}
	return byLane
}

// startClients has all clients work, each until the gateway is gone. wait returns when all have noticed.
func startClients(pos support.POS, made *atomic.Int64) (wait func()) {
	var working sync.WaitGroup
	for i := range clientCount {
		c := posClient{pos, i, map[int]int{}, made}
		working.Go(c.work)
	}
	return working.Wait
}
