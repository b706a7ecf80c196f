package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"rangegate/cmd/rangebench/figures"
)

// all measures all experiments, or those that --only names.
type all struct {
	Only    []string  `placeholder:"NAME" help:"Measure only what has this name, or begins with it. Can be given again."`
	Lanes   int       `placeholder:"N" help:"At most so many lanes in any experiment: a smaller machine, or less time."`
	Store   storeKind `enum:"sqlite,redis," default:"" placeholder:"sqlite|redis" help:"The store of every experiment. Without it sales are measured on both, and everything else on SQLite."`
	Rounds  int       `placeholder:"N" help:"How often each is measured, instead of as often as it needs."`
	JSON    string    `type:"path" placeholder:"FILE" help:"Write every round of every figure there."`
	Plots   string    `type:"path" placeholder:"DIR" help:"Write one SVG a scaling curve there."`
	Profile string    `type:"path" placeholder:"DIR" help:"Write CPU and heap profiles of ours, never of the limits, there."`
	Strict  bool      `help:"Exit with 1 when a goal is missed."`
}

// experiment measures a group of figures.
type experiment struct {
	name    string // the beginning of its figures' names
	what    string
	measure func(ctx context.Context, t *trial) error
}

// experiments are all experiments in the order of the table.
var experiments = []experiment{
	expiryQuiet, expirySelling, expiryLarge,
	warnings,
	ending,
	salesOnSQLite, salesOnRedis,
	getOne, getList,
	ceasefireSmall, ceasefireLarge,
	relaySmall,
	redial,
	deliveries, redelivering, retrying, eventStreams, openScreens, beingObserved,
	memory,
	startUp,
	growth, manyRanges,
	day,
}

// named reports whether only is the beginning of the experiment's name, or of one of its figures'.
func (e experiment) named(only string) bool {
	return strings.HasPrefix(e.name, only) || strings.HasPrefix(only, e.name+" ")
}

var errMissed = errors.New("not every goal is met")

// Run measures and prints the table, after an interrupt too.
func (a all) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	chosen, err := a.chosen()
	if err != nil {
		return err
	}
	report := figures.Report{Begun: time.Now()}
	var failed []error
	for i, e := range chosen {
		t := &trial{
			all: a, experiment: e, report: &report,
			place: fmt.Sprintf("%d/%d", i+1, len(chosen)), begun: report.Begun, progress: os.Stderr,
		}
		t.say("%s", e.what)
		err := e.measure(ctx, t)
		switch left := (*notMeasured)(nil); {
		case ctx.Err() != nil:
			failed = append(failed, ctx.Err())
		case errors.As(err, &left):
			t.say("left out: %s", left.why)
			report.Left = append(report.Left, figures.Left{Name: e.name, Why: left.why})
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", e.name, err))
			report.Left = append(report.Left, figures.Left{Name: e.name, Why: err.Error()})
		}
		if ctx.Err() != nil {
			break
		}
	}
	report.Took = time.Since(report.Begun)
	if err := a.publish(report); err != nil {
		return err
	}
	for _, f := range report.Figures {
		if a.Strict && f.Missed() {
			failed = append(failed, errMissed)
			break
		}
	}
	return errors.Join(failed...)
}

func (a all) chosen() ([]experiment, error) {
	if len(a.Only) == 0 {
		return experiments, nil
	}
	var chosen []experiment
	for _, only := range a.Only {
		found := false
		for _, e := range experiments {
			if e.named(only) {
				chosen, found = append(chosen, e), true
			}
		}
		if !found {
			return nil, fmt.Errorf("nothing is called %q: there are %s", only, names(experiments))
		}
	}
	return chosen, nil
}

func names(experiments []experiment) string {
	var list []string
	for _, e := range experiments {
		list = append(list, e.name)
	}
	return strings.Join(list, ", ")
}

// publish prints the table, and writes the files that were asked for.
func (a all) publish(report figures.Report) error {
	if err := figures.Table(os.Stdout, report.Figures); err != nil {
		return err
	}
	for _, left := range report.Left {
		fmt.Printf("not measured: %s: %s\n", left.Name, left.Why)
	}
	fmt.Printf("took %s\n", report.Took.Round(time.Second))
	if a.JSON != "" {
		if err := write(a.JSON, report.JSON); err != nil {
			return err
		}
	}
	for _, c := range report.Curves {
		if a.Plots == "" {
			break
		}
		if err := write(filepath.Join(a.Plots, c.Name+".svg"), c.SVG); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, text func(to io.Writer) error) error {
	file, err := create(path)
	if err != nil {
		return err
	}
	return errors.Join(text(file), file.Close())
}

// create makes a file and its directory.
func create(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.Create(path)
}
