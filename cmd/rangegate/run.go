package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/api"
	"rangegate/api/control"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store/sqlite"
	"rangegate/webhook"
)

// How long the way out takes at most, 10 s in all: requests get their answer, then everything is saved and closed.
const (
	drainRequests   = 5500 * time.Millisecond // a request takes 5 s at most
	drainOperations = 500 * time.Millisecond
	stopLanes       = 3 * time.Second
)

// program is what one process does: it is wired up in run.
type program struct {
	config    config.Config
	reread    func() (config.Config, error) // nil: the configuration is not in a file
	hungUp    <-chan os.Signal              // tells to read it again
	retire    []uuid.UUID
	shooters  bool               // simulated shooters enter the lanes, call for help and hit the carrier
	listening func(at addresses) // nil, or told once the addresses are known
}

// addresses are where the program answers, as URLs.
type addresses struct{ api, operations string }

// run brings everything up, serves until the process is told to stop, and takes everything down again in reverse.
func run(t *terminal, p program) (err error) {
	log := logger(t.log)
	logFrom(p.config.Log.Level)
	for _, unused := range p.config.Unused() {
		log.Warn().Str("path", unused).Msg("configured, and has no effect")
	}
	clock, err := clock.NewSystem()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	snapshots, err := openStore(t.ctx, p.config.Store, registry, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshots.Close()) }()
	if file, is := snapshots.(*sqlite.Store); is {
		if err := leftOut(t.ctx, file, p.config); err != nil {
			return misconfigured{err}
		}
	}

	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	counts := metrics.New(registry)
	gateway := actors.NewGateway(clock, snapshots, counts, log)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopLanes)
		defer cancel()
		err = errors.Join(err, gateway.Stop(ctx))
	}()

	hardware := sim.New(clock.Now)
	if p.shooters {
		defer sim.NewAutopilot(hardware, uint64(time.Now().UnixNano())).Close()
	}
	s := &service{
		log: log, clock: clock, gateway: gateway, hardware: hardware, seen: control.NewSessions(), read: p.reread,
		registry: registry, counts: counts, webhooks: webhook.NewMetrics(registry), catalog: catalog.NewMetrics(registry),
		traffic: api.NewTraffic(registry), reloads: newReloads(registry),
	}
	registry.MustRegister(gateway.Standing(), buildInfo(), readiness(s.ready))
	first, _, err := s.arrange(p.config, nil)
	if err != nil {
		return err
	}
	kept, err := keepCertificates(p.config, registry, log)
	if err != nil {
		return err
	}
	defer kept.close()
	s.certificates = kept
	s.open(first)
	operations, err := listen(p.config.Operations.Address, kept.operations, &s.operations, log)
	if err != nil {
		return err
	}
	defer operations.close(drainOperations)
	requests, err := listen(p.config.HTTP.Address, kept.http, &s.requests, log)
	if err != nil {
		return err
	}
	requests.http.RegisterOnShutdown(func() { s.now.Load().end() }) // it waits for open streams as for any request
	defer requests.close(drainRequests)

	at := addresses{requests.url, operations.url}
	log.Info().Str("api", at.api).Str("operations", at.operations).Str("version", built()).Msg("listening")
	if err := s.start(t.ctx, p.retire); err != nil {
		return err
	}
	s.reloads.ended(true)
	if p.reread != nil {
		s.onHangUp(t.ctx, p.hungUp)
	}
	if p.listening != nil {
		p.listening(at)
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	defer startWatchdog(gateway.Alive, log)()

	select {
	case <-t.ctx.Done():
		log.Info().Msg("stopping")
	case err = <-requests.failed:
	case err = <-operations.failed:
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	return err
}

func logger(to interface{ Write([]byte) (int, error) }) zerolog.Logger {
	zerolog.TimeFieldFormat = time.RFC3339Nano
	if isTerminal(to) {
		return zerolog.New(zerolog.ConsoleWriter{Out: to, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
	}
	return zerolog.New(to).With().Timestamp().Logger()
}
