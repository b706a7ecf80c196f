package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// A POS reads what its range is and can: what the configuration says, what is the same for every range, and no secret.
func TestARangeSaysWhatItCan(t *testing.T) {
	config := newConfig(support.NewSQLite(t)+", retention: {events: 48h, history: 240h, names: 90m, cap: 5000}",
		"currency: EUR", "presets: [{minutes: 30}, {minutes: 90, group: "+support.Group+", grace: true}]",
		"sell_before_clear: false", "grace: 2m",
		"products: {url: http://127.0.0.1:1/private}", "webhook: {url: http://127.0.0.1:1/private, retry: {for: 2h}}")
	config.HTTP = "limits: {requests: 50, burst: 70, waiting: 30}"
	p, pos := serveConfig(t, config)

	answer := pos.ask("GET", v2+"/range", "")
	require.Equal(t, 200, answer.Status, answer.Body)
	require.Equal(t, `{"range_id":"`+support.RangeID+`","name":"Range","currency":"EUR","version":`+
		version(t, answer.Body)+
		`,"features":["purchasing","products","webhook","webhook_retry","clear_before_sale","warnings","grace","open_end","simulation"],`+
		`"presets":[{"minutes":30,"group_id":null},{"minutes":90,"group_id":"`+support.Group+`","grace":true}],`+
		`"limits":{"requests_per_second":50,"requests_at_once":70,"requests_waiting":30,"body_bytes":65536,"batch_operations":200,"batch_body_bytes":1048576,"session_minutes":480,`+
		`"customer_name_characters":200,"external_id_characters":128,"metadata_texts":20,"metadata_bytes":2048,"page_records":1000,"wait_seconds":60},`+
		`"retention":{"events_seconds":172800,"history_seconds":864000,"customer_names_seconds":5400,"records":5000,"idempotency_keys_seconds":86400}}`,
		masked(answer.Body))

	other := posClient{clientOf(p, otherRange, otherToken), t}
	answer = other.ask("GET", v2+"/range", "")
	require.Equal(t, 200, answer.Status, answer.Body)
	require.Contains(t, answer.Body, `{"range_id":"`+otherRange+`","name":"Another range","version":`+
		version(t, answer.Body)+`,"features":["warnings","open_end","simulation"],"presets":[],`)
	require.Equal(t, 404, pos.ask("GET", v1+"/range", "").Status, "version 1 stays as it is")
}

// Where the operator has taken a limit away, the answer says null.
func TestARangeWithoutLimits(t *testing.T) {
	config := newConfig(support.NewSQLite(t))
	config.HTTP = "limits: {requests: 0, waiting: 0}"
	_, pos := serveConfig(t, config)
	require.Contains(t, pos.ask("GET", v2+"/range", "").Body,
		`"limits":{"requests_per_second":null,"requests_at_once":null,"requests_waiting":null,`)
}

// version returns the JSON of the gateway's version, which each build has its own of.
func version(t testing.TB, body string) string {
	var view struct{ Version json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(body), &view))
	require.NotEqual(t, `""`, string(view.Version))
	return string(view.Version)
}
