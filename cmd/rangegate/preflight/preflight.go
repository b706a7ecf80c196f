// Package preflight looks whether a gateway will find what its configuration counts on, before it is started: the store,
// the integrators, the controllers, the machine. One check stands in a file.
//
// It may be run beside the gateway that serves the same configuration: nothing is written to the store, no event is sent,
// no controller loses its gateway. Nothing that a finding says is secret.
package preflight

import (
	"context"
	"fmt"
	"time"

	"rangegate/config"
	"rangegate/lanes/link/websocket"
)

// Settings are what is looked at.
type Settings struct {
	Config    config.Config
	Trust     func(config.LinkTLS) (websocket.TLS, error) // whom a range trusts to be its controllers
	UserAgent string                                      // for the products API
}

// Result is how a check came out.
type Result int

// OK: nothing to do. Warn: the gateway serves, and something is not as it should be. Fail: it would not start, or
// something would not work.
const (
	OK Result = iota
	Warn
	Fail
)

func (r Result) String() string { return [...]string{"ok", "warn", "FAIL"}[r] }

// Finding is what a check has to say of one thing.
type Finding struct {
	Result Result
	What   string // was looked at
	Found  string
	Do     string // what to do about it; empty with OK
}

// patience is how long all of it may take.
const patience = 30 * time.Second

// check looks at one thing, and ends soon after ctx.
type check struct {
	what string
	look func(ctx context.Context) []Finding
}

// Run makes all checks side by side. It takes 30 s at most.
func Run(ctx context.Context, s Settings) []Finding { return run(ctx, patience, s.checks()) }

func (s Settings) checks() []check {
	return []check{
		{"configuration", s.configuration},
		{"store", s.store},
		{"http", s.http},
		{"operations", s.operations},
		{"webhook", s.webhooks},
		{"products", s.products},
		{"controllers", s.controllers},
		{"clock", clocks},
		{"open files", s.openFiles},
	}
}

// run gives what the checks found in their order. One that is not through in time has found nothing out.
func run(ctx context.Context, within time.Duration, checks []check) (all []Finding) {
	inTime, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	found := make([]chan []Finding, len(checks))
	for i, c := range checks {
		found[i] = make(chan []Finding, 1)
		go func() { found[i] <- c.look(inTime) }()
	}
	const afterwards = time.Second // for what is being given up
	late := time.After(within + afterwards)
	for i, c := range checks {
		select {
		case f := <-found[i]:
			all = append(all, f...)
			continue
		default:
		}
		select {
		case f := <-found[i]:
			all = append(all, f...)
		case <-late:
			late = closed
			all = append(all, Finding{
				Fail, c.what, fmt.Sprintf("not known after %s", within), "look what hangs: the disk, or the network; then check again",
			})
		}
	}
	return all
}

// closed is an alarm that has gone off for good.
var closed = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

func ok(what, found string, values ...any) Finding {
	return Finding{Result: OK, What: what, Found: fmt.Sprintf(found, values...)}
}

// count is a number of things in words: 1 lane, 12 lanes.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
