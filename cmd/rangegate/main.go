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
	"syscall"

	"github.com/alecthomas/kong"

	"rangegate/cmd/rangegate/pace"

	"rangegate/lanes/store"
)

// commands is the command line. Others script against it.
type commands struct {
	Playground      playground      `cmd:"" help:"A demo range with simulated lanes, everything on one machine with nothing installed."`
	Serve           serve           `cmd:"" help:"Serve the ranges of a configuration."`
	Integrator      demoIntegrator  `cmd:"" help:"A demo integrator: products API, webhook receiver, and a page that shows what arrived."`
	Lanesim         laneSim         `cmd:"" help:"Answer as the controllers of every websocket lane of a configuration, with faults on request."`
	Check           check           `cmd:"" help:"Say everything that is wrong with a configuration, or print it as it will be used, and look whether what it counts on is there."`
	CheckController checkController `cmd:"" help:"Play the lane link with a controller, and say which of its rules hold."`
	HashPIN         hashPIN         `cmd:"" name:"hash-pin" help:"Read a PIN from the terminal, or from standard input, and print its argon2id hash for the configuration (pin_hash)."`
	Store           storeCommands   `cmd:"" help:"Check what a configuration's store has, or carry it to another store."`
	Version         version         `cmd:"" help:"Print the version."`
}

// Exit codes: 1 what went wrong at run time, 2 what the operator has to put right.
const (
	exitFailed        = 1
	exitMisconfigured = 2
)

// misconfigured is an error that the operator has to put right.
type misconfigured struct{ error }

func (m misconfigured) Unwrap() error { return m.error }

// terminal is what a command may read and write.
type terminal struct {
	ctx     context.Context // ends when the process is told to stop
	environ []string
	out     io.Writer
	log     io.Writer
}

func main() {
	pace.Set()
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
		fmt.Fprintln(os.Stderr, "rangegate: a newer version has served from this store, and there is no way back: install that one, "+
			"or serve from a backup or an export that is older than it")
	}
	if errors.As(err, &misconfigured{}) {
		os.Exit(exitMisconfigured)
	}
	os.Exit(exitFailed)
}

type version struct{}

// Run prints the version that the build gave the binary.
func (version) Run(t *terminal) error {
	_, err := fmt.Fprintln(t.out, "rangegate", built())
	return err
}

// packaged is the version of the package that the binary is part of, which deploy/package has the linker write here.
var packaged string

func built() string {
	if packaged != "" {
		return packaged
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
