// Command rangegate is the point-of-sale gateway for shooting ranges.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/alecthomas/kong"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/lanes/store"
)

// commands is the command line. Operators' scripts depend on it.
type commands struct {
	Playground      playground      `cmd:"" help:"A demo range with simulated lanes, everything on one machine with nothing installed."`
	Serve           serve           `cmd:"" help:"Serve the ranges of a configuration."`
	Integrator      demoIntegrator  `cmd:"" help:"A demo integrator: products API, webhook receiver, and a page that shows the events."`
	Lanesim         laneSim         `cmd:"" help:"Simulate the controllers of every websocket lane of a configuration, with faults on request."`
	Check           check           `cmd:"" help:"List the faults of a configuration, or print it with its defaults, and check what it depends on."`
	CheckController checkController `cmd:"" help:"Test the rules of the lane link with a controller."`
	HashPIN         hashPIN         `cmd:"" name:"hash-pin" help:"Read a PIN from the terminal, or from standard input, and print its argon2id hash for the configuration (pin_hash)."`
	NewKey          newKey          `cmd:"" help:"Print a new key for a lane's link (link.key): 32 random bytes as base64url."`
	Verify          verify          `cmd:"" help:"Compute the sessions of a store again from its event log, also beside a running gateway, and name what comes out differently."`
	Store           storeCommands   `cmd:"" help:"Check, export, import and back up a configuration's store, or remove a range from it."`
	Nodes           nodesCommands   `cmd:"" help:"List the nodes that share a Redis, drain one, or forget a dead one."`
	Top             top             `cmd:"" help:"Show in a terminal, each second, how a gateway's actors are doing and what holds them up."`
	Bundle          bundle          `cmd:"" help:"Pack what support has to know about a gateway into one file, without secrets and names."`
	Staff           staffCommands   `cmd:"" help:"Let one of the staff sign in again whom wrong PINs keep out."`
	Version         version         `cmd:"" help:"Print the version."`
}

// Exit codes: 1 for failures at run time, 2 for what the operator has to correct.
const (
	exitFailed        = 1
	exitMisconfigured = 2
)

// terminal is what a command reads and writes.
type terminal struct {
	ctx     context.Context // ends with SIGTERM or SIGINT
	environ []string
	out     io.Writer
	log     io.Writer
}

// printf writes to standard output. It ignores a closed pipe.
func (t *terminal) printf(format string, values ...any) { _, _ = fmt.Fprintf(t.out, format, values...) }

// logf writes a line for people to standard error.
func (t *terminal) logf(format string, values ...any) { _, _ = fmt.Fprintf(t.log, format, values...) }

func main() {
	setRuntime()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	var line commands
	parser := kong.Must(&line, kong.Name("rangegate"), kong.UsageOnError(),
		kong.Description("A point-of-sale gateway for shooting ranges."),
		kong.Exit(func(code int) {
			if code != 0 {
				code = exitMisconfigured
			}
			os.Exit(code)
		}))
	command, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)
	err = command.Run(&terminal{ctx: ctx, environ: os.Environ(), out: os.Stdout, log: os.Stderr})
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "rangegate:", err)
	if errors.Is(err, store.ErrNewer) {
		fmt.Fprintln(os.Stderr, "rangegate: a newer version has served from this store, and there is no way back: "+
			"install that one, or serve from a backup or an export that is older than it")
	}
	if errors.As(err, &gateway.Misconfigured{}) {
		os.Exit(exitMisconfigured)
	}
	os.Exit(exitFailed)
}

type version struct{}

// Run prints the version.
func (version) Run(t *terminal) error {
	_, err := fmt.Fprintln(t.out, "rangegate", buildVersion())
	return err
}

// packaged is the version of the package that the binary is part of. deploy/package has the linker set it.
var packaged string

// buildVersion returns the version of the package, or else of the module.
var buildVersion = sync.OnceValue(func() string {
	if packaged != "" {
		return packaged
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
})
