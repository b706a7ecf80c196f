package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dashboard is what of Grafana's model is looked at.
type dashboard struct {
	Title, UID    string
	SchemaVersion int
	Panels        []panel
	Annotations   struct{ List []annotation }
	Templating    struct{ List []variable }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []query
}

type query struct {
	RefID, Expr, LegendFormat string
	Datasource                source
}

// annotation marks moments in all graphs.
type annotation struct {
	Name, Expr, TitleFormat, TextFormat string
	Enable                              bool
	Datasource                          source
}

type variable struct{ Name, Type, Definition string }

type source struct{ Type, UID string }

const dashboardsFolder = "../../../deploy/grafana"

// loadDashboards returns the dashboards by the names of their files.
func loadDashboards(t testing.TB) map[string]dashboard {
	paths, err := filepath.Glob(filepath.Join(dashboardsFolder, "*.json"))
	require.NoError(t, err)
	all := map[string]dashboard{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var d dashboard
		require.NoError(t, json.Unmarshal(text, &d), path)
		all[filepath.Base(path)] = d
	}
	require.Len(t, all, 3)
	return all
}

// rows are the titles of the rows, from top to bottom.
func (d dashboard) rows() (titles []string) {
	for _, p := range d.Panels {
		if p.Type == "row" {
			titles = append(titles, p.Title)
		}
	}
	return titles
}

// queries are all that it asks Prometheus, as Prometheus gets to see it.
func (d dashboard) queries() (all []query) {
	for _, p := range d.Panels {
		all = append(all, p.Targets...)
	}
	for _, a := range d.Annotations.List {
		all = append(all, query{Expr: a.Expr, LegendFormat: a.TitleFormat + a.TextFormat, Datasource: a.Datasource})
	}
	for i := range all {
		all[i].Expr = strings.NewReplacer("$__rate_interval", "1m", "$range", ".+").Replace(all[i].Expr)
	}
	return all
}
