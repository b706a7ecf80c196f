package main

import (
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// buildInfo is a metric that names the build.
func buildInfo() prometheus.Collector {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	revision := ""
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			revision = setting.Value
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "rangegate", Name: "build_info",
		Help:        "Always 1; its labels say which build of the gateway runs: version, revision of the source, and version of Go.",
		ConstLabels: prometheus.Labels{"version": buildVersion(), "revision": revision, "goversion": info.GoVersion},
	}, func() float64 { return 1 })
}

// readiness is a metric that follows /readyz.
func readiness(ready func() error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "rangegate", Name: "ready",
		Help: "1 when /readyz says ready: every range runs, every lane is brought back and the store takes writes. 0 for some seconds " +
			"after a start is normal; later it means that nothing can be sold on some range.",
	}, func() float64 {
		if ready() != nil {
			return 0
		}
		return 1
	})
}

// reloadMetrics tell whether the configuration in force is the one in the file.
type reloadMetrics struct{ successful, succeededAt prometheus.Gauge }

func newReloadMetrics(registry prometheus.Registerer) *reloadMetrics {
	factory := promauto.With(registry)
	return &reloadMetrics{
		successful: factory.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "config_last_reload_successful",
			Help: "0 after the configuration was to be reloaded and was refused: what is in the file is not in force. 1 otherwise.",
		}),
		succeededAt: factory.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "config_last_reload_success_timestamp_seconds",
			Help: "When the configuration in force was read.",
		}),
	}
}

// finish notes the outcome of a reload.
func (m *reloadMetrics) finish(ok bool) {
	if !ok {
		m.successful.Set(0)
		return
	}
	m.successful.Set(1)
	m.succeededAt.SetToCurrentTime()
}
