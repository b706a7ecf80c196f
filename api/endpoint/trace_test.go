package endpoint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTraceIDOfATraceparent(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for parent, valid := range map[string]bool{
		"00-" + id + "-00f067aa0ba902b7-01":                       true,
		"00-" + id + "-00f067aa0ba902b7-ff":                       true,
		"cc-" + id + "-00f067aa0ba902b7-01":                       true,
		"cc-" + id + "-00f067aa0ba902b7-01-future":                true,
		"cc-" + id + "-00f067aa0ba902b7-01.future":                false,
		"00-" + id + "-00f067aa0ba902b7-01-more":                  false,
		"ff-" + id + "-00f067aa0ba902b7-01":                       false,
		"0-" + id + "-00f067aa0ba902b7-01":                        false,
		"00-" + id + "-0000000000000000-01":                       false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01": false,
		"00-" + id + "-00f067aa0ba902b7-0G":                       false,
		"00-" + id + "-00f067aa0ba902b7-1":                        false,
		"00-" + id + "-00f067aa0ba902b-001":                       false,
		"00_" + id + "_00f067aa0ba902b7_01":                       false,
		"00-4bf92f35-7b34da6a3ce929d0e0e47361-00f067aa0ba902b-01": false,
		"": false,
	} {
		t.Run(parent, func(t *testing.T) {
			_, h := newDemo()
			got := call(h, "GET", prefix+"/sessions", "", "traceparent", parent).Header().Get("trace-id")
			require.Regexp(t, "^[0-9a-f]{32}$", got)
			require.Equal(t, valid, got == id)
		})
	}
}

func TestEveryResponseHasATraceIDOfItsOwn(t *testing.T) {
	_, h := newDemo()
	seen := map[string]bool{}
	for _, path := range []string{prefix + "/sessions", prefix + "/nowhere", "/nowhere", prefix + "/openapi.json"} {
		id := call(h, "GET", path, "").Header().Get("trace-id")
		require.Len(t, id, 32, path)
		require.False(t, seen[id])
		seen[id] = true
	}
	const one = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	two := call(h, "GET", "/nowhere", "", "traceparent", one, "traceparent", one)
	require.NotEqual(t, one[3:35], two.Header().Get("trace-id"), "two parents are none")
}
