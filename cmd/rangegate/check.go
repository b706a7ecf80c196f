package main

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/linkconformance"
	"rangegate/cmd/rangegate/preflight"
	"rangegate/config"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
)

type check struct {
	Config  string `required:"" placeholder:"FILE" help:"The configuration to check."`
	Offline bool   `help:"Check the configuration only, without the machine and the network."`
}

// Help is shown below the flags.
func (check) Help() string {
	return `Prints the configuration with its defaults, and on standard error a table of the pre-flight: store, integrators, controllers, addresses, certificates and clocks, each problem with its remedy. It takes half a minute at most, changes nothing, and may run beside the gateway that serves the same configuration. Run it as the gateway's user, on its machine.

Exit codes: 0 all is well, or worth a look; 1 something failed; 2 the configuration is wrong.`
}

// Run returns every fault of the configuration, or prints the effective configuration and the table of the pre-flight.
func (c check) Run(t *terminal) error {
	cfg, err := config.Load(c.Config, t.environ)
	if err != nil {
		return gateway.Misconfigured{Err: err}
	}
	shown, err := config.YAML(cfg)
	if err != nil {
		return err
	}
	if _, err := t.out.Write(shown); err != nil {
		return err
	}
	places := config.PlacesIn(c.Config, t.environ)
	if c.Offline {
		for _, unused := range cfg.Unused() {
			t.logf("%s: has no effect%s\n", unused, places.Note(unused))
		}
		for _, open := range preflight.Exposures(c.Config, cfg) {
			t.logf("%s %s; %s%s\n", open.Path, open.Problem, open.Remedy, places.Note(open.Path))
		}
		return nil
	}
	found := preflight.Run(t.ctx, preflight.Settings{
		File: c.Config, Config: cfg, Places: places, Trust: gateway.TrustOf,
		UserAgent: gateway.UserAgent(buildVersion()),
		Collector: gateway.ProbeCollector,
	})
	if err := preflight.Write(t.log, found); err != nil {
		return err
	}
	if failed := preflight.Count(found, preflight.Fail); failed > 0 {
		return fmt.Errorf("the pre-flight failed in %d of %d findings", failed, len(found))
	}
	return nil
}

// linkKeyVariable is the variable with the key for check-controller, which is no setting of a configuration.
const linkKeyVariable = "RANGEGATE_LINK_KEY"

type checkController struct {
	Address string        `arg:"" optional:"" placeholder:"ws://…" help:"The URL of the controller, unless it dials."`
	Listen  string        `placeholder:"ADDRESS" help:"Wait for a controller that dials this host:port of this machine, at the path /link/v1/ and the lane's id. It takes some minutes, as the controller dials again for most rules."`
	Lane    uuid.UUID     `required:"" help:"The id of the controller's lane."`
	Range   uuid.UUID     `default:"11111111-1111-4111-8111-111111111111" help:"The id of the range."`
	KeyFile string        `placeholder:"FILE" help:"A file with the lane's key, if it has one. The variable RANGEGATE_LINK_KEY may hold the key instead."`
	CA      string        `name:"ca" placeholder:"FILE" help:"For wss://: the authorities (PEM) of the controller's certificate, as link_tls.ca."`
	Pin     string        `name:"fingerprint" placeholder:"sha256:HEX" help:"For wss://: the one certificate, as link_tls.fingerprint."`
	Cert    string        `name:"certificate" placeholder:"FILE" help:"With --listen: the certificate (PEM) for a controller that dials wss://."`
	CertKey string        `name:"certificate-key" placeholder:"FILE" help:"Its key (PEM)."`
	Reports time.Duration `placeholder:"60s" help:"Also test reports, and wait so long for a person to do something at the lane."`
}

// Run tests the rules of the lane link against the controller, and prints which of them hold.
func (c checkController) Run(t *terminal) error {
	clock, err := clock.NewSystem()
	if err != nil {
		return err
	}
	key, err := c.key(t.environ)
	if err != nil {
		return gateway.Misconfigured{Err: err}
	}
	rules := linkconformance.Check{
		Lane: link.Lane{Range: c.Range, ID: c.Lane, Epoch: uint64(time.Now().UnixMilli())}, Now: clock.Now, Out: t.out,
		Reports: c.Reports,
		Keyed:   key != "",
	}
	if c.Listen != "" {
		stop, err := c.listen(t, &rules, key)
		if err != nil {
			return gateway.Misconfigured{Err: err}
		}
		defer stop()
	} else if err := c.dial(&rules, key); err != nil {
		return gateway.Misconfigured{Err: err}
	}
	if broken := rules.Run(t.ctx); broken > 0 {
		return fmt.Errorf("broken: %s of the lane link", preflight.Number(broken, "rule"))
	}
	return nil
}

// listen makes the rules those of a controller that dials, and listens for it.
func (c checkController) listen(t *terminal, rules *linkconformance.Check, key string) (stop func(), err error) {
	switch {
	case c.Address != "":
		return nil, errors.New("--listen: the controller dials, or it is dialled at its address; choose one")
	case (c.Cert == "") != (c.CertKey == ""):
		return nil, errors.New("--certificate, --certificate-key: one wants the other")
	}
	rules.Incoming = linkconformance.NewIncoming(rules.Now, c.Lane, key)
	rules.Driver = rules.Incoming
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	scheme := "ws"
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.CertKey)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--certificate, --certificate-key: %w", err), listener.Close())
		}
		scheme, listener = "wss", tls.NewListener(listener,
			&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}})
	}
	server := &http.Server{Handler: rules.Incoming, ReadHeaderTimeout: gateway.HeaderTimeout}
	go func() { _ = server.Serve(listener) }()
	t.printf("waiting for the controller to dial %s://%s%s%s\n", scheme, listener.Addr(), websocket.LanePath, c.Lane)
	return func() { _ = server.Close() }, nil
}

// dial makes the rules those of a controller that is dialled.
func (c checkController) dial(rules *linkconformance.Check, key string) error {
	trust, err := c.trust()
	if err != nil {
		return err
	}
	address, err := url.Parse(c.Address)
	if err != nil || address.Scheme != "ws" && address.Scheme != "wss" {
		return errors.New("the address of the controller wants a ws or wss url")
	}
	rules.Address, rules.TLS = c.Address, trust.Config(address.Hostname())
	rules.Driver = websocket.New(websocket.Settings{
		Lanes: map[uuid.UUID]websocket.Target{c.Lane: {Address: c.Address, Key: key}},
		TLS:   map[uuid.UUID]websocket.TLS{c.Range: trust},
		Now:   rules.Now,
	})
	return nil
}

// key returns the lane's key, from a file or from the environment: a command line can be read by everybody on
// the machine.
func (c checkController) key(environ []string) (string, error) {
	key, where := "", linkKeyVariable
	for _, entry := range environ {
		if value, found := strings.CutPrefix(entry, linkKeyVariable+"="); found {
			key = value
		}
	}
	if c.KeyFile != "" {
		text, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return "", fmt.Errorf("--key-file: %w", err)
		}
		key, where = strings.TrimSpace(string(text)), "--key-file"
		if key == "" {
			return "", errors.New("--key-file: the file is empty")
		}
	}
	if problem := config.LinkKeyProblem(config.Secret(key)); problem != "" {
		return "", fmt.Errorf("%s: %s", where, problem)
	}
	return key, nil
}

func (c checkController) trust() (websocket.TLS, error) {
	trusted := config.LinkTLS{CA: c.CA, Fingerprint: c.Pin}
	if _, ok := trusted.Pin(); !ok && c.Pin != "" {
		return websocket.TLS{}, errors.New("--fingerprint: wants sha256: and 64 hexadecimal digits")
	}
	if c.CA != "" && c.Pin != "" {
		return websocket.TLS{}, errors.New("--ca, --fingerprint: two ways to trust; choose one")
	}
	trust, err := gateway.TrustOf(trusted)
	if err != nil {
		return websocket.TLS{}, fmt.Errorf("--ca: %w", err)
	}
	return trust, nil
}

type newKey struct{}

// Run prints a new key for a lane's link: 32 random bytes.
func (newKey) Run(t *terminal) error {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	_, err := fmt.Fprintln(t.out, base64.RawURLEncoding.EncodeToString(random[:]))
	return err
}
