package metrics

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// promised is every metric that dashboards and alerts may count on, its kind and its labels.
var promised = map[string]struct{ kind, labels string }{
	"build_info": {"gauge", "goversion revision version"},
	"ready":      {"gauge", ""},

	"flight_dumps_total":     {"counter", "outcome"},
	"maintenance_jobs_total": {"counter", "kind outcome"},
	"advisories_open":        {"gauge", "code"},

	"verified_sessions":          {"gauge", ""},
	"verify_differences":         {"gauge", ""},
	"verified_timestamp_seconds": {"gauge", ""},

	"lanes":                          {"gauge", "range"},
	"lanes_not_usable":               {"gauge", "range"},
	"lanes_held":                     {"gauge", "range"},
	"lanes_not_clear":                {"gauge", "range"},
	"lanes_hold_unconfirmed":         {"gauge", "range"},
	"lanes_parked":                   {"gauge", "range"},
	"lanes_link_insecure":            {"gauge", "range"},
	"lanes_unsaved":                  {"gauge", "range"},
	"sessions":                       {"gauge", "phase range"},
	"lane_commands_total":            {"counter", "command result"},
	"token_commands_total":           {"counter", "command range result token"},
	"lane_command_seconds":           {"histogram", "command"},
	"lane_turn_seconds":              {"histogram", "range"},
	"timer_lateness_seconds":         {"histogram", ""},
	"idempotency_keys":               {"gauge", "range"},
	"idempotency_keys_refused_total": {"counter", ""},
	"hold_started_timestamp_seconds": {"gauge", "range scope"},
	"hold_fanout_seconds":            {"histogram", ""},
	"hold_lanes_total":               {"counter", "outcome"},

	"links":                      {"gauge", "range state"},
	"links_total":                {"counter", "what"},
	"links_incoming_total":       {"counter", "outcome"},
	"link_failures_total":        {"counter", "cause"},
	"link_dial_seconds":          {"histogram", ""},
	"link_round_trip_seconds":    {"histogram", ""},
	"lane_reports_missing_total": {"counter", ""},
	"controller_times_off_total": {"counter", ""},

	"store_flushes_total":                {"counter", "result"},
	"store_flush_seconds":                {"histogram", ""},
	"store_flush_writes":                 {"histogram", ""},
	"store_away":                         {"gauge", "range"},
	"store_writes_unsaved":               {"gauge", "range"},
	"fenced_writes_total":                {"counter", ""},
	"ranges_refused":                     {"gauge", ""},
	"store_last_flush_timestamp_seconds": {"gauge", "range"},

	"events_total":                    {"counter", "kind outcome webhook"},
	"events_waiting":                  {"gauge", "range webhook"},
	"events_oldest_timestamp_seconds": {"gauge", "range webhook"},
	"webhook_request_seconds":         {"histogram", "outcome webhook"},
	"products_requests_total":         {"counter", "outcome type"},
	"products_request_seconds":        {"histogram", "outcome"},
	"events_redelivered_total":        {"counter", "outcome webhook"},
	"events_retried_total":            {"counter", "outcome webhook"},
	"events_given_up_total":           {"counter", "webhook"},
	"events_awaiting_retry":           {"gauge", "range webhook"},
	"webhook_gone":                    {"gauge", "range webhook"},
	"purchases_total":                 {"counter", "by phase"},
	"purchases_pending":               {"gauge", "range"},
	"purchases_unresolved":            {"gauge", "range"},

	"help_calls":                          {"gauge", "range state"},
	"help_calls_oldest_timestamp_seconds": {"gauge", "range"},

	"actor_restarts_total":       {"counter", "kind"},
	"actor_mailbox_messages":     {"gauge", "kind"},
	"actor_mailbox_wait_seconds": {"histogram", "kind"},
	"machine_suspends_total":     {"counter", ""},
	"wall_clock_steps_total":     {"counter", ""},
	"clock_drift_seconds":        {"gauge", ""},
	"clock_offset_seconds":       {"gauge", ""},

	"http_requests_total":    {"counter", "method route status"},
	"http_request_seconds":   {"histogram", "route"},
	"requests_limited_total": {"counter", "limit"},
	"screen_streams":         {"gauge", "screen"},
	"event_readers":          {"gauge", "kind"},
	"staff_sign_ins_total":   {"counter", "result"},

	"connections_limited_total": {"counter", "limit outcome"},
	"access_log_dropped_total":  {"counter", ""},
}

// ofTheRuntime is the metrics of the Go runtime that stand beside the lateness of timers.
var ofTheRuntime = map[string]string{
	"go_sched_latencies_seconds":              "histogram",
	"go_sched_goroutines_runnable_goroutines": "gauge",
}

// evening is the scene of the test. It is played again while the gateway stood still meanwhile: then links may have
// ended, and controllers may have confirmed too late.
func evening(t *testing.T) (scraped support.Metrics) {
	for range 5 {
		f := start(t)
		still := f.Stillness(t.Context())
		if scraped = f.play(); still() < time.Second {
			break
		}
	}
	return scraped
}

// play has lane 1 run, its screen open and calling for help, lane 2 paused and held, the link of lane 3 down and held
// nevertheless, and the integrator no more answering.
func (f *fixture) play() support.Metrics {
	pos := f.POS()
	pos.WaitLinked()
	pos.Sell(1, 30)
	second := pos.Sell(2, 30)
	pos.Command(second, "/pause")
	pos.Expect(200, "GET", "/simulate/products", "")
	f.openScreen(1)
	f.waitMetrics("the integrator has every event", func(m support.Metrics) bool {
		return m.Sum("rangegate_webhook_request_seconds_count", `outcome="delivered"`) == 6
	})
	f.hangs.Store(true)
	pos.Command(second, "/resume") // this event is on its way,
	pos.Command(second, "/pause")  // and this one waits for it
	f.controllers.Controller(3).Hang(true)
	f.controllers.Controller(3).Drop()
	f.waitMetrics("the link of lane 3 is down for longer than its grace", func(m support.Metrics) bool {
		return m.Sum("rangegate_lanes_not_usable") == 1
	})
	f.HoldLane(2, true)
	f.HoldLane(3, true)
	return f.waitMetrics("controllers have answered pings, and everything is saved", func(m support.Metrics) bool {
		return m.Sum("rangegate_link_round_trip_seconds_count") >= 2 && m.Sum("rangegate_lanes_unsaved") == 0 &&
			m.Sum("rangegate_events_waiting") == 1
	})
}

// seriesOf are the series of a metric. Of a histogram they are those that count.
func seriesOf(m support.Metrics, name string) (found []string) {
	for series := range m.Series {
		full, _, _ := strings.Cut(series, "{")
		if full == name || m.Kind[name] == "histogram" && full == name+"_count" {
			found = append(found, series)
		}
	}
	return found
}

func TestMetrics(t *testing.T) {
	promtool := support.Program(t, "promtool")
	began := float64(time.Now().Unix())
	scraped := evening(t)
	ended := float64(time.Now().Unix() + 1)

	t.Run("keep to the conventions", func(t *testing.T) {
		check := exec.Command(promtool, "check", "metrics")
		check.Stdin = strings.NewReader(scraped.Text)
		output, err := check.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Empty(t, string(output))
	})

	t.Run("are those that are promised", func(t *testing.T) {
		for name, metric := range promised {
			name = "rangegate_" + name
			require.Equal(t, metric.kind, scraped.Kind[name], name)
			for _, series := range seriesOf(scraped, name) {
				require.Equal(t, metric.labels, strings.Join(slices.Sorted(maps.Keys(support.Labels(series))), " "),
					series)
			}
			require.NotEmpty(t, seriesOf(scraped, name), name)
		}
	})

	t.Run("have the scheduler beside them", func(t *testing.T) {
		for name, kind := range ofTheRuntime {
			require.Equal(t, kind, scraped.Kind[name], name)
			require.Len(t, seriesOf(scraped, name), 1, name)
		}
		require.Positive(t, scraped.Series["go_sched_latencies_seconds_count"])
	})

	t.Run("say what they mean", func(t *testing.T) {
		for name := range scraped.Kind {
			if strings.HasPrefix(name, "rangegate_") {
				require.Greater(t, len(scraped.Help[name]), 10, name)
			}
		}
	})

	// A label with as many values as there are lanes, sessions or customers would cost more than all the rest.
	t.Run("have bounded labels", func(t *testing.T) {
		id := regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-`)
		for series := range scraped.Series {
			for label, value := range support.Labels(series) {
				if label == "range" {
					require.Equal(t, support.RangeID, value, series)
				} else {
					require.NotRegexp(t, id, value, series)
				}
			}
		}
	})

	t.Run("are true", func(t *testing.T) {
		for series, value := range map[string]float64{
			`rangegate_ready`:                                                                        1,
			`rangegate_lanes{R}`:                                                                     3,
			`rangegate_lanes_not_usable{R}`:                                                          1,
			`rangegate_lanes_held{R}`:                                                                2,
			`rangegate_lanes_hold_unconfirmed{R}`:                                                    1,
			`rangegate_lanes_not_clear{R}`:                                                           0,
			`rangegate_lanes_parked{R}`:                                                              0,
			`rangegate_lanes_link_insecure{R}`:                                                       3,
			`rangegate_sessions{phase="waiting",R}`:                                                  0,
			`rangegate_sessions{phase="running",R}`:                                                  1,
			`rangegate_sessions{phase="paused",R}`:                                                   1,
			`rangegate_links{R,state="up"}`:                                                          2,
			`rangegate_links{R,state="down"}`:                                                        1,
			`rangegate_links{R,state="faulty"}`:                                                      0,
			`rangegate_links_total{what="up"}`:                                                       3,
			`rangegate_links_total{what="down"}`:                                                     1,
			`rangegate_link_failures_total{cause="closed"}`:                                          1,
			`rangegate_link_dial_seconds_count`:                                                      3,
			`rangegate_hold_lanes_total{outcome="confirmed"}`:                                        1,
			`rangegate_hold_lanes_total{outcome="not_reached"}`:                                      1,
			`rangegate_lane_turn_seconds_count{R}`:                                                   0,
			`rangegate_hold_fanout_seconds_count`:                                                    1,
			`rangegate_store_away{R}`:                                                                0,
			`rangegate_store_writes_unsaved{R}`:                                                      0,
			`rangegate_idempotency_keys{R}`:                                                          5,
			`rangegate_idempotency_keys_refused_total`:                                               0,
			`rangegate_events_waiting{R,webhook=""}`:                                                 1,
			`rangegate_purchases_pending{R}`:                                                         0,
			`rangegate_purchases_unresolved{R}`:                                                      0,
			`rangegate_help_calls{R,state="waiting"}`:                                                1,
			`rangegate_products_request_seconds_count{outcome="ok"}`:                                 4,
			`rangegate_events_total{kind="sessionStarted",outcome="delivered",webhook=""}`:           2,
			`rangegate_lane_command_seconds_count{command="create"}`:                                 2,
			`rangegate_lane_commands_total{command="pause",result="ok"}`:                             2,
			`rangegate_token_commands_total{command="pause",R,result="ok",token="till 1"}`:           2,
			`rangegate_screen_streams{screen="lane"}`:                                                1,
			`rangegate_screen_streams{screen="control"}`:                                             0,
			`rangegate_screen_streams{screen="board"}`:                                               0,
			`rangegate_actor_restarts_total{kind="lane"}`:                                            0,
			`rangegate_http_requests_total{method="POST",route="/api/v2/pos/sessions",status="201"}`: 2,
		} {
			series = strings.NewReplacer("{R", `{range="`+support.RangeID+`"`, ",R}", `,range="`+support.RangeID+`"}`,
				",R,", `,range="`+support.RangeID+`",`).Replace(series)
			shown, found := scraped.Series[series]
			require.True(t, found, series)
			require.Equal(t, value, shown, series)
		}
		for _, moment := range []string{
			`rangegate_hold_started_timestamp_seconds{range="` + support.RangeID + `",scope="lane"}`,
			`rangegate_events_oldest_timestamp_seconds{range="` + support.RangeID + `",webhook=""}`,
			`rangegate_help_calls_oldest_timestamp_seconds{range="` + support.RangeID + `"}`,
			`rangegate_store_last_flush_timestamp_seconds{range="` + support.RangeID + `"}`,
		} {
			require.GreaterOrEqual(t, scraped.Series[moment], began, moment)
			require.LessOrEqual(t, scraped.Series[moment], ended, moment)
		}
		require.NotContains(t, scraped.Text, "/stream", "one that is open has not taken any time")
		require.NotEmpty(t, support.Labels(seriesOf(scraped, "rangegate_build_info")[0])["goversion"])
	})
}
