package certificate

import "github.com/prometheus/client_golang/prometheus"

// Metrics are of the certificates of all addresses.
type Metrics struct{ expiry, taken *prometheus.GaugeVec }

// NewMetrics registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "tls_certificate_expiry_timestamp_seconds",
			Help: "When the TLS certificate in use expires, by the address that it is served at (http, operations).",
		}, []string{"address"}),
		taken: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "tls_certificate_last_reload_successful",
			Help: "1 while the TLS certificate in use is the one in the files, 0 while the files have one that cannot be used.",
		}, []string{"address"}),
	}
	registry.MustRegister(m.expiry, m.taken)
	return m
}
