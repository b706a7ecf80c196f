package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"

	"rangegate/config"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/sqlite"
)

// openStore opens the configured store for the gateway.
func openStore(
	ctx context.Context, c config.Store, registry prometheus.Registerer, log zerolog.Logger,
) (Stores, error) {
	showExposed(c, registry)
	if c.Redis == "" {
		signIns, err := sqlite.SignInsBeside(c.SQLite)
		if err != nil {
			return Stores{}, err
		}
		file, err := openSQLite(c.SQLite, store.Retention(c.Retention), registry, log)
		return Stores{Snapshots: file, SignIns: signIns}, err
	}
	s, err := redis.Open(ctx, c.Redis.Reveal(), store.Retention(c.Retention))
	if err != nil {
		return Stores{}, err
	}
	warn := func() {
		for _, warning := range s.Warnings(ctx) {
			log.Warn().Msg(warning)
		}
	}
	warn()
	go func() {
		for range s.ServerChanged() { // until the store is closed
			log.Info().Msg("the Redis server was started again, or another one has taken its place")
			warn()
		}
	}()
	return Stores{Snapshots: s, SignIns: s.SignIns(), Nodes: func() NodeStore { return s.Nodes() }}, nil
}

// showExposed tells the operators whether the store can be read by whoever is on its network.
func showExposed(c config.Store, registry prometheus.Registerer) {
	exposed := promauto.With(registry).NewGauge(prometheus.GaugeOpts{
		Namespace: "rangegate", Name: "store_exposed",
		Help: "1 when whoever is on the network of the Redis can read it or take its place: it is on another host, " +
			"without a password, without TLS or without a check of its certificate. Normal is 0; in production " +
			"only with store.insecure.",
	})
	if c.Exposed() {
		exposed.Set(1)
	}
}

// openSQLite opens the file. It logs and counts the problems of the file's background work.
func openSQLite(
	path string, retention store.Retention, registry prometheus.Registerer, log zerolog.Logger,
) (store.Store, error) {
	file, err := sqlite.Open(path, retention)
	if err != nil {
		return nil, err
	}
	problems := promauto.With(registry).NewCounter(prometheus.CounterOpts{
		Namespace: "rangegate", Name: "store_problems_total",
		Help: "Checkpoints of the SQLite file that failed, WALs that do not shrink, and damage that the audit in " +
			"the background found.",
	})
	go func() {
		for problem := range file.Problems() { // until the store is closed
			problems.Inc()
			log.Error().Err(problem).Msg("the SQLite file needs attention")
		}
	}()
	return file, nil
}

// checkAllConfigured returns an error when the file has a range in use that is not configured: nobody would
// serve its sessions. It is for stores of one gateway; a Redis may hold the ranges of other gateways.
func checkAllConfigured(ctx context.Context, file *sqlite.Store, c config.Config) error {
	ids, err := file.Ranges(ctx)
	if err != nil {
		return err
	}
	configured := map[uuid.UUID]bool{}
	for _, r := range c.Ranges {
		configured[r.ID] = true
	}
	var errs []error
	for _, id := range ids {
		if configured[id] {
			continue
		}
		saved, err := file.Load(ctx, store.InAnyEpoch(id))
		if err != nil {
			return fmt.Errorf("range %s: %w", id, err)
		}
		if contents := inUse(saved); contents != "" {
			errs = append(errs, fmt.Errorf("range %s is not configured, and the store has %s of it; configure it "+
				"again, and take it away while the gateway runs (POST /reload), or give all of it up with "+
				"rangegate store forget", id, contents))
		}
	}
	return errors.Join(errs...)
}

// inUse describes what a range has that needs somebody, or returns "".
func inUse(saved store.Recovered) string {
	sessions, open := 0, 0
	for _, snapshot := range saved.Lanes {
		if snapshot.Session != nil {
			sessions++
		}
		open += len(snapshot.Open)
	}
	if sessions+open+len(saved.Pending) == 0 {
		return ""
	}
	return fmt.Sprintf("sessions: %d, purchases that wait for staff: %d, events that wait for their delivery: %d",
		sessions, open, len(saved.Pending))
}
