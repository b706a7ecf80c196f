package main

import (
	"fmt"
	"time"

	"rangegate/cmd/rangegate/integrator"
)

type demoIntegrator struct {
	Address string   `default:"127.0.0.1:7070" help:"Where the products API, the webhook receiver and the page answer."`
	Secret  []string `placeholder:"WHSEC" help:"Secret that the webhook is signed with, whsec_ and base64. May be given again. Without one signatures are not checked."`
}

// Run hosts what an integrator hosts, until the process is told to stop.
func (d demoIntegrator) Run(t *terminal) error {
	at, stop, err := d.listen(t)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(t.out, "\ndemo integrator\n\n  page       %s\n  products   %s/products?type=time\n  webhook    %s/webhook\n\n", at, at, at)
	<-t.ctx.Done()
	return nil
}

// listen begins to answer, at a URL, until stop.
func (d demoIntegrator) listen(t *terminal) (at string, stop func(), err error) {
	log := logger(t.log).With().Str("of", "integrator").Logger()
	hosted, err := integrator.New(integrator.Settings{Secrets: d.Secret, Now: time.Now, Log: log})
	if err != nil {
		return "", nil, misconfigured{err}
	}
	server, err := listen(d.Address, nil, hosted, log)
	if err != nil {
		return "", nil, err
	}
	return server.url, func() {
		hosted.Close()
		server.close(drainOperations)
	}, nil
}
