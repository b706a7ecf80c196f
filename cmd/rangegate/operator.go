package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// refusal is the gateway's own sentence about a request, with its code and the status of the answer.
type refusal struct {
	sentence, code string
	status         int
}

// Error returns the sentence and the code.
func (r refusal) Error() string { return fmt.Sprintf("%s (%s)", r.sentence, r.code) }

// ask sends a request to the operations address, with that JSON body unless it is nil. Its error is a refusal if the
// gateway has refused the request.
func (o operator) ask(t *terminal, method, path string, body, into any) error {
	client, err := o.connect(t.environ)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.ask(t.ctx, method, path, body, into)
}

// operationsClient sends requests to one operations address, over one connection.
type operationsClient struct {
	address, token string
	transport      *http.Transport
}

// connect reads the configuration. Its error is gateway.Misconfigured. It contacts nobody.
func (o operator) connect(environ []string) (*operationsClient, error) {
	cfg, err := config.Load(o.Config, environ)
	if err != nil {
		return nil, gateway.Misconfigured{Err: err}
	}
	token := ""
	for _, named := range cfg.Operations.All() {
		if text := named.Token.Reveal(); token == "" && !strings.HasPrefix(text, "sha256:") {
			token = text
		}
	}
	if token == "" {
		return nil, gateway.Misconfigured{Err: errors.New("operations.token: the configuration has none in plain " +
			"text; give one by RANGEGATE_OPERATIONS_TOKEN")}
	}
	address, transport, err := reach(cfg.Operations)
	if err != nil {
		return nil, gateway.Misconfigured{Err: err}
	}
	return &operationsClient{address, token, transport}, nil
}

// Close closes the connection, once no request is under way.
func (c *operationsClient) Close() { c.transport.CloseIdleConnections() }

// ask is operator.ask.
func (c *operationsClient) ask(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	response, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	decoder := json.NewDecoder(response.Body)
	if response.StatusCode >= http.StatusBadRequest {
		var failure struct{ Error, Code string }
		if err := decoder.Decode(&failure); err != nil {
			return fmt.Errorf("the gateway answers %s", response.Status)
		}
		return refusal{failure.Error, failure.Code, response.StatusCode}
	}
	if into == nil {
		return nil
	}
	if err := decoder.Decode(into); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, response.Body) // a connection is kept only after the end of the answer
	return nil
}

// send returns the answer, whatever its status. Its body has to be closed.
func (c *operationsClient) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content []byte
	var err error
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.address+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("User-Agent", gateway.UserAgent(buildVersion()))
	response, err := (&http.Client{Transport: c.transport}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("the gateway of this machine does not answer: %w", err)
	}
	return response, nil
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
	transport = &http.Transport{}
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
