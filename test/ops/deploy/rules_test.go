package deploy

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestTheRulesAreRules(t *testing.T) {
	promtool(t, "check", "rules", rulesFile)
}

// Every alert fires when it should, says what its test says, and is quiet before.
func TestTheRulesFireAsTheirTestsSay(t *testing.T) {
	promtool(t, append([]string{"test", "rules"}, testsFiles...)...)

	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, trial := range ruleTests(t).Tests {
		for _, moment := range trial.AlertRuleTest {
			fires[moment.Alertname] = fires[moment.Alertname] || len(moment.ExpAlerts) > 0
			quiet[moment.Alertname] = quiet[moment.Alertname] || len(moment.ExpAlerts) == 0
		}
	}
	for _, alert := range alerts(t) {
		require.True(t, fires[alert.Alert], "no test has %s fire", alert.Alert)
		require.True(t, quiet[alert.Alert], "no test has %s quiet", alert.Alert)
	}
}

// An alert says how urgent it is, what is wrong with which part, with its value, and where its section of the
// runbook is.
func TestEveryAlertSaysWhatToDo(t *testing.T) {
	sections := runbookSections(t)
	seen := map[string]bool{}
	for _, alert := range alerts(t) {
		name := alert.Alert
		require.Regexp(t, `^Rangegate[A-Z]\w+$`, name)
		require.False(t, seen[name], "%s stands there twice", name)
		seen[name] = true
		require.Contains(t, []string{"critical", "warning"}, alert.Labels["severity"], name)
		require.NotEmpty(t, alert.Annotations["summary"], name)
		if name != "RangegateAbsent" && name != "RangegateRangesUnowned" { // no series, or what all nodes say together
			require.Regexp(t, `\{\{ \$labels\.(range|instance) \}\}`, alert.Annotations["description"], name)
		}
		require.Equal(t, runbook+"#"+strings.ToLower(name), alert.Annotations["runbook_url"], name)
		section := sections[name]
		for _, part := range []string{"**Meaning.**", "**Look at.**", "**Do.**"} {
			require.Contains(t, section, part, "the section of %s in %s", name, runbook)
		}
	}
	for name := range sections {
		require.True(t, seen[name], "%s has a section for %s, which is no alert", runbook, name)
	}
}

// runbookSections are the sections of the runbook, by their headings: the names of the alerts.
func runbookSections(t testing.TB) map[string]string {
	text, err := os.ReadFile("../../../" + runbook)
	require.NoError(t, err)
	sections := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^#{2,4} `).Split(string(text), -1) {
		heading, body, _ := strings.Cut(section, "\n")
		if strings.HasPrefix(heading, "Rangegate") {
			sections[heading] = body
		}
	}
	return sections
}

func promtool(t testing.TB, arguments ...string) {
	t.Helper()
	out, err := exec.Command(support.Program(t, "promtool"), arguments...).CombinedOutput()
	require.NoError(t, err, string(out))
}
