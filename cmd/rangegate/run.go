package main

import (
	"context"
	"errors"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"rangegate/actors"
	"rangegate/api"
	"rangegate/api/simulate"
	v2 "rangegate/api/v2"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
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
	retire    []uuid.UUID
	shooters  bool               // simulated shooters enter the lanes, call for help and hit the carrier
	listening func(at addresses) // nil, or told once the addresses are known
}

// addresses are where the program answers, as URLs.
type addresses struct{ api, operations string }

// run brings everything up, serves until the process is told to stop, and takes everything down again in reverse.
func run(t *terminal, p program) (err error) {
	log := logger(t.log)
	for _, unused := range p.config.Unused() {
		log.Warn().Str("path", unused).Msg("configured, and has no effect")
	}
	clock, err := actors.NewSystemClock()
	if err != nil {
		return err
	}
	snapshots, err := openStore(t.ctx, p.config.Store, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshots.Close()) }()

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gateway := actors.NewGateway(clock, snapshots, actors.NewMetrics(registry), log)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopLanes)
		defer cancel()
		err = errors.Join(err, gateway.Stop(ctx))
	}()

	hardware := sim.New(clock.Now)
	if p.shooters {
		defer sim.NewAutopilot(hardware, uint64(time.Now().UnixNano())).Close()
	}
	drivers, err := links(p.config, hardware, clock.Now)
	if err != nil {
		return err
	}

	integrators, err := neighboursOf(p.config, clock, catalog.NewMetrics(registry), log)
	if err != nil {
		return err
	}
	operations, err := listen(p.config.Operations.Address, config.TLS{},
		api.NewOperations(api.Operations{
			Ready: ready(gateway, len(p.config.Ranges)), Metrics: registry, Token: p.config.Operations.Token.Reveal(),
			Range: func(id uuid.UUID) (api.Operated, error) {
				if _, configured := integrators[id]; !configured {
					return nil, api.ErrNoRange
				}
				return gateway.Range(id)
			},
			Log: log,
		}))
	if err != nil {
		return err
	}
	defer operations.close(drainOperations)
	closing := make(chan struct{})
	requests, err := listen(p.config.HTTP.Address, p.config.HTTP.TLS, api.New(api.Settings{
		Credentials: credentials(p.config),
		Range:       func(id uuid.UUID) (v2.Range, error) { return gateway.Range(id) },
		Playground:  p.config.Environment == config.InPlayground,
		Simulate:    func(id uuid.UUID) (simulate.Range, error) { return gateway.Range(id) },
		Products: func(id uuid.UUID) (simulate.Products, error) {
			if products := integrators[id].products; products != nil {
				return products, nil
			}
			return nil, lanes.ErrProductsNotConfigured
		},
		Screens: screensOf(p.config, gateway, integrators, closing),
		Limits:  limits(p.config.HTTP.Limits),
		Metrics: registry,
		Log:     log,
	}))
	if err != nil {
		return err
	}
	requests.http.RegisterOnShutdown(func() { close(closing) }) // it waits for open streams as for any request
	defer requests.close(drainRequests)

	at := addresses{requests.url, operations.url}
	log.Info().Str("api", at.api).Str("operations", at.operations).Str("version", built()).Msg("listening")
	if err := startRanges(t.ctx, gateway, drivers, integrators, p); err != nil {
		return err
	}
	if p.listening != nil {
		p.listening(at)
	}
	p.config.ForgetTokens()
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)

	select {
	case <-t.ctx.Done():
		log.Info().Msg("stopping")
	case err = <-requests.failed:
	case err = <-operations.failed:
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	return err
}

// startRanges brings the ranges back, several at a time.
func startRanges(
	ctx context.Context, gateway *actors.Gateway, drivers link.Driver, integrators map[uuid.UUID]neighbours, p program,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, configured := range p.config.Ranges {
		group.Go(func() error {
			return gateway.StartRange(ctx, integrators[configured.ID].settings(configured, actors.Settings{
				Layout: layout(configured), Grace: configured.LinkGrace, Driver: drivers,
				HoldOnLoss: configured.OnLinkLoss == config.Hold, Retire: p.retire,
			}))
		})
	}
	err := group.Wait()
	if errors.Is(err, actors.ErrLayout) {
		return misconfigured{err}
	}
	return err
}

// ready says what is still missing.
func ready(gateway *actors.Gateway, ranges int) func() error {
	return func() error {
		if !gateway.Ready(ranges) {
			return errors.New("not ready: lanes are still being brought back, or the store takes no writes")
		}
		return nil
	}
}

func logger(to interface{ Write([]byte) (int, error) }) zerolog.Logger {
	zerolog.TimeFieldFormat = time.RFC3339Nano
	if isTerminal(to) {
		return zerolog.New(zerolog.ConsoleWriter{Out: to, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
	}
	return zerolog.New(to).With().Timestamp().Logger()
}
