package contract

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/needs"
	"rangegate/test/process"
)

const (
	v1 = "/api/v1/pos"
	v2 = "/api/v2/pos"
)

// Every document that the gateway serves passes the linter with the rules that it recommends.
func TestTheDocumentsPassTheLinter(t *testing.T) {
	lint := []string{needs.Program(t, "node"), module(t, "@redocly/cli/bin/cli.js"), "lint"}
	dir := t.TempDir()
	playground := process.Playground(t, "--data", t.TempDir())
	for name, path := range map[string]string{
		"v1.json":       v1 + "/openapi.json",
		"v2.json":       v2 + "/openapi.json",
		"products.json": v2 + "/products.openapi.json",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), served(t, playground.API+path), 0o600))
		lint = append(lint, name)
	}
	out, log, success := tool{dir: dir, args: lint}.run(t)
	t.Log(out, log)
	require.True(t, success, "the linter finds an error")
}

// served is a document as anybody gets it, without credentials.
func served(t testing.TB, url string) []byte {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	document, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(document))
	return document
}
