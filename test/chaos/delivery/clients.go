package delivery

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"rangegate/test/support"
)

const (
	laneCount   = 200
	clientCount = 20 // each has ten lanes of its own
)

// posClient is a POS client that does to the sessions of its lanes whatever makes events.
type posClient struct {
	support.POS
	first  int
	step   map[int]int
	made   *atomic.Int64 // events, at least
	enough int64         // it stops when so many are made
}

// cycle is what happens to the session of a lane, and how many events each makes.
var cycle = []struct {
	path   string
	events int64
}{{"/pause", 1}, {"/resume", 1}, {"/modify?time=5", 1}, {"/pause", 1}, {"/resume", 1}, {"/stop", 1}}

// work goes round the lanes until there are enough events, or the gateway is gone.
func (c posClient) work() {
	sessions := c.sessions()
	for {
		if c.made.Load() >= c.enough {
			return
		}
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

// startClients has all clients work until they have made that many events in all their lives, or the gateway
// is gone. The work is counted, so that a fast machine makes no more of it. wait returns when all clients
// have stopped.
func startClients(pos support.POS, made *atomic.Int64, enough int64) (wait func()) {
	var working sync.WaitGroup
	for i := range clientCount {
		c := posClient{pos, i, map[int]int{}, made, enough}
		working.Go(c.work)
	}
	return working.Wait
}

// waitMade waits until the clients have made that many events.
func waitMade(t testing.TB, made *atomic.Int64, events int64) {
	t.Helper()
	support.Eventually(t, fmt.Sprintf("%d events are made", events), func() bool { return made.Load() >= events },
		func() any { return made.Load() })
}
