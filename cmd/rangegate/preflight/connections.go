package preflight

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes/link/websocket"
	"rangegate/webhook/egress"
)

// The time limits of a request to an integrator and of connections to controllers. connectTimeout is the gateway's own
// (LINK.md).
const (
	requestTimeout    = 5 * time.Second
	connectTimeout    = 3 * time.Second
	connectAllTimeout = 20 * time.Second
)

// WebhookProbe is what came of connecting to the server of a webhook.
type WebhookProbe struct {
	Server  string        // scheme, host and port
	TLS     string        // the version; empty: without TLS, or not connected
	Took    time.Duration // until it was connected, or had failed
	Problem string        // why it could not be connected to; empty: it is reached
}

// ProbeWebhook connects to one webhook as the pre-flight does. It blocks until that is done or ctx has ended.
func ProbeWebhook(ctx context.Context, w config.Webhook, environment config.Environment) WebhookProbe {
	server := endpoint{origin(w.URL), environment.PublicOnly(w.AllowPrivate)}
	begun := time.Now()
	version, err := server.connect(ctx)
	probe := WebhookProbe{Server: server.origin, TLS: version, Took: time.Since(begun)}
	if err != nil {
		probe.Problem = egress.Reason(err, notConnected)
	}
	return probe
}

const notConnected = "no connection could be made"

// webhooks connects to each webhook, with TLS, and sends no event, as the integrator would process it.
func (s Settings) webhooks(ctx context.Context) []Finding {
	hosts := groups[endpoint]{}
	for _, r := range s.Config.Ranges {
		for _, w := range r.Receivers() {
			hosts.add(endpoint{origin(w.URL), s.Config.Environment.PublicOnly(w.AllowPrivate)}, r.Name)
		}
	}
	if len(hosts) == 0 {
		return []Finding{ok("webhook", "no range has one")}
	}
	return checkGroups(ctx, hosts, func(ctx context.Context, server endpoint, names string) Finding {
		if _, err := server.connect(ctx); err != nil {
			return Finding{
				Fail, "webhook", fmt.Sprintf("%s (%s): %s", server.origin, names,
					egress.Reason(err, notConnected)),
				"correct webhook.url, or ask the integrator: events that cannot be delivered are not repeated",
			}
		}
		return ok("webhook", "%s (%s) is reached", server.origin, names)
	})
}

// products fetches the products like a lane screen's shop.
func (s Settings) products(ctx context.Context) []Finding {
	type productsAPI struct {
		url, private string
		timeout      time.Duration
	}
	apis := groups[productsAPI]{}
	for _, r := range s.Config.Ranges {
		if p := r.Products; p != nil {
			apis.add(productsAPI{p.URL, p.PrivateURL(), p.Timeout}, r.Name)
		}
	}
	if len(apis) == 0 {
		return []Finding{ok("products", "no range has any")}
	}
	metrics := catalog.NewMetrics(prometheus.NewRegistry())
	production := s.Config.Environment == config.InProduction
	return checkGroups(ctx, apis, func(ctx context.Context, api productsAPI, names string) Finding {
		var transport interface {
			http.RoundTripper
			CloseIdleConnections()
		} = egress.Transport(false, len(catalog.Types))
		if production {
			transport = egress.NewProduction(api.private, len(catalog.Types))
		}
		defer transport.CloseIdleConnections()
		client := catalog.New(catalog.Settings{
			URL: api.url, Timeout: api.timeout, Transport: transport, UserAgent: s.UserAgent, Log: zerolog.Nop(),
			Metrics: metrics,
		})
		all, err := client.All(ctx, "")
		found := fmt.Sprintf("%s (%s): ", origin(api.url), names)
		switch {
		case err != nil:
			return Finding{
				Fail, "products", found + err.Error(),
				"correct products.url, or ask the integrator: customers see an empty shop",
			}
		case len(all.Time)+len(all.Targets)+len(all.Ammo)+len(all.Rentals) == 0:
			return Finding{
				Warn, "products", found + "nothing is for sale",
				"ask the integrator; the gateway's log names the products that break a rule",
			}
		}
		return ok("products", "%stime: %d, targets: %d, ammo: %d, rentals: %d", found, len(all.Time), len(all.Targets),
			len(all.Ammo), len(all.Rentals))
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

// connect connects like the gateway, with TLS, whose version it returns, and disconnects.
func (e endpoint) connect(ctx context.Context) (version string, err error) {
	to, err := url.Parse(e.origin)
	if err != nil {
		return "", err
	}
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	transport := egress.Transport(e.guarded, 1)
	connection, err := transport.DialContext(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	if to.Scheme != "https" {
		return "", nil
	}
	trust := transport.TLSClientConfig.Clone()
	trust.ServerName = to.Hostname()
	secured := tls.Client(connection, trust)
	if err := secured.HandshakeContext(ctx); err != nil {
		return "", err
	}
	return tls.VersionName(secured.ConnectionState().Version), nil
}

// groups collects the names of ranges or lanes by a key, in the order of the first names: the server of a
// hundred ranges is checked once.
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

// checkGroups calls check for every group, maxParallel at a time.
func checkGroups[K comparable](
	ctx context.Context, all groups[K], check func(ctx context.Context, key K, names string) Finding,
) []Finding {
	found := make([]Finding, len(all))
	inParallel(len(all), func(i int) {
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		found[i] = check(limited, all[i].key, joinNames(all[i].names))
	})
	return found
}

// maxParallel bounds the connections that are made at once.
const maxParallel = 64

func inParallel(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait()
}

// maxNames bounds the names in a finding.
const maxNames = 10

func joinNames(all []string) string {
	if len(all) <= maxNames {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), len(all)-maxNames)
}

// controller is the controller of a lane.
type controller struct {
	lane, address string
	trust         websocket.TLS
}

// controllers connects to every controller, with TLS, and disconnects without a message, so that a controller
// stays with the gateway that it has. Whether the right controller answers and accepts the key is left to
// check-controller.
func (s Settings) controllers(ctx context.Context) (all []Finding) {
	var wired []controller
	simulated, dialling := 0, 0
	for i, r := range s.Config.Ranges {
		trust, err := s.Trust(r.LinkTLS)
		if err != nil {
			setting := fmt.Sprintf("ranges[%d].link_tls.ca", i)
			all = append(all, Finding{
				Fail, "controllers", fmt.Sprintf("%s: %v%s", setting, err, s.Places.Note(setting)),
				"correct the path of the PEM file: the gateway does not start without it",
			})
			continue
		}
		for _, lane := range r.Lanes {
			switch lane.Link.Driver {
			case config.DriverWebSocket:
				name := lane.Name
				if len(s.Config.Ranges) > 1 {
					name = r.Name + "/" + name
				}
				wired = append(wired, controller{name, lane.Link.Address, trust})
			case config.DriverIncoming:
				dialling++
			default:
				simulated++
			}
		}
	}
	if simulated > 0 {
		all = append(all, ok("controllers", "%s simulated", Number(simulated, "lane")))
	}
	if dialling > 0 {
		all = append(all, ok("controllers", "%s dialled by their controllers, which is not tried here",
			Number(dialling, "lane")))
	}
	return append(all, connectAll(ctx, wired)...)
}

// connectAll connects to the controllers and groups the lanes by the outcome.
func connectAll(ctx context.Context, wired []controller) (all []Finding) {
	ctx, cancel := context.WithTimeout(ctx, connectAllTimeout)
	defer cancel()
	outcome := make([]string, len(wired))
	inParallel(len(wired), func(i int) { outcome[i] = wired[i].connect(ctx) })
	answered := 0
	problems := groups[string]{}
	for i, c := range wired {
		if outcome[i] == "" {
			answered++
			continue
		}
		problems.add(outcome[i], c.lane)
	}
	if answered > 0 {
		all = append(all, ok("controllers", "%d of %d are reached", answered, len(wired)))
	}
	for _, p := range problems {
		all = append(all, Finding{
			Fail, "controllers", fmt.Sprintf("%d of %d: %s: %s", len(p.names), len(wired), p.key, joinNames(p.names)),
			remedy(p.key),
		})
	}
	return all
}

const (
	notTried    = "not tried: the others took too long"
	fingerprint = "another certificate than that of link_tls.fingerprint"
)

// connect returns "" or why the controller cannot be reached.
func (c controller) connect(ctx context.Context) string {
	if ctx.Err() != nil {
		return notTried
	}
	limited, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	err := websocket.Probe(limited, c.address, c.trust)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, websocket.ErrFingerprint):
		return fingerprint
	}
	return egress.Reason(err, notConnected)
}

func remedy(problem string) string {
	switch problem {
	case notTried:
		return "repair those that do not answer, and check again"
	case fingerprint:
		return "find out whether the controller was replaced on purpose, and correct the fingerprint"
	}
	return "check their power and network, and link.address; then run rangegate check-controller"
}
