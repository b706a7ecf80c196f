package deploy

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

var (
	inLegend      = regexp.MustCompile(`\{\{(\w+)\}\}`)
	inDescription = regexp.MustCompile(`\$labels\.(\w+)`)
	increases     = regexp.MustCompile(`increase\(([^[]+)\[`)
)

// What the dashboards, the rules and their tests name, the program has: the metrics, their labels, and the
// values that are asked for. A metric that is misspelt shows nothing and alerts of nothing, which looks like
// a good evening.
func TestWhatIsNamedIsThere(t *testing.T) {
	metrics, codes := evening(t)
	addMissing(metrics, node(t).Metrics())
	program := &inventory{metrics: metrics, families: familiesOf(metrics), codes: codes}

	t.Run("and has help", func(t *testing.T) {
		for name, metric := range program.families {
			require.NotEmpty(t, metric.help, name)
			require.NotEmpty(t, metric.kind, name)
		}
		check := exec.Command(support.Program(t, "promtool"), "check", "metrics")
		check.Stdin = strings.NewReader(metrics.Text)
		out, err := check.CombinedOutput()
		require.NoError(t, err, string(out))
	})

	for file, d := range loadDashboards(t) {
		for _, q := range d.queries() {
			if labels, found := program.check(file, q.Expr); found {
				program.checkLabels(file+": the legend of "+q.Expr, labels, firstGroups(inLegend, q.LegendFormat)...)
			}
		}
		for _, v := range d.Templating.List {
			if inside, found := strings.CutPrefix(v.Definition, "label_values("); found {
				metric, label, _ := strings.Cut(strings.TrimSuffix(inside, ")"), ", ")
				program.check(file+": "+v.Name, metric+"{"+label+`=~".+"}`)
			}
		}
	}
	for _, alert := range alerts(t) {
		if labels, found := program.check(alert.Alert, alert.Expr); found {
			program.checkLabels(alert.Alert+": its description", labels,
				firstGroups(inDescription, alert.Annotations["description"])...)
		}
	}
	for _, query := range pageQueries(t, runbook) {
		program.check(runbook, query)
	}
	// What the tests of the rules make up has the labels that the program's has, so that an alert that fires
	// there fires here.
	for _, trial := range ruleTests(t).Tests {
		for _, input := range trial.InputSeries {
			made := parse(input.Series).selected[0]
			if shown := program.families[program.metrics.Metric(made.metric)]; shown != nil {
				var has []string
				for _, m := range made.matchers {
					has = append(has, m.label)
				}
				for label := range shown.labels {
					program.checkLabels("the tests of the rules: "+input.Series, has, label)
				}
				for _, label := range has {
					program.checkLabels("the tests of the rules: "+input.Series,
						slices.AppendSeq(slices.Clone(prometheusLabels), maps.Keys(shown.labels)), label)
				}
			}
		}
	}
	slices.Sort(program.missing)
	all := slices.Compact(program.missing)
	require.Empty(t, all, strings.Join(all, "\n"))
}

// A counter that an alert waits for is there from the start: where it only begins with the first thing that
// it counts, that thing is no increase, and nobody is told of it.
func TestWhatAlertsCountIsThereBeforeItHappens(t *testing.T) {
	metrics := support.Playground(t).Ready().Metrics()
	addMissing(metrics, node(t).Metrics())
	families := familiesOf(metrics)
	for _, alert := range alerts(t) {
		for _, counted := range firstGroups(increases, alert.Expr) {
			if strings.Contains(alert.Expr, counted+" offset") { // then it minds that itself
				continue
			}
			one := parse(counted).selected[0]
			metric := families[one.metric]
			require.NotNil(t, metric, "%s counts %s", alert.Alert, counted)
			for _, m := range one.matchers {
				require.NotEmpty(t, metric.labels[m.label], "%s counts %s", alert.Alert, counted)
				if m.operator[0] == '=' {
					require.Subset(t, metric.labels[m.label], m.values(), "%s counts %s", alert.Alert, counted)
				}
			}
		}
	}
}

// pageQueries are the PromQL expressions in the sentences of a page.
func pageQueries(t testing.TB, page string) (all []string) {
	text, err := os.ReadFile("../../../" + page)
	require.NoError(t, err)
	sentences := regexp.MustCompile("(?s)\n```.*?\n```").ReplaceAllString(string(text), "")
	for _, code := range firstGroups(regexp.MustCompile("`([^`]+)`"), sentences) {
		if regexp.MustCompile(`\b(rangegate|process|go)_[a-z]`).MatchString(code) {
			all = append(all, code)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// firstGroups are what the first group of the pattern finds.
func firstGroups(pattern *regexp.Regexp, text string) (all []string) {
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}
