package preflight

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/catalog"
	"rangegate/config"
	"rangegate/webhook/egress"
)

// neighboursAtOnce are asked side by side, and each may take so long.
const (
	neighboursAtOnce = 64
	neighbourWithin  = 5 * time.Second
)

// webhooks are connected to, TLS included. No event is sent: every one that arrived would be taken for true.
func (s Settings) webhooks(ctx context.Context) []Finding {
	hosts := grouped[endpoint]{}
	for _, r := range s.Config.Ranges {
		if r.Webhook != nil {
			hosts.add(endpoint{origin(r.Webhook.URL), s.guarded(r.Webhook.AllowPrivate)}, r.Name)
		}
	}
	if len(hosts) == 0 {
		return []Finding{ok("webhook", "no range has one")}
	}
	return asked(ctx, hosts, func(ctx context.Context, at endpoint, of string) Finding {
		if err := at.connect(ctx); err != nil {
			return Finding{
				Fail, "webhook", fmt.Sprintf("%s (%s): %s", at.origin, of, egress.Reason(err, "no connection could be made")),
				"put webhook.url right, or have the integrator look: events that cannot be delivered are not repeated",
			}
		}
		return ok("webhook", "%s (%s) is reached", at.origin, of)
	})
}

// products are fetched, as for a customer who opens the shop.
func (s Settings) products(ctx context.Context) []Finding {
	type shop struct {
		url     string
		timeout time.Duration
		guarded bool
	}
	shops := grouped[shop]{}
	for _, r := range s.Config.Ranges {
		if p := r.Products; p != nil {
			shops.add(shop{p.URL, p.Timeout, s.guarded(p.AllowPrivate)}, r.Name)
		}
	}
	if len(shops) == 0 {
		return []Finding{ok("products", "no range has any")}
	}
	metrics := catalog.NewMetrics(prometheus.NewRegistry())
	return asked(ctx, shops, func(ctx context.Context, at shop, of string) Finding {
		transport := egress.Transport(at.guarded, len(catalog.Types))
		defer transport.CloseIdleConnections()
		client := catalog.New(catalog.Settings{
			URL: at.url, Timeout: at.timeout, Transport: transport, UserAgent: s.UserAgent, Log: zerolog.Nop(), Metrics: metrics,
		})
		all, err := client.All(ctx, "")
		found := fmt.Sprintf("%s (%s): ", origin(at.url), of)
		switch {
		case err != nil:
			return Finding{Fail, "products", found + err.Error(), "put products.url right, or have the integrator look: customers see an empty shop"}
		case len(all.Time)+len(all.Targets)+len(all.Ammo)+len(all.Rentals) == 0:
			return Finding{Warn, "products", found + "nothing is for sale", "have the integrator look; the gateway's log says which products break a rule"}
		}
		return ok("products", "%stime: %d, targets: %d, ammo: %d, rentals: %d", found, len(all.Time), len(all.Targets), len(all.Ammo), len(all.Rentals))
	})
}

// guarded: in production only public addresses are connected to, unless the range allows others.
func (s Settings) guarded(allowed bool) bool {
	return s.Config.Environment == config.InProduction && !allowed
}

// endpoint is a server of an integrator.
type endpoint struct {
	origin  string
	guarded bool
}

// origin is scheme, host and port of a URL: its path and query may be secret.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "an address that is no URL"
	}
	return u.Scheme + "://" + u.Host
}

// connect does what the gateway does before it sends, and hangs up.
func (e endpoint) connect(ctx context.Context) error {
	to, err := url.Parse(e.origin)
	if err != nil {
		return err
	}
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	transport := egress.Transport(e.guarded, 1)
	connection, err := transport.DialContext(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if to.Scheme != "https" {
		return nil
	}
	trust := transport.TLSClientConfig.Clone()
	trust.ServerName = to.Hostname()
	return tls.Client(connection, trust).HandshakeContext(ctx)
}
