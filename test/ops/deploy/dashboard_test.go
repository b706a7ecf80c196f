package deploy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"rangegate/test/support"
)

// There is no Grafana here: the dashboard is held to what Grafana would only show by being wrong.
func TestTheDashboardIsWhole(t *testing.T) {
	d := loadDashboard(t)
	require.Equal(t, "rangegate", d.Title)
	require.NotEmpty(t, d.UID, "its address stays the same when it is imported again")
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

// Whatever the dashboard asks is PromQL, and whatever is known by range heeds the choice of ranges.
func TestTheDashboardAsksPromQL(t *testing.T) {
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	type group struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	}
	asked := group{Name: "asked"}
	for i, q := range loadDashboard(t).queries() {
		asked.Rules = append(asked.Rules, rule{fmt.Sprintf("asked:%d", i), q.Expr})
	}
	text, err := yaml.Marshal(map[string][]group{"groups": {asked}})
	require.NoError(t, err)
	promtool(t, "check", "rules", support.WriteFile(t, "asked.yaml", string(text)))

	for _, p := range loadDashboard(t).Panels {
		for _, q := range p.Targets {
			require.Equal(t, strings.Count(q.Expr, "$range"), strings.Count(q.Expr, `range=~"$range"`), q.Expr)
		}
	}
}
