// Package preflight checks before the start what a configuration depends on: the store, the integrators, the
// controllers, the machine.
//
// It may run beside the gateway that serves the same configuration: it writes nothing to the store, sends no
// event, and disconnects no controller. Its findings contain no secrets.
package preflight

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"rangegate/config"
	"rangegate/lanes/link/websocket"
)

// Settings is the input of the checks.
type Settings struct {
	File      string // the path of the configuration
	Config    config.Config
	Places    config.Places                               // of the values of Config; nil: not known
	Trust     func(config.LinkTLS) (websocket.TLS, error) // the certificates that a range's controllers may have
	UserAgent string                                      // for the products API
	// Collector asks the collector of traces whether it takes any; the error says in a few words why not.
	Collector func(context.Context, config.Telemetry) error
}

// Result is the outcome of a check.
type Result int

// OK: nothing to do. Warn: the gateway serves, with a disadvantage. Fail: it does not start, or a part of it
// does not work.
const (
	OK Result = iota
	Warn
	Fail
)

func (r Result) String() string { return [...]string{"ok", "warn", "FAIL"}[r] }

// Finding is one result of a check.
type Finding struct {
	Result Result
	What   string // the subject of the check
	Found  string
	Do     string // the remedy; empty with OK
}

// runTimeout bounds all checks together.
const runTimeout = 30 * time.Second

// check examines one subject. It ends soon after ctx.
type check struct {
	what string
	run  func(ctx context.Context) []Finding
}

// Run runs all checks in parallel. It takes 30 s at most.
func Run(ctx context.Context, s Settings) []Finding { return run(ctx, runTimeout, s.checks()) }

func (s Settings) checks() []check {
	return []check{
		{"configuration", s.configuration},
		{"store", s.store},
		{"http", func(ctx context.Context) []Finding {
			return s.address(ctx, "http", s.Config.HTTP.Address, s.Config.HTTP.TLS)
		}},
		{"operations", func(ctx context.Context) []Finding {
			return s.address(ctx, "operations", s.Config.Operations.Address, s.Config.Operations.TLS)
		}},
		{"controllers.address", func(ctx context.Context) []Finding {
			if c := s.Config.Controllers; c != nil {
				return s.address(ctx, "controllers", c.Address, c.TLS)
			}
			return nil
		}},
		{"nodes", s.nodes},
		{"webhook", s.webhooks},
		{"products", s.products},
		{"controllers", s.controllers},
		{"telemetry", s.collector},
		{"clock", clocks},
	}
}

// run returns the findings in the order of the checks. A check that does not end in time is a failure.
func run(ctx context.Context, timeout time.Duration, checks []check) []Finding {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// 1 s for a check to return after its ctx
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), timeout+time.Second)
	defer stop()
	found := make([][]Finding, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() {
			ended := make(chan []Finding, 1)
			go func() { ended <- c.run(limited) }()
			select {
			case found[i] = <-ended:
			case <-late.Done():
				found[i] = []Finding{{
					Fail, c.what, fmt.Sprintf("no result after %s", timeout),
					"find out what hangs, the disk or the network, and check again",
				}}
			}
		})
	}
	running.Wait()
	return slices.Concat(found...)
}

func ok(what, found string, values ...any) Finding {
	return Finding{Result: OK, What: what, Found: fmt.Sprintf(found, values...)}
}

// Number returns a number with its noun: 1 lane, 12 lanes.
func Number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Exposures lists what a configuration leaves open, and its file: in production that has tokens, keys and the
// hashes of PINs, unless all of them are in files of their own.
func Exposures(file string, c config.Config) []config.Exposure {
	all := c.Exposures()
	info, err := os.Stat(file)
	if err != nil || c.Environment != config.InProduction || info.Mode().Perm()&0o006 == 0 {
		return all
	}
	return append(all, config.Exposure{
		Path: file, Problem: "can be read or changed by every user of this machine, with the secrets that are in it",
		Remedy: "chmod o= " + file,
	})
}

// configuration finds settings without effect, or with a poor one. Its faults have been reported before.
func (s Settings) configuration(context.Context) (all []Finding) {
	lanes := 0
	for _, r := range s.Config.Ranges {
		lanes += len(r.Lanes)
	}
	all = append(all, ok("configuration", "%s: %s, %s", s.Config.Environment, Number(len(s.Config.Ranges), "range"),
		Number(lanes, "lane")))
	for _, path := range s.Config.Unused() {
		all = append(all, Finding{
			Warn, "configuration", path + " has no effect" + s.Places.Note(path),
			"remove it, or add the setting that it needs",
		})
	}
	for _, open := range Exposures(s.File, s.Config) {
		all = append(all, Finding{
			Warn, "configuration", open.Path + " " + open.Problem + s.Places.Note(open.Path),
			open.Remedy,
		})
	}
	if h := s.Config.HTTP; h.BehindProxy && len(h.TrustedProxies) == 0 {
		all = append(all, Finding{
			Warn, "configuration", "http.behind_proxy without http.trusted_proxies: all clients count as one " +
				"address, the proxy's" + s.Places.Note("http.behind_proxy"),
			"name the proxy's address in http.trusted_proxies",
		})
	}
	if c := s.Config.Controllers; c != nil && c.BehindProxy && len(c.TrustedProxies) == 0 {
		all = append(all, Finding{
			Warn, "configuration", "controllers.behind_proxy without controllers.trusted_proxies: all controllers " +
				"count as one address, the proxy's" + s.Places.Note("controllers.behind_proxy"),
			"name the proxy's address in controllers.trusted_proxies",
		})
	}
	return all
}

// Write prints a table of the findings, each followed by its remedy, and a line with the totals.
func Write(to io.Writer, all []Finding) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, f := range all {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", f.Result, f.What, f.Found) // Flush returns the error
		if f.Do != "" {
			_, _ = fmt.Fprintf(table, "\t\t-> %s\n", f.Do)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "pre-flight: %d failed, %d to look at, %d ok\n", Count(all, Fail), Count(all, Warn),
		Count(all, OK))
	return err
}

// Count returns the number of findings with that result.
func Count(all []Finding, result Result) (n int) {
	for _, f := range all {
		if f.Result == result {
			n++
		}
	}
	return n
}
