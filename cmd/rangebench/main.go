// Command rangebench measures how close rangegate comes to what the machine and the libraries allow: every
// figure has its limit beside it, measured by turns in the same run with the same setup. docs/performance.md
// describes the figures.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

type commands struct {
	All      all      `cmd:"" default:"withargs" help:"Measure everything, or what --only names, and print the table (the default)."`
	Hanging  hanging  `cmd:"" help:"One webhook that hangs among many ranges: how much later do the others get their events?"`
	Fairness fairness `cmd:"" help:"One range floods, or strangers do: how much longer do the reads of another range take?"`
	Screens  screens  `cmd:"" help:"What do open control screens cost, and when do they know of a ceasefire?"`
	Storm    storm    `cmd:"" help:"Ten times the load, repeats, lost links and a webhook's backlog at once: does the gateway come back?"`
	Cluster  cluster  `cmd:"" help:"Several nodes: the way through another node, a link through one, a take-over."`

	// Hidden: processes for clients, controllers and receivers.
	Controllers controllers `cmd:"" hidden:""`
	Dialling    dialling    `cmd:"" hidden:""`
	Viewers     viewers     `cmd:"" hidden:""`
	Callers     callers     `cmd:"" hidden:""`
	Receiver    receiver    `cmd:"" hidden:""`
	Observers   observers   `cmd:"" hidden:""`
	Apart       isolated    `cmd:"" hidden:""`

	FairGateway  fairGateway  `cmd:"" hidden:""`
	Flood        flood        `cmd:"" hidden:""`
	EventReaders eventReaders `cmd:"" hidden:""`

	StormGateway     stormGateway     `cmd:"" hidden:""`
	StormClients     stormClients     `cmd:"" hidden:""`
	StormControllers stormControllers `cmd:"" hidden:""`
	StormReceiver    stormReceiver    `cmd:"" hidden:""`
}

func main() {
	setProcessors()
	var line commands
	command := kong.Parse(&line, kong.Name("rangebench"), kong.UsageOnError(),
		kong.Description("Measures what rangegate promises of its speed, each figure beside its limit."))
	if err := command.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "rangebench:", err)
		os.Exit(1)
	}
}

// setProcessors sets the processors and the collector as the gateway does at its start (cmd/rangegate/run.go).
func setProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// bound fails when a ratio is above its limit.
func bound(name string, ratio, most float64) error {
	verdict, err := "within", error(nil)
	if ratio > most {
		verdict, err = "BEYOND", fmt.Errorf("%s: %.2f is more than %.2f", name, ratio, most)
	}
	fmt.Printf("  %-40s %6.2f  %s %.2f\n", name, ratio, verdict, most)
	return err
}
