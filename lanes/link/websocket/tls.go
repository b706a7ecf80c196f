package websocket

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// TLS says which certificates of a range's controllers are trusted, beside those that every program on this machine
// trusts: signed by one of CA, or, if there is a fingerprint, that one certificate and no other.
type TLS struct {
	CA          *x509.CertPool
	Fingerprint *[sha256.Size]byte // SHA-256 of the certificate (DER)
}

// ErrFingerprint: the controller is another one, or has a new certificate.
var ErrFingerprint = errors.New("the controller's certificate has another fingerprint")

func (t TLS) config(host string) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: t.CA}
	if t.Fingerprint != nil {
		config.InsecureSkipVerify = true // the fingerprint says more than a name would
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if sha256.Sum256(state.PeerCertificates[0].Raw) != *t.Fingerprint {
				return ErrFingerprint
			}
			return nil
		}
	}
	return config
}

// mistrust tells whether the handshake failed because of who the controller is, or because it does not speak TLS.
func mistrust(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.Is(err, ErrFingerprint) || errors.As(err, &certificate) || errors.As(err, &record)
}
