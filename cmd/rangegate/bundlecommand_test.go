package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/api/control"
	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
)

// plantedRange has one of each secret, and names.
const plantedRange = `
environment: playground
http: {address: "127.0.0.1:0"}
operations: {address: "%s", token: "planted-operations-token"}
store: {sqlite: "%s"}
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: North range
    tokens: [22222222-2222-4222-8222-222222222222, {name: till, token: 22222222-2222-4222-8222-222222222223}]
    webhook: {url: "https://127.0.0.1:1/hooks/planted-path", secrets: [whsec_cGxhbnRlZC1zaWduaW5nLXNlY3JldC1vZi1ib29rcw==], allow_private: true}
    products: {url: "http://127.0.0.1:1/planted-products-path", allow_private: true}
    staff: [{name: Planted Person, pin_hash: "%s"}]
    board: {key: planted-board-key-0123}
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Members}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
      - {id: 44444444-4444-4444-8444-000000000001, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001, screen_key: planted-screen-key-0123,
         link: {driver: websocket, address: "ws://127.0.0.1:1/", key: cGxhbnRlZC1saW5rLWtleS0wMTIzNDU2Nzg5MDEyMzQ}}
`

// planted is what no file of a bundle may have, whatever the letters' case.
var planted = []string{
	"planted", "22222222-2222-4222-8222", "cGxhbnRlZC1", "Jo Smith", "argon2id",
}

const plantedLog = `{"level":"info","who":"Planted Person","time":"2026-05-01T10:00:00Z","message":"command"}
{"level":"debug","customer":"Jo Smith","message":"a request"}
{"level":"error","error":"Post \"https://127.0.0.1:1/hooks/planted-path\": refused","message":"an attempt failed"}
{"level":"warn","token":"22222222-2222-4222-8222-222222222223","message":"a defect that logs a token"}
goroutine 1 [running]:
`

// unpack returns the files of a bundle by their name in its folder.
func unpack(t *testing.T, path string) map[string]string {
	packed, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, packed.Close()) }()
	plain, err := gzip.NewReader(packed)
	require.NoError(t, err)
	files := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(content)
	}
}

// bundleOf packs a bundle of the planted configuration, whose operations address is that one.
func bundleOf(t *testing.T, operations string) (files map[string]string, printed string) {
	folder := t.TempDir()
	file, log, out := filepath.Join(folder, "rangegate.yaml"), filepath.Join(folder, "log"),
		filepath.Join(folder, "bundle.tar.gz")
	hash, err := control.HashPIN("47118")
	require.NoError(t, err)
	text := fmt.Sprintf(plantedRange, operations, filepath.Join(folder, "rangegate.db"), hash)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(log, []byte(plantedLog), 0o600))
	var said strings.Builder
	term := &terminal{ctx: t.Context(), out: &said}
	require.NoError(t, bundle{operator{Config: file}, out, log}.Run(term))
	info, err := os.Stat(out)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	err = bundle{operator{Config: file}, out, ""}.Run(term)
	require.ErrorContains(t, err, "--out: ")
	require.True(t, errors.As(err, &gateway.Misconfigured{}), "it replaces no file")
	files = unpack(t, out)
	for name, content := range files {
		for _, secret := range planted {
			require.NotContains(t, strings.ToLower(content), strings.ToLower(secret), name)
		}
	}
	return files, said.String()
}

// Support gets what it needs of a running gateway, and no secret and no name of anybody.
func TestABundleOfARunningGateway(t *testing.T) {
	data := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(data, "flight"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "flight", "flight-20260501-120000.000.trace"),
		[]byte("go 1.26 trace"), 0o600))
	g := gatewaytest.Start(t, data, func(c *config.Config) { c.Operations.Token = "planted-operations-token" })
	sold := g.POS("POST", "/sessions", `{"lane_id":"`+gatewaytest.DemoLane+`","group_id":"`+gatewaytest.DemoGroup+
		`","customer_name":"Jo Smith","duration":30}`)
	require.Equal(t, 201, sold.Status, sold.Body)
	files, printed := bundleOf(t, strings.TrimPrefix(g.Operations, "http://"))
	require.Contains(t, printed, "is written")
	require.NotContains(t, files["README.txt"], "Not in it")
	require.Contains(t, files["gateway/observer.json"], `"kind":"lane"`)
	require.Contains(t, files["gateway/actors.json"], `"command":"create"`)
	require.Contains(t, files["gateway/advisories.json"], `"advisories":[`)
	require.Contains(t, files["gateway/goroutines.txt"], "goroutine profile: total")
	require.Equal(t, "go 1.26 trace", files["gateway/flight.trace"], "of an earlier process")
	require.Contains(t, files["configuration.yaml"], "name: staff 1")
	require.Contains(t, files["configuration.yaml"], "url: https://127.0.0.1:1/***")
	require.Contains(t, files["preflight.txt"], "FAIL", "its integrator does not answer")
	require.Contains(t, files["gateway/metrics.txt"], "rangegate_lanes{")
	require.Equal(t, []string{
		`{"level":"info","who":"staff 1","time":"2026-05-01T10:00:00Z","message":"command"}`,
		`{"level":"error","error":"Post \"https://127.0.0.1:1***\": refused","message":"an attempt failed"}`,
		`{"level":"warn","token":"***","message":"a defect that logs a token"}`, "goroutine 1 [running]:", "",
	}, strings.Split(files["log.jsonl"], "\n"))
	g.Stop()
}

// Of a gateway that does not answer there is everything else, and the bundle says what is missing.
func TestABundleWithoutAGateway(t *testing.T) {
	files, _ := bundleOf(t, "127.0.0.1:1")
	require.Contains(t, files["README.txt"],
		"Not in it:\n  gateway/readyz.txt: the gateway of this machine does not answer")
	require.Contains(t, files["configuration.yaml"], "North range")
	require.NotContains(t, files, "gateway/metrics.txt")
}

// Of a long log the newest whole lines are packed.
func TestTheNewestOfALogIsPacked(t *testing.T) {
	const most = 1 << 20
	line := `{"level":"info","n":%08d}` + "\n"
	var log strings.Builder
	for i := range 100_000 {
		_, _ = fmt.Fprintf(&log, line, i)
	}
	kept, err := newestLog(strings.NewReader(log.String()), most)
	require.NoError(t, err)
	require.Greater(t, log.Len(), 2*most)
	require.InDelta(t, most, len(kept), 100)
	require.True(t, strings.HasSuffix(log.String(), "\n"+string(kept)))
}
