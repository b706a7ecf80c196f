package control

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Staff find their range by its name. Nobody has to sign in for that, and nobody learns more.
func TestRangesAreFoundByName(t *testing.T) {
	f := newFixture(t)
	ranges := func(name string) string {
		response := f.browser().send("GET", "/control/ranges?"+url.Values{"name": {name}}.Encode(), "")
		require.Equal(t, http.StatusOK, response.Code)
		return response.Body.String()
	}
	northern := fmt.Sprintf(`{"range_id":%q,"name":"North range"}`, north)
	southern := fmt.Sprintf(`{"range_id":%q,"name":"South range"}`, south)
	all := f.browser().send("GET", "/control/ranges", "").Body.String()
	require.JSONEq(t, `{"ranges":[`+northern+`,`+southern+`],"complete":true}`, all)
	require.JSONEq(t, `{"ranges":[`+northern+`],"complete":false}`, ranges(" north RANGE "))
	require.JSONEq(t, `{"ranges":[],"complete":false}`, ranges("Nor"), "a part of a name finds nothing")

	many := map[uuid.UUID]RangeStaff{uuid.New(): {Name: "Nobody's"}}
	for n := range MaxListed {
		many[uuid.New()] = RangeStaff{Name: fmt.Sprintf("Range %02d", n), Members: southStaff[south].Members}
	}
	f.reload(northStaff(hashes), many)
	require.JSONEq(t, `{"ranges":[],"complete":false}`, f.browser().send("GET", "/control/ranges", "").Body.String(),
		"so many are not listed")
	require.JSONEq(t, `{"ranges":[`+northern+`],"complete":false}`, ranges("North range"))
	require.JSONEq(t, `{"ranges":[],"complete":false}`, ranges("Nobody's"), "without staff there is no control screen")
	require.Equal(t, http.StatusBadRequest,
		f.browser().send("GET", "/control/ranges?name="+strings.Repeat("x", 201), "").Code)
}
