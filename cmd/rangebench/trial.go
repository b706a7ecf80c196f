package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"rangegate/cmd/rangebench/figures"
)

// trial is an experiment under way.
type trial struct {
	all
	experiment experiment
	report     *figures.Report
	place      string // among the experiments
	begun      time.Time
	progress   io.Writer
}

// notMeasured is why an experiment cannot be carried out here.
type notMeasured struct{ why string }

func (n *notMeasured) Error() string { return n.why }

// say shows how far the run is.
func (t *trial) say(format string, about ...any) {
	fmt.Fprintf(t.progress, "%5s  %s  %s: %s\n", time.Since(t.begun).Round(time.Second), t.place, t.experiment.name, fmt.Sprintf(format, about...))
}

// lanes is how many lanes an experiment has that wants so many.
func (t *trial) lanes(wanted int) int { return min(wanted, cmp.Or(t.Lanes, wanted)) }

// rounds is how often it is measured.
func (t *trial) rounds(wanted int) int { return cmp.Or(t.Rounds, wanted) }

// store is the store of an experiment.
func (t *trial) store() storeKind { return cmp.Or(t.Store, sqliteStore) }

// compare measures ours and the limit in turns, and notes the figures, whose values both answer in the order of the
// figures. Every turn begins on a heap that the one before it has left nothing on.
func (t *trial) compare(ctx context.Context, rounds int, ours, limit func(context.Context) ([]float64, error), into ...figures.Figure) error {
	for round := range t.rounds(rounds) {
		t.say("round %d of %d, ours", round+1, t.rounds(rounds))
		had, err := t.ours(ctx, round, ours)
		if err != nil {
			return err
		}
		t.say("round %d of %d, the limit", round+1, t.rounds(rounds))
		runtime.GC()
		floor, err := limit(ctx)
		if err != nil {
			return fmt.Errorf("the limit: %w", err)
		}
		for i := range into {
			into[i].Ours, into[i].Floor = append(into[i].Ours, had[i]), append(into[i].Floor, floor[i])
		}
	}
	t.note(into...)
	return nil
}

// note takes figures into the report.
func (t *trial) note(all ...figures.Figure) {
	for _, f := range all {
		f.Name = strings.TrimSpace(t.experiment.name + " " + f.Name)
		t.report.Figures = append(t.report.Figures, f)
	}
}

// ours measures the gateway, with a profile if one was asked for.
func (t *trial) ours(ctx context.Context, round int, measure func(context.Context) ([]float64, error)) ([]float64, error) {
	runtime.GC()
	path := ""
	if t.Profile != "" {
		path = t.profile(fmt.Sprint(round + 1))
	}
	return profiled(path, func() ([]float64, error) { return measure(ctx) })
}

// milliseconds is a duration as figures have it.
func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
