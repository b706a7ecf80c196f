package main

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/config"
)

// check beside the gateway that serves the configuration finds no fault in what the gateway itself holds, and does not
// disturb it.
func TestThePreflightBesideARunningGateway(t *testing.T) {
	data := t.TempDir()
	g := gatewaytest.Start(t, data)
	cfg := config.Playground(2, data, strings.TrimPrefix(g.URL, "http://"), "")
	cfg.Operations.Address = strings.TrimPrefix(g.Operations, "http://")
	cfg.Operations.Token, cfg.Ranges[0].Staff, cfg.Ranges[0].Webhook, cfg.Ranges[0].Products = "", nil, nil, nil
	cfg.Ranges[0].Purchasing = false
	for i := range cfg.Ranges[0].Lanes {
		cfg.Ranges[0].Lanes[i].ScreenKey = ""
	}
	text, err := yaml.Marshal(cfg)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "rangegate.yaml")
	token := cfg.Ranges[0].Tokens[0].Token.Reveal()
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "'***'", token)), 0o600))

	var out, table strings.Builder
	require.NoError(t, check{Config: file}.Run(&terminal{ctx: t.Context(), out: &out, log: &table}), "%s", &table)
	require.Regexp(t, `(?m)^ok +store +\S+rangegate.db, .+, is open in a gateway that runs`, table.String())
	require.Regexp(t, `(?m)^ok +http.address +a gateway answers at `+cfg.HTTP.Address, table.String())
	require.Regexp(t, `(?m)^ok +operations.address +a gateway answers at `+cfg.Operations.Address, table.String())
	require.NotContains(t, out.String()+table.String(), token)
	g.Stop()
}

// check-controller makes every connection with TLS, those of its stranger too, and trusts what it is told to trust.
func TestCheckControllerOverTLS(t *testing.T) {
	t.Parallel()
	const key = "W3V5aB0nq7oXr2kTQmJx9eLcYd4sHf6uPZgA1iEwN8M"
	pair := certificatetest.Issue(t, time.Hour)
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	ca, _ := pair.Files(t)
	clock, err := clock.NewSystem()
	require.NoError(t, err)
	lane := uuid.New()
	hardware, err := lanesim.New(lanesim.Settings{Now: clock.Now}, lanesim.Lane{
		ID: lane, Listen: "127.0.0.1:0", Key: key,
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
	})
	require.NoError(t, err)
	t.Cleanup(hardware.Close)
	check := func(with checkController) (string, error) {
		with.Address, with.Lane, with.Range = hardware.Controller(lane).Address(), lane, uuid.New()
		var out strings.Builder
		err := with.Run(&terminal{
			ctx: t.Context(), environ: []string{"RANGEGATE_LINK_KEY=" + key},
			out: &out, log: &out,
		})
		return out.String(), err
	}
	output, err := check(checkController{CA: ca})
	require.NoError(t, err, output)
	require.Equal(t, 16, strings.Count(output, "holds "), output)

	for name, with := range map[string]checkController{
		"the machine's authorities": {},
		"another certificate":       {Pin: fmt.Sprintf("sha256:%x", sha256.Sum256(pair.Certificate))},
	} {
		output, err := check(with)
		require.Error(t, err, name)
		require.Contains(t, output, "BROKEN  answers the gateway's hello", name)
		require.NotContains(t, output, "holds ", name)
	}
	_, err = check(checkController{CA: ca, Pin: fmt.Sprintf("sha256:%x", sha256.Sum256(pair.Certificate))})
	require.ErrorAs(t, err, &gateway.Misconfigured{})
	require.ErrorContains(t, err, "choose one")
}
