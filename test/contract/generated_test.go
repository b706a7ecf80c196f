package contract

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// Specmatic reads a document, makes of each operation as many requests as its schemas have edges, right ones
// and wrong ones, and checks that the right ones succeed as the document says, and that the wrong ones are
// refused as it says. Of the combinations of optional fields it takes 3 for each edge: all of them are 7,600
// requests, 3 minutes, and say no more.
func TestGeneratedRequests(t *testing.T) {
	for name, of := range map[string]struct{ path, edges string }{
		"version 1": {support.V1 + "/openapi.json", "all"},
		"version 2": {support.V2 + "/openapi.json", "all"},
		// The schemas are those of version 2: a request of each kind shows that the document is read.
		"version 2 in OpenAPI 3.0": {support.V2 + "/openapi-3.0.json", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			java, jar := support.Program(t, "java"), module(t, "specmatic/specmatic.jar")
			playground := support.Playground(t, "RANGEGATE_RANGES_0_WEBHOOK_NAME="+theWebhook).Ready()
			prefix, document := of.path[:len(support.V2)], served(t, playground.API+of.path)
			fixture := newFixture(t, playground)
			t.Log(specmatic(t, java, jar, document, fixture.URL+prefix, of.edges))
			for _, operation := range operations(t, document) {
				require.True(t, fixture.succeeded(prefix, operation), "%s has not succeeded once", operation)
			}
		})
	}
}

// specmatic tests what is at the URL, fails the test with every request that failed, and gives the line with the sums.
func specmatic(t *testing.T, java, jar string, document []byte, url, edges string) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"openapi.json": string(document),
		"specmatic.yaml": fmt.Sprintf(`
version: 2
contracts: [{provides: [openapi.json]}]
test: {resiliencyTests: {enable: %s}, timeoutInMilliseconds: 30000, maxTestRequestCombinations: 3}
security: {OpenAPI: {securitySchemes: {range-id: {type: apiKey, value: %s}, token: {type: apiKey, value: %s}}}}
disable_telemetry: true
`, edges, support.RangeID, support.Token),
		// Java knows no other names than these, so that nothing can be reported to anybody.
		"hosts": "127.0.0.1 localhost\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out, log, success := tool{dir: dir, args: []string{
		java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", // it does not live long enough for more
		"-Djdk.net.hosts.file=hosts", "-Duser.home=" + dir, "-Djava.io.tmpdir=" + dir,
		"-jar", jar, "test", "--testBaseURL=" + url,
	}}.run(t)
	if strings.Contains(out, "is expired as of") {
		t.Log("the licence in specmatic.jar is over, and it does not test any more: take a newer version")
	}
	// Each scenario stands between two lines of dashes: the request, the answer, and what is wrong with it.
	failed := slices.DeleteFunc(strings.Split(out, "\n--------------------\n"), func(scenario string) bool {
		return !strings.Contains(scenario, " has FAILED")
	})
	for _, scenario := range failed[:min(len(failed), 20)] {
		t.Error(scenario)
	}
	sums := regexp.MustCompile(`Tests run: [1-9]\d*, .* Failures: 0, .* Errors: 0`).FindString(out)
	require.True(t, success && sums != "" && len(failed) == 0, "%d scenarios failed\n%s\n%s", len(failed),
		out[max(0, len(out)-2000):], log)
	return sums
}

// operations are those of a document, as "GET /lanes".
func operations(t *testing.T, text []byte) []string {
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(text, &document))
	var all []string
	for path, item := range document.Paths {
		for method := range item {
			if slices.Contains([]string{"get", "put", "post", "delete", "patch", "head", "options"}, method) {
				all = append(all, strings.ToUpper(method)+" "+path)
			}
		}
	}
	require.NotEmpty(t, all)
	slices.Sort(all)
	return all
}
