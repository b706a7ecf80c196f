package gateway

import (
	"context"
	"errors"
	"regexp"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"

	"rangegate/config"
	"rangegate/webhook/egress"
)

// collectorOptions are those of the collector that the configuration names.
func collectorOptions(t config.Telemetry) []otlptracehttp.Option {
	return []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(t.URL()),
		otlptracehttp.WithHeaders(t.HeaderValues()),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}),
	}
}

// ProbeCollector posts no spans to the collector, as the gateway posts spans: with its headers, and with the variables
// of OpenTelemetry that the library reads. It returns why they are not taken, without what was sent or answered.
func ProbeCollector(ctx context.Context, t config.Telemetry) error {
	client := otlptracehttp.NewClient(collectorOptions(t)...)
	if err := client.Start(ctx); err != nil {
		return err
	}
	defer func() { _ = client.Stop(ctx) }()
	err := client.UploadTraces(ctx, nil)
	if err == nil {
		return nil
	}
	otherwise := "it does not take traces at the moment"
	if status := answeredStatus.FindStringSubmatch(err.Error()); status != nil {
		otherwise = "it answers " + status[1]
	}
	return errors.New(egress.Reason(err, otherwise))
}

// answeredStatus finds the status in the library's error, before the body of the answer.
var answeredStatus = regexp.MustCompile(`^failed to send to [^ ]+: (\d{3}[A-Za-z -]*?) \(body: `)
