package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/api"
	"rangegate/config"
)

// reloadTimeout bounds a reload. New ranges are claimed in the store, and removed ones have to end.
const reloadTimeout = time.Minute

// notifyReload returns the SIGHUP signals from now on. One that arrives during the start waits until it is over.
func notifyReload() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals
}

// reloadOnSignal reloads on every signal, without force, until ctx ends.
func (s *service) reloadOnSignal(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
			_, _ = s.reload(ctx, "SIGHUP", false) // reload logs its error
		case <-ctx.Done():
			return
		}
	}
}

// reload reads the configuration again and puts it in force. After an error, made by api.RefuseReload, nothing has changed.
// who is recorded with the sessions and purchases that force ends.
func (s *service) reload(ctx context.Context, who string, force bool) (api.Reloaded, error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	started := time.Now()
	d, err := s.tryReload(ctx, who, force)
	s.reloads.finish(err == nil)
	line := s.log.Info()
	if err != nil {
		line = s.log.Error().Err(err)
	}
	line.Str("by", who).Bool("force", force).Strs("keys", d.Keys).Int("ranges_added", len(d.Added)).
		Int("ranges_changed", len(d.Changed)).Int("ranges_removed", len(d.Removed)).Dur("took", time.Since(started)).Msg("reload")
	if err != nil {
		return api.Reloaded{}, err
	}
	return reloaded(d), nil
}

func (s *service) tryReload(ctx context.Context, who string, force bool) (config.Difference, error) {
	var none config.Difference
	if s.read == nil {
		return none, api.RefuseReload(api.NoConfiguration, errors.New("this gateway was not started with a configuration file"))
	}
	cfg, err := s.read()
	if err != nil {
		return none, api.RefuseReload(api.BadConfiguration, err)
	}
	before := s.current.Load()
	next, d, err := s.build(cfg, before)
	if err != nil {
		return none, api.RefuseReload(api.BadConfiguration, err)
	}
	if len(d.Restart) > 0 {
		return none, api.RefuseReload(api.NeedsRestart,
			fmt.Errorf("different, and only a restart can change it: %s; nothing was changed", strings.Join(d.Restart, ", ")))
	}
	if err := s.certificates.reload(); err != nil {
		return none, api.RefuseReload(api.BadConfiguration, err)
	}
	if d.Empty() { // activate would close open screens and forget failed sign-ins
		return d, nil
	}
	switch err := s.gateway.Reload(ctx, next.rangeChanges(d, who, force)); {
	case errors.Is(err, actors.ErrUnfinished):
		s.log.Error().Err(err).Msg("reload: something has not ended in time")
	case errors.Is(err, actors.ErrInUse), errors.Is(err, actors.ErrLayout):
		return none, api.RefuseReload(api.InUse, err)
	case err != nil:
		return none, api.RefuseReload(api.ReloadFailed, err)
	}
	if slices.Contains(d.Keys, "log.level") { // otherwise the level set at run time stays
		setLogLevel(next.config.Log.Level)
	}
	s.activate(next)
	before.cancel()
	return d, nil
}

// rangeChanges returns the part of the difference that concerns the ranges' actors.
func (g *gatewayRuntime) rangeChanges(d config.Difference, who string, force bool) actors.Reload {
	changes := actors.Reload{End: d.Removed, Force: force, Who: who}
	for _, id := range d.Added {
		changes.Begin = append(changes.Begin, g.ranges[id].settings)
	}
	for _, change := range d.Changed {
		changes.Change = append(changes.Change, actors.Changed{Settings: g.ranges[change.ID].settings, Renew: change.Reconnect})
	}
	return changes
}

// reloaded returns the difference as the answer to the operator.
func reloaded(d config.Difference) api.Reloaded {
	answer := api.Reloaded{Keys: d.Keys, Ranges: []api.ReloadedRange{}}
	add := func(change string, ids []uuid.UUID) {
		for _, id := range ids {
			answer.Ranges = append(answer.Ranges, api.ReloadedRange{ID: id, Change: change})
		}
	}
	add("added", d.Added)
	for _, r := range d.Changed {
		answer.Ranges = append(answer.Ranges, api.ReloadedRange{
			ID: r.ID, Change: "changed", Keys: r.Keys, Added: r.Added, Changed: r.Changed, Removed: r.Removed, Renewed: r.Reconnect,
		})
	}
	add("removed", d.Removed)
	return answer
}
