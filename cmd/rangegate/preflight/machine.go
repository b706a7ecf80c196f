package preflight

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/certificate"
	"rangegate/config"
)

// clocks checks the boot clock, which measures sessions, and the wall clock, which dates records and signatures.
func clocks(context.Context) []Finding {
	clock, err := clock.NewSystem()
	if err != nil {
		return []Finding{{Fail, "clock", err.Error(), "the gateway needs Linux with /proc and the boot clock"}}
	}
	return []Finding{checkWallClock(clock.Now().Wall), checkSynchronised()}
}

// The years that a wall clock may show: minYear up to, and without, maxYear.
const minYear, maxYear = 2025, 2100

func checkWallClock(now time.Time) Finding {
	shows := now.UTC().Format(time.RFC3339)
	if now.Year() < minYear || now.Year() >= maxYear {
		return Finding{
			Fail, "clock", "the wall clock shows " + shows,
			"set it (timedatectl set-time), and check the machine's battery: certificates count as invalid",
		}
	}
	return ok("clock", "the wall clock shows %s", shows)
}

const enableNTP = "enable NTP (timedatectl set-ntp true, or chrony): receivers refuse events whose signature " +
	"is some minutes off"

// checkSynchronised asks the kernel whether its clock is synchronised, and for its maximum error.
func checkSynchronised() Finding {
	var state unix.Timex // without modes it changes nothing
	status, err := unix.Adjtimex(&state)
	return checkNTP(status, state, err)
}

func checkNTP(status int, state unix.Timex, err error) Finding {
	const unsynchronised = 0x40 // STA_UNSYNC
	switch {
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS):
		return Finding{Warn, "clock", "the kernel does not tell whether it is synchronised", enableNTP}
	case err != nil:
		return Finding{Warn, "clock", "whether it is synchronised is unknown: " + err.Error(), enableNTP}
	case status == unix.TIME_ERROR || state.Status&unsynchronised != 0:
		return Finding{Warn, "clock", "it is not synchronised", enableNTP}
	}
	within := time.Duration(state.Maxerror) * time.Microsecond
	if within > 10*time.Second {
		return Finding{
			Warn, "clock", fmt.Sprintf("it is synchronised to within %s only", within.Round(time.Second)),
			enableNTP,
		}
	}
	return ok("clock", "synchronised to within %s", within.Round(time.Millisecond))
}

// address checks that the address is free, and its certificate.
func (s Settings) address(ctx context.Context, what, hostPort string, t config.TLS) []Finding {
	all := []Finding{checkListen(ctx, what+".address", hostPort, nil)}
	if t.Certificate == "" {
		return all
	}
	what += ".tls"
	loaded, err := certificate.Load(t)
	if err != nil {
		return append(all, s.wrongFiles(what, err))
	}
	now := time.Now()
	all = append(all, s.checkCertificate(what, t, loaded.Leaf, now)...)
	return append(all, s.checkChain(what, t, loaded, now)...)
}

// nodes checks the address for the other nodes, and whether they would believe its certificate.
func (s Settings) nodes(ctx context.Context) []Finding {
	n := s.Config.Nodes
	if n == nil {
		return nil
	}
	if n.TLS.Certificate == "" {
		return []Finding{checkListen(ctx, "nodes.address", n.Address, nil)}
	}
	const what = "nodes.tls"
	loaded, authorities, err := certificate.LoadNode(n.TLS)
	if err != nil {
		return []Finding{checkListen(ctx, "nodes.address", n.Address, nil), s.wrongFiles(what, err)}
	}
	now := time.Now()
	all := []Finding{checkListen(ctx, "nodes.address", n.Address, loaded)}
	all = append(all, s.checkCertificate(what, config.TLS{Certificate: n.TLS.Certificate, Key: n.TLS.Key},
		loaded.Leaf, now)...)
	host, _, _ := net.SplitHostPort(n.AdvertisedAddress(n.Address))
	return append(all, s.checkNode(what, n.TLS, loaded, authorities, host, now)...)
}

// checkNode checks whether other nodes, which trust the authorities alone, believe the certificate as that of
// a client and as that of the server at the host.
func (s Settings) checkNode(
	what string, t config.NodesTLS, loaded *tls.Certificate, authorities *x509.CertPool, host string, now time.Time,
) []Finding {
	var all []Finding
	for _, as := range []struct {
		role, host string
		usage      x509.ExtKeyUsage
	}{{"the server at " + host, host, x509.ExtKeyUsageServerAuth}, {"a client", "", x509.ExtKeyUsageClientAuth}} {
		_, err := loaded.Leaf.Verify(x509.VerifyOptions{
			Roots: authorities, Intermediates: intermediates(loaded), DNSName: as.host, CurrentTime: now,
			KeyUsages: []x509.ExtKeyUsage{as.usage},
		})
		var invalid x509.CertificateInvalidError
		if err == nil || errors.As(err, &invalid) && invalid.Reason == x509.Expired {
			continue // checkCertificate has reported the latter
		}
		all = append(all, Finding{
			Fail, what, fmt.Sprintf("the other nodes refuse %s as that of %s: %v%s", t.Certificate, as.role, err,
				s.Places.Note(what+".certificate")),
			"have it issued by an authority in " + t.CA +
				", for the host that the others dial, for servers and clients (extendedKeyUsage)",
		})
	}
	return all
}

func (s Settings) wrongFiles(what string, err error) Finding {
	setting := what
	if file := (certificate.FileError{}); errors.As(err, &file) {
		setting += "." + file.Key
	}
	return Finding{
		Fail, what, err.Error() + s.Places.Note(setting),
		"correct the paths of the PEM files; the certificate needs its own key",
	}
}

// checkListen listens at the address for a moment. A gateway there may want the certificate of a client, if any.
func checkListen(ctx context.Context, what, hostPort string, client *tls.Certificate) Finding {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", hostPort)
	switch {
	case err == nil:
		_ = listener.Close()
		return ok(what, "%s is free", hostPort)
	case errors.Is(err, unix.EADDRINUSE) && isGateway(ctx, hostPort, client):
		return ok(what, "a gateway answers at %s: it runs", hostPort)
	case errors.Is(err, unix.EADDRINUSE):
		return Finding{
			Fail, what, hostPort + " is in use by another program",
			"stop that program (as root, ss -ltnp names it), or choose another port",
		}
	case errors.Is(err, unix.EACCES):
		return Finding{
			Fail, what, fmt.Sprintf("%[2]s may not listen at %[1]s", hostPort, user()),
			"choose a port from 1024 up, or allow it: AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit",
		}
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return Finding{
			Fail, what, hostPort + " is no address of this machine",
			"choose an address of it (ip address), or 0.0.0.0 for all",
		}
	}
	return Finding{Fail, what, err.Error(), "choose an address of this machine"}
}

// isGateway reports whether a gateway answers at the address, with or without TLS: each of its answers has the header
// trace-id. It sends nothing secret, so it does not check the certificate.
func isGateway(ctx context.Context, hostPort string, client *tls.Certificate) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	settings := &tls.Config{InsecureSkipVerify: true}
	if client != nil {
		settings.Certificates = []tls.Certificate{*client}
	}
	transport := &http.Transport{TLSClientConfig: settings, DisableKeepAlives: true}
	for _, scheme := range []string{"http://", "https://"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+hostPort+"/livez", nil)
		if err != nil {
			return false
		}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if len(answer.Header.Get("trace-id")) == 32 {
			return true
		}
	}
	return false
}

// renewalTime is the remaining validity below which a certificate should have been renewed automatically.
const renewalTime = 14 * 24 * time.Hour

// checkCertificate checks the certificate in the files of an address.
func (s Settings) checkCertificate(what string, t config.TLS, leaf *x509.Certificate, now time.Time) []Finding {
	names := strings.Join(certificate.Names(leaf), ", ")
	left := leaf.NotAfter.Sub(now)
	found := fmt.Sprintf("for %s, until %s", names, leaf.NotAfter.UTC().Format(time.DateOnly))
	place := func() string { return s.Places.Note(what + ".certificate") }
	var all []Finding
	switch invalid := certificate.CheckValidity(leaf, now); {
	case invalid != nil:
		all = append(all, Finding{
			Fail, what, fmt.Sprintf("%s: %v%s", t.Certificate, invalid, place()),
			"renew it, and see why that was not done",
		})
	case left < renewalTime:
		all = append(all, Finding{
			Warn, what, fmt.Sprintf("%s: %s left%s", found, Number(int(left.Hours()/24), "day"), place()),
			"renew it, and see why that was not done",
		})
	default:
		all = append(all, ok(what, "%s: %s left", found, Number(int(left.Hours()/24), "day")))
	}
	if names == "" {
		all = append(all, Finding{
			Fail, what, t.Certificate + " has no names, which clients need" + place(),
			"have it issued for the names that clients use (subjectAltName)",
		})
	}
	if info, err := os.Stat(t.Key); err == nil && info.Mode().Perm()&0o004 != 0 {
		all = append(all, Finding{
			Warn, what, t.Key + " can be read by everybody on this machine" + s.Places.Note(what+".key"),
			"chmod 640, or 600, owned by the gateway's user",
		})
	}
	return all
}

func intermediates(loaded *tls.Certificate) *x509.CertPool {
	between := x509.NewCertPool()
	for _, der := range loaded.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	return between
}

// checkChain checks whether clients that trust the usual authorities trust the certificate.
func (s Settings) checkChain(what string, t config.TLS, loaded *tls.Certificate, now time.Time) []Finding {
	_, err := loaded.Leaf.Verify(x509.VerifyOptions{Intermediates: intermediates(loaded), CurrentTime: now})
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		return nil // it is trusted, or checkCertificate has reported the problem
	}
	return []Finding{{
		Warn, what, t.Certificate + " is signed by no authority that this machine trusts: by itself, by an authority " +
			"of your own, or the intermediate certificates are missing" + s.Places.Note(what+".certificate"),
		"use the full chain (fullchain.pem); install an authority of your own on every client",
	}}
}
