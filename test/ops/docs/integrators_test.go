package docs

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// From zero to a first session, event and purchase: every command line of the page, on a playground.
func TestTheFirstTenMinutes(t *testing.T) {
	support.Program(t, "bash")
	support.Program(t, "curl")
	playground := support.Playground(t).Ready()
	script := strings.Join(blocks(page(t, "docs/integrators.md"), "sh"), "\n")
	require.Contains(t, script, "http://127.0.0.1:8080")
	script = "set -eu\n" + strings.ReplaceAll(script, "http://127.0.0.1:8080", playground.API)
	script = strings.ReplaceAll(script, "curl -s ", "curl -sS --fail-with-body ")
	out, err := exec.Command("bash", "-c", script).CombinedOutput()
	require.NoError(t, err, string(out))

	for _, text := range []string{
		`"readable_name":"Lane 1"`,           // what there is to sell
		`"duration":60`,                      // sold
		`"event":"carrierHit"`,               // sent
		`"rentals":[{`,                       // offered
		`"items":[{"id":"time",`,             // bought
		`"duration":75`,                      // and added
		`"payload":{"event":"sessionPaused"`, // and on record
	} {
		require.Contains(t, string(out), text)
	}
}

// Whatever a version of the API can answer has a line in the tables for cashiers and for POS developers.
func TestEveryErrorCodeIsExplained(t *testing.T) {
	playground := support.Playground(t)
	text := page(t, "docs/integrators.md")
	codes := map[string]bool{}
	for _, path := range []string{"/api/v2/pos/openapi.json", "/api/v1/pos/openapi.json"} {
		var document struct {
			Components struct {
				Examples map[string]struct{ Value json.RawMessage }
			}
		}
		playground.POS().Read(path, &document)
		for _, example := range document.Components.Examples {
			var failure struct{ Code string }
			if json.Unmarshal(example.Value, &failure) == nil && failure.Code != "" {
				codes[failure.Code] = true
			}
		}
	}
	require.Greater(t, len(codes), 20)
	for code := range codes {
		require.Contains(t, text, "| `"+code+"` |", "docs/integrators.md does not explain %s", code)
	}
}
