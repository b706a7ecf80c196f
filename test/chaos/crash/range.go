// Package crash kills the real gateway at random instants while many clients use it, starts it again on what
// it left, and compares what it shows with what everything around it has recorded: the clients, the lanes'
// controllers, which answer over real WebSockets, and the receiver of the webhook (DESIGN.md, laws 1 to 5).
// It does the same when the store is killed, hangs or has a bad network, and when a second gateway takes the
// range.
//
//	kill_test.go       the gateway is killed, the store is    outage_test.go  the store is there, and hard to reach
//	ownership_test.go  a second gateway on the range          ownership.go    whose the range is, by the answers
//	fixture.go         the gateway's processes, the load      check.go        compare, and update the records
//	client.go          a client's commands, their answers     reading.go      what it reads meanwhile
//	choice.go          what it asks for                       request.go      one command
//	session.go         what it knows of a session             moment.go       what it knows of time
//	shown.go           the session against the views and the event log
//	state.go           all that the gateway shows             judge.go        that compared with the records
//	hardware.go        the lanes' controllers                 shooter.go      what happens on the lanes
//	lanes.go           what controllers report and are told   delivered.go    the event log against what arrived
//	network.go         one gateway's connections to them      finish.go       the last check, and what became of the events
//	repeat.go          requests sent a second time            torn.go         a store that dies while it writes
package crash

import (
	"fmt"
	"slices"

	"rangegate/test/support"
)

const (
	laneCount   = 24
	wiredCount  = 12 // lanes, the first ones, whose controllers answer over WebSockets
	clientCount = 24
	slots       = 16 // events that are delivered at a time
)

// wired tells whether the lane has a controller in the test's process.
func wired(lane string) bool { return slices.Contains(allLanes()[:wiredCount], lane) }

func allLanes() []string {
	all := make([]string, laneCount)
	for n := range all {
		all[n] = support.LaneID(n)
	}
	return all
}

// groupID is the access group of a client. Each has its own, so that a session whose create was never answered is
// known to be the client's.
func groupID(client int) string { return fmt.Sprintf("33333333-3333-4333-8333-%012d", client) }

// config is a range on the store. The controllers of the first lanes answer at those addresses, the others are
// simulated inside the gateway and report nothing.
func (x *fixture) config(addresses []string) support.Config {
	r := support.Range{}
	for n := range laneCount {
		if n < len(addresses) {
			r.Lanes = append(r.Lanes, support.Lane(n, support.Link(addresses[n], support.LinkKey(n))))
		} else {
			r.Lanes = append(r.Lanes, support.Lane(n))
		}
	}
	for n := range clientCount {
		r.Groups = append(r.Groups, support.Entry(groupID(n), fmt.Sprintf("Group %d", n)))
	}
	if x.receiver != nil {
		r.Settings = []string{x.receiver.Setting("timeout: 1s", fmt.Sprintf("concurrency: %d", slots),
			"queue: 1000000")}
	}
	return support.Config{HTTP: support.NoLimit, Store: x.store, Ranges: []support.Range{r}}
}
