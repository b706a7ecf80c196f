// Package hardware has the real gateway meet lane controllers that misbehave.
//
//	fixture.go        the gateway, its controllers, its POS and its operator
//	faults_test.go    every fault of a lane: how it is seen, and what is in force once it is over
//	log_test.go       what may be wrong with a report log, one after the other
//	reports_test.go   no report is lost or applied twice
//	flapping_test.go  the links of many lanes come and go, and the others do not notice
package hardware

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// newConfig is a range with those controllers and further settings.
func newConfig(t testing.TB, controllers *support.Controllers, settings ...string) support.Config {
	config := support.NewConfig(t, controllers.Lanes(), settings...)
	// which has every attempt to connect
	config.HTTP, config.Sections = support.NoLimit, []string{"log: {level: debug}"}
	return config
}

// posClient is a POS at the range.
type posClient struct {
	support.POS
	t testing.TB
}

// operator uses the operations address and reads the log.
type operator struct {
	*support.Gateway
	t testing.TB
}

// serve starts a gateway. The test's end kills it.
func serve(t testing.TB, config support.Config) (posClient, operator) {
	gateway := config.Serve(t)
	return posClient{gateway.POS(), t}, operator{gateway, t}
}

const soldMinutes = 240

func (p posClient) sell(lane int) (session string) {
	p.t.Helper()
	return p.Sell(lane, soldMinutes)
}

// lane is a lane as GET /lanes/status and GET /lanes show it.
type lane struct {
	support.LaneStatus
	Usable bool
}

// notUsableBecause is empty for a lane that is usable.
func (l lane) notUsableBecause() string {
	if l.NotUsableBecause == nil {
		return ""
	}
	return *l.NotUsableBecause
}

func (l lane) isUp() bool { return l.Link == "up" && l.Usable && l.NotUsableBecause == nil }

// lanes reads all lanes, in their order.
func (p posClient) lanes() []lane {
	p.t.Helper()
	statuses := p.LaneStatuses()
	var views []struct {
		Lane   string `json:"lane_id"`
		Usable bool   `json:"is_usable"`
	}
	p.Read("/lanes", &views)
	require.Len(p.t, views, len(statuses))
	all := make([]lane, len(views))
	for i, status := range statuses {
		require.Equal(p.t, status.Lane, views[i].Lane)
		all[i] = lane{status, views[i].Usable}
	}
	return all
}

// waitLane waits until the lane is as the condition says.
func (p posClient) waitLane(n int, what string, condition func(lane) bool) {
	p.t.Helper()
	var last lane
	for end := time.Now().Add(2 * support.Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if last = p.lanes()[n]; condition(last) {
			return
		}
	}
	require.Fail(p.t, what, "lane %d: %+v %s", n, last, last.notUsableBecause())
}

// holds is who set a hold over which lane.
func (o operator) holds() map[string]string {
	o.t.Helper()
	var holds []struct {
		Lane string `json:"id"`
		Who  string `json:"who"`
	}
	o.Operate("GET", "/ranges/"+support.RangeID+"/holds", "").Decode(o.t, &holds)
	byLane := map[string]string{}
	for _, hold := range holds {
		byLane[hold.Lane] = hold.Who
	}
	return byLane
}

// metric is the sum of the series with that name and labels.
func (o operator) metric(name string, labels ...string) float64 {
	o.t.Helper()
	return o.Metrics().Sum(name, labels...)
}

// linkErrors is why a lane's link went down or could not be made, each time, as the log says.
func (o operator) linkErrors() map[string][]string {
	o.t.Helper()
	reasons := map[string][]string{}
	for line := range strings.Lines(o.Log()) {
		var entry struct {
			Message, Error string
			Lane           string `json:"lane_id"`
		}
		if strings.Contains(line, `"link down"`) {
			require.NoError(o.t, json.Unmarshal([]byte(line), &entry))
			reasons[entry.Lane] = append(reasons[entry.Lane], entry.Error)
		}
	}
	return reasons
}
