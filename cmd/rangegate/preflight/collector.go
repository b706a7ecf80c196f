package preflight

import "context"

// collector asks the collector of traces whether it takes any. Sales do not need it: what it does not take is lost, and
// counted.
func (s Settings) collector(ctx context.Context) []Finding {
	t := s.Config.Telemetry
	if t == nil || s.Collector == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := s.Collector(limited, *t); err != nil {
		return []Finding{{
			Warn, "telemetry", origin(t.Endpoint) + ": " + err.Error(),
			"start the collector, or correct telemetry: the gateway serves without, and traces are lost",
		}}
	}
	return []Finding{ok("telemetry", "%s takes traces", origin(t.Endpoint))}
}
