package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"rangegate/cmd/rangegate/certificate"
	"rangegate/cmd/rangegate/gateway"
	"rangegate/config"
)

// operator is whoever uses the operations address that a configuration names.
type operator struct {
	Config string `required:"" placeholder:"FILE" help:"The configuration of a gateway that runs on this machine."`
}

// operatorTimeout is above that of a request.
const operatorTimeout = 10 * time.Second

// refusal is the gateway's own sentence about a request, with its code.
type refusal struct{ sentence, code string }

// Error returns both.
func (r refusal) Error() string { return fmt.Sprintf("%s (%s)", r.sentence, r.code) }

// ask sends a request to the operations address, with that JSON body unless it is nil. Its error is a refusal if the
// gateway has refused the request.
func (o operator) ask(t *terminal, method, path string, body, into any) error {
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
	var content []byte
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, address+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
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
		return refusal{failure.Error, failure.Code}
	}
	if into == nil {
		return nil
	}
	return decoder.Decode(into)
}

// reach returns the URL of an operations address from its own machine. With TLS the certificate in the
// configuration is trusted.
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
