package endpoint

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestACreateIsParsed(t *testing.T) {
	d, h := newDemo()
	w := call(h, "POST", prefix+"/sessions", `{
		"customer_name": "  Zoë O'Neill\n", "lane_id": "`+strings.ToUpper(laneID)+`", "duration": 480,
		"enable_purchasing": null, "auto_start": false, "Duration": 7, "colour": "red"}`)
	require.Equal(t, 201, w.Code, w.Body.String())
	require.Equal(t, create{Customer: "Zoë O'Neill", Lane: uuid.MustParse(laneID), Duration: 480}, d.last)
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	_, h := newDemo()
	w := call(h, "POST", prefix+"/sessions",
		`{"customer_name":" ","duration":481,"auto_start":"yes"}`, "Idempotency-Key", "")
	require.Equal(t, Faults{
		"customer_name": "must be a text of 1 to 200 characters, not all of them invisible, none of them a " +
			"control character",
		"lane_id":         "is required",
		"duration":        "must be an integer from 1 to 480",
		"auto_start":      "must be true or false",
		"Idempotency-Key": "must be 1 to 255 visible ASCII characters, given once",
	}, problem(t, w).Fields)

	w = call(h, "POST", prefix+"/sessions/7/modify?time=0", "")
	require.Equal(t, Faults{
		"id":   "must be a UUID like " + ExampleID,
		"time": "must be a non-zero integer from -1000000 to 1000000",
	}, problem(t, w).Fields)
}

func TestTheErrorBodyHasItsOrderOfKeys(t *testing.T) {
	_, h := newDemo()
	w := call(h, "POST", prefix+"/sessions", `{"customer_name":"Jo","lane_id":"`+laneID+`","duration":60.5}`,
		"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	require.Equal(t, `{"error":"the request is invalid","code":"invalid_request",`+
		`"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",`+
		`"fields":{"duration":"must be an integer from 1 to 480"}}`+"\n", w.Body.String())
}

// Each case replaces one field of a valid body. A nil want is a fault.
func TestBodyFields(t *testing.T) {
	for _, c := range []struct {
		field, json string
		want        any
	}{
		{"duration", `1`, 1},
		{"duration", `480`, 480},
		{"duration", `0`, nil},
		{"duration", `-1`, nil},
		{"duration", `481`, nil},
		{"duration", `60.0`, 60},
		{"duration", `60.000000`, 60},
		{"duration", `6e1`, 60},
		{"duration", `6000E-2`, 60},
		{"duration", `60.5`, nil},
		{"duration", `0.6e2`, 60},
		{"duration", `0.06E+3`, 60},
		{"duration", `30.0000000000000000000001`, nil}, // as a float64 it is 30
		{"duration", `30.0000000000000000000000`, 30},
		{"duration", `29.99999999999999999999999`, nil},
		{"duration", `300000000000000000000001e-22`, nil},
		{"duration", `300000000000000000000000e-22`, 30},
		{"duration", `3.01e1`, nil},
		{"duration", `480.5`, nil},
		{"duration", `6e9`, nil},
		{"duration", `1e999`, nil},
		{"duration", `1e-999999999999`, nil},
		{"duration", `"60.0"`, nil},
		{"duration", `"60"`, nil},
		{"duration", `true`, nil},
		{"duration", `[60]`, nil},
		{"duration", `{}`, nil},
		{"duration", `null`, nil},
		{"duration", `99999999999999999999999999`, nil},
		{"duration", `18446744073709551676`, nil}, // 60 after an overflow of 64 bits
		{"customer_name", `"é"`, "é"},
		{"customer_name", `"\u00e9\ud83d\ude00"`, "é😀"},
		{"customer_name", `"` + strings.Repeat("é", 200) + `"`, strings.Repeat("é", 200)},
		{"customer_name", `"` + strings.Repeat("é", 201) + `"`, nil},
		{"customer_name", `"  ` + strings.Repeat("x", 200) + `  "`, strings.Repeat("x", 200)},
		{"customer_name", `"a\tb"`, nil},
		{"customer_name", `"a\u0000b"`, nil},
		{"customer_name", `"a\u0085b"`, nil},
		{"customer_name", `""`, nil},
		{"customer_name", `" \n "`, nil},
		{"customer_name", `12`, nil},
		{"customer_name", `"\u200b"`, nil},                    // zero-width space
		{"customer_name", `"\u202e\u2067\u200f\ufeff"`, nil},  // set the direction of writing, and a byte order mark
		{"customer_name", `"\u00ad \u3164\u2800\u034f"`, nil}, // soft hyphen, fillers, joiner
		{"customer_name", `"\u0301\ufe0f"`, nil},              // marks without a letter
		{"customer_name", `"\u202bJo\u202c"`, "\u202bJo\u202c"},
		{"customer_name", `"."`, "."},
		{"customer_name", `"\u0928\u093f"`, "\u0928\u093f"}, // a letter with a mark
		{"customer_name", `["Jo"]`, nil},
		{"lane_id", `"` + laneID + `"`, uuid.MustParse(laneID)},
		{"lane_id", `"urn:uuid:` + laneID + `"`, nil},
		{"lane_id", `"{` + laneID + `}"`, nil},
		{"lane_id", `"` + strings.ReplaceAll(laneID, "-", "") + `"`, nil},
		{"lane_id", `"` + laneID + ` "`, nil},
		{"lane_id", `"` + laneID[:35] + `g"`, nil},
		{"lane_id", `7`, nil},
		{"auto_start", `true`, true},
		{"auto_start", `false`, false},
		{"auto_start", `null`, true},
		{"auto_start", `"true"`, nil},
		{"auto_start", `1`, nil},
	} {
		t.Run(c.field+" "+c.json, func(t *testing.T) {
			d, h := newDemo()
			// Of two fields with one name the last one counts, so the one under test goes last.
			body := strings.TrimSuffix(ordered, "}") + `,"` + c.field + `":` + c.json + `}`
			w := call(h, "POST", prefix+"/sessions", body)
			if c.want == nil {
				f := problem(t, w)
				require.Len(t, f.Fields, 1)
				require.Contains(t, f.Fields, c.field)
				return
			}
			require.Equal(t, 201, w.Code, w.Body.String())
			got := d.last.(create)
			require.Equal(t, c.want, map[string]any{
				"duration": got.Duration, "customer_name": got.Customer, "lane_id": got.Lane,
				"auto_start": got.AutoStart,
			}[c.field])
		})
	}
}

func TestTheTimeOfAModify(t *testing.T) {
	for query, want := range map[string]int{
		"time=15": 15, "time=+15": 15, "time=%2B15": 15, "time=-15": -15, "time=007": 7, "time=1000000": 1_000_000,
		"time=1&time=2": 2, "time=x&time=2": 2,
		"": 0, "time": 0, "time=": 0, "time=0": 0, "time=-0": 0, "time=+": 0, "time=++5": 0,
		"time=+-5": 0, "time=5+": 0,
		"time=1.0": 0, "time=1e3": 0, "time=1000001": 0, "time=9999999999999999999999": 0, "TIME=5": 0,
		"time=2&time=x": 0,
	} {
		t.Run(query, func(t *testing.T) {
			d, h := newDemo()
			w := call(h, "POST", prefix+"/sessions/"+laneID+"/modify?"+query, "")
			if want == 0 {
				require.Contains(t, problem(t, w).Fields, "time")
				return
			}
			require.Equal(t, 204, w.Code, w.Body.String())
			require.Equal(t, modify{uuid.MustParse(laneID), want}, d.last)
		})
	}
}

func TestAMalformedQueryIsOneFaultOfTheQuery(t *testing.T) {
	d, h := newDemo()
	for _, query := range []string{"time=%zz", "time=5&x=%", "time=5;x=1"} {
		w := call(h, "POST", prefix+"/sessions/"+laneID+"/modify?"+query, "")
		require.Equal(t, Faults{"query": "must be properly encoded"}, problem(t, w).Fields, query)
	}
	require.Nil(t, d.last)
	require.Equal(t, 200, call(h, "GET", prefix+"/sessions?%zz", "").Code, "a query that is not read is ignored")
}

func TestAPage(t *testing.T) {
	for query, want := range map[string]any{
		"":                           page{0, 100},
		"?limit=1000&after=1042":     page{1042, 1000},
		"?after=":                    page{0, 100},
		"?limit=0":                   "limit",
		"?limit=1001":                "limit",
		"?limit=":                    "limit",
		"?after=%00":                 "after",
		"?after=%ff":                 "after",
		"?after=abc":                 "after",
		"?after=-1":                  "after",
		"?after=9223372036854775808": "after",
	} {
		d, h := newDemo()
		w := call(h, "GET", prefix+"/history"+query, "")
		if name, fault := want.(string); fault {
			require.Contains(t, problem(t, w).Fields, name, query)
			continue
		}
		require.Equal(t, 200, w.Code)
		require.Equal(t, want, d.last, query)
	}
}

func TestTheOtherFields(t *testing.T) {
	d, h := newDemo()
	path := prefix + "/simulate/ammo?lane_id=" + laneID
	w := call(h, "POST", path, `{"minutes":0.25,"session_id":"`+laneID+`"}`, "session-id", "s-1")
	require.Equal(t, 201, w.Code, w.Body.String())
	require.Equal(t, "202", w.Header().Get("webhook-status"))
	id := uuid.MustParse(laneID)
	require.Equal(t, simulated{Kind: "ammo", Header: "s-1", Session: id, Lane: id, Minutes: 0.25}, d.last)

	for _, c := range []struct{ path, body, header, field string }{
		{prefix + "/simulate/beer?lane_id=" + laneID, `{"minutes":1}`, "s", "kind"},
		{prefix + "/simulate/time", `{"minutes":1}`, "s", "lane_id"},
		{path, `{"minutes":0}`, "s", "minutes"},
		{path, `{"minutes":-1}`, "s", "minutes"},
		{path, `{"minutes":480.1}`, "s", "minutes"},
		{path, `{"minutes":1e999}`, "s", "minutes"},
		{path, `{"minutes":"1"}`, "s", "minutes"},
		{path, `{}`, "s", "minutes"},
		{path, `{"minutes":1,"session_id":"s"}`, "s", "session_id"},
		{path, `{"minutes":1}`, "s s", "session-id"},
		{path, `{"minutes":1}`, "é", "session-id"},
		{path, `{"minutes":1}`, strings.Repeat("s", 51), "session-id"},
	} {
		f := problem(t, call(h, "POST", c.path, c.body, "session-id", c.header))
		require.Len(t, f.Fields, 1, "%+v", c)
		require.Contains(t, f.Fields, c.field)
	}
}

func TestTheEncodingOfResponses(t *testing.T) {
	_, h := newDemo()
	w := call(h, "GET", prefix+"/sessions", "")
	require.Equal(t, "[]\n", w.Body.String(), "an empty list is a list")
	require.Equal(t, "3", w.Header().Get("Content-Length"))

	w = call(h, "GET", prefix+"/sessions/"+laneID, "")
	require.Equal(t, `{"session_id":"`+laneID+`","customer_name":"Jo <Smith>","duration":60,"auto_start":false,`+
		`"began_at":null,"enable_purchasing":false}`+"\n", w.Body.String())

	w = call(h, "POST", prefix+"/sessions/"+laneID+"/modify?time=5", "")
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Empty(t, w.Body.String())
	require.Empty(t, w.Header().Get("Content-Type"))
}

// Pairs are taken as they are, in their bounds. A nil want is a fault.
func TestPairs(t *testing.T) {
	many := func(count int) string {
		members := make([]string, count)
		for i := range members {
			members[i] = fmt.Sprintf(`"k%d":""`, i)
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for _, c := range []struct {
		json string
		want map[string]string
	}{
		{`{}`, map[string]string{}},
		{`{"till":"3","":" ü "}`, map[string]string{"till": "3", "": " ü "}},
		{`{"a":"1","a":"2"}`, map[string]string{"a": "2"}},
		{`{"a":"` + strings.Repeat("x", 9) + `"}`, map[string]string{"a": strings.Repeat("x", 9)}},
		{`{"a":"` + strings.Repeat("ü", 5) + `"}`, nil}, // 11 bytes
		{many(3), map[string]string{"k0": "", "k1": "", "k2": ""}},
		{many(4), nil},
		{`{"a":null}`, nil},
		{`{"a":1}`, nil},
		{`{"a":{}}`, nil},
		{`{"a":"\n"}`, nil},
		{`{"\u0000":"a"}`, nil},
		{`["a"]`, nil},
		{`7`, nil},
	} {
		got, ok := pairs{most: 3, bytes: 10}.parse(c.json, literal)
		require.Equal(t, c.want != nil, ok, c.json)
		if ok {
			require.Equal(t, c.want, got)
		}
	}
	_, ok := pairs{most: 3, bytes: 10}.parse("{}", quoted)
	require.False(t, ok, "a text is no object")
}
