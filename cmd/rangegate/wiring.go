package main

import (
	"context"
	"io"
	"os"

	"github.com/google/uuid"
	"github.com/mattn/go-isatty"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/api"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/sqlite"
)

// openStore opens the one store that is configured.
func openStore(ctx context.Context, c config.Store, registry prometheus.Registerer, log zerolog.Logger) (store.Store, error) {
	retention := store.Retention{
		Events: c.Retention.Events, History: c.Retention.History, Names: c.Retention.Names, Cap: c.Retention.Cap,
	}
	if c.Redis == "" {
		return openFile(c.SQLite, retention, registry, log)
	}
	s, err := redis.Open(ctx, c.Redis.Reveal(), retention)
	if err != nil {
		return nil, err
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
	return s, nil
}

// openFile logs and counts what the file's own work, which no request waits for, meets.
func openFile(path string, retention store.Retention, registry prometheus.Registerer, log zerolog.Logger) (store.Store, error) {
	file, err := sqlite.Open(path, retention)
	if err != nil {
		return nil, err
	}
	problems := prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "rangegate", Name: "store_problems_total",
		Help: "Checkpoints of the SQLite file that failed, WALs that do not shrink, and damage that the audit in the background found.",
	})
	registry.MustRegister(problems)
	go func() {
		for problem := range file.Problems() { // until the store is closed
			problems.Inc()
			log.Error().Err(problem).Msg("the SQLite file needs attention")
		}
	}()
	return file, nil
}

// layout is the range as its lanes know it.
func layout(r config.Range) lanes.Layout {
	l := lanes.Layout{Range: r.ID, Name: r.Name, Purchasing: r.Sells()}
	for _, bay := range r.Bays {
		l.Bays = append(l.Bays, lanes.Bay{ID: bay.ID, Name: bay.Name})
	}
	for _, group := range r.Groups {
		l.Groups = append(l.Groups, lanes.Group{ID: group.ID, Name: group.Name})
	}
	for _, lane := range r.Lanes {
		l.Lanes = append(l.Lanes, lanes.Place{ID: lane.ID, Bay: lane.Bay, Name: lane.Name, Accessible: lane.Accessible})
	}
	return l
}

func rangesOf(c config.Config) []uuid.UUID {
	ids := make([]uuid.UUID, len(c.Ranges))
	for i, r := range c.Ranges {
		ids[i] = r.ID
	}
	return ids
}

func limits(l config.Limits) api.Limits {
	return api.Limits{PerSecond: int(*l.Requests), Burst: int(*l.Burst), FailuresPerMinute: int(*l.Failures)}
}

// proxies are those that are trusted. Behind others every client has the proxy's address.
func proxies(h config.HTTP, log zerolog.Logger) api.Proxies {
	if h.BehindProxy && len(h.TrustedProxies) == 0 {
		log.Warn().Msg("http.behind_proxy without http.trusted_proxies: all clients count as one address, the proxy's, and " +
			"are limited together when one guesses credentials; cookies are not kept to TLS")
	}
	return h.Proxies()
}

// credentials keeps of each token only its digest.
func credentials(c config.Config) api.Credentials {
	all := api.Credentials{}
	for _, r := range c.Ranges {
		for _, token := range r.Tokens {
			if digest, ok := config.TokenDigest(token); ok {
				all[r.ID] = append(all[r.ID], digest)
			}
		}
	}
	return all
}

func isTerminal(w io.Writer) bool {
	file, is := w.(*os.File)
	return is && isatty.IsTerminal(file.Fd())
}
