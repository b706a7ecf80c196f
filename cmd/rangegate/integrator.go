package main

import (
	"time"

	"rangegate/cmd/rangegate/integrator"
)

type demoIntegrator struct {
	Address string   `default:"127.0.0.1:7070" help:"The address of the products API, the webhook receiver and the page."`
	Secret  []string `placeholder:"WHSEC" help:"A secret of the webhook's signatures, whsec_ and base64. Repeatable. Without one signatures are not checked."`
}

// Run serves until the process is told to stop.
func (d demoIntegrator) Run(t *terminal) error {
	url, stop, err := d.listen(t)
	if err != nil {
		return err
	}
	defer stop()
	t.printf("\ndemo integrator\n\n  page       %s\n  products   %s/products?type=time\n  webhook    %s/webhook\n\n", url, url, url)
	<-t.ctx.Done()
	return nil
}

// listen serves in the background until stop.
func (d demoIntegrator) listen(t *terminal) (url string, stop func(), err error) {
	log := logger(t.log).With().Str("of", "integrator").Logger()
	demo, err := integrator.New(integrator.Settings{Secrets: d.Secret, Now: time.Now, Log: log})
	if err != nil {
		return "", nil, misconfigured{err}
	}
	server, err := listen(d.Address, nil, demo, log)
	if err != nil {
		return "", nil, err
	}
	return server.url, func() {
		demo.Close()
		server.close(drainOperations)
	}, nil
}
