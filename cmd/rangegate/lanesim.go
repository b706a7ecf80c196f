package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/config"
)

type laneSim struct {
	Config      string        `required:"" placeholder:"FILE" help:"The configuration with the websocket lanes, which are simulated at their addresses."`
	Shooters    bool          `help:"Simulated shooters enter the lanes, call for help, hit the carrier and buy."`
	Faults      []string      `placeholder:"KIND,..." help:"The random faults: all, or some of those below."`
	Every       time.Duration `default:"1m" help:"The mean time between two faults of a lane."`
	Seed        uint64        `default:"1" help:"The seed of shooters and faults. The same seed gives a lane the same ones."`
	Certificate string        `placeholder:"FILE" help:"Certificate (PEM) for wss:// addresses."`
	Key         string        `placeholder:"FILE" help:"Its key (PEM)."`
}

// Help is shown below the flags.
func (laneSim) Help() string {
	return "Faults: " + strings.Join(lanesim.Kinds, ", ") + ".\n\nOnly addresses of this machine can be listened on, such as ws://127.0.0.1:7400/lane-1."
}

// Run serves the controllers of every websocket lane until the process is told to stop.
func (s laneSim) Run(t *terminal) error {
	cfg, err := config.Load(s.Config, t.environ)
	if err != nil {
		return misconfigured{err}
	}
	faults, err := s.faults()
	if err != nil {
		return misconfigured{err}
	}
	served, names, err := s.lanes(t, cfg)
	if err != nil {
		return misconfigured{err}
	}
	clock, err := clock.NewSystem()
	if err != nil {
		return err
	}
	log := logger(t.log)
	hardware, err := lanesim.New(lanesim.Settings{
		Now: clock.Now, Shooters: s.Shooters, Faults: faults, Every: s.Every, Seed: s.Seed,
		OnFault: func(lane uuid.UUID, fault string, lasts time.Duration) {
			log.Info().Str("lane", names[lane]).Stringer("lane_id", lane).Str("fault", fault).Dur("lasts", lasts).Msg("fault")
		},
	}, served...)
	if err != nil {
		return err
	}
	defer hardware.Close()
	for _, lane := range served {
		t.printf("%s\t%s\t%s\n", lane.ID, hardware.Controller(lane.ID).Address(), names[lane.ID])
	}
	t.printf("answering as the controllers of %d lanes\n", len(served))
	<-t.ctx.Done()
	return nil
}

func (s laneSim) faults() ([]string, error) {
	if slices.Equal(s.Faults, []string{"all"}) {
		return lanesim.Kinds, nil
	}
	for _, kind := range s.Faults {
		if !slices.Contains(lanesim.Kinds, kind) {
			return nil, fmt.Errorf("--faults: no such fault: %s; there are all, %s", kind, strings.Join(lanesim.Kinds, ", "))
		}
	}
	if s.Every <= 0 {
		return nil, errors.New("--every: must be more than 0")
	}
	return s.Faults, nil
}

// lanes returns the lanes whose controllers can be served on this machine. It logs the other websocket lanes with the
// reason.
func (s laneSim) lanes(t *terminal, cfg config.Config) (served []lanesim.Lane, names map[uuid.UUID]string, err error) {
	secured, err := s.tls()
	if err != nil {
		return nil, nil, err
	}
	names = map[uuid.UUID]string{}
	for _, r := range cfg.Ranges {
		for _, lane := range r.Lanes {
			if lane.Link.Driver != config.DriverWebSocket {
				continue
			}
			controller, problem := simulatedLane(lane, secured)
			if problem != "" {
				t.logf("%s (%s) at %s: %s\n", lane.Name, lane.ID, lane.Link.Address, problem)
				continue
			}
			served, names[lane.ID] = append(served, controller), lane.Name
		}
	}
	if len(served) == 0 {
		return nil, nil, errors.New("there is no websocket lane in " + s.Config + " that can be answered for here")
	}
	return served, names, nil
}

func (s laneSim) tls() (*tls.Config, error) {
	if s.Certificate == "" && s.Key == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
	if err != nil {
		return nil, fmt.Errorf("--certificate, --key: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}, nil
}

// simulatedLane returns the simulated controller of the lane, or why this machine cannot serve it.
func simulatedLane(lane config.Lane, secured *tls.Config) (controller lanesim.Lane, problem string) {
	address, err := url.Parse(lane.Link.Address)
	if err != nil {
		return controller, "is no URL"
	}
	controller = lanesim.Lane{ID: lane.ID, Path: address.RequestURI(), Key: lane.Link.Key.Reveal()}
	port := "80"
	if address.Scheme == "wss" {
		if port, controller.TLS = "443", secured; secured == nil {
			return controller, "wants --certificate and --key"
		}
	}
	if address.Port() != "" {
		port = address.Port()
	}
	controller.Listen = net.JoinHostPort(address.Hostname(), port)
	resolved, err := net.ResolveTCPAddr("tcp", controller.Listen)
	if err != nil {
		return controller, err.Error()
	}
	resolved.Port = 0 // any port of an address of this machine can be listened on
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return controller, "is not an address of this machine; only those can be listened on"
	}
	_ = listener.Close()
	return controller, ""
}
