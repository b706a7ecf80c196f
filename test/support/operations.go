package support

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Operate makes a request to the operations address with the operations token.
func (g *Gateway) Operate(method, path, body string) Answer {
	g.t.Helper()
	headers := []string{"Authorization", "Bearer " + g.Token}
	if body != "" {
		headers = append(headers, "Content-Type", "application/json")
	}
	answer, err := Client{API: g.Operations}.Do(method, path, body, headers...)
	require.NoError(g.t, err)
	return answer
}

// Reach is how far a hold, or its end, has come.
type Reach struct {
	Confirmed  []string `json:"confirmed"`
	Sent       []string `json:"sent"`
	NotReached []string `json:"not_reached"`
	Saved      bool     `json:"saved"`
}

// HoldLane sets or lifts a hold over a lane.
func (g *Gateway) HoldLane(lane int, on bool) Reach {
	g.t.Helper()
	return g.hold(fmt.Sprintf(`{"scope":"lane","id":%q,"on":%v}`, LaneID(lane), on))
}

// HoldRange sets or lifts a hold over the range.
func (g *Gateway) HoldRange(on bool) Reach {
	g.t.Helper()
	return g.hold(fmt.Sprintf(`{"scope":"range","id":null,"on":%v}`, on))
}

func (g *Gateway) hold(body string) (reach Reach) {
	g.t.Helper()
	answer := g.Operate("PUT", "/ranges/"+RangeID+"/holds", body)
	require.Equal(g.t, 200, answer.Status, answer.Body)
	answer.Decode(g.t, &reach)
	return reach
}

// Metrics are the metrics at one moment.
type Metrics struct {
	Text   string
	Help   map[string]string
	Kind   map[string]string
	Series map[string]float64 // by series, as it is written: name{label="value"}
}

// Metrics scrapes the gateway as Prometheus does.
func (g *Gateway) Metrics() Metrics {
	g.t.Helper()
	answer, err := Client{API: g.Operations}.Do("GET", "/metrics", "")
	require.NoError(g.t, err)
	require.Equal(g.t, 200, answer.Status, answer.Body)
	return ParseMetrics(g.t, answer.Body)
}

// ParseMetrics reads the text format.
func ParseMetrics(t testing.TB, text string) Metrics {
	t.Helper()
	m := Metrics{Text: text, Help: map[string]string{}, Kind: map[string]string{}, Series: map[string]float64{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if about, found := strings.CutPrefix(line, "# HELP "); found {
			name, help, _ := strings.Cut(about, " ")
			m.Help[name] = help
			continue
		}
		if about, found := strings.CutPrefix(line, "# TYPE "); found {
			name, kind, _ := strings.Cut(about, " ")
			m.Kind[name] = kind
			continue
		}
		end := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[end+1:], 64)
		require.NoError(t, err, line)
		m.Series[line[:end]] = value
	}
	return m
}

// Metric is the metric that a series belongs to. The series of a histogram have longer names than the histogram.
func (m Metrics) Metric(series string) string {
	name, _, _ := strings.Cut(series, "{")
	for _, end := range []string{"_bucket", "_sum", "_count"} {
		if histogram, found := strings.CutSuffix(name, end); found && !slices.Contains([]string{"", "counter", "gauge"},
			m.Kind[histogram]) {
			return histogram
		}
	}
	return name
}

var label = regexp.MustCompile(`([a-zA-Z_]\w*)="([^"]*)"`)

// Labels are the labels of a series, by name.
func Labels(series string) map[string]string {
	labels := map[string]string{}
	for _, found := range label.FindAllStringSubmatch(series, -1) {
		labels[found[1]] = found[2]
	}
	return labels
}

// Sum adds up the series with that name and all those labels, each given as what="up". It is 0 when there is none.
func (m Metrics) Sum(name string, labels ...string) (sum float64) {
	for series, value := range m.Series {
		named, has, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
		fits := named == name
		for _, label := range labels {
			fits = fits && strings.Contains(","+has+",", ","+label+",")
		}
		if fits {
			sum += value
		}
	}
	return sum
}
