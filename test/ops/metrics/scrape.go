package metrics

import (
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

// scrape is the metrics at one moment.
type scrape struct {
	text   string
	help   map[string]string
	kind   map[string]string
	series map[string]float64 // each as it is written: name{label="value"}
}

// scraped reads the gateway's metrics as Prometheus does.
func scraped(t testing.TB, gateway *process.Process) scrape {
	t.Helper()
	response, err := http.Get(gateway.Operations + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	s := scrape{text: string(text), help: map[string]string{}, kind: map[string]string{}, series: map[string]float64{}}
	for line := range strings.Lines(s.text) {
		line = strings.TrimSpace(line)
		if about, is := strings.CutPrefix(line, "# HELP "); is {
			name, help, _ := strings.Cut(about, " ")
			s.help[name] = help
			continue
		}
		if about, is := strings.CutPrefix(line, "# TYPE "); is {
			name, kind, _ := strings.Cut(about, " ")
			s.kind[name] = kind
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		require.NoError(t, err, line)
		s.series[line[:at]] = value
	}
	return s
}

// of is the value of a series of the range, and of the labels that stand behind it: state="up".
func (s scrape) of(name string, labels ...string) (value float64, there bool) {
	all := strings.Join(append([]string{`range="` + rangeID + `"`}, labels...), ",")
	value, there = s.series[name+"{"+all+"}"]
	return value, there
}

var label = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

// labels is every label of a series, by its name.
func labels(series string) map[string]string {
	all := map[string]string{}
	for _, one := range label.FindAllStringSubmatch(series, -1) {
		all[one[1]] = one[2]
	}
	return all
}

// named is the series of a metric. Those of a histogram have names of their own.
func (s scrape) named(name string) (found []string) {
	for series := range s.series {
		of, _, _ := strings.Cut(series, "{")
		if of == name || s.kind[name] == "histogram" && of == name+"_count" {
			found = append(found, series)
		}
	}
	return found
}

// names is the labels' names in alphabetical order.
func names(labels map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(labels)), " ")
}
