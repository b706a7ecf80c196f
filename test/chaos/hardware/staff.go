package hardware

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

// staff are at the gateway's operations address, and read its log.
type staff struct {
	t       testing.TB
	gateway *process.Process
}

func (s staff) ask(method, path, body string) string {
	s.t.Helper()
	request, err := http.NewRequest(method, s.gateway.Operations+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+operator)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, response.StatusCode, "%s", answer)
	return string(answer)
}

// reached is how far a hold, or its end, has come.
type reached struct {
	Confirmed  []string `json:"confirmed"`
	Sent       []string `json:"sent"`
	NotReached []string `json:"not_reached"`
	Saved      bool     `json:"saved"`
}

// hold locks the lane's fire line, or lifts that.
func (s staff) hold(n int, on bool) (far reached) {
	s.t.Helper()
	body := fmt.Sprintf(`{"scope":"lane","id":%q,"on":%v}`, laneID(n), on)
	require.NoError(s.t, json.Unmarshal([]byte(s.ask("PUT", "/ranges/"+rangeID+"/holds", body)), &far))
	return far
}

// holds is who set a hold over which lane.
func (s staff) holds() map[string]string {
	s.t.Helper()
	var all []struct {
		Lane string `json:"id"`
		Who  string `json:"who"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.ask("GET", "/ranges/"+rangeID+"/holds", "")), &all))
	by := map[string]string{}
	for _, one := range all {
		by[one.Lane] = one.Who
	}
	return by
}

// count is the sum of a metric's series that have all those labels, each given as what="up". A counter that has not
// counted yet is at 0.
func (s staff) count(metric string, labels ...string) (sum float64) {
	s.t.Helper()
	for line := range strings.Lines(s.ask("GET", "/metrics", "")) {
		at := strings.LastIndexByte(line, ' ')
		name, has, _ := strings.Cut(strings.TrimSuffix(line[:max(0, at)], "}"), "{")
		fits := name == metric
		for _, label := range labels {
			fits = fits && strings.Contains(","+has+",", ","+label+",")
		}
		if fits {
			number, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
			require.NoError(s.t, err)
			sum += number
		}
	}
	return sum
}

// lost is why a lane's link went down or could not be made, each time, as the log says.
func (s staff) lost() map[string][]string {
	s.t.Helper()
	why := map[string][]string{}
	for line := range strings.Lines(s.gateway.Log()) {
		var entry struct{ Message, Lane, Error string }
		if strings.Contains(line, `"link down"`) {
			require.NoError(s.t, json.Unmarshal([]byte(line), &entry))
			why[entry.Lane] = append(why[entry.Lane], entry.Error)
		}
	}
	return why
}
