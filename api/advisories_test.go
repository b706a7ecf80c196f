package api

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// Operators get the advisories with their token, of all ranges or of one, in the schema of docs.
func TestAdvisories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := operationsSettings(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
		go s.Advisories.Run(t.Context())
		h := NewOperations(s)
		require.Equal(t, 401, send(h, "GET", "/advisories").Code)
		time.Sleep(30 * time.Second)

		codes := func(query string) (codes []string) {
			t.Helper()
			response := sendAuthorized(h, "GET", "/advisories"+query, "")
			require.Equal(t, 200, response.Code, response.Body)
			require.Equal(t, "no-store", response.Header().Get("Cache-Control"))
			requireAdvisorySchema(t, response.Body.Bytes())
			var view struct {
				Node       string
				Advisories []struct{ Code string }
			}
			require.NoError(t, json.Unmarshal(response.Body.Bytes(), &view))
			require.Equal(t, "north-1", view.Node)
			for _, a := range view.Advisories {
				codes = append(codes, a.Code)
			}
			return codes
		}
		// Another process owns the second range; the lane of the first one has panicked, saves, and its link is down.
		all := []string{"panicked", "reload_failed", "range_not_running", "not_saved", "link_down"}
		require.ElementsMatch(t, all, codes(""))
		require.ElementsMatch(t, all, codes("?open=true&wait=30"), "it does not wait for what it has")
		require.ElementsMatch(t, []string{"panicked", "not_saved", "link_down"}, codes("?range="+someRange))
		require.ElementsMatch(t, []string{"range_not_running"}, codes("?range="+otherRange))
		require.Empty(t, codes("?after=99999999999999999&open=false")[len(all):], "of another run: everything")

		for query, want := range map[string]string{
			"?wait=61": "wait", "?wait=30s": "wait", "?after=x": "after", "?open=maybe": "open",
			"?range=north": "range",
		} {
			response := sendAuthorized(h, "GET", "/advisories"+query, "")
			require.Equal(t, 400, response.Code, query)
			require.Contains(t, response.Body.String(), `"`+want+`":`)
		}
		require.Equal(t, 404, sendAuthorized(h, "GET", "/advisories?wait=5&range="+theLane, "").Code)
	})
}

// The advisories about a range are those of the node that owns it.
func TestAdvisoriesAboutARangeOfAnotherNode(t *testing.T) {
	entry, owner := newNodes(t, func(*Settings) {})
	for query, handedOn := range map[string]int64{"": 0, "?wait=0": 0, "?range=" + someRange: 1, "?wait=0&range=" +
		someRange: 1} {
		before := owner.arrived.Load()
		require.Equal(t, 200, sendAuthorized(entry.operations, "GET", "/advisories"+query, "").Code, query)
		require.EqualValues(t, handedOn, int64(owner.arrived.Load())-int64(before), query)
	}
}

func requireAdvisorySchema(t *testing.T, answer []byte) {
	t.Helper()
	const name = "advisories.schema.json"
	file, err := os.ReadFile("../docs/" + name)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource(name, document))
	schema, err := compiler.Compile(name)
	require.NoError(t, err)
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(body), "%s", answer)
}
