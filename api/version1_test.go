package api

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

const waiting1 = `{"id":"` + theSession + `","session_id":"` + theSession + `","lane_id":"` + theLane +
	`","group_id":"` + theGroup +
	`","duration":60,"began_at":null,"created_at":"2026-05-01T12:00:00.250Z","minutes_remaining":null,"enable_purchasing":true}`

// The views of version 1 are those of version 2 with an id before them.
func TestTheViewsOfVersion1(t *testing.T) {
	h := newAPI(&fakeRange{})
	running := strings.NewReplacer(`"began_at":null`, `"began_at":"2026-05-01T12:00:00.250Z"`,
		`"minutes_remaining":null`, `"minutes_remaining":59.5`).Replace(waiting1)
	lane := `{"id":"` + theLane + `","lane_id":"` + theLane + `","bay_id":"` + theBay +
		`","readable_name":"Lane 1","is_accessible":true,"is_usable":true}`
	for path, want := range map[string]string{
		"/sessions": "[" + waiting1 + "," + running + "]",
		"/bays":     `[{"id":"` + theBay + `","bay_id":"` + theBay + `","name":"Bay A"}]`,
		"/groups":   `[{"id":"` + theGroup + `","name":"Public"}]`,
		"/lanes": "[" + lane + "," + strings.ReplaceAll(strings.Replace(lane, "Lane 1", "Lane 2", 1), "true",
			"false") + "]",
	} {
		response := sendAuthorized(h, "GET", prefix1+path, "")
		require.Equal(t, 200, response.Code)
		require.Equal(t, want+"\n", response.Body.String())
	}
}

func TestVersion1SellsWithAName(t *testing.T) {
	s := &fakeRange{}
	h := newAPI(s)
	response := sendAuthorized(h, "POST", prefix1+"/sessions",
		`{"name":"Jo Smith","lane_id":"`+theLane+`","group_id":"`+theGroup+`","duration":60,"auto_start":false}`)
	require.Equal(t, 201, response.Code)
	require.Equal(t, waiting1+"\n", response.Body.String())
	sold := s.command.(lanes.Create)
	require.NotEqual(t, uuid.Nil, sold.Session)
	require.Equal(t, uuid.MustParse(theLane), s.lane)
	require.Equal(t, lanes.Create{
		Session: sold.Session, Customer: "Jo Smith", Group: uuid.MustParse(theGroup),
		Minutes: 60,
	}, sold)

	response = sendAuthorized(h, "POST", prefix1+"/sessions", `{"customer_name":"Jo Smith","duration":481}`)
	require.Equal(t, 400, response.Code)
	require.Contains(t, response.Body.String(), `"fields":{"duration":"must be an integer from 1 to 480",`+
		`"group_id":"is required","lane_id":"is required","name":"is required"}`)
}

func TestPatchSetsADurationOrStops(t *testing.T) {
	s := &fakeRange{}
	h := newAPI(s)
	id := uuid.MustParse(theSession)
	patch := func(duration string) (int, string) {
		s.command = nil
		response := sendAuthorized(h, "PATCH", prefix1+"/sessions", `{"id":"`+theSession+`","duration":`+duration+`}`)
		return response.Code, response.Body.String()
	}
	status, body := patch("90")
	require.Equal(t, 200, status)
	require.Equal(t, `{"id":"`+theSession+`","duration":90}`+"\n", body)
	require.Equal(t, lanes.SetDuration{Session: id, Minutes: 90}, s.command)
	require.Equal(t, id, s.session)

	status, body = patch("0")
	require.Equal(t, 200, status)
	require.Equal(t, `{"id":"`+theSession+`","message":"session stopped"}`+"\n", body)
	require.Equal(t, lanes.Stop{Session: id, By: lanes.ByPOS}, s.command)

	for _, wrong := range []string{"-1", "481", "60.5", `"60"`, "null"} {
		status, body = patch(wrong)
		require.Equal(t, 400, status, wrong)
		require.Contains(t, body, `"fields":{"duration":"`)
		require.Nil(t, s.command)
	}
	s.err = lanes.ErrNoTimeLeft
	status, body = patch("1")
	require.Equal(t, 409, status)
	require.Contains(t, body, `"code":"no_time_left"`)
}
