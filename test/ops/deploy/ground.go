package deploy

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
)

// ground is what a gateway has, and what was named that it has not.
type ground struct {
	families map[string]*family
	codes    string // what is written about the errors
	missing  []string
}

func (g *ground) miss(where, format string, arguments ...any) {
	g.missing = append(g.missing, where+": "+fmt.Sprintf(format, arguments...))
}

// ofPrometheus are metrics and labels that Prometheus makes itself.
var (
	ofPrometheus       = []string{"up", "ALERTS"}
	labelsOfPrometheus = []string{"job", "instance"}
)

// named looks for everything that the expression names. It gives the labels that its result may have; nothing is known of
// them where a metric is missing.
func (g *ground) named(where, text string) (labels []string, found bool) {
	e := parse(text)
	labels, found = slices.Clone(labelsOfPrometheus), true
	for _, one := range e.selected {
		if slices.Contains(ofPrometheus, one.metric) {
			continue
		}
		shown := g.families[base(g.families, one.metric)]
		if shown == nil {
			g.miss(where, "there is no %s", one.metric)
			found = false
			continue
		}
		for label := range shown.labels {
			labels = append(labels, label)
		}
		for _, m := range one.matchers {
			g.matched(where, one.metric, shown, m)
		}
	}
	if found {
		g.has(where, labels, e.grouped...)
	}
	if e.onlyGrouped {
		labels = e.grouped
	}
	return labels, found
}

// matched: a value that was not seen has to be one that the metric's help, or the errors, speak of.
func (g *ground) matched(where, metric string, shown *family, m matcher) {
	if slices.Contains(labelsOfPrometheus, m.label) {
		return
	}
	seen, has := shown.labels[m.label]
	if !has {
		g.miss(where, "%s has no label %s", metric, m.label)
		return
	}
	for _, value := range m.values() {
		if !slices.Contains(seen, value) && !spokenOf(value, shown.help+g.codes) {
			g.miss(where, "%s has no %s %q, and its help does not speak of any", metric, m.label, value)
		}
	}
}

func (g *ground) has(where string, labels []string, asked ...string) {
	for _, label := range asked {
		if !slices.Contains(labels, label) {
			g.miss(where, "nothing has the label %s", label)
		}
	}
}

// spokenOf: a word of the text, or the status of an HTTP answer.
func spokenOf(value, text string) bool {
	if status, err := strconv.Atoi(value); err == nil {
		return http.StatusText(status) != ""
	}
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`).MatchString(text)
}
