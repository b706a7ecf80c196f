package contract

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

// The playground's range.
const (
	rangeID = "11111111-1111-4111-8111-111111111111"
	token   = "22222222-2222-4222-8222-222222222222"
	group   = "33333333-3333-4333-8333-000000000001"
)

func lane(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

// till is a POS system at the range.
type till struct {
	t testing.TB
	process.Client
}

// must makes a request that succeeds, and gives the body of the answer.
func (p till) must(method, path, body string) string {
	p.t.Helper()
	answer, err := p.Do(method, path, body)
	require.NoError(p.t, err)
	require.Equal(p.t, 2, answer.Status/100, "%s %s %s: %d %s", method, path, body, answer.Status, answer.Body)
	return answer.Body
}

// sold is the time of every session, in minutes: half of the longest, so that it can be doubled.
const sold = 240

// sell creates a session and gives its id.
func (p till) sell(lane string) string {
	p.t.Helper()
	body := p.must("POST", v2+"/sessions",
		fmt.Sprintf(`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":%d}`, lane, group, sold))
	var session struct {
		ID string `json:"session_id"`
	}
	require.NoError(p.t, json.Unmarshal([]byte(body), &session))
	return session.ID
}

// begun waits until the session's time runs.
func (p till) begun(session string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		var s struct {
			Began *time.Time `json:"began_at"`
		}
		require.NoError(p.t, json.Unmarshal([]byte(p.must("GET", v2+"/sessions/"+session, "")), &s))
		return s.Began != nil
	}, 30*time.Second, time.Millisecond, "the time of %s does not begin", session)
}

// clear stops every session.
func (p till) clear() {
	p.t.Helper()
	var sessions []struct {
		ID string `json:"session_id"`
	}
	require.NoError(p.t, json.Unmarshal([]byte(p.must("GET", v2+"/sessions", "")), &sessions))
	for _, s := range sessions {
		p.must("POST", v2+"/sessions/"+s.ID+"/stop", "")
	}
}
