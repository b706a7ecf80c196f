package deploy

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	rulesFile = "../../../deploy/prometheus/rules.yaml"
	runbook   = "docs/operators.md"
)

// testsFiles have the tests of the rules.
var testsFiles = []string{"../../../deploy/prometheus/rules_test.yaml", "../../../deploy/prometheus/days_test.yaml"}

// alert is one alert rule.
type alert struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t testing.TB) (all []alert) {
	var file struct{ Groups []struct{ Rules []alert } }
	read(t, rulesFile, &file)
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

// ruleTestFile is a file of tests of the rules: the series that they make up, and when which alert is to fire.
type ruleTestFile struct {
	Tests []struct {
		InputSeries   []struct{ Series string } `yaml:"input_series"`
		AlertRuleTest []struct {
			Alertname string
			ExpAlerts []struct{} `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

func ruleTests(t testing.TB) (all ruleTestFile) {
	for _, path := range testsFiles {
		var file ruleTestFile
		read(t, path, &file)
		require.NotEmpty(t, file.Tests, path)
		all.Tests = append(all.Tests, file.Tests...)
	}
	return all
}

func read(t testing.TB, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, into))
}
