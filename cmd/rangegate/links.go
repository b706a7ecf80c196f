package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"

	"rangegate/config"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
)

// driverOf is the driver of every lane of the range: each lane has the one that is configured for it. trust is who signs
// the certificates of its controllers. at is the range's place in the configuration.
func (s *service) driverOf(r config.Range, at int) (driver link.Driver, trust *x509.CertPool, err error) {
	trusted, err := trustedBy(r.LinkTLS)
	if err != nil {
		return nil, nil, misconfigured{fmt.Errorf("ranges[%d].link_tls.ca: %w", at, err)}
	}
	targets := map[uuid.UUID]websocket.Target{}
	wired := websocket.New(websocket.Settings{
		Lanes: targets, TLS: map[uuid.UUID]websocket.TLS{r.ID: trusted}, Now: s.clock.Now,
		RoundTrip: s.counts.RoundTrip,
	})
	all := byLane{}
	for _, lane := range r.Lanes {
		switch lane.Link.Driver {
		case config.DriverWebSocket:
			targets[lane.ID] = websocket.Target{Address: lane.Link.Address, Key: lane.Link.Key.Reveal()}
			all[lane.ID] = wired
		default:
			all[lane.ID] = s.hardware
		}
	}
	return all, trusted.CA, nil
}

// byLane dials every lane with its own driver.
type byLane map[uuid.UUID]link.Driver

// Dial is that of the lane's driver.
func (b byLane) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	driver, known := b[lane.ID]
	if !known {
		return nil, link.Hello{}, fmt.Errorf("no link is configured for lane %s", lane.ID)
	}
	return driver.Dial(ctx, lane, to)
}

// trustedBy is whom a range trusts to be its controllers.
func trustedBy(t config.LinkTLS) (websocket.TLS, error) {
	var trust websocket.TLS
	if pin, is := t.Pin(); is {
		trust.Fingerprint = &pin
	}
	if t.CA == "" {
		return trust, nil
	}
	file, err := os.ReadFile(t.CA)
	if err != nil {
		return trust, err
	}
	trust.CA = x509.NewCertPool()
	if !trust.CA.AppendCertsFromPEM(file) {
		return trust, errors.New(t.CA + " holds no PEM certificate")
	}
	return trust, nil
}
