package main

import (
	"fmt"

	"rangegate/config"
)

type check struct {
	Config string `required:"" placeholder:"FILE" help:"The configuration to check."`
}

// Run lists every fault at once, or prints the configuration as it will be used, defaults and environment included.
func (c check) Run(t *terminal) error {
	cfg, err := config.Load(c.Config, t.environ)
	if err != nil {
		return misconfigured{err}
	}
	shown, err := config.YAML(cfg)
	if err != nil {
		return err
	}
	for _, unused := range cfg.Unused() {
		fmt.Fprintf(t.log, "%s: has no effect\n", unused)
	}
	_, err = t.out.Write(shown)
	return err
}
