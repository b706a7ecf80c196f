package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

const (
	earlyBay   = "55555555-5555-4555-8555-0000000000ea"
	earlyGroup = "33333333-3333-4333-8333-0000000000ea"
)

// A bay closes before its range, and a group has to leave before: sales, minutes that are added, moves and reservations
// are refused by the lane and the group that they are for, and say what fits there. GET /range tells it before.
func TestBaysAndGroupsHaveHoursOfTheirOwn(t *testing.T) {
	ofRange, _ := support.ClosingIn(300)
	ofBay, bayCloses := support.ClosingIn(90)
	ofGroup, groupCloses := support.ClosingIn(60)
	config := newConfig(support.NewSQLite(t), ofRange)
	r := &config.Ranges[0]
	r.Bays = []string{support.Entry(support.Bay, "Bay A"), support.Entry(earlyBay, "Bay B", ofBay)}
	r.Groups = []string{support.Entry(support.Group, "Public"), support.Entry(earlyGroup, "Ladies", ofGroup)}
	r.Lanes[0] = support.Entry(support.LaneID(1), "Lane 1", "bay: "+earlyBay)
	_, pos := serveConfig(t, config)

	stamp := func(at time.Time) string { return at.Format("2006-01-02T15:04:05.000Z") }
	most := func(answer support.Answer, closes time.Time) int {
		t.Helper()
		require.Equal(t, 409, answer.Status, answer.Body)
		var said struct {
			Code   string `json:"code"`
			Closes string `json:"closes_at"`
			Most   *int   `json:"max_minutes"`
		}
		require.NoError(t, json.Unmarshal([]byte(answer.Body), &said))
		require.Equal(t, "after_closing", said.Code)
		require.Equal(t, stamp(closes), said.Closes)
		return *said.Most
	}
	toGroup := func(order string) string { return strings.Replace(order, support.Group, earlyGroup, 1) }
	require.LessOrEqual(t, most(pos.ask("POST", v2+"/sessions", order(1, 120, "")), bayCloses), 90)
	require.LessOrEqual(t, most(pos.ask("POST", v2+"/sessions", toGroup(order(2, 120, ""))), groupCloses), 60)
	require.LessOrEqual(t, most(pos.ask("POST", v2+"/sessions", toGroup(order(1, 120, ""))), groupCloses), 60,
		"the sooner of both")
	long := pos.sell(2, 120, "")
	require.LessOrEqual(t, most(pos.ask("POST", v2+"/sessions/"+long+"/move?lane_id="+support.LaneID(1), ""),
		bayCloses), 90)
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+long+"/move?lane_id="+support.LaneID(3), "").Status)
	ladies := pos.ask("POST", v2+"/sessions", toGroup(order(4, 10, ""))).SessionID(t)
	require.LessOrEqual(t, most(pos.ask("POST", v2+"/sessions/"+ladies+"/modify?time=60", ""), groupCloses), 50)

	reserved := func(more string) support.Answer {
		return pos.ask("POST", v2+"/reservations", `{"lanes":1,"duration":`+more+`}`)
	}
	require.Contains(t, reserved("120").Body, support.LaneID(2), "lane 1 closes too early")
	require.Contains(t, reserved("20").Body, support.LaneID(1))
	require.LessOrEqual(t, most(reserved(`120,"group_id":"`+earlyGroup+`"`), groupCloses), 60)
	require.Equal(t, 404, reserved(`20,"group_id":"`+earlyBay+`"`).Status)

	view := pos.ask("GET", v2+"/range", "").Body
	for name, part := range map[string]string{
		"bay": fmt.Sprintf(
			`"schedules":[{"bay_id":%q,"hours":{"is_open":true,"closes_at":%q,"opens_at":null,"week":{"monday":["06:00-`, earlyBay, stamp(bayCloses)),
		"group": fmt.Sprintf(`{"group_id":%q,"hours":{"is_open":true,"closes_at":%q,`, earlyGroup, stamp(groupCloses)),
	} {
		require.Contains(t, view, part, name)
	}
	require.Contains(t, view, `"hours","`, "the feature")
}
