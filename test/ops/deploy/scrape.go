package deploy

import (
	"slices"
	"strings"

	"rangegate/test/support"
)

// family is one metric as a scrape shows it.
type family struct {
	help, kind string
	labels     map[string][]string // with the values seen
}

// familiesOf sorts the series of a scrape by metric.
func familiesOf(metrics support.Metrics) map[string]*family {
	families := map[string]*family{}
	for name, kind := range metrics.Kind {
		families[name] = &family{help: metrics.Help[name], kind: kind, labels: map[string][]string{}}
	}
	for series := range metrics.Series {
		found := families[metrics.Metric(series)]
		if found == nil {
			continue
		}
		for label, value := range support.Labels(series) {
			if !slices.Contains(found.labels[label], value) {
				found.labels[label] = append(found.labels[label], value)
			}
		}
	}
	return families
}

// base is the name under which a series is described: a histogram's has none of the ends that its series have.
func base(families map[string]*family, name string) string {
	for _, end := range []string{"_bucket", "_sum", "_count"} {
		if whole, found := strings.CutSuffix(name, end); found && families[whole] != nil && families[whole].kind != "counter" && families[whole].kind != "gauge" {
			return whole
		}
	}
	return name
}
