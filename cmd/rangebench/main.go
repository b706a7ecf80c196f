// Command rangebench measures what rangegate promises of its speed. Every measurement is a ratio to something measured
// in the same run, on the same machine; a ratio beyond its bound is exit code 1.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

type commands struct {
	Ceasefire   ceasefire   `cmd:"" help:"How long until a hold has reached every controller?"`
	Idle        idle        `cmd:"" help:"How much memory does a connected lane take?"`
	Controllers controllers `cmd:"" hidden:""`
	Hanging     hanging     `cmd:"" help:"One webhook that hangs among many ranges: how much later do the others get their events?"`
	Screens     screens     `cmd:"" help:"What do open control screens cost, and when do they know of a ceasefire?"`
	Viewers     viewers     `cmd:"" hidden:""`
}

func main() {
	var line commands
	command := kong.Parse(&line, kong.Name("rangebench"), kong.UsageOnError(),
		kong.Description("Measures what rangegate promises of its speed."))
	if err := command.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "rangebench:", err)
		os.Exit(1)
	}
}

// bound is what a ratio may be at most.
func bound(name string, ratio, most float64) error {
	verdict, err := "within", error(nil)
	if ratio > most {
		verdict, err = "BEYOND", fmt.Errorf("%s: %.2f is more than %.2f", name, ratio, most)
	}
	fmt.Printf("  %-40s %6.2f  %s %.2f\n", name, ratio, verdict, most)
	return err
}
