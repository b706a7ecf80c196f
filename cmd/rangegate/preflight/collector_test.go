package preflight

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/config"
)

// A collector that is not there keeps no gateway from selling. Without telemetry there is nothing to say.
func TestTheCollectorOfTraces(t *testing.T) {
	var problem error
	s := Settings{Collector: func(ctx context.Context, asked config.Telemetry) error {
		_, limited := ctx.Deadline()
		require.True(t, limited)
		require.Equal(t, "http://127.0.0.1:4318/path", asked.Endpoint)
		return problem
	}}
	require.Empty(t, s.collector(t.Context()))
	s.Config.Telemetry = &config.Telemetry{Endpoint: "http://127.0.0.1:4318/path"}
	requireOK(t, s.collector(t.Context()))
	require.Equal(t, "ok: http://127.0.0.1:4318 takes traces\n", text(s.collector(t.Context())))

	problem = errors.New("the connection was refused")
	f := requireOne(t, s.collector(t.Context()), Warn)
	require.Equal(t, "telemetry", f.What)
	require.Equal(t, "http://127.0.0.1:4318: the connection was refused", f.Found)
}
