package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reservation is one as it is answered.
type reservation struct {
	ID    string    `json:"reservation_id"`
	Token string    `json:"token"`
	Lanes []string  `json:"lanes"`
	Until time.Time `json:"until"`
}

func (p posClient) reserve(body string, headers ...string) (r reservation) {
	p.t.Helper()
	answer := p.ask("POST", v2+"/reservations", body, headers...)
	require.Equal(p.t, 201, answer.Status, answer.Body)
	require.NoError(p.t, json.Unmarshal([]byte(answer.Body), &r))
	return r
}

// A checkout: two lanes side by side are reserved, the customer pays, and both are sold with the token.
func TestReservations(t *testing.T) {
	_, pos := serve(t)
	made := pos.reserve(`{"lanes":2,"adjacent":true,"seconds":60,"duration":30}`)
	require.Equal(t, []string{lane(1), lane(2)}, made.Lanes)
	require.WithinDuration(t, time.Now().Add(time.Minute), made.Until, 10*time.Second)
	const until = `"reserved_until":"` // by the wall clock of then, which may differ by a millisecond

	refused := pos.ask("POST", v2+"/sessions", order(1, 30, ""))
	require.Equal(t, "lane_reserved", refused.Code())
	require.Contains(t, refused.Body, until)
	wrong := pos.ask("POST", v2+"/sessions", order(1, 30, `,"reservation":"guessed"`))
	require.Equal(t, "lane_reserved", wrong.Code())
	named := pos.ask("POST", v2+"/reservations", `{"lane_ids":["`+lane(3)+`","`+lane(2)+`"]}`)
	require.Equal(t, "lane_reserved", named.Code())
	require.Contains(t, named.Body, `"lane_id":"`+lane(2)+`"`)
	require.Contains(t, named.Body, until)
	require.Equal(t, 2, strings.Count(pos.ask("GET", v2+"/lanes/status", "").Body, until))
	older := strings.Replace(order(1, 30, ""), "customer_name", "name", 1)
	require.Equal(t, "lane_occupied", pos.ask("POST", v1+"/sessions", older).Code(), "version 1 knows no other code")

	pos.sell(1, 30, `,"reservation":"`+made.Token+`"`)
	require.Equal(t, 1, strings.Count(pos.ask("GET", v2+"/lanes/status", "").Body, until))
	var rest reservation
	require.NoError(t, json.Unmarshal([]byte(pos.ask("GET", v2+"/reservations/"+made.ID, "").Body), &rest))
	require.WithinDuration(t, made.Until, rest.Until, time.Second)
	require.Equal(t, reservation{ID: made.ID, Lanes: []string{lane(2)}, Until: rest.Until}, rest,
		"its token is not shown again")
	for range 2 {
		require.Equal(t, 204, pos.ask("DELETE", v2+"/reservations/"+made.ID, "").Status)
	}
	require.Equal(t, "reservation_not_found", pos.ask("GET", v2+"/reservations/"+made.ID, "").Code())
	require.Equal(t, "reservation_over",
		pos.ask("POST", v2+"/sessions", order(2, 30, `,"reservation":"`+made.Token+`"`)).Code())
	pos.sell(2, 30, "")
}

// A repeat under the key gets the same token, which the store does not have.
func TestAReservationIsRepeated(t *testing.T) {
	_, pos := serve(t)
	body := `{"lane_ids":["` + lane(1) + `"],"seconds":60}`
	first := pos.ask("POST", v2+"/reservations", body, "Idempotency-Key", "checkout")
	again := pos.ask("POST", v2+"/reservations", body, "Idempotency-Key", "checkout")
	require.Equal(t, http.StatusCreated, first.Status, first.Body)
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	var made reservation
	require.NoError(t, json.Unmarshal([]byte(again.Body), &made))
	pos.sell(1, 30, `,"reservation":"`+made.Token+`"`)
}

func TestReservationsThatAreRefused(t *testing.T) {
	_, pos := serve(t)
	pos.sell(1, 30, "")
	one := `"lane_ids":["` + lane(2) + `"]`
	for _, c := range []struct{ body, says string }{
		{`{}`, `"lane_ids":"must be given, or lanes, and not both"`},
		{`{` + one + `,"lanes":1}`, `"lane_ids":"must be given, or lanes, and not both"`},
		{`{` + one + `,"adjacent":true}`, `"adjacent":"goes with lanes, not with lane_ids"`},
		{`{` + one + `,"bay_id":"` + unknownID + `"}`, `"bay_id":"goes with lanes, not with lane_ids"`},
		{`{"lanes":1,"bay_id":"` + unknownID + `"}`, `"bay_id":"must be a bay of this range"`},
		{`{` + one + `,"seconds":9}`, `"seconds":"must be an integer from 10 to 600"`},
		{`{` + one + `,"seconds":601}`, `"seconds":"must be an integer from 10 to 600"`},
		{`{` + one + `,"duration":481}`, `"duration":"must be an integer from 1 to 480"`},
		{`{"lanes":0}`, `"lanes":"must be an integer from 1 to 100"`},
		{`{"lane_ids":["` + lane(2) + `","` + lane(1) + `"]}`, `"code":"lane_occupied"`},
		{`{"lane_ids":["` + unknownID + `"]}`, `"code":"lane_not_found"`},
		{`{"lanes":100}`, `"code":"no_lanes_fit"`},
	} {
		answer := pos.ask("POST", v2+"/reservations", c.body)
		require.GreaterOrEqual(t, answer.Status, 400, c.body)
		require.Contains(t, answer.Body, c.says, c.body)
	}
	require.NotContains(t, pos.ask("GET", v2+"/lanes/status", "").Body, "reserved_until", "nothing is done by halves")
}
