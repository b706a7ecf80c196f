// Package crash kills the real gateway at random instants while many clients use it, starts it again on what it left,
// and compares what it shows with what the clients wrote down themselves (DESIGN.md, laws 1 to 4).
//
//	kill_test.go  the stories, round by round
//	trial.go      the lives of the gateway, the load      check.go    judge, and take over what was found
//	client.go     a client's commands and their answers   reading.go  what it reads meanwhile
//	choice.go     what it asks for                        request.go  one command
//	session.go    what it knows of a session              moment.go   what it knows of time
//	shown.go      the session against how it is shown     facts.go    and against the event log
//	picture.go    all that the gateway shows              judge.go    whether every record fits it
//	repeat.go     requests sent a second time             torn.go     a store that dies while it writes
package crash

import (
	"fmt"
	"strings"
)

const (
	laneCount   = 24
	clientCount = 24

	rangeID = "11111111-1111-4111-8111-111111111111"
	token   = "22222222-2222-4222-8222-222222222222"
	bay     = "55555555-5555-4555-8555-000000000001"
)

func laneID(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

func allLanes() []string {
	all := make([]string, laneCount)
	for n := range all {
		all[n] = laneID(n)
	}
	return all
}

// groupID is the access group of a client. Each has its own, so that a session whose create was never answered can
// be told to be the client's.
func groupID(client int) string { return fmt.Sprintf("33333333-3333-4333-8333-%012d", client) }

// configuration is a range of simulated lanes on the store, given as the configuration has it. The playground is the
// environment that has such lanes; nobody enters them, so sessions sold without auto_start wait for ever.
func configuration(store string) string {
	var lanes, groups strings.Builder
	for n := range laneCount {
		fmt.Fprintf(&lanes, "      - {id: %s, name: Lane %d, bay: %s}\n", laneID(n), n, bay)
	}
	for n := range clientCount {
		fmt.Fprintf(&groups, "      - {id: %s, name: Group %d}\n", groupID(n), n)
	}
	return fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0, limits: {requests: 0}}
operations: {address: 127.0.0.1:0}
store: {%s}
ranges:
  - id: %s
    name: Range
    token: %s
    bays: [{id: %s, name: Bay A}]
    groups:
%s    lanes:
%s`, store, rangeID, token, bay, groups.String(), lanes.String())
}
