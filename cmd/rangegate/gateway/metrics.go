package gateway

import (
	"regexp"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// goRuntime has the metrics of the Go runtime: those that it always had, and how long goroutines wait for a processor.
func goRuntime() prometheus.Collector {
	scheduler := regexp.MustCompile(`^/sched/(latencies:seconds|goroutines/runnable:goroutines)$`)
	return collectors.NewGoCollector(
		collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: scheduler}))
}

// buildInfo is a metric that names the build.
func buildInfo(version string) prometheus.Collector {
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
		Help: "Always 1; its labels say which build of the gateway runs: version, revision of the source, " +
			"and version of Go.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": info.GoVersion},
	}, func() float64 { return 1 })
}

// readiness is a metric that follows /readyz.
func readiness(ready func() error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "rangegate", Name: "ready",
		Help: "1 when /readyz says ready: every range runs, every lane is brought back and the store takes writes. " +
			"0 for some seconds after a start is normal; later it means that nothing can be sold on some range.",
	}, func() float64 {
		if ready() != nil {
			return 0
		}
		return 1
	})
}
