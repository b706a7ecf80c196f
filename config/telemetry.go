package config

import (
	"cmp"
	"net/url"
	"reflect"
	"regexp"
	"strings"
)

// The variables of OpenTelemetry that are read here. They count more than the file, and less than those of this
// program; an empty one is none. The exporter itself reads those for its timeout, its compression and its certificates.
const (
	otelDisabled       = "OTEL_SDK_DISABLED"
	otelTracesExporter = "OTEL_TRACES_EXPORTER"
	otelEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otelTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	otelProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	otelTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	otelHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	otelTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	otelSampler        = "OTEL_TRACES_SAMPLER"
	otelSamplerArg     = "OTEL_TRACES_SAMPLER_ARG"
	otelService        = "OTEL_SERVICE_NAME"
	otelAttributes     = "OTEL_RESOURCE_ATTRIBUTES"
)

// samplers are the values of OTEL_TRACES_SAMPLER: who decides, and the share; -1: that of OTEL_TRACES_SAMPLER_ARG.
var samplers = map[string]struct {
	decides string
	share   Share
}{
	"always_on":    {ShareDecides, 1},
	"always_off":   {ShareDecides, 0},
	"traceidratio": {ShareDecides, -1},
	"parentbased_always_on": {
		ParentDecides,
		1,
	},
	"parentbased_always_off":   {ParentDecides, 0},
	"parentbased_traceidratio": {ParentDecides, -1},
}

// tracesPath is what is added to an endpoint for all signals.
const tracesPath = "/v1/traces"

// overrideTelemetry applies the variables of OpenTelemetry. An endpoint among them traces, also where the file has no
// section; without any the others have no effect, and no faults. disabled says that nothing is to be traced, whatever
// is configured.
func (c *Config) overrideTelemetry(environ []string, found *faults) (disabled bool) {
	given := map[string]string{}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			given[name] = strings.TrimSpace(value)
		}
	}
	if strings.EqualFold(given[otelDisabled], "true") || given[otelTracesExporter] == "none" {
		return true
	}
	endpoint := given[otelTracesEndpoint]
	if endpoint == "" && given[otelEndpoint] != "" {
		endpoint = withTracesPath(given[otelEndpoint])
	}
	if c.Telemetry == nil && endpoint == "" {
		return false
	}
	t, p := c.Telemetry, path("telemetry")
	by := func(setting path, variables ...string) {
		for _, variable := range variables {
			if given[variable] != "" {
				found.source.setBy(variable, setting, true)
				return
			}
		}
	}
	if t == nil {
		t = &Telemetry{}
		c.Telemetry = t
		by(p, otelTracesEndpoint, otelEndpoint)
	}
	by(p.key("endpoint"), otelTracesEndpoint, otelEndpoint)
	by(p.key("headers"), otelTracesHeaders, otelHeaders)
	by(p.key("sampler"), otelSampler)
	by(p.key("sample"), otelSamplerArg, otelSampler)
	by(p.key("service"), otelService)
	by(p.key("attributes"), otelAttributes)
	t.Endpoint = cmp.Or(endpoint, t.Endpoint)
	if exporter := cmp.Or(given[otelTracesExporter], "otlp"); exporter != "otlp" {
		found.add(path(otelTracesExporter), "wants otlp or none")
	}
	if protocol := cmp.Or(
		given[otelTracesProtocol],
		given[otelProtocol],
		"http/protobuf",
	); protocol != "http/protobuf" {
		found.add(path(otelProtocol), "wants http/protobuf: no other protocol is spoken")
	}
	t.applyHeaders(given, found)
	t.applySampler(given, found)
	t.Service = cmp.Or(given[otelService], t.Service)
	if list := given[otelAttributes]; list != "" {
		t.Attributes = strings.Split(list, ",")
	}
	return false
}

func (t *Telemetry) applyHeaders(given map[string]string, found *faults) {
	list := cmp.Or(given[otelTracesHeaders], given[otelHeaders])
	if list == "" {
		return
	}
	t.Headers = nil
	for _, pair := range strings.Split(list, ",") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			found.add(
				path(otelHeaders),
				"wants name=value, with a comma between two, and values in the encoding of URLs",
			)
			return
		}
		t.Headers = append(t.Headers, Secret(strings.TrimSpace(name)+": "+value))
	}
}

func (t *Telemetry) applySampler(given map[string]string, found *faults) {
	name := given[otelSampler]
	if name == "" {
		return
	}
	sampler, named := samplers[name]
	if !named {
		found.add(
			path(otelSampler),
			"wants always_on, always_off, traceidratio, or one of these with parentbased_ before it",
		)
		return
	}
	t.Sampler, t.Sample = sampler.decides, &sampler.share
	if sampler.share < 0 {
		if problem := setScalar(reflect.ValueOf(t.Sample).Elem(), cmp.Or(given[otelSamplerArg], "1")); problem != "" {
			found.add(path(otelSamplerArg), "%s", problem)
		}
	}
}

// withTracesPath returns the address for traces of a collector.
func withTracesPath(endpoint string) string { return strings.TrimRight(endpoint, "/") + tracesPath }

func (t *Telemetry) complete() {
	if t.Sample == nil {
		t.Sample = new(Share(1))
	}
	t.Sampler = cmp.Or(t.Sampler, ParentDecides)
	t.Service = cmp.Or(t.Service, "rangegate")
}

// URL returns the address that traces are posted to. A path that ends with /traces is that already.
func (t Telemetry) URL() string {
	if strings.HasSuffix(t.Endpoint, "/traces") {
		return t.Endpoint
	}
	return withTracesPath(t.Endpoint)
}

// HeaderValues returns the headers of each request to the collector.
func (t Telemetry) HeaderValues() map[string]string {
	values := map[string]string{}
	for _, header := range t.Headers {
		name, value, _ := strings.Cut(header.Reveal(), ":")
		values[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return values
}

// token is a name of RFC 9110.
var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (in *inspection) telemetry(t Telemetry) {
	p := path("telemetry")
	to, err := url.Parse(t.Endpoint)
	switch {
	case t.Endpoint == "":
		in.found.add(p.key("endpoint"), "missing; wants the address of a collector, such as http://127.0.0.1:4318")
	case err != nil,
		to.Scheme != "http" && to.Scheme != "https",
		to.Hostname() == "",
		to.User != nil,
		to.RawQuery != "",
		to.Fragment != "":
		in.found.add(
			p.key("endpoint"),
			"wants an http or https url such as http://127.0.0.1:4318, without a user and a query",
		)
	case in.production && to.Scheme == "http" && len(t.Headers) > 0 && !loopback(to.Hostname()):
		in.found.add(
			p.key("endpoint"),
			"headers, which may be credentials, would go to it in the clear: wants https, "+
				"a collector on this machine, or no headers",
		)
	}
	for i, header := range t.Headers {
		name, value, ok := strings.Cut(header.Reveal(), ":")
		in.require(
			p.key("headers").item(i),
			ok && token.MatchString(strings.TrimSpace(name)) && !strings.ContainsAny(value, "\r\n\x00"),
			"wants a name, a colon and a value",
		)
	}
	in.require(p.key("sampler"), t.Sampler == ParentDecides || t.Sampler == ShareDecides, "wants parent or share")
	for i, attribute := range t.Attributes {
		name, _, ok := strings.Cut(attribute, "=")
		in.require(p.key("attributes").item(i), ok && strings.TrimSpace(name) != "", "wants name=value")
	}
}
