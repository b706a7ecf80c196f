package main

import (
	"os"
	"time"

	"rangegate/cmd/rangegate/integrator"
	"rangegate/config"
)

type playground struct {
	Lanes      int    `default:"12" help:"The number of lanes."`
	Data       string `default:"data" placeholder:"DIR" help:"The folder of the demo range's store."`
	Address    string `default:"127.0.0.1:8080" help:"The address of the API."`
	Integrator string `default:"127.0.0.1:7070" help:"The address of the demo integrator: products API, webhook receiver, and a page that shows the events."`
}

// Run serves the demo range and the demo integrator until the process is told to stop.
func (p playground) Run(t *terminal) error {
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return err
	}
	integrator, stop, err := demoIntegrator{Address: p.Integrator, Secret: []string{config.PlaygroundSecret}}.listen(t)
	if err != nil {
		return err
	}
	defer stop()
	cfg := config.Playground(p.Lanes, p.Data, p.Address, integrator)
	if err := config.Override(&cfg, t.environ); err != nil {
		return misconfigured{err}
	}
	token := cfg.Ranges[0].Tokens[0].Reveal() // run keeps its digest only
	return run(t, program{config: cfg, shooters: true, listening: func(urls addresses) { p.welcome(t, cfg, urls, integrator, token) }})
}

// welcome prints the addresses, the credentials and a first request.
func (p playground) welcome(t *terminal, cfg config.Config, urls addresses, integrator, token string) {
	demo := cfg.Ranges[0]
	t.printf(`
rangegate playground: %s, %d simulated lanes, kept in %s

  control     %s/control/%s   (sign in as %s with PIN %s)
  lane 1      %s/lane/%s?key=%s   (each lane has its own: playground-lane-2-screen, …)
  API         %s/api/v2/pos
  reference   %s/api/v2/swagger/
  integrator  %s   (what the webhook got; accept, refuse, hang)
  operations  %s   (/livez /readyz /metrics; token %s)
  range-id    %s
  token       %s
  signatures  %s

Sell lane 1 for 30 minutes:

  curl -s %s/api/v2/pos/sessions \
    -H 'range-id: %s' \
    -H 'token: %s' \
    -H 'Content-Type: application/json' \
    -d '{"customer_name":"Jo Smith","lane_id":"%s","group_id":"%s","duration":30}'

`, demo.Name, len(demo.Lanes), p.Data, urls.api, demo.ID, config.PlaygroundStaff, config.PlaygroundPIN,
		urls.api, demo.Lanes[0].ID, demo.Lanes[0].ScreenKey.Reveal(), urls.api, urls.api, integrator, urls.operations, cfg.Operations.Token.Reveal(), demo.ID, token,
		config.PlaygroundSecret, urls.api, demo.ID, token, demo.Lanes[0].ID, demo.Groups[0].ID)
}

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
