package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const minimalTelemetry = `
environment: playground
store: {sqlite: data.db}
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: Range
    tokens: [22222222-2222-4222-8222-222222222222]
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay}]
    lanes: [{id: 44444444-4444-4444-8444-000000000001, name: Lane, bay: 55555555-5555-4555-8555-000000000001}]
`

func share(of float64) *Share { return new(Share(of)) }

// Variables of this program count more than those of OpenTelemetry, and these more than the file.
func TestWhereTelemetryComesFrom(t *testing.T) {
	const file = `telemetry: {endpoint: "http://file:4318", headers: ["x-a: 1"], sample: 0.01, service: till, attributes: [a=b]}`
	ofFile := Telemetry{"http://file:4318", []Secret{"x-a: 1"}, share(.01), ParentDecides, "till", []string{"a=b"}}
	changed := func(change func(*Telemetry)) *Telemetry {
		t := ofFile
		change(&t)
		return &t
	}
	plain := func(endpoint string) *Telemetry {
		return &Telemetry{Endpoint: endpoint, Sample: share(1), Sampler: ParentDecides, Service: "rangegate"}
	}
	const collector = "OTEL_EXPORTER_OTLP_ENDPOINT="
	for name, c := range map[string]struct {
		file    string
		environ []string
		want    *Telemetry
	}{
		"off":          {"", nil, nil},
		"others alone": {"", []string{"OTEL_SERVICE_NAME=a", "OTEL_TRACES_SAMPLER=nonsense"}, nil},
		"the file":     {file, nil, &ofFile},
		"empty ones":   {file, []string{"OTEL_SERVICE_NAME=", collector, "OTEL_SDK_DISABLED="}, &ofFile},
		"defaults":     {`telemetry: {endpoint: "http://file:4318"}`, nil, plain("http://file:4318")},
		"switched off": {file, []string{"OTEL_SDK_DISABLED=TRUE", "RANGEGATE_TELEMETRY_SERVICE=a"}, nil},

		"switched off by the exporter": {file, []string{"OTEL_TRACES_EXPORTER=none"}, nil},
		"an endpoint for all signals": {
			"", []string{collector + "http://c:4318/base/"}, plain("http://c:4318/base/v1/traces"),
		},
		"that for traces counts more": {
			"",
			[]string{collector + "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://t/traces"},
			plain("http://t/traces"),
		},
		"all of them": {file, []string{
			collector + "http://c:4318", "OTEL_EXPORTER_OTLP_HEADERS=x-b=two%20words, x-c=3",
			"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.5", "OTEL_SERVICE_NAME=s",
			"OTEL_RESOURCE_ATTRIBUTES=c=d,e=f",
		}, &Telemetry{
			"http://c:4318/v1/traces",
			[]Secret{"x-b: two words", "x-c: 3"},
			share(.5), ShareDecides, "s",
			[]string{"c=d", "e=f"},
		}},
		"the sampler without its argument": {
			file,
			[]string{"OTEL_TRACES_SAMPLER=parentbased_traceidratio"},
			changed(func(t *Telemetry) { t.Sample = share(1) }),
		},
		"never": {
			file,
			[]string{"OTEL_TRACES_SAMPLER=parentbased_always_off"},
			changed(func(t *Telemetry) { t.Sample = share(0) }),
		},
		"those of this program count the most": {
			file,
			[]string{"OTEL_SERVICE_NAME=s", "RANGEGATE_TELEMETRY_SERVICE=mine", "RANGEGATE_TELEMETRY_SAMPLE=0"},
			changed(func(t *Telemetry) { t.Service, t.Sample = "mine", share(0) }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Parse([]byte(minimalTelemetry+c.file), c.environ)
			require.NoError(t, err)
			require.Equal(t, c.want, cfg.Telemetry)
		})
	}
}

func TestFaultsOfTelemetry(t *testing.T) {
	const (
		noURL   = "wants an http or https url such as http://127.0.0.1:4318, without a user and a query"
		noShare = "wants a number from 0 to 1, such as 0.01"
	)
	for setting, fault := range map[string]string{
		`sample: 1`:                               "endpoint: missing; wants the address of a collector, such as http://127.0.0.1:4318",
		`endpoint: "grpc://c"`:                    "endpoint: " + noURL,
		`endpoint: "http://user:pass@c"`:          "endpoint: " + noURL,
		`endpoint: "http://c", sample: 1.01`:      "sample: " + noShare,
		`endpoint: "http://c", sample: often`:     "sample: " + noShare,
		`endpoint: "http://c", sample: .nan`:      "sample: " + noShare,
		`endpoint: "http://c", sampler: chance`:   "sampler: wants parent or share",
		`endpoint: "http://c", headers: [secret]`: "headers[0]: wants a name, a colon and a value",
		`endpoint: "http://c", attributes: [a]`:   "attributes[0]: wants name=value",
	} {
		_, err := Parse([]byte(minimalTelemetry+"telemetry: {"+setting+"}"), nil)
		require.Equal(t, []string{"telemetry." + fault}, faultsOf(t, err), setting)
	}
	for _, c := range []struct{ variable, fault string }{
		{
			"TRACES_SAMPLER=jaeger_remote",
			"wants always_on, always_off, traceidratio, or one of these with parentbased_ before it",
		},
		{
			"EXPORTER_OTLP_HEADERS=secret",
			"wants name=value, with a comma between two, and values in the encoding of URLs",
		},
		{"EXPORTER_OTLP_PROTOCOL=grpc", "wants http/protobuf: no other protocol is spoken"},
		{"TRACES_EXPORTER=zipkin", "wants otlp or none"},
		{"TRACES_SAMPLER_ARG=2", noShare},
	} {
		_, err := Parse([]byte(minimalTelemetry), []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_" + c.variable,
		})
		name, _, _ := strings.Cut(c.variable, "=")
		require.EqualError(t, err, "OTEL_"+name+": "+c.fault)
	}
}

// What may be a credential does not go over a network in the clear.
func TestHeadersOfTelemetryAreSecretsInProduction(t *testing.T) {
	in := func(endpoint string, headers ...Secret) error {
		found := &faults{}
		(&inspection{found: found, production: true}).telemetry(
			Telemetry{Endpoint: endpoint, Headers: headers, Sampler: ParentDecides},
		)
		if len(found.list) == 0 {
			return nil
		}
		return found.list[0]
	}
	require.ErrorContains(t, in("http://collector.example:4318", "authorization: Bearer a"), "in the clear")
	require.NoError(t, in("http://collector.example:4318"))
	require.NoError(t, in("https://collector.example:4318", "authorization: Bearer a"))
	require.NoError(t, in("http://127.0.0.1:4318", "authorization: Bearer a"))

	cfg, err := Parse([]byte(minimalTelemetry+`telemetry: {endpoint: "http://c", headers: ["x: visible"]}`), nil)
	require.NoError(t, err)
	shown, err := YAML(cfg)
	require.NoError(t, err)
	require.NotContains(t, string(shown), "visible")
}

func TestTracesArePostedToTheirPath(t *testing.T) {
	for endpoint, to := range map[string]string{
		"http://c:4318":            "http://c:4318/v1/traces",
		"http://c:4318/":           "http://c:4318/v1/traces",
		"http://c/otlp":            "http://c/otlp/v1/traces",
		"http://c/v1/traces":       "http://c/v1/traces",
		"http://c/my/own/traces":   "http://c/my/own/traces",
		"https://c.example:443/x/": "https://c.example:443/x/v1/traces",
	} {
		require.Equal(t, to, Telemetry{Endpoint: endpoint}.URL())
	}
}
