package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"rangegate/cmd/rangebench/figures"
)

// apart measures one thing in a process of its own, which nothing that was measured before has left anything in: no dead
// goroutines that are used again, no holes in the heap.
type apart struct {
	What    string    `help:"One of the halves."`
	Lanes   int       `help:"How many."`
	Ranges  int       `default:"1" help:"In how many ranges."`
	Store   storeKind `enum:"sqlite,redis" default:"sqlite" help:"The store."`
	Profile string    `type:"path" help:"Where profiles go, the beginning of their names included."`
}

// halves are what can be measured apart.
var halves = map[string]func(context.Context, apart) ([]float64, error){
	"simulated lanes":  simulatedLanes,
	"bare actors":      bareActors,
	"connected lanes":  connectedLanes,
	"bare connections": bareConnections,
	"load":             loaded,
}

// Run measures, and answers the one question.
func (a apart) Run() error {
	measure, known := halves[a.What]
	if !known {
		return fmt.Errorf("nothing is called %q", a.What)
	}
	return answerAll(func(struct{}) ([]float64, error) {
		return profiled(a.Profile, func() ([]float64, error) { return measure(context.Background(), a) })
	})
}

// inProcess has a process measure it.
func (a apart) inProcess(ctx context.Context) (had []float64, err error) {
	args := []string{"apart", "--what", a.What, "--lanes", fmt.Sprint(a.Lanes), "--ranges", fmt.Sprint(max(1, a.Ranges)), "--store", string(a.Store)}
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

// compareApart is compare, each half in a process of its own.
func (t *trial) compareApart(ctx context.Context, rounds int, ours, limit apart, into ...figures.Figure) error {
	measure := func(half apart, profile bool) func(context.Context) ([]float64, error) {
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

// profile is the beginning of the names of an experiment's profiles.
func (t *trial) profile(more string) string {
	return filepath.Join(t.Profile, strings.ReplaceAll(t.experiment.name, "/", "-")+"-"+more)
}
