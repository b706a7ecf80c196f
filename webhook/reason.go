package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"syscall"

	"code.dny.dev/ssrf"
)

// Reason says in a few words why a request could not be sent, or no connection made. Words of our own: the errors of package net carry
// addresses, and whoever reads the event log need not know how the names around the gateway resolve.
func Reason(err error) string {
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
	case errors.As(err, &record):
		return "it does not speak TLS"
	case errors.As(err, &operation) && operation.Op == "remote error": // so crypto/tls names an alert that came in
		return "it refused the TLS handshake"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.As(err, &timed) && timed.Timeout():
		return "no connection in time"
	}
	return "no connection could be made"
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
