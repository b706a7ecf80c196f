package gateway

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/config"
)

// An operator who accepts a Redis that others can read sees that as long as it is so.
func TestAStoreThatOthersCanReadIsShown(t *testing.T) {
	for redis, want := range map[string]float64{
		"":                                 0,
		"redis://127.0.0.1:6379/0":         0,
		"rediss://:secret@10.1.2.3:6379/0": 0,
		"redis://10.1.2.3:6379/0":          1,
		"redis://:secret@10.1.2.3:6379/0":  1,
		"rediss://10.1.2.3:6379/0":         1,
		"rediss://:secret@10.1.2.3:6379/0?skip_verify=true": 1,
	} {
		registry := prometheus.NewRegistry()
		showExposed(config.Store{Redis: config.Secret(redis)}, registry)
		families, err := registry.Gather()
		require.NoError(t, err)
		require.Len(t, families, 1)
		require.Equal(t, "rangegate_store_exposed", families[0].GetName())
		require.Equal(t, want, families[0].GetMetric()[0].GetGauge().GetValue(), redis)
	}
}
