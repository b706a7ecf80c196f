// Package certificate keeps the TLS certificate of an address as it is in its files, while connections are served.
package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"
)

// Files are PEM: the certificate with those that it is signed by behind it, and its private key.
type Files struct{ Certificate, Key string }

// pair is what the files have.
type pair struct {
	certificate, key []byte
	unreadable       string // why they could not be read
}

func (f Files) read() pair {
	var p pair
	var err error
	if p.certificate, err = os.ReadFile(f.Certificate); err != nil {
		p.unreadable = "certificate: " + err.Error()
		return p
	}
	if p.key, err = os.ReadFile(f.Key); err != nil {
		p.unreadable = "key: " + err.Error()
	}
	return p
}

func (p pair) same(as pair) bool {
	return p.unreadable == as.unreadable && bytes.Equal(p.certificate, as.certificate) && bytes.Equal(p.key, as.key)
}

// Load reads the pair. Its error names the file that is wrong, or both; it quotes nothing of them.
func Load(f Files) (*tls.Certificate, error) { return f.parse(f.read()) }

func (f Files) parse(p pair) (*tls.Certificate, error) {
	if p.unreadable != "" {
		return nil, errors.New(p.unreadable)
	}
	if err := parseable(p.certificate); err != nil {
		return nil, fmt.Errorf("certificate: %s: %w", f.Certificate, err)
	}
	loaded, err := tls.X509KeyPair(p.certificate, p.key)
	if err != nil {
		return nil, fmt.Errorf("key: %s is not the key of the certificate in %s: %w", f.Key, f.Certificate, err)
	}
	return &loaded, nil
}

// parseable tells what is wrong with the certificate alone.
func parseable(text []byte) error {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("holds no PEM certificate")
		}
		if block.Type == "CERTIFICATE" {
			_, err := x509.ParseCertificate(block.Bytes)
			return err
		}
	}
}

// Outside tells why the certificate is not valid at that time, if it is not.
func Outside(c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("it expired on %s", c.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.NotBefore):
		return fmt.Errorf("it is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}
