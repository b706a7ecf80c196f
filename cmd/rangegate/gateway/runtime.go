package gateway

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/actors/delivery"
	"rangegate/actors/loglevel"
	"rangegate/actors/simulation"
	"rangegate/api"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
	"rangegate/webhook"
	"rangegate/webhook/egress"
)

// gatewayRuntime is everything that runs with one configuration. A reload builds another one and puts it in
// force.
type gatewayRuntime struct {
	config config.Config // with digests instead of tokens
	ranges map[uuid.UUID]*rangeRuntime
	// incoming has the range of every lane whose controller dials.
	incoming map[uuid.UUID]uuid.UUID
	ctx      context.Context // open streams end with it
	cancel   context.CancelFunc

	requests, operations http.Handler // of the two addresses, set by activate
}

// rangeRuntime is what runs with the configuration of one range.
type rangeRuntime struct {
	config   config.Range
	settings actors.Settings
	products *catalog.Client
	pictures http.RoundTripper // to the pictures of its products, nil without any
	trust    *x509.CertPool    // authorities of the controllers' certificates, nil for those of the machine
}

// build makes the runtime of a configuration, without putting it in force, and compares it with the runtime
// before, which is nil at the start. An unchanged range keeps its rangeRuntime. The error is a Misconfigured.
func (g *Gateway) build(c config.Config, before *gatewayRuntime) (*gatewayRuntime, config.Difference, error) {
	next := &gatewayRuntime{ranges: map[uuid.UUID]*rangeRuntime{}}
	next.ctx, next.cancel = context.WithCancel(context.Background())
	c.ForgetTokens()
	next.config, next.incoming = c, incomingLanes(c)
	var d config.Difference
	if before == nil {
		before = &gatewayRuntime{}
	} else {
		d = config.Compare(before.config, c)
	}
	changed := map[uuid.UUID]bool{}
	for _, change := range d.Changed {
		changed[change.ID] = true
	}
	for i, r := range c.Ranges {
		trust, err := TrustOf(r.LinkTLS)
		if err != nil {
			setting := fmt.Sprintf("ranges[%d].link_tls.ca", i)
			return nil, d, Misconfigured{fmt.Errorf("%s: %w%s", setting, err, g.places().Note(setting))}
		}
		old := before.ranges[r.ID]
		if old != nil && !changed[r.ID] {
			if trust.CA.Equal(old.trust) {
				next.ranges[r.ID] = old
				continue
			}
			// The file's content.
			d.Changed = append(d.Changed, config.RangeDifference{ID: r.ID, Keys: []string{"link_tls.ca"}})
		}
		if next.ranges[r.ID], err = g.buildRange(r, c.Environment, trust, len(c.InsecureLanes(r)), old); err != nil {
			return nil, d, Misconfigured{fmt.Errorf("range %s: %w", r.ID, err)}
		}
	}
	return next, d, nil
}

// buildRange makes the runtime of a range. Each range has clients with connections of their own, so a slow
// integrator delays no other range; a client with an unchanged configuration is taken over from the old
// runtime, which may be nil.
func (g *Gateway) buildRange(
	r config.Range, environment config.Environment, trust websocket.TLS, insecure int, old *rangeRuntime,
) (built *rangeRuntime, err error) {
	built = &rangeRuntime{config: r, trust: trust.CA, settings: actors.Settings{
		Layout: layout(r), Grace: r.LinkGrace, Driver: g.driver(r, trust), HoldOnLoss: r.OnLinkLoss == config.Hold,
		InsecureLinks: insecure,
	}}

	for _, w := range r.Receivers() {
		to := delivery.Receiver{
			Name: w.Name, Webhook: old.webhook(w), Purchases: w.Purchases, Slots: w.Concurrency,
			Queue: w.Queue,
		}
		for _, kind := range w.Kinds {
			to.Kinds = append(to.Kinds, lanes.Kind(kind))
		}
		if w.Retry != nil {
			to.Retry = lanes.RetryPolicy{For: w.Retry.For}
		}
		if to.Webhook == nil {
			if to.Webhook, err = g.webhookClient(r.ID, w, environment.PublicOnly(w.AllowPrivate)); err != nil {
				return nil, err
			}
		}
		built.settings.Receivers = append(built.settings.Receivers, to)
	}
	if p := r.Products; p != nil {
		if old != nil && reflect.DeepEqual(old.config.Products, p) {
			built.products, built.pictures = old.products, old.pictures
		} else {
			built.products, built.pictures = g.productsClient(r.ID, p, environment),
				productsTransport(p, environment, pictureConnections)
		}
		built.settings.Catalogue = cartCheck{built.products}
	}
	return built, nil
}

// webhook returns the client of a webhook with that configuration, nil if the range, which may be nil, has
// none.
func (r *rangeRuntime) webhook(w config.Webhook) delivery.Webhook {
	if r == nil {
		return nil
	}
	at := slices.IndexFunc(r.config.Receivers(), func(old config.Webhook) bool { return reflect.DeepEqual(old, w) })
	if at < 0 {
		return nil
	}
	return r.settings.Receivers[at].Webhook
}

// products returns the products API of the range, or ErrProductsNotConfigured.
func (g *gatewayRuntime) products(id uuid.UUID) (*catalog.Client, error) {
	if r := g.ranges[id]; r != nil && r.products != nil {
		return r.products, nil
	}
	return nil, lanes.ErrProductsNotConfigured
}

func (g *Gateway) webhookClient(id uuid.UUID, w config.Webhook, guarded bool) (*webhook.Client, error) {
	secrets := make([]string, len(w.Secrets))
	for i, secret := range w.Secrets {
		secrets[i] = secret.Reveal()
	}
	return webhook.New(webhook.Settings{
		Range: id, Name: w.Name, URL: w.URL, Secrets: secrets, Timeout: w.Timeout, Version: productVersion(g.version),
		Transport: onFirstRequest(func() http.RoundTripper {
			if simulated := g.settings.Outside.Webhooks; simulated != nil {
				return simulated
			}
			return egress.Transport(guarded, w.Concurrency+delivery.ResendSlots+delivery.PurchaseSlots+simulation.Slots)
		}),
		Now:     func() time.Time { return g.clock.Now().Wall },
		Metrics: g.webhooks,
		Tracer:  g.tracer,
	})
}

// productConnections bounds the connections to a products API: some catalogues of four requests each.
const productConnections = 32

func (g *Gateway) productsClient(id uuid.UUID, p *config.Products, environment config.Environment) *catalog.Client {
	return catalog.New(catalog.Settings{
		URL: p.URL, Timeout: p.Timeout, UserAgent: UserAgent(g.version), Metrics: g.catalog,
		Transport:  productsTransport(p, environment, productConnections),
		SecureOnly: environment == config.InProduction,
		Log:        loglevel.OfRange(g.log, id),
		Tracer:     g.tracer,
	})
}

// productsTransport returns a transport to a products API and to the pictures of its products, which have
// connections of their own.
func productsTransport(p *config.Products, environment config.Environment, connections int) http.RoundTripper {
	return onFirstRequest(func() http.RoundTripper {
		if environment != config.InProduction {
			return egress.Transport(false, connections)
		}
		return egress.NewProduction(p.PrivateURL(), connections)
	})
}

// lazyTransport is a transport that is made with its first request: a node has none for the many ranges that
// others serve.
type lazyTransport func() http.RoundTripper

func onFirstRequest(create func() http.RoundTripper) lazyTransport { return sync.OnceValue(create) }

// RoundTrip implements http.RoundTripper.
func (t lazyTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t().RoundTrip(r) }

// cartCheck checks carts against the products API. When the API cannot be reached it refuses nothing: the
// integrator decides about the purchase anyway. The client counts and logs the failure.
type cartCheck struct{ products *catalog.Client }

// Check returns what the items are called and cost, and why they cannot be bought, in words for the customer,
// or "".
func (c cartCheck) Check(
	ctx context.Context, session uuid.UUID, items []lanes.Item,
) (goods []lanes.Good, refusal string) {
	products, err := c.products.All(ctx, session.String())
	if err != nil {
		return nil, ""
	}
	quantities := make(map[string]int, len(items))
	for _, item := range items {
		quantities[item.ID] += item.Qty
	}
	if refusal := products.Refusal(quantities); refusal != "" {
		return nil, refusal
	}
	for _, item := range items {
		p, _ := products.Find(item.ID) // what is not there was refused
		goods = append(goods, lanes.Good{Name: p.DisplayName, Price: p.PriceText()})
	}
	return goods, ""
}

// laneDrivers holds the configured driver of each lane.
type laneDrivers map[uuid.UUID]link.Driver

func (g *Gateway) driver(r config.Range, trust websocket.TLS) link.Driver {
	targets, drivers := map[uuid.UUID]websocket.Target{}, laneDrivers{}
	overNetwork := websocket.New(websocket.Settings{
		Lanes: targets, TLS: map[uuid.UUID]websocket.TLS{r.ID: trust}, Now: g.clock.Now, RoundTrip: g.counts.RoundTrip,
		Acceptor: g.acceptor,
	})
	for _, lane := range r.Lanes {
		switch lane.Link.Driver {
		case config.DriverWebSocket:
			targets[lane.ID] = websocket.Target{Address: lane.Link.Address, Key: lane.Link.Key.Reveal()}
			drivers[lane.ID] = overNetwork
		case config.DriverIncoming:
			targets[lane.ID] = websocket.Target{Key: lane.Link.Key.Reveal(), Incoming: true}
			drivers[lane.ID] = overNetwork
		default:
			drivers[lane.ID] = g.simulated()
		}
	}
	return drivers
}

// Dial connects with the lane's driver.
func (d laneDrivers) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	driver, ok := d[lane.ID]
	if !ok {
		return nil, link.Hello{}, fmt.Errorf("no link is configured for lane %s", lane.ID)
	}
	return driver.Dial(ctx, lane, receiver)
}

// Address returns where the lane's controller is dialled, empty for a simulated one, and for one that dials.
func (d laneDrivers) Address(lane uuid.UUID) string {
	if driver, ok := d[lane].(interface{ Address(lane uuid.UUID) string }); ok {
		return driver.Address(lane)
	}
	return ""
}

// Awaits implements link.Awaiter.
func (d laneDrivers) Awaits(lane uuid.UUID) bool {
	driver, ok := d[lane].(link.Awaiter)
	return ok && driver.Awaits(lane)
}

// Await waits with the lane's driver, for a lane that Awaits.
func (d laneDrivers) Await(lane link.Lane, waiter link.Waiter) (cancel func()) {
	return d[lane.ID].(link.Awaiter).Await(lane, waiter)
}

// TrustOf reads which certificates the controllers of a range may have.
func TrustOf(t config.LinkTLS) (websocket.TLS, error) {
	var trust websocket.TLS
	if pin, ok := t.Pin(); ok {
		trust.Fingerprint = &pin
	}
	if t.CA == "" {
		return trust, nil
	}
	file, err := os.ReadFile(t.CA)
	if err != nil {
		return trust, err
	}
	trust.CA = x509.NewCertPool()
	if !trust.CA.AppendCertsFromPEM(file) {
		return trust, errors.New(t.CA + " holds no PEM certificate")
	}
	return trust, nil
}

// layout is the part of a range's configuration that its lanes need.
func layout(r config.Range) lanes.Layout {
	l := lanes.Layout{Range: r.ID, Name: r.Name, Purchasing: r.Sells(), Currency: r.Currency}
	l.Terms = lanes.Terms{
		ClearAfter: r.ClearAfter, ClearFirst: !r.SellBeforeClear, Warnings: r.Warnings, TellsExpired: r.TellsExpired(),
		Hours: openingHours(r.Hours),
		Grace: r.Grace, GraceForAll: r.GraceForAll, GroupHours: map[uuid.UUID]*lanes.Hours{},
	}
	for _, bay := range r.Bays {
		of := lanes.Bay{ID: bay.ID, Name: bay.Name}
		if bay.Hours != nil {
			of.Hours = openingHours(bay.Hours).In(l.Hours)
		}
		l.Bays = append(l.Bays, of)
	}
	for _, group := range r.Groups {
		l.Groups = append(l.Groups, lanes.Group{ID: group.ID, Name: group.Name})
		if group.Hours != nil {
			l.GroupHours[group.ID] = openingHours(group.Hours)
		}
	}
	for _, preset := range r.Presets {
		l.Presets = append(l.Presets, lanes.Preset(preset))
	}
	for _, lane := range r.Lanes {
		l.Lanes = append(l.Lanes, lanes.Place{ID: lane.ID, Bay: lane.Bay, Name: lane.Name, Accessible: lane.Accessible})
	}
	return l
}

// operationsTokens returns the digest of every operations token by name.
func operationsTokens(c config.Config) api.OperationsTokens {
	digests := api.OperationsTokens{}
	for _, named := range c.Operations.All() {
		if digest, problem := config.OperationsDigest(named.Token); problem == "" {
			digests[strings.TrimSpace(named.Name)] = digest
		}
	}
	return digests
}

// credentials returns every token by range.
func credentials(c config.Config) api.Credentials {
	all := api.Credentials{}
	for _, r := range c.Ranges {
		for _, token := range r.Tokens {
			if digest, problem := config.TokenDigest(token.Token); problem == "" {
				all[r.ID] = append(all[r.ID], api.Credential{
					Digest: digest, Name: strings.TrimSpace(token.Name), ReadOnly: token.Scope == config.ScopeRead,
				})
			}
		}
	}
	return all
}
