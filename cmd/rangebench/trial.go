package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"rangegate/cmd/rangebench/figures"
)

// trial is a running experiment.
type trial struct {
	all
	experiment experiment
	report     *figures.Report
	place      string // among the experiments
	begun      time.Time
	progress   io.Writer
}

// notMeasured is the reason why an experiment cannot run here.
type notMeasured struct{ why string }

func (n *notMeasured) Error() string { return n.why }

// say prints the progress.
func (t *trial) say(format string, about ...any) {
	_, _ = fmt.Fprintf(t.progress, "%5s  %s  %s: %s\n", time.Since(t.begun).Round(time.Second), t.place,
		t.experiment.name, fmt.Sprintf(format, about...))
}

// lanes returns the number of lanes for an experiment that wants that many.
func (t *trial) lanes(wanted int) int { return min(wanted, cmp.Or(t.Lanes, wanted)) }

// rounds returns the number of rounds.
func (t *trial) rounds(wanted int) int { return cmp.Or(t.Rounds, wanted) }

// store returns the store of an experiment.
func (t *trial) store() storeKind { return cmp.Or(t.Store, sqliteStore) }

// compare measures ours and the limit by turns and notes the figures. Both return values in the order of the
// figures. Each turn begins after a garbage collection.
func (t *trial) compare(
	ctx context.Context, rounds int, ours, limit func(context.Context) ([]float64, error), into ...figures.Figure,
) error {
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

// note adds figures to the report.
func (t *trial) note(all ...figures.Figure) {
	for _, f := range all {
		f.Name = strings.TrimSpace(t.experiment.name + " " + f.Name)
		t.report.Figures = append(t.report.Figures, f)
	}
}

// ours measures the gateway, with a profile if one was asked for.
func (t *trial) ours(
	ctx context.Context, round int, measure func(context.Context) ([]float64, error),
) ([]float64, error) {
	runtime.GC()
	path := ""
	if t.Profile != "" {
		path = t.profile(fmt.Sprint(round + 1))
	}
	return profiled(path, func() ([]float64, error) { return measure(ctx) })
}

// milliseconds returns a duration in milliseconds.
func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// profiled measures, and writes the profiles path.cpu.pprof and path.allocs.pprof. An empty path makes none.
func profiled(path string, measure func() ([]float64, error)) (had []float64, err error) {
	if path == "" {
		return measure()
	}
	file, err := create(path + ".cpu.pprof")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	had, err = measure()
	pprof.StopCPUProfile()
	if err != nil {
		return nil, err
	}
	return had, write(path+".allocs.pprof", func(to io.Writer) error { return pprof.Lookup("allocs").WriteTo(to, 0) })
}
