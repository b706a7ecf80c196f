package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"rangegate/actors"
	"rangegate/api"
	"rangegate/config"
)

// reloadTimeout bounds a reload. New ranges are claimed in the store, and removed ones have to end.
const reloadTimeout = time.Minute

// Reload reads the configuration again and puts it in force. After an error, an api.RefusedReload, nothing
// has changed but what api.PartlyEnded names. who is recorded with the sessions and purchases that force
// ends.
func (g *Gateway) Reload(ctx context.Context, who string, force bool) (api.Reloaded, error) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	started := time.Now()
	d, err := g.tryReload(ctx, who, force)
	g.reloads.finish(err == nil)
	line := g.log.Info()
	if err != nil {
		line = g.log.Error().Err(err)
	}
	line.Str("by", who).Bool("force", force).Strs("keys", d.Keys).Int("ranges_added", len(d.Added)).
		Int("ranges_changed", len(d.Changed)).Int("ranges_removed", len(d.Removed)).
		Dur("duration_ms", time.Since(started)).Msg("reload")
	if err != nil {
		return api.Reloaded{}, err
	}
	g.actors.ResumeDeliveries()
	return g.reloaded(d), nil
}

func (g *Gateway) tryReload(ctx context.Context, who string, force bool) (config.Difference, error) {
	var none config.Difference
	if g.read == nil {
		return none, api.RefuseReload(api.NoConfiguration,
			errors.New("this gateway was not started with a configuration file"))
	}
	cfg, err := g.read()
	if err != nil {
		return none, api.RefuseReload(api.BadConfiguration, err)
	}
	before := g.current.Load()
	next, d, err := g.build(cfg, before)
	if err != nil {
		return none, api.RefuseReload(api.BadConfiguration, err)
	}
	if len(d.Restart) > 0 {
		return none, api.RefuseReload(api.NeedsRestart,
			fmt.Errorf("different, and only a restart can change it: %s; nothing was changed",
				strings.Join(d.Restart, ", ")))
	}
	useCertificates, err := g.certificates.read(g.places())
	if err != nil {
		return none, api.RefuseReload(api.BadConfiguration, err)
	}
	if d.Empty() { // activate would close open screens and forget failed sign-ins
		useCertificates()
		return d, nil
	}
	err = g.ownership.reload(ctx, next.rangeChanges(d, who, force), func(changes actors.Reload) error {
		switch err := g.actors.Reload(ctx, changes); {
		case errors.Is(err, actors.ErrUnfinished):
			g.log.Error().Err(err).Msg("reload: something has not ended in time")
		case errors.Is(err, actors.ErrEnded):
			return api.RefuseReload(api.PartlyEnded, err)
		case errors.Is(err, actors.ErrInUse):
			return api.RefuseReload(api.InUse, err)
		case err != nil:
			return api.RefuseReload(api.ReloadFailed, err)
		}
		if slices.Contains(d.Keys, "log.level") { // otherwise the level set at run time stays
			setLogLevel(next.config.Log.Level)
		}
		useCertificates()
		g.activate(next)
		before.cancel()
		return nil
	})
	if err != nil {
		return none, err
	}
	return d, nil
}

// rangeChanges returns the part of the difference that concerns the ranges' actors.
func (g *gatewayRuntime) rangeChanges(d config.Difference, who string, force bool) actors.Reload {
	changes := actors.Reload{End: d.Removed, Force: force, Who: who}
	for _, id := range d.Added {
		changes.Begin = append(changes.Begin, g.ranges[id].settings)
	}
	for _, change := range d.Changed {
		changes.Change = append(changes.Change, actors.Changed{
			Settings: g.ranges[change.ID].settings,
			Renew:    change.Reconnect,
		})
	}
	return changes
}

// reloaded returns the difference as the answer to the operator.
func (g *Gateway) reloaded(d config.Difference) api.Reloaded {
	answer := api.Reloaded{Keys: d.Keys, Ranges: []api.ReloadedRange{}}
	add := func(change string, ids []uuid.UUID) {
		for _, id := range ids {
			answer.Ranges = append(answer.Ranges, api.ReloadedRange{ID: id, Change: change})
		}
	}
	add("added", d.Added)
	for _, r := range d.Changed {
		answer.Ranges = append(answer.Ranges, api.ReloadedRange{
			ID: r.ID, Change: "changed", Keys: r.Keys, Added: r.Added, Changed: r.Changed, Removed: r.Removed,
			Renewed: r.Reconnect,
		})
	}
	add("removed", d.Removed)
	for i, r := range answer.Ranges {
		if refusal := g.actors.Refusal(r.ID); refusal != nil {
			answer.Ranges[i].Refused = refusal.Error()
		}
	}
	return answer
}

// reloadMetrics tell whether the configuration in force is the one in the file.
type reloadMetrics struct {
	successful, succeededAt prometheus.Gauge

	failed atomic.Bool // the newest
}

func newReloadMetrics(registry prometheus.Registerer) *reloadMetrics {
	factory := promauto.With(registry)
	return &reloadMetrics{
		successful: factory.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "config_last_reload_successful",
			Help: "0 after the configuration was to be reloaded and was refused: what is in the file is not in " +
				"force. 1 otherwise.",
		}),
		succeededAt: factory.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "config_last_reload_success_timestamp_seconds",
			Help: "When the configuration in force was read.",
		}),
	}
}

// finish notes the outcome of a reload.
func (m *reloadMetrics) finish(ok bool) {
	m.failed.Store(!ok)
	if !ok {
		m.successful.Set(0)
		return
	}
	m.successful.Set(1)
	m.succeededAt.SetToCurrentTime()
}
