package webhook

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"code.dny.dev/ssrf"
)

// How patient a Transport is.
const (
	connectTimeout   = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	idleTimeout      = 4 * time.Second  // less than servers have: Node.js closes an idle connection after 5 s, and what crosses that is lost
	silence          = 15 * time.Second // on an HTTP/2 connection before it is asked for a sign of life
	signOfLife       = 5 * time.Second  // for that to come
)

// longestHeaders is how much of an answer's headers is read, in bytes.
const longestHeaders = 64 << 10

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
		TLSHandshakeTimeout:    handshakeTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: signOfLife},
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: longestHeaders,
		DisableCompression:     true,
	}
}
