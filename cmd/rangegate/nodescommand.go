package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"rangegate/cmd/rangegate/certificate"
	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/preflight"
	"rangegate/config"
)

// nodesCommands ask the gateway of this machine, at its operations address, about the nodes that it is one of.
type nodesCommands struct {
	List   nodesList   `cmd:"" help:"List the living nodes and how many ranges each owns."`
	Drain  nodesDrain  `cmd:"" help:"Make a node give its ranges to the others, and take none until it is started again."`
	Forget nodesForget `cmd:"" help:"Let the others take the ranges of a dead node at once. Refused while it is alive."`
}

// operator is whoever uses the operations address that a configuration names.
type operator struct {
	Config string `required:"" placeholder:"FILE" help:"The configuration of a gateway that runs on this machine."`
}

// operatorTimeout is above that of a request.
const operatorTimeout = 10 * time.Second

// ask sends a request to the operations address. Its error is the gateway's own sentence.
func (o operator) ask(t *terminal, method, path string, into any) error {
	cfg, err := config.Load(o.Config, t.environ)
	if err != nil {
		return gateway.Misconfigured{Err: err}
	}
	token := ""
	for _, named := range cfg.Operations.All() {
		if text := named.Token.Reveal(); token == "" && !strings.HasPrefix(text, "sha256:") {
			token = text
		}
	}
	if token == "" {
		return gateway.Misconfigured{Err: errors.New("operations.token: the configuration has none in plain text; give one by RANGEGATE_OPERATIONS_TOKEN")}
	}
	address, transport, err := reach(cfg.Operations)
	if err != nil {
		return gateway.Misconfigured{Err: err}
	}
	ctx, cancel := context.WithTimeout(t.ctx, operatorTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address+path, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("User-Agent", gateway.UserAgent(buildVersion()))
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("the gateway of this machine does not answer: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	decoder := json.NewDecoder(response.Body)
	if response.StatusCode >= http.StatusBadRequest {
		var failure struct{ Error, Code string }
		if err := decoder.Decode(&failure); err != nil {
			return fmt.Errorf("the gateway answers %s", response.Status)
		}
		if failure.Code == "not_found" {
			return gateway.Misconfigured{Err: errors.New("the gateway has no nodes beside it: its configuration has no nodes")}
		}
		return fmt.Errorf("%s (%s)", failure.Error, failure.Code)
	}
	if into == nil {
		return nil
	}
	return decoder.Decode(into)
}

// reach returns the URL of an operations address from its own machine. With TLS the certificate in the configuration is trusted.
func reach(o config.Operations) (address string, transport *http.Transport, err error) {
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return "", nil, err
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	transport = &http.Transport{DisableKeepAlives: true}
	if o.TLS.Certificate == "" {
		return "http://" + net.JoinHostPort(host, port), transport, nil
	}
	pair, err := certificate.Load(o.TLS)
	if err != nil {
		return "", nil, fmt.Errorf("operations.tls.%w", err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(pair.Leaf)
	transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	if names := certificate.Names(pair.Leaf); len(names) > 0 {
		transport.TLSClientConfig.ServerName = names[0]
	}
	return "https://" + net.JoinHostPort(host, port), transport, nil
}

type nodesList struct{ operator }

// Run prints a table of the nodes. It fails when a range has no owner.
func (n nodesList) Run(t *terminal) error {
	var answer struct {
		Nodes []struct {
			Name, Address, Version, Configuration, Refusing string
			Here, Draining                                  bool
			Since                                           time.Time `json:"configuration_since"`
			Ranges                                          int
		}
		Unowned int `json:"ranges_unowned"`
	}
	if err := n.ask(t, http.MethodGet, "/nodes", &answer); err != nil {
		return err
	}
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NODE\tADDRESS\tVERSION\tCONFIGURATION\tSINCE\tRANGES\tSTATE")
	for _, node := range answer.Nodes {
		state := "serves"
		switch {
		case node.Draining:
			state = "draining"
		case node.Refusing != "":
			state = "takes no ranges: " + node.Refusing
		}
		if node.Here {
			state += ", here"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", node.Name, node.Address, node.Version, node.Configuration,
			node.Since.Local().Format(time.DateTime), node.Ranges, state)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if answer.Unowned > 0 {
		return fmt.Errorf("owned by no living node: %s", preflight.Number(answer.Unowned, "range"))
	}
	return nil
}

type nodesDrain struct {
	Name string `arg:"" help:"The node."`
	operator
}

// Run drains a node.
func (n nodesDrain) Run(t *terminal) error {
	if err := n.ask(t, http.MethodPost, "/nodes/"+url.PathEscape(n.Name)+"/drain", nil); err != nil {
		return err
	}
	t.printf("%s gives its ranges to the others; 'rangegate nodes list' says when it has none\n", n.Name)
	return nil
}

type nodesForget struct {
	Name string `arg:"" help:"The node."`
	operator
}

// Run forgets a node.
func (n nodesForget) Run(t *terminal) error {
	var answer struct{ Ranges int }
	if err := n.ask(t, http.MethodPost, "/nodes/"+url.PathEscape(n.Name)+"/forget", &answer); err != nil {
		return err
	}
	t.printf("%s is forgotten; it owned %d ranges\n", n.Name, answer.Ranges)
	return nil
}
