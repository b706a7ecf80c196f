// Package certificatetest makes certificates for tests.
package certificatetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pair is a self-signed certificate of localhost and 127.0.0.1 with its key, as PEM.
type Pair struct {
	Certificate, Key []byte
	Expires          time.Time
}

// Issue makes a pair that expires in until, which may be negative. It becomes valid in from, by default an hour before
// now or before its expiry.
func Issue(t testing.TB, until time.Duration, from ...time.Duration) Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	now := time.Now()
	from = append(from, min(0, until)-time.Hour)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "rangegate test"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(from[0]), NotAfter: now.Add(until),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		Expires:     now.Add(until).Truncate(time.Second).UTC(),
	}
}

// Block returns the content of the first PEM block.
func Block(text []byte) []byte {
	block, _ := pem.Decode(text)
	return block.Bytes
}

// Files writes the pair to a new folder, and returns the paths.
func (p Pair) Files(t testing.TB) (certificate, key string) {
	t.Helper()
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "fullchain.pem"), filepath.Join(dir, "privkey.pem")
	Replace(t, certificate, p.Certificate)
	Replace(t, key, p.Key)
	return certificate, key
}

// Replace replaces a file atomically, as certbot does.
func Replace(t testing.TB, path string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", content, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// Sign makes a pair for these host names and addresses, with the pair as its authority. It expires as the pair does.
func (p Pair) Sign(t testing.TB, hosts ...string) Pair {
	t.Helper()
	authority, err := x509.ParseCertificate(Block(p.Certificate))
	require.NoError(t, err)
	signer, err := x509.ParsePKCS8PrivateKey(Block(p.Key))
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "rangegate node"}, NotBefore: authority.NotBefore,
		NotAfter: authority.NotAfter,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, &key.PublicKey, signer)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), Expires: p.Expires,
	}
}
