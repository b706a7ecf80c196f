package deploy

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"rangegate/test/support"
)

// inventory is the metrics and error codes that a gateway has, and a report of names that it has not.
type inventory struct {
	metrics  support.Metrics
	families map[string]*family
	codes    string // what is written about the errors
	missing  []string
}

func (g *inventory) report(where, format string, arguments ...any) {
	g.missing = append(g.missing, where+": "+fmt.Sprintf(format, arguments...))
}

// These are metrics and labels that Prometheus makes itself.
var (
	prometheusMetrics = []string{"up", "ALERTS"}
	prometheusLabels  = []string{"job", "instance"}
)

// check looks for everything that the expression names. It returns the labels that its result may have, or false when a
// metric is missing.
func (g *inventory) check(where, text string) (labels []string, found bool) {
	e := parse(text)
	labels, found = slices.Clone(prometheusLabels), true
	for _, one := range e.selected {
		if slices.Contains(prometheusMetrics, one.metric) {
			continue
		}
		shown := g.families[g.metrics.Metric(one.metric)]
		if shown == nil {
			g.report(where, "there is no %s", one.metric)
			found = false
			continue
		}
		for label := range shown.labels {
			labels = append(labels, label)
		}
		for _, m := range one.matchers {
			g.checkMatcher(where, one.metric, shown, m)
		}
	}
	if found {
		g.checkLabels(where, labels, e.grouped...)
	}
	if e.onlyGrouped {
		labels = e.grouped
	}
	return labels, found
}

// checkMatcher looks for the label, and for its values: each was seen, or is mentioned by the metric's help
// or the errors.
func (g *inventory) checkMatcher(where, metric string, shown *family, m matcher) {
	if slices.Contains(prometheusLabels, m.label) {
		return
	}
	seen, has := shown.labels[m.label]
	if !has {
		g.report(where, "%s has no label %s", metric, m.label)
		return
	}
	for _, value := range m.values() {
		if !slices.Contains(seen, value) && !mentioned(value, shown.help+g.codes) {
			g.report(where, "%s has no %s %q, and its help does not speak of any", metric, m.label, value)
		}
	}
}

func (g *inventory) checkLabels(where string, labels []string, asked ...string) {
	for _, label := range asked {
		if !slices.Contains(labels, label) {
			g.report(where, "nothing has the label %s", label)
		}
	}
}

// mentioned tells whether the value is a word of the text, or a status of HTTP.
func mentioned(value, text string) bool {
	if status, err := strconv.Atoi(value); err == nil {
		return http.StatusText(status) != ""
	}
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`).MatchString(text)
}

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
