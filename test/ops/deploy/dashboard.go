package deploy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dashboard is what of Grafana's model is looked at.
type dashboard struct {
	Title, UID    string
	SchemaVersion int
	Panels        []panel
	Annotations   struct{ List []query }
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

type variable struct{ Name, Type, Definition string }

type source struct{ Type, UID string }

func loadDashboard(t testing.TB) (d dashboard) {
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	return d
}

// queries are all that it asks Prometheus, as Prometheus gets to see it.
func (d dashboard) queries() (all []query) {
	for _, p := range d.Panels {
		all = append(all, p.Targets...)
	}
	all = append(all, d.Annotations.List...)
	for i := range all {
		all[i].Expr = strings.NewReplacer("$__rate_interval", "1m", "$range", ".+").Replace(all[i].Expr)
	}
	return all
}
