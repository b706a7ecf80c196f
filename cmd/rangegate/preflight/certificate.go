package preflight

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"rangegate/cmd/rangegate/certificate"
	"rangegate/config"
)

// renewedBy is when a certificate should have been renewed: what renews them by itself does so weeks before.
const renewedBy = 14 * 24 * time.Hour

// ofCertificate looks at the certificate of an address.
func ofCertificate(what string, t config.TLS, now time.Time) []Finding {
	what += ".tls"
	loaded, err := certificate.Load(certificate.Files(t))
	if err != nil {
		return []Finding{{Fail, what, err.Error(), "put the path of the PEM file right; the certificate and its key go together"}}
	}
	leaf := loaded.Leaf
	names := strings.Join(certificate.Names(leaf), ", ")
	left := leaf.NotAfter.Sub(now)
	found := fmt.Sprintf("for %s, until %s", names, leaf.NotAfter.UTC().Format(time.DateOnly))
	var all []Finding
	switch invalid := certificate.CheckValidity(leaf, now); {
	case invalid != nil:
		all = append(all, Finding{Fail, what, fmt.Sprintf("%s: %v", t.Certificate, invalid), "renew it, and see why that was not done"})
	case left < renewedBy:
		all = append(all, Finding{Warn, what, fmt.Sprintf("%s: %s left", found, count(int(left.Hours()/24), "day")), "renew it, and see why that was not done"})
	default:
		all = append(all, ok(what, "%s: %s left", found, count(int(left.Hours()/24), "day")))
	}
	if names == "" {
		all = append(all, Finding{Fail, what, t.Certificate + " has no names: clients look at nothing else", "have it issued for the names that clients use (subjectAltName)"})
	}
	if info, err := os.Stat(t.Key); err == nil && info.Mode().Perm()&0o004 != 0 {
		all = append(all, Finding{Warn, what, t.Key + " can be read by everybody on this machine", "chmod 640, or 600, owned by the gateway's user"})
	}
	return append(all, ofChain(what, t, loaded, now)...)
}

// ofChain looks whether clients that trust the usual authorities will trust the certificate.
func ofChain(what string, t config.TLS, loaded *tls.Certificate, now time.Time) []Finding {
	between := x509.NewCertPool()
	for _, der := range loaded.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	_, err := loaded.Leaf.Verify(x509.VerifyOptions{Intermediates: between, CurrentTime: now})
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		return nil // it is trusted, or what is wrong with it has been said
	}
	return []Finding{{
		Warn, what, t.Certificate + " is signed by nobody that this machine trusts: by itself, by an authority of your own, or the " +
			"certificates between are missing", "use the full chain (fullchain.pem); an authority of your own has to be made known to every client",
	}}
}
