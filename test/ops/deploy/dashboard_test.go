package deploy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"rangegate/test/support"
)

// The rows of each dashboard are the questions of whom it is for.
var questions = map[string][]string{
	"rangegate.json": {
		"Is anything wrong now?", "Are people served?", "Is anything unsafe?", "What is slow?", "Who owns what?",
	},
	"rangegate-range.json": {"Are people served?", "Is anything unsafe?"},
	"rangegate-developer.json": {
		"What does the runtime do?", "What do the actors do?", "What do the flushes do?", "What becomes of traces?",
		"What is slow outside?",
	},
}

// There is no Grafana here: the dashboards are held to what Grafana would only show by being wrong.
func TestTheDashboardsAreWhole(t *testing.T) {
	uids := map[string]bool{}
	for file, d := range loadDashboards(t) {
		t.Run(file, func(t *testing.T) {
			require.Equal(t, strings.TrimSuffix(file, ".json"), d.UID,
				"its address stays the same when it is imported again")
			require.False(t, uids[d.UID])
			uids[d.UID] = true
			require.Contains(t, d.Title, "rangegate")
			require.Equal(t, questions[file], d.rows())
			var marked []string
			for _, a := range d.Annotations.List {
				marked = append(marked, a.Name)
				require.True(t, a.Enable, a.Name)
				require.Equal(t, source{"prometheus", "${datasource}"}, a.Datasource, a.Name)
			}
			require.Equal(t, []string{"Ceasefire", "Started", "Reloaded", "Taken over"}, marked)
			checkPanels(t, d)
		})
	}
}

func checkPanels(t *testing.T, d dashboard) {
	require.GreaterOrEqual(t, d.SchemaVersion, 39)
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name+" "+v.Type)
	}
	require.Equal(t, []string{"datasource datasource", "range query"}, names)

	ids, titles, cells := map[int]string{}, map[string]bool{}, map[[2]int]string{}
	row := 0
	for _, p := range d.Panels {
		require.NotEmpty(t, p.Title)
		require.NotContains(t, ids, p.ID, p.Title)
		require.False(t, titles[p.Title], "%s stands there twice", p.Title)
		ids[p.ID], titles[p.Title] = p.Title, true
		at := p.GridPos
		require.True(t, at.X >= 0 && at.X+at.W <= 24 && at.W > 0 && at.H > 0, "%s: %+v", p.Title, at)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				require.Empty(t, cells[[2]int{x, y}], "%s lies over another panel", p.Title)
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			require.GreaterOrEqual(t, at.Y, row, "rows stand in the order in which they are shown")
			row = at.Y
			continue
		}
		require.Contains(t, []string{"stat", "timeseries", "table"}, p.Type, p.Title)
		require.NotEmpty(t, p.Description, "%s says nothing of what it shows", p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		if p.Type != "table" {
			require.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			require.False(t, refs[q.RefID], "%s asks %s twice", p.Title, q.RefID)
			refs[q.RefID] = true
			require.Equal(t, source{"prometheus", "${datasource}"}, q.Datasource, p.Title)
		}
	}
}

// Whatever the dashboards ask is PromQL, and whatever is known by range heeds the choice of ranges.
func TestTheDashboardsAskPromQL(t *testing.T) {
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	type group struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	}
	for file, d := range loadDashboards(t) {
		t.Run(file, func(t *testing.T) {
			asked := group{Name: "asked"}
			for i, q := range d.queries() {
				asked.Rules = append(asked.Rules, rule{fmt.Sprintf("asked:%d", i), q.Expr})
			}
			text, err := yaml.Marshal(map[string][]group{"groups": {asked}})
			require.NoError(t, err)
			promtool(t, "check", "rules", support.WriteFile(t, "asked.yaml", string(text)))

			for _, p := range d.Panels {
				for _, q := range p.Targets {
					require.Equal(t, strings.Count(q.Expr, "$range"), strings.Count(q.Expr, `range=~"$range"`), q.Expr)
				}
			}
		})
	}
}
