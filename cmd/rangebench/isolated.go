package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"rangegate/cmd/rangebench/figures"
)

// isolated measures in a new process, so that earlier measurements leave no dead goroutines and no holes in the heap.
type isolated struct {
	What    string    `help:"One of the measurements."`
	Lanes   int       `help:"How many."`
	Ranges  int       `default:"1" help:"In how many ranges."`
	Store   storeKind `enum:"sqlite,redis" default:"sqlite" help:"The store."`
	Profile string    `type:"path" help:"The path prefix of profiles."`
}

// isolatedMeasurements are the measurements by name.
var isolatedMeasurements = map[string]func(context.Context, isolated) ([]float64, error){
	"simulated lanes":  simulatedLanes,
	"bare actors":      bareActors,
	"connected lanes":  connectedLanes,
	"bare connections": bareConnections,
	"load":             loaded,

	"event streams":      eventStreamsOfRange,
	"bare event streams": bareEventStreams,
}

// Run measures, and prints the result.
func (a isolated) Run() error {
	measure, found := isolatedMeasurements[a.What]
	if !found {
		return fmt.Errorf("nothing is called %q", a.What)
	}
	return answerAll(func(struct{}) ([]float64, error) {
		return profiled(a.Profile, func() ([]float64, error) { return measure(context.Background(), a) })
	})
}

// inProcess measures in a new process.
func (a isolated) inProcess(ctx context.Context) (had []float64, err error) {
	args := []string{
		"apart", "--what", a.What, "--lanes", fmt.Sprint(a.Lanes), "--ranges",
		fmt.Sprint(max(1, a.Ranges)), "--store", string(a.Store),
	}
	if a.Profile != "" {
		args = append(args, "--profile", a.Profile)
	}
	p, err := newPeer(args...)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.process.Process.Kill() })
	defer stop()
	err = p.question(struct{}{}, &had)
	return had, errors.Join(ctx.Err(), err, p.close())
}

// compareApart is compare with each measurement in a new process.
func (t *trial) compareApart(ctx context.Context, rounds int, ours, limit isolated, into ...figures.Figure) error {
	measure := func(half isolated, profile bool) func(context.Context) ([]float64, error) {
		half.Store = t.store()
		return func(ctx context.Context) ([]float64, error) {
			if profile && t.Profile != "" {
				half.Profile = t.profile("apart-" + strings.ReplaceAll(half.What, " ", "-"))
			}
			return half.inProcess(ctx)
		}
	}
	return t.compare(ctx, rounds, measure(ours, true), measure(limit, false), into...)
}

// profile returns the path prefix of an experiment's profiles.
func (t *trial) profile(more string) string {
	return filepath.Join(t.Profile, strings.ReplaceAll(t.experiment.name, "/", "-")+"-"+more)
}
