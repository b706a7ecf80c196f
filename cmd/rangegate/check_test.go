package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"rangegate/config"
)

// check beside the gateway that serves the configuration finds no fault in what the gateway itself holds, and does not
// disturb it.
func TestThePreflightBesideARunningGateway(t *testing.T) {
	data := t.TempDir()
	g := startGateway(t, data)
	cfg := config.Playground(2, data, strings.TrimPrefix(g.url, "http://"), "")
	cfg.Operations.Address = strings.TrimPrefix(g.operations, "http://")
	cfg.Operations.Token, cfg.Ranges[0].Staff, cfg.Ranges[0].Webhook, cfg.Ranges[0].Products = "", nil, nil, nil
	cfg.Ranges[0].Purchasing = false
	for i := range cfg.Ranges[0].Lanes {
		cfg.Ranges[0].Lanes[i].ScreenKey = ""
	}
	text, err := yaml.Marshal(cfg)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "rangegate.yaml")
	token := cfg.Ranges[0].Tokens[0].Reveal()
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "'***'", token)), 0o600))

	var out, table strings.Builder
	require.NoError(t, check{Config: file}.Run(&terminal{ctx: t.Context(), out: &out, log: &table}), "%s", &table)
	require.Regexp(t, `(?m)^ok +store +\S+rangegate.db, .+, is open in a gateway that runs`, table.String())
	require.Regexp(t, `(?m)^ok +http.address +a gateway answers at `+cfg.HTTP.Address, table.String())
	require.Regexp(t, `(?m)^ok +operations.address +a gateway answers at `+cfg.Operations.Address, table.String())
	require.NotContains(t, out.String()+table.String(), token)
	g.stopAndWait()
}
