// Package egress is how the gateway reaches an integrator's servers: which addresses it connects to, how long it waits, and why a
// connection could not be made. Webhook, products and pictures use it.
package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// How long a Transport waits, and what it reads at most.
const (
	connectTimeout   = 5 * time.Second
	HandshakeTimeout = 5 * time.Second
	idleTimeout      = 4 * time.Second  // less than servers have: Node.js closes an idle connection after 5 s, and what crosses that is lost
	PingAfter        = 15 * time.Second // without a frame on an HTTP/2 connection
	PingTimeout      = 5 * time.Second
	MaxHeaderBytes   = 64 << 10 // of an answer
)

// guardian refuses every address that is not public: loopback, private, shared, link-local, multicast, reserved, and
// the IPv6 addresses that stand for IPv4 ones. It judges the address that is about to be connected to, so it does not
// matter how a host name came to resolve to it.
var guardian = ssrf.New(ssrf.WithAnyPort())

// Transport is how the gateway reaches the integrator, over so many connections to a host. Guarded, it connects to
// public addresses only. It takes no proxy from the environment.
func Transport(guarded bool, connections int) *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout}
	if guarded {
		dialer.Control = guardian.Safe
	}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    HandshakeTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: PingAfter, PingTimeout: PingTimeout},
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: MaxHeaderBytes,
		DisableCompression:     true,
	}
}

// Reason says in a few words why no connection could be made; otherwise is for an error that does not tell. The words are
// ours: the errors of package net carry addresses, and whoever reads the event log need not know how the names around the
// gateway resolve.
func Reason(err error, otherwise string) string {
	var (
		lookup      *net.DNSError
		operation   *net.OpError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		timed       net.Error
	)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP):
		return "the address is not allowed"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "the host name is not known"
	case errors.As(err, &lookup):
		return "the host name could not be looked up"
	case errors.As(err, &certificate):
		return certificateReason(certificate)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS"
	case errors.As(err, &operation) && operation.Op == "remote error": // so crypto/tls names an alert that came in
		return "it refused the TLS handshake"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.As(err, &timed) && timed.Timeout():
		return "no connection in time"
	}
	return otherwise
}

func certificateReason(err *tls.CertificateVerificationError) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "its certificate is from an unknown authority"
	case errors.As(err, &name):
		return "its certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate is not valid at this time"
	}
	return "its certificate is not valid"
}
