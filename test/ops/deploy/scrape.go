package deploy

import (
	"slices"

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
	named := func(name string) *family {
		if families[name] == nil {
			families[name] = &family{help: metrics.Help[name], kind: metrics.Kind[name], labels: map[string][]string{}}
		}
		return families[name]
	}
	for name := range metrics.Kind {
		named(name)
	}
	for series := range metrics.Series {
		found := named(metrics.Metric(series))
		for label, value := range support.Labels(series) {
			if !slices.Contains(found.labels[label], value) {
				found.labels[label] = append(found.labels[label], value)
			}
		}
	}
	return families
}
