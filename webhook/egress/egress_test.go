package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	"code.dny.dev/ssrf"
	"github.com/stretchr/testify/require"
)

// Nothing here is connected to.
func TestWhichAddressesAreAllowed(t *testing.T) {
	for _, public := range []string{
		"93.184.216.34:443", "93.184.216.34:8443", "1.1.1.1:80", "172.15.255.255:443", "172.32.0.1:443",
		"100.63.255.255:443", "100.128.0.1:443", "[2606:4700:4700::1111]:443", "[2a00:1450:4001::1]:8443",
	} {
		require.NoError(t, guard.Safe("tcp"+version(public), public, nil), public)
	}
	for what, addresses := range map[string][]string{
		"this host":     {"0.0.0.0:443", "0.1.2.3:443", "[::]:443"},
		"loopback":      {"127.0.0.1:443", "127.255.255.254:443", "[::1]:443"},
		"private":       {"10.0.0.1:443", "172.16.0.1:443", "172.31.255.255:443", "192.168.1.1:443"},
		"shared":        {"100.64.0.1:443", "100.127.255.255:443"},
		"unique local":  {"[fc00::1]:443", "[fd00:ec2::254]:443"},
		"link-local":    {"169.254.169.254:80", "169.254.0.1:443", "[fe80::1]:443", "[fe80::1%lo]:443"},
		"site-local":    {"[fec0::1]:443"},
		"multicast":     {"224.0.0.1:443", "239.255.255.255:443", "[ff02::1]:443", "[ff0e::1]:443"},
		"broadcast":     {"255.255.255.255:443", "240.0.0.1:443"},
		"documentation": {"192.0.2.1:443", "198.51.100.1:443", "203.0.113.1:443", "[2001:db8::1]:443"},
		"benchmarking":  {"198.18.0.1:443"},
		"IPv4-mapped":   {"[::ffff:10.0.0.1]:443", "[::ffff:127.0.0.1]:443", "[::ffff:8.8.8.8]:443"},
		"IPv4-compat":   {"[::127.0.0.1]:443", "[::a00:1]:443"},
		"NAT64":         {"[64:ff9b::7f00:1]:443", "[64:ff9b::a00:1]:443", "[64:ff9b:1::a00:1]:443"},
		"6to4":          {"[2002:7f00:1::]:443", "[2002:a00:1::1]:443"},
		"Teredo":        {"[2001:0:7f00:1::]:443"},
	} {
		for _, address := range addresses {
			require.Error(t, guard.Safe("tcp"+version(address), address, nil), "%s: %s", what, address)
		}
	}
}

// version is that of IP, as net.Dialer tells its Control.
func version(address string) string {
	if address[0] == '[' {
		return "6"
	}
	return "4"
}

// The setting is all there is to look at: net/http reads the environment once in a process.
func TestAProxyInTheEnvironmentIsNotUsed(t *testing.T) {
	require.Nil(t, Transport(true, 1).Proxy)
	require.Nil(t, Transport(false, 1).Proxy)
}

// Each reason is in our words: the errors of package net carry addresses.
func TestTheReasonIsSaidWithoutAnyAddress(t *testing.T) {
	const silent = "it broke"
	certificate := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	operation := func(op string, err error) error {
		return &net.OpError{Op: op, Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7)}, Err: err}
	}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"not allowed":  {operation("dial", ssrf.ErrProhibitedIP), "the address is not allowed"},
		"no such name": {operation("dial", &net.DNSError{IsNotFound: true}), "the host name is not known"},
		"no name server": {
			operation("dial", &net.DNSError{IsTimeout: true}),
			"the host name could not be looked up",
		},
		"unknown authority": {
			certificate(x509.UnknownAuthorityError{}),
			"its certificate is from an unknown authority",
		},
		"another name": {certificate(x509.HostnameError{}), "its certificate is for another name"},
		"expired": {
			certificate(x509.CertificateInvalidError{Reason: x509.Expired}),
			"its certificate is not valid at this time",
		},
		"not for servers": {
			certificate(x509.CertificateInvalidError{Reason: x509.IncompatibleUsage}),
			"its certificate is not valid",
		},
		"wrong in some other way": {certificate(errors.New("x509: cannot sign")), "its certificate is not valid"},
		"no TLS":                  {tls.RecordHeaderError{}, "it does not speak TLS"},
		"http on an https port":   {http.ErrSchemeMismatch, "it does not speak TLS"},
		"a TLS alert":             {operation("remote error", tls.AlertError(40)), "it refused the TLS handshake"},
		"refused": {
			operation("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)),
			"the connection was refused",
		},
		"no answer":      {operation("dial", os.ErrDeadlineExceeded), "no connection in time"},
		"reset":          {operation("read", os.NewSyscallError("read", syscall.ECONNRESET)), silent},
		"something else": {io.EOF, silent},
	} {
		require.Equal(t, tc.want, Reason(fmt.Errorf("get: %w", tc.err), silent), name)
	}
}
