package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"

	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/link/websocket"
)

// links is the driver of every lane of the configuration: each lane has the one that is configured for it.
func links(c config.Config, hardware *sim.Driver, now func() lanes.Instant) (link.Driver, error) {
	wired := websocket.Settings{
		Lanes: map[uuid.UUID]websocket.Target{}, TLS: map[uuid.UUID]websocket.TLS{}, Now: now,
	}
	all := byLane{}
	for i, r := range c.Ranges {
		trust, err := trusted(r.LinkTLS)
		if err != nil {
			return nil, misconfigured{fmt.Errorf("ranges[%d].link_tls.ca: %w", i, err)}
		}
		wired.TLS[r.ID] = trust
		for _, lane := range r.Lanes {
			switch lane.Link.Driver {
			case config.DriverWebSocket:
				wired.Lanes[lane.ID] = websocket.Target{Address: lane.Link.Address, Key: lane.Link.Key.Reveal()}
			default:
				all[lane.ID] = hardware
			}
		}
	}
	driver := websocket.New(wired)
	for lane := range wired.Lanes {
		all[lane] = driver
	}
	return all, nil
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

// trusted is whom a range trusts to be its controllers.
func trusted(t config.LinkTLS) (websocket.TLS, error) {
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
