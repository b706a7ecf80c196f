package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/linkconformance"
	"rangegate/cmd/rangegate/preflight"
	"rangegate/config"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
)

type check struct {
	Config  string `required:"" placeholder:"FILE" help:"The configuration to check."`
	Offline bool   `help:"Check the configuration only, without the machine and the network."`
}

// Help is shown below the flags.
func (check) Help() string {
	return `Prints the configuration with its defaults, and on standard error a table of the pre-flight: store, integrators, controllers, addresses, certificates, clocks and file limits, each problem with its remedy. It takes half a minute at most, changes nothing, and may run beside the gateway that serves the same configuration. Run it as the gateway's user, on its machine.

Exit codes: 0 all is well, or worth a look; 1 something failed; 2 the configuration is wrong.`
}

// Run returns every fault of the configuration, or prints the effective configuration and the table of the pre-flight.
func (c check) Run(t *terminal) error {
	cfg, err := config.Load(c.Config, t.environ)
	if err != nil {
		return misconfigured{err}
	}
	shown, err := config.YAML(cfg)
	if err != nil {
		return err
	}
	if _, err := t.out.Write(shown); err != nil {
		return err
	}
	if c.Offline {
		for _, unused := range cfg.Unused() {
			t.logf("%s: has no effect\n", unused)
		}
		for _, open := range cfg.Exposures() {
			t.logf("%s %s; %s\n", open.Path, open.Problem, open.Remedy)
		}
		return nil
	}
	found := preflight.Run(t.ctx, preflight.Settings{Config: cfg, Trust: trustOf, UserAgent: userAgent()})
	if err := preflight.Write(t.log, found); err != nil {
		return err
	}
	if failed := preflight.Count(found, preflight.Fail); failed > 0 {
		return fmt.Errorf("the pre-flight failed in %d of %d findings", failed, len(found))
	}
	return nil
}

type checkController struct {
	Address string        `arg:"" placeholder:"ws://…" help:"The URL of the controller."`
	Lane    uuid.UUID     `required:"" help:"The id of the controller's lane."`
	Range   uuid.UUID     `default:"11111111-1111-4111-8111-111111111111" help:"The id of the range."`
	Key     string        `help:"The lane's key, if it has one."`
	Reports time.Duration `placeholder:"60s" help:"Also test reports, and wait so long for a person to do something at the lane."`
}

// Run tests the rules of the lane link against the controller, and prints which of them hold.
func (c checkController) Run(t *terminal) error {
	clock, err := clock.NewSystem()
	if err != nil {
		return err
	}
	driver := websocket.New(websocket.Settings{
		Lanes: map[uuid.UUID]websocket.Target{c.Lane: {Address: c.Address, Key: c.Key}}, Now: clock.Now,
	})
	rules := linkconformance.Check{
		Driver: driver, Lane: link.Lane{Range: c.Range, ID: c.Lane, Epoch: uint64(time.Now().UnixMilli())}, Now: clock.Now,
		Out: t.out, Reports: c.Reports,
	}
	if broken := rules.Run(t.ctx); broken > 0 {
		return fmt.Errorf("%d rules of the lane link are broken", broken)
	}
	return nil
}
