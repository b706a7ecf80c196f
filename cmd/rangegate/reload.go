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
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/actors"
	"rangegate/api"
	"rangegate/config"
)

// reloadsWithin bounds a reload: most of it is the store's claims of new ranges, and the end of removed ones.
const reloadsWithin = time.Minute

// reloads tells whether the configuration in force is the one in the file.
type reloads struct {
	ok prometheus.Gauge
	at prometheus.Gauge
}

func newReloads(registry prometheus.Registerer) *reloads {
	r := &reloads{
		ok: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "config_last_reload_successful",
			Help: "0 after the configuration was to be reloaded and was refused: what is in the file is not in force. 1 otherwise.",
		}),
		at: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "config_last_reload_success_timestamp_seconds",
			Help: "When the configuration in force was read.",
		}),
	}
	registry.MustRegister(r.ok, r.at)
	return r
}

func (r *reloads) ended(well bool) {
	if !well {
		r.ok.Set(0)
		return
	}
	r.ok.Set(1)
	r.at.SetToCurrentTime()
}

// hangUps tells of each SIGHUP from now on. One that comes before it can be heeded ends nothing, and is heeded then.
func hangUps() <-chan os.Signal {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGHUP)
	return told
}

// onHangUp reloads whenever the process is told to by SIGHUP, until ctx ends. Nothing is forced by it.
func (s *service) onHangUp(ctx context.Context, told <-chan os.Signal) {
	go func() {
		for {
			select {
			case <-told:
				_, _ = s.reload(ctx, "SIGHUP", false) // it has said what came of it
			case <-ctx.Done():
				return
			}
		}
	}()
}

// reload reads the configuration again and has it take effect, or leaves everything as it is. who asks for it is on record
// for what force ends.
func (s *service) reload(ctx context.Context, who string, force bool) (api.Reloaded, error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, reloadsWithin)
	defer cancel()
	began := time.Now()
	d, err := s.tryReload(ctx, who, force)
	s.reloads.ended(err == nil)
	line := s.log.Info()
	if err != nil {
		line = s.log.Error().Err(err)
	}
	line.Str("by", who).Bool("force", force).Strs("keys", d.Also).Int("ranges_added", len(d.Begin)).Int("ranges_changed", len(d.Change)).
		Int("ranges_removed", len(d.End)).Dur("took", time.Since(began)).Msg("reload")
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
	before := s.now.Load()
	next, d, err := s.arrange(cfg, before)
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
	if d.None() { // open screens stay open, and who was wrong too often is remembered
		return d, nil
	}
	switch err := s.gateway.Reload(ctx, next.ranged(d, who, force)); {
	case errors.Is(err, actors.ErrUnfinished):
		s.log.Error().Err(err).Msg("reload: something has not ended in time")
	case errors.Is(err, actors.ErrInUse), errors.Is(err, actors.ErrLayout):
		return none, api.RefuseReload(api.InUse, err)
	case err != nil:
		return none, api.RefuseReload(api.ReloadFailed, err)
	}
	if slices.Contains(d.Also, "log.level") { // otherwise it stays what it was set to meanwhile
		logFrom(next.config.Log.Level)
	}
	s.open(next)
	before.end()
	return d, nil
}

// ranged is the difference as the ranges need it.
func (a *arrangement) ranged(d config.Difference, who string, force bool) actors.Reload {
	to := actors.Reload{End: d.End, Force: force, Who: who}
	for _, id := range d.Begin {
		to.Begin = append(to.Begin, a.ranges[id].settings())
	}
	for _, change := range d.Change {
		to.Change = append(to.Change, actors.Changed{Settings: a.ranges[change.ID].settings(), Renew: change.Renew})
	}
	return to
}

// reloaded is the difference as the operator is told.
func reloaded(d config.Difference) api.Reloaded {
	told := api.Reloaded{Keys: d.Also, Ranges: []api.ReloadedRange{}}
	whole := func(change string, ids []uuid.UUID) {
		for _, id := range ids {
			told.Ranges = append(told.Ranges, api.ReloadedRange{ID: id, Change: change})
		}
	}
	whole("added", d.Begin)
	for _, r := range d.Change {
		told.Ranges = append(told.Ranges, api.ReloadedRange{
			ID: r.ID, Change: "changed", Keys: r.Keys, Added: r.Added, Changed: r.Changed, Removed: r.Removed, Renewed: r.Renew,
		})
	}
	whole("removed", d.End)
	return told
}
