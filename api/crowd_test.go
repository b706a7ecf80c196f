package api

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	v2 "rangegate/api/v2"
)

// Everything that one range may have under way is stuck. Its next request is answered at once, those of another range are
// carried out, and when the stuck ones are through the range is served again.
func TestARangeThatIsStuckLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, free := &stand{gate: make(chan struct{})}, &stand{}
		s := settings(stuck)
		s.Range = func(id uuid.UUID) (v2.Range, error) {
			if id == uuid.MustParse(otherRange) {
				return free, nil
			}
			return stuck, nil
		}
		h := New(s)
		body := `{"customer_name":"Jo","lane_id":"` + theLane + `","group_id":"` + theGroup + `","duration":30}`
		other := []string{"range-id", otherRange, "token", otherToken}
		var waiting sync.WaitGroup
		for range ofOneRange {
			waiting.Go(func() { known(h, "POST", prefix2+"/sessions", body) })
		}
		synctest.Wait()

		refused := known(h, "POST", prefix2+"/sessions", body)
		require.Equal(t, http.StatusServiceUnavailable, refused.Code)
		require.Contains(t, refused.Body.String(), `"code":"overloaded"`)
		require.Equal(t, "1", refused.Header().Get("Retry-After"))
		require.Equal(t, 503, known(h, "GET", prefix2+"/sessions", "").Code)
		require.Equal(t, 400, known(h, "POST", prefix2+"/sessions", `{}`).Code, "what is not carried out needs no room")
		require.Equal(t, 201, send(h, "POST", prefix2+"/sessions", body, other...).Code)
		require.Equal(t, 200, ask(h, "GET", prefix2+"/sessions", other...).Code)

		close(stuck.gate)
		waiting.Wait()
		require.Equal(t, 200, known(h, "GET", prefix2+"/sessions", "").Code)
	})
}
