// Package contract holds the running gateway against what others make of its documents and of the standards it claims:
// a linter of OpenAPI, tests generated from the documents, and a verifier of webhook signatures. None of them shares
// code with the gateway. They come from npm, at the versions in package-lock.json, and one of them wants Java; `make
// tools` installs both. The folders below hold it against WIRE.md, docs/hardware.md and the rules of its own packages.
package contract

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// Every document that the gateway serves passes the linter with the rules that it recommends.
func TestTheDocumentsPassTheLinter(t *testing.T) {
	lint := []string{support.Program(t, "node"), module(t, "@redocly/cli/bin/cli.js"), "lint"}
	dir := t.TempDir()
	playground := support.Playground(t)
	for name, path := range map[string]string{
		"v1.json":       support.V1 + "/openapi.json",
		"v2.json":       support.V2 + "/openapi.json",
		"v2-3.0.json":   support.V2 + "/openapi-3.0.json",
		"products.json": support.V2 + "/products.openapi.json",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), served(t, playground.API+path), 0o600))
		lint = append(lint, name)
	}
	out, log, success := tool{dir: dir, args: lint}.run(t)
	t.Log(out, log)
	require.True(t, success, "the linter finds an error")
}

// served is a document as the gateway serves it without credentials.
func served(t testing.TB, url string) []byte {
	t.Helper()
	answer, err := support.Client{API: url}.Do("GET", "", "", "range-id", "", "token", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status, answer.Body)
	return []byte(answer.Body)
}
