package preflight

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"rangegate/catalog"
	"rangegate/webhook/egress"
)

// The limits of the requests to integrators.
const (
	parallelRequests = 64
	requestTimeout   = 5 * time.Second
)

// webhooks connects to each webhook, with TLS, and sends no event, as the integrator would process it.
func (s Settings) webhooks(ctx context.Context) []Finding {
	hosts := groups[endpoint]{}
	for _, r := range s.Config.Ranges {
		if r.Webhook != nil {
			hosts.add(endpoint{origin(r.Webhook.URL), s.Config.Environment.PublicOnly(r.Webhook.AllowPrivate)}, r.Name)
		}
	}
	if len(hosts) == 0 {
		return []Finding{ok("webhook", "no range has one")}
	}
	return checkGroups(ctx, hosts, func(ctx context.Context, server endpoint, names string) Finding {
		if err := server.connect(ctx); err != nil {
			return Finding{
				Fail, "webhook", fmt.Sprintf("%s (%s): %s", server.origin, names, egress.Reason(err, "no connection could be made")),
				"correct webhook.url, or ask the integrator: events that cannot be delivered are not repeated",
			}
		}
		return ok("webhook", "%s (%s) is reached", server.origin, names)
	})
}

// products fetches the products like a lane screen's shop.
func (s Settings) products(ctx context.Context) []Finding {
	type productsAPI struct {
		url     string
		timeout time.Duration
		guarded bool
	}
	apis := groups[productsAPI]{}
	for _, r := range s.Config.Ranges {
		if p := r.Products; p != nil {
			apis.add(productsAPI{p.URL, p.Timeout, s.Config.Environment.PublicOnly(p.AllowPrivate)}, r.Name)
		}
	}
	if len(apis) == 0 {
		return []Finding{ok("products", "no range has any")}
	}
	metrics := catalog.NewMetrics(prometheus.NewRegistry())
	return checkGroups(ctx, apis, func(ctx context.Context, api productsAPI, names string) Finding {
		transport := egress.Transport(api.guarded, len(catalog.Types))
		defer transport.CloseIdleConnections()
		client := catalog.New(catalog.Settings{
			URL: api.url, Timeout: api.timeout, Transport: transport, UserAgent: s.UserAgent, Log: zerolog.Nop(), Metrics: metrics,
		})
		all, err := client.All(ctx, "")
		found := fmt.Sprintf("%s (%s): ", origin(api.url), names)
		switch {
		case err != nil:
			return Finding{Fail, "products", found + err.Error(), "correct products.url, or ask the integrator: customers see an empty shop"}
		case len(all.Time)+len(all.Targets)+len(all.Ammo)+len(all.Rentals) == 0:
			return Finding{Warn, "products", found + "nothing is for sale", "ask the integrator; the gateway's log names the products that break a rule"}
		}
		return ok("products", "%stime: %d, targets: %d, ammo: %d, rentals: %d", found, len(all.Time), len(all.Targets), len(all.Ammo), len(all.Rentals))
	})
}

// endpoint is the server of a webhook.
type endpoint struct {
	origin  string
	guarded bool
}

// origin returns scheme, host and port of a URL, as its path and query may be secret.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "an address that is no URL"
	}
	return u.Scheme + "://" + u.Host
}

// connect connects like the gateway, with TLS, and disconnects.
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

// groups collects the names of ranges or lanes by a key, in the order of the first names: the server of a hundred ranges
// is checked once.
type groups[K comparable] []*group[K]

type group[K comparable] struct {
	key   K
	names []string
}

func (g *groups[K]) add(key K, name string) {
	for _, existing := range *g {
		if existing.key == key {
			existing.names = append(existing.names, name)
			return
		}
	}
	*g = append(*g, &group[K]{key, []string{name}})
}

// checkGroups calls check for every group, parallelRequests at a time.
func checkGroups[K comparable](ctx context.Context, all groups[K], check func(ctx context.Context, key K, names string) Finding) []Finding {
	found := make([]Finding, len(all))
	var checks errgroup.Group
	checks.SetLimit(parallelRequests)
	for i, g := range all {
		checks.Go(func() error {
			limited, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			found[i] = check(limited, g.key, joinNames(g.names))
			return nil
		})
	}
	_ = checks.Wait()
	return found
}

// maxNames bounds the names in a finding.
const maxNames = 10

func joinNames(all []string) string {
	if len(all) <= maxNames {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), len(all)-maxNames)
}
