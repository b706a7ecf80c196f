package gateway_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
	"rangegate/lanes/store/redis/redistest"
)

// ownedGateway is a gateway whose configuration can be changed and reloaded.
type ownedGateway struct {
	*gatewaytest.Gateway
	mu     sync.Mutex
	config config.Config
}

func startOwned(t *testing.T, cfg config.Config) *ownedGateway {
	t.Helper()
	g := &ownedGateway{config: cfg}
	g.Gateway = gatewaytest.Serve(t, gateway.Settings{
		Config: copied(cfg), Version: "test", Log: zerolog.Nop(),
		Read: func() (config.Config, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			return copied(g.config), nil
		},
	})
	return g
}

// copied is what reading the file again gives: the gateway replaces tokens in its own.
func copied(c config.Config) config.Config {
	c.Ranges = slices.Clone(c.Ranges)
	for i := range c.Ranges {
		c.Ranges[i].Tokens = slices.Clone(c.Ranges[i].Tokens)
	}
	return c
}

// call sends a request with a token: of a range of the configuration, or of the operations address. It
// returns the status and the body.
func (g *ownedGateway) call(method, url, token, body string) (int, string) {
	g.T.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(g.T, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Token", token)
	g.mu.Lock()
	for _, r := range g.config.Ranges {
		if slices.ContainsFunc(r.Tokens, func(t config.RangeToken) bool { return t.Token == config.Secret(token) }) {
			request.Header.Set("Range-Id", r.ID.String())
		}
	}
	g.mu.Unlock()
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(g.T, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(g.T, err)
	return response.StatusCode, string(text)
}

func (g *ownedGateway) ready() {
	g.T.Helper()
	require.Eventually(g.T, func() bool {
		status, _ := g.call("GET", g.Operations+"/readyz", "", "")
		return status == http.StatusOK
	}, patience, 20*time.Millisecond)
}

// lanes returns the status of the answer of a range's lanes.
func (g *ownedGateway) lanes(token string) int {
	status, _ := g.call("GET", g.URL+"/api/v2/pos/lanes", token, "")
	return status
}

func (g *ownedGateway) reload(change func(*config.Config)) {
	g.T.Helper()
	g.mu.Lock()
	change(&g.config)
	g.mu.Unlock()
	status, body := g.call("POST", g.Operations+"/reload", operationsSecret, "")
	require.Equal(g.T, http.StatusOK, status, body)
}

const operationsSecret = "operations token of the ownership suite"

// Whoever decides which ranges run here: they start, follow the configuration, and come back with their
// sessions.
func TestOwnership(t *testing.T) {
	for name, where := range map[string]func(*testing.T, *config.Config){
		"single": func(*testing.T, *config.Config) {},
		"redis": func(t *testing.T, c *config.Config) {
			c.Store.SQLite, c.Store.Redis = "", config.Secret(redistest.Start(t).URL())
			c.Nodes = &config.Nodes{Name: "a", Address: "127.0.0.1:0", TTL: time.Second}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Playground(2, t.TempDir(), "127.0.0.1:0", "http://127.0.0.1:1")
			cfg.Operations.Address, cfg.Operations.Token = "127.0.0.1:0", operationsSecret
			where(t, &cfg)
			other := config.Playground(1, t.TempDir(), "127.0.0.1:0", "http://127.0.0.1:1").Ranges[0]
			const first, second = "22222222-2222-4222-8222-222222222222", "22222222-2222-4222-8222-2222222222aa"
			cfg.Ranges[0].Tokens, cfg.Ranges[0].Webhook = []config.RangeToken{{Token: first}}, nil
			other.ID, other.Tokens, other.Webhook = uuid.New(), []config.RangeToken{{Token: second}}, nil
			other.Lanes[0].ID, other.Lanes[0].ScreenKey = uuid.New(), ""

			g := startOwned(t, cfg)
			g.ready()
			require.Equal(t, http.StatusOK, g.lanes(first))
			require.Equal(t, http.StatusUnauthorized, g.lanes(second))
			status, sold := g.call("POST", g.URL+"/api/v2/pos/sessions", first, `{"customer_name":"Jo","group_id":"`+
				cfg.Ranges[0].Groups[0].ID.String()+`","lane_id":"`+cfg.Ranges[0].Lanes[0].ID.String()+
				`","duration":60}`)
			require.Equal(t, http.StatusCreated, status, sold)

			g.reload(func(c *config.Config) {
				c.Ranges = append(slices.Clone(c.Ranges), other)
				c.Ranges[0].Name = "Another name"
			})
			require.Eventually(t, func() bool { return g.lanes(second) == http.StatusOK }, patience,
				20*time.Millisecond)
			g.ready()
			g.reload(func(c *config.Config) { c.Ranges = c.Ranges[:1] })
			require.Equal(t, http.StatusUnauthorized, g.lanes(second))
			g.ready()

			g.mu.Lock()
			cfg = copied(g.config)
			g.mu.Unlock()
			g.Stop()
			again := startOwned(t, cfg)
			again.ready()
			require.Eventually(t, func() bool {
				_, sessions := again.call("GET", again.URL+"/api/v2/pos/sessions", first, "")
				return strings.Contains(sessions, `"duration":60`)
			}, patience, 20*time.Millisecond)
			again.Stop()
		})
	}
}

// Two gateways serve one range of one store by mistake: the observer of the one that has lost it says why it stands.
func TestTheObserverSaysWhyARangeDoesNotRun(t *testing.T) {
	cfg := config.Playground(1, t.TempDir(), "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address, cfg.Operations.Token = "127.0.0.1:0", operationsSecret
	cfg.Store.SQLite, cfg.Store.Redis = "", config.Secret(redistest.Start(t).URL())
	const token = "22222222-2222-4222-8222-222222222222"
	cfg.Ranges[0].Tokens, cfg.Ranges[0].Webhook = []config.RangeToken{{Token: token}}, nil
	first := startOwned(t, cfg)
	first.ready()
	table := func() string {
		_, text := first.call("GET", first.Operations+"/observer/actors?kind=range", operationsSecret, "")
		return text
	}
	require.Contains(t, table(), `"why":null`)

	second := startOwned(t, cfg)
	second.ready()
	status, refused := first.call("POST", first.URL+"/api/v2/pos/sessions", token, `{"customer_name":"Jo","group_id":"`+
		cfg.Ranges[0].Groups[0].ID.String()+`","lane_id":"`+cfg.Ranges[0].Lanes[0].ID.String()+`","duration":60}`)
	require.Equal(t, http.StatusServiceUnavailable, status, refused)
	require.Eventually(t, func() bool { return strings.Contains(table(), `"code":"not_running"`) }, patience,
		20*time.Millisecond, table)
	require.Contains(t, table(), "The range does not run: another gateway serves this range")
	second.Stop()
	first.Stop()
}
