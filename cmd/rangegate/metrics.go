package main

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// buildInfo is a metric that says what runs.
func buildInfo() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "rangegate", Name: "build_info",
		Help: "Always 1; its labels say which build of the gateway runs: version, revision of the source, and version of Go.",
		ConstLabels: prometheus.Labels{
			"version": built(), "revision": revision(), "goversion": runtime.Version(),
		},
	}, func() float64 { return 1 })
}

// revision is that of the source, empty where the build did not know of one.
func revision() string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				return setting.Value
			}
		}
	}
	return ""
}

// readiness is a metric that says what /readyz says.
func readiness(missing func() error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "rangegate", Name: "ready",
		Help: "1 when /readyz says ready: every range runs, every lane is brought back and the store takes writes. 0 for some seconds " +
			"after a start is normal; later it means that nothing can be sold on some range.",
	}, func() float64 {
		if missing() != nil {
			return 0
		}
		return 1
	})
}
