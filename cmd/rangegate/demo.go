package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/console"
	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/integrator"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/cmd/rangegate/preflight"
	"rangegate/config"
	"rangegate/lanes/link/websocket"
)

type playground struct {
	Lanes      int    `default:"12" help:"The number of lanes."`
	Data       string `default:"data" placeholder:"DIR" help:"The folder of the demo range's store."`
	Address    string `default:"127.0.0.1:8080" help:"The address of the API."`
	Integrator string `default:"127.0.0.1:7070" help:"The address of the demo integrator: products API, webhook receiver, and a page that shows the events."`
}

// Run serves the demo range and the demo integrator until the process is told to stop.
func (p playground) Run(t *terminal) error {
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return err
	}
	demo, url, stop, err := demoIntegrator{Address: p.Integrator, Secret: []string{config.PlaygroundSecret}}.listen(t)
	if err != nil {
		return err
	}
	defer stop()
	cfg := config.Playground(p.Lanes, p.Data, p.Address, url)
	if err := config.Override(&cfg, t.environ); err != nil {
		return gateway.Misconfigured{Err: err}
	}
	token := cfg.Ranges[0].Tokens[0].Token.Reveal() // run keeps its digest only
	return run(t, program{config: cfg, shooters: true, listening: func(urls gateway.Addresses) {
		demo.Follow(integrator.Gateway{URL: urls.API + "/api/v2/pos", Range: cfg.Ranges[0].ID.String(), Token: token})
		p.welcome(t, cfg, urls, url, token)
	}})
}

// welcome prints the addresses, the credentials and a first request.
func (p playground) welcome(t *terminal, cfg config.Config, urls gateway.Addresses, integrator, token string) {
	demo := cfg.Ranges[0]
	t.printf(`
rangegate playground: %s, %s, kept in %s

  control     %s/control/%s   (sign in as %s with PIN %s)
  lane 1      %s/lane/%s?key=%s   (each lane has its own: playground-lane-2-screen, …)
  wall board  %s/board/%s?key=%s
  API         %s/api/v2/pos
  reference   %s/api/v2/swagger/
  integrator  %s   (what the webhook got; accept, refuse, hang; the event log, sent again)
  operations  %s   (/livez /readyz /metrics; token %s)
  range-id    %s
  token       %s
  signatures  %s

Sell lane 1 for 30 minutes:

  curl -s %s/api/v2/pos/sessions \
    -H 'range-id: %s' \
    -H 'token: %s' \
    -H 'Content-Type: application/json' \
    -d '{"customer_name":"Jo Smith","lane_id":"%s","group_id":"%s","duration":30}'

`, demo.Name, preflight.Number(len(demo.Lanes), "simulated lane"), p.Data, urls.API, demo.ID, config.PlaygroundStaff, config.PlaygroundPIN,
		urls.API, demo.Lanes[0].ID, demo.Lanes[0].ScreenKey.Reveal(), urls.API, demo.ID, demo.Board.Key.Reveal(),
		urls.API, urls.API, integrator, urls.Operations, cfg.Operations.Token.Reveal(), demo.ID, token,
		config.PlaygroundSecret, urls.API, demo.ID, token, demo.Lanes[0].ID, demo.Groups[0].ID)
}

type demoIntegrator struct {
	Address string   `default:"127.0.0.1:7070" help:"The address of the products API, the webhook receiver and the page."`
	Secret  []string `placeholder:"WHSEC" help:"A secret of the webhook's signatures, whsec_ and base64. Repeatable. Without one signatures are not checked."`
	Gateway string   `placeholder:"URL" help:"The API of a gateway whose events are pulled as well, and sent again: http://127.0.0.1:8080/api/v2/pos. Needs --range-id and --token."`
	RangeID string   `placeholder:"UUID" help:"The range at that gateway."`
	Token   string   `placeholder:"TOKEN" help:"A token of that range."`
}

// Run serves until the process is told to stop.
func (d demoIntegrator) Run(t *terminal) error {
	if (d.Gateway == "") != (d.RangeID == "") || (d.Gateway == "") != (d.Token == "") {
		return gateway.Misconfigured{Err: errors.New("--gateway, --range-id and --token go together")}
	}
	demo, url, stop, err := d.listen(t)
	if err != nil {
		return err
	}
	defer stop()
	if d.Gateway != "" {
		demo.Follow(integrator.Gateway{URL: strings.TrimSuffix(d.Gateway, "/"), Range: d.RangeID, Token: d.Token})
	}
	t.printf("\ndemo integrator\n\n  page       %s\n  products   %s/products?type=time\n  webhook    "+
		"%s/webhook\n\n", url, url, url)
	<-t.ctx.Done()
	return nil
}

// listen serves in the background until stop.
func (d demoIntegrator) listen(t *terminal) (demo *integrator.Integrator, url string, stop func(), err error) {
	log := console.Logger(t.log).With().Str("of", "integrator").Logger()
	demo, err = integrator.New(integrator.Settings{Secrets: d.Secret, Now: time.Now, Log: log})
	if err != nil {
		return nil, "", nil, gateway.Misconfigured{Err: err}
	}
	url, stopServer, err := gateway.Serve(d.Address, demo, log)
	if err != nil {
		return nil, "", nil, err
	}
	return demo, url, func() {
		demo.Close()
		stopServer()
	}, nil
}

type laneSim struct {
	Config      string        `required:"" placeholder:"FILE" help:"The configuration with the websocket lanes, which are simulated at their addresses, and with the incoming ones."`
	Dial        string        `placeholder:"URL" help:"What the controllers of incoming lanes dial: ws://host:port or wss://host:port of a gateway or of the proxy before it. Without it they are left out."`
	CA          string        `name:"ca" placeholder:"FILE" help:"The authorities (PEM) of the certificate at that URL, besides those of this machine."`
	Shooters    bool          `help:"Simulated shooters enter the lanes, call for help, hit the carrier and buy."`
	Faults      []string      `placeholder:"KIND,..." help:"The random faults: all, or some of those below."`
	Every       time.Duration `default:"1m" help:"The mean time between two faults of a lane."`
	Seed        uint64        `default:"1" help:"The seed of shooters and faults. The same seed gives a lane the same ones."`
	Certificate string        `placeholder:"FILE" help:"Certificate (PEM) for wss:// addresses."`
	Key         string        `placeholder:"FILE" help:"Its key (PEM)."`
}

// Help is shown below the flags.
func (laneSim) Help() string {
	return "A controller that dials does so again after 15 s of silence and when it is disconnected, and waits " +
		"as long as a busy gateway says.\n\nFaults: " + strings.Join(lanesim.Kinds, ", ") +
		".\n\nOnly addresses of this machine can be listened on, such as ws://127.0.0.1:7400/lane-1."
}

// Run serves the controllers of every websocket lane until the process is told to stop.
func (s laneSim) Run(t *terminal) error {
	cfg, err := config.Load(s.Config, t.environ)
	if err != nil {
		return gateway.Misconfigured{Err: err}
	}
	faults, err := s.faults()
	if err != nil {
		return gateway.Misconfigured{Err: err}
	}
	served, err := s.lanes(t, cfg)
	if err != nil {
		return gateway.Misconfigured{Err: err}
	}
	clock, err := clock.NewSystem()
	if err != nil {
		return err
	}
	log := console.Logger(t.log)
	hardware, err := lanesim.New(lanesim.Settings{
		Now: clock.Now, Shooters: s.Shooters, Faults: faults, Every: s.Every, Seed: s.Seed,
		OnFault: func(lane lanesim.Lane, fault string, lasts time.Duration) {
			log.Info().Str("name", lane.Name).Stringer("lane_id", lane.ID).Str("fault", fault).Dur("lasts", lasts).
				Msg("fault")
		},
	}, served...)
	if err != nil {
		return err
	}
	defer hardware.Close()
	for _, lane := range served {
		t.printf("%s\t%s\t%s\n", lane.ID, hardware.Controller(lane.ID).Address(), lane.Name)
	}
	t.printf("answering as the controllers of %s\n", preflight.Number(len(served), "lane"))
	<-t.ctx.Done()
	return nil
}

func (s laneSim) faults() ([]string, error) {
	if slices.Equal(s.Faults, []string{"all"}) {
		return lanesim.Kinds, nil
	}
	for _, kind := range s.Faults {
		if !slices.Contains(lanesim.Kinds, kind) {
			return nil, fmt.Errorf("--faults: no such fault: %s; there are all, %s", kind,
				strings.Join(lanesim.Kinds, ", "))
		}
	}
	if s.Every <= 0 {
		return nil, errors.New("--every: must be more than 0")
	}
	return s.Faults, nil
}

// lanes returns the lanes whose controllers can be served on this machine, and those that dial. It logs the
// other websocket lanes with the reason.
func (s laneSim) lanes(t *terminal, cfg config.Config) (served []lanesim.Lane, err error) {
	secured, err := s.tls()
	if err != nil {
		return nil, err
	}
	dial, err := s.dialled()
	if err != nil {
		return nil, err
	}
	for _, r := range cfg.Ranges {
		for _, lane := range r.Lanes {
			if lane.Incoming() && s.Dial != "" {
				served = append(served, dial(lane))
			}
			if lane.Link.Driver != config.DriverWebSocket {
				continue
			}
			controller, problem := simulatedLane(lane, secured)
			if problem != "" {
				t.logf("%s (%s) at %s: %s\n", lane.Name, lane.ID, lane.Link.Address, problem)
				continue
			}
			served = append(served, controller)
		}
	}
	if len(served) == 0 {
		return nil, errors.New("there is no websocket lane in " + s.Config +
			" that can be answered for here, and no incoming lane with --dial")
	}
	return served, nil
}

// dialled returns the function that makes the simulated controller of an incoming lane.
func (s laneSim) dialled() (func(config.Lane) lanesim.Lane, error) {
	address, err := url.Parse(s.Dial)
	if s.Dial != "" && (err != nil || address.Scheme != "ws" && address.Scheme != "wss" ||
		strings.Trim(address.Path, "/") != "") {
		return nil, errors.New("--dial: wants ws://host:port or wss://host:port")
	}
	trust, err := gateway.TrustOf(config.LinkTLS{CA: s.CA})
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trust.CA}
	return func(lane config.Lane) lanesim.Lane {
		dialled := strings.TrimSuffix(s.Dial, "/") + websocket.LanePath + lane.ID.String()
		return lanesim.Lane{ID: lane.ID, Name: lane.Name, Dial: dialled, Key: lane.Link.Key.Reveal(), TLS: settings}
	}, nil
}

func (s laneSim) tls() (*tls.Config, error) {
	if s.Certificate == "" && s.Key == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
	if err != nil {
		return nil, fmt.Errorf("--certificate, --key: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}, nil
}

// simulatedLane returns the simulated controller of the lane, or why this machine cannot serve it.
func simulatedLane(lane config.Lane, secured *tls.Config) (controller lanesim.Lane, problem string) {
	address, err := url.Parse(lane.Link.Address)
	if err != nil {
		return controller, "is no URL"
	}
	controller = lanesim.Lane{ID: lane.ID, Name: lane.Name, Path: address.RequestURI(), Key: lane.Link.Key.Reveal()}
	port := "80"
	if address.Scheme == "wss" {
		if port, controller.TLS = "443", secured; secured == nil {
			return controller, "wants --certificate and --key"
		}
	}
	controller.Listen = net.JoinHostPort(address.Hostname(), cmp.Or(address.Port(), port))
	resolved, err := net.ResolveTCPAddr("tcp", controller.Listen)
	if err != nil {
		return controller, err.Error()
	}
	resolved.Port = 0 // any port of an address of this machine can be listened on
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return controller, "is not an address of this machine; only those can be listened on"
	}
	_ = listener.Close()
	return controller, ""
}
