// Package egress connects to the integrators' servers: it decides which addresses are allowed, how long to
// wait, and why a connection failed. Webhook, products and pictures use it.
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

// The limits of a Transport.
const (
	connectTimeout   = 5 * time.Second
	HandshakeTimeout = 5 * time.Second
	// less than servers have: Node.js closes an idle connection after 5 s, and a request that crosses the close is lost
	idleTimeout    = 4 * time.Second
	PingAfter      = 15 * time.Second // without a frame on an HTTP/2 connection
	PingTimeout    = 5 * time.Second
	MaxHeaderBytes = 64 << 10 // of an answer
)

// DurationBuckets are the buckets of histograms of requests to integrators, in seconds.
var DurationBuckets = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// guard refuses every address that is not public: loopback, private, shared, link-local, multicast, reserved, and IPv6
// addresses that contain IPv4 ones. It checks the resolved address before it connects, so host names cannot evade it.
var guard = ssrf.New(ssrf.WithAnyPort())

// Transport returns a transport with at most that many connections to a host. A guarded one connects to
// public addresses only. It uses no proxy of the environment.
func Transport(guarded bool, connections int) *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout}
	if guarded {
		dialer.Control = guard.Safe
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

// Reason returns in a few words why a connection failed, or otherwise for an unknown error. It never quotes
// the error: the errors of package net contain resolved addresses, which readers of the event log must not
// see.
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
	case errors.Is(err, ErrNotHTTPS):
		return "production wants https"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "the host name is not known"
	case errors.As(err, &lookup):
		return "the host name could not be looked up"
	case errors.As(err, &certificate):
		return certificateReason(certificate)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS"
	case errors.As(err, &operation) && operation.Op == "remote error": // crypto/tls, for a received alert
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
