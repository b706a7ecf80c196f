// Package secrets plants a secret wherever the configuration and the wire have one, makes everything go wrong that
// has to do with it, and looks for it in whatever the gateway says.
package secrets

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// The secrets, each found nowhere else.
const (
	token      = "5ec2e700-0000-4000-8000-000000000001"
	second     = "5ec2e700-0000-4000-8000-000000000002"
	guessed    = "5ec2e700-0000-4000-8000-00000000dead" // a token of somewhere else, typed in here
	operator   = "planted-operator"
	whsec      = "whsec_cGxhbnRlZC13ZWJob29rLXNlY3JldA=="
	inQuery    = "planted-in-the-query"
	linkKey    = "planted-link-key-of-lane-2"
	screenKey  = "planted-screen-key"
	pin        = "$argon2id$v=19$m=65536,t=1,p=2$cGxhbnRlZC1zYWx0$cGxhbnRlZC1waW4tb2Ytc2Ft"
	redisPass  = "planted-redis-password"
	customer   = "Planted Customer"
	idempotent = "planted-receipt"
)

var planted = []string{
	token, second, guessed, operator, strings.TrimPrefix(whsec, "whsec_"), inQuery, linkKey, screenKey, pin, redisPass,
	customer, "planted-webhook-secret", "planted-",
}

// requireNone finds none of the secrets, in no spelling that a program would print by mistake.
func requireNone(t *testing.T, where, text string, except ...string) {
	t.Helper()
	for _, secret := range planted {
		allowed := false
		for _, b := range except {
			allowed = allowed || strings.Contains(b, secret)
		}
		for _, spelling := range []string{secret, strings.ToUpper(secret), fmt.Sprintf("%x", secret)} {
			if !allowed && strings.Contains(text, spelling) {
				at := strings.Index(text, spelling)
				require.Fail(t, "a secret is shown", "%s shows %s: …%s…", where, secret,
					text[max(0, at-200):min(len(text), at+len(spelling)+100)])
			}
		}
	}
}

// configuration has every secret that there may be.
func configuration(redis, webhook, products, lane string) string {
	return support.Config{Operator: operator, Store: support.Redis(redis), Ranges: []support.Range{{
		Tokens: []string{token, second},
		Settings: []string{
			"purchasing: true",
			fmt.Sprintf("webhook: {url: %q, secrets: [%s], timeout: 1s}", webhook, whsec),
			fmt.Sprintf("products: {url: %q, timeout: 1s}", products),
			fmt.Sprintf("staff: [{name: sam, pin_hash: %q}]", pin),
		},
		Lanes: []string{
			support.Lane(1, "screen_key: "+screenKey),
			support.Lane(2, fmt.Sprintf("link: {driver: websocket, address: %q, key: %s}", lane, linkKey)),
		},
	}}}.String()
}

// echo is a neighbour that answers with everything it was sent, and refuses.
func echo() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_ = r.Write(w)
	}))
}

func TestNoSecretIsShown(t *testing.T) {
	redis := redistest.Start(t, "--requirepass", redisPass)
	integrator, controller := echo(), echo()
	defer controller.Close()
	store := strings.Replace(redis.URL(), "redis://", "redis://:"+redisPass+"@", 1)
	text := configuration(store, integrator.URL+"/hook?key="+inQuery, integrator.URL,
		strings.Replace(controller.URL, "http:", "ws:", 1))
	p := support.Serve(t, text)
	var answers strings.Builder

	// Lane 2 has no controller worth the name, so readiness is not waited for; lane 1 is there.
	at := support.Client{API: p.API, Range: support.RangeID, Token: token}
	ask := func(c support.Client, method, path, body string, headers ...string) support.Answer {
		answer, err := c.Do(method, path, body, headers...)
		require.NoError(t, err)
		fmt.Fprintln(&answers, answer.Header, answer.Body)
		return answer
	}
	order := strings.Replace(support.Order(1, 30), "Jo Smith", customer, 1)
	support.Eventually(t, "lane 1 is sold", func() bool {
		return ask(at, "POST", support.V2+"/sessions", order, "Idempotency-Key", idempotent).Status == 201
	})
	ask(at, "GET", support.V2+"/sessions", "")
	ask(at, "POST", support.V2+"/simulate/purchaseRequest", `{"items":[{"id":"a","qty":1}]}`)
	ask(at, "GET", support.V2+"/simulate/products", "")
	for _, wrong := range []support.Client{
		{API: p.API, Range: support.RangeID, Token: guessed},
		{API: p.API, Range: guessed, Token: token},
		{API: p.API, Range: token, Token: support.RangeID},
		{API: p.API},
	} {
		require.Equal(t, 401, ask(wrong, "GET", support.V2+"/sessions", "").Status)
	}
	ask(at, "POST", support.V2+"/sessions", `{"customer_name":12,"lane_id":"`+guessed+`"}`)
	ask(at, "GET", support.V2+"/sessions/nothing", "")
	ask(at, "GET", support.V2+"/events", "")

	operations := support.Client{API: p.Operations}
	bearer := []string{"Authorization", "Bearer " + operator}
	require.Equal(t, 200, ask(operations, "GET", "/ranges/"+support.RangeID+"/holds", "", bearer...).Status)
	require.Equal(t, 401, ask(operations, "GET", "/ranges/"+support.RangeID+"/holds", "", "Authorization", "Bearer "+guessed).Status)
	ask(operations, "GET", "/ranges/"+support.RangeID+"/purchases", "", bearer...)
	ask(operations, "GET", "/readyz", "")
	for _, page := range []string{"/actors", "/actors?range=" + support.RangeID, "/actors/" + support.LaneID(1), "/log-level"} {
		require.Equal(t, 200, ask(operations, "GET", page, "", bearer...).Status, page)
		require.Equal(t, 401, ask(operations, "GET", page, "", "Authorization", "Bearer "+guessed).Status, page)
	}
	require.Equal(t, 200, ask(operations, "PUT", "/log-level", `{"level":"debug"}`, bearer...).Status)
	for _, page := range []string{"/metrics", "/ranges/" + support.RangeID + "/holds"} {
		ask(operations, "GET", page, "")
	}

	integrator.Close() // cannot be reached any more
	ask(at, "POST", support.V2+"/simulate/help", "")
	ask(at, "GET", support.V2+"/simulate/products", "")
	p.WaitLogged(`"link down"`)
	redis.Kill()
	ask(at, "GET", support.V2+"/history", "")
	p.WaitLogged("the store is away")
	ask(operations, "GET", "/metrics", "")
	p.Terminate()

	requireNone(t, "the log", p.Log())
	requireNone(t, "an answer", answers.String(), guessed) // which was sent as the id of a lane, and is told of as such
}

// A configuration is shown, or refused, or cannot be used: what it keeps secret is not among what is said of it.
func TestNoSecretOfAConfigurationIsShown(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	nobody := closed.Addr().String()
	good := configuration("redis://:"+redisPass+"@"+nobody+"/0", "http://"+nobody+"/hook", "http://"+nobody, "ws://"+nobody)
	for name, story := range map[string]struct {
		command string
		damage  [2]string
	}{
		"shown":                      {"check --offline", [2]string{}},
		"the pre-flight fails":       {"check", [2]string{}},
		"the store is not there":     {"serve", [2]string{}},
		"a token too long":           {"check", [2]string{token, token + "0"}},
		"a secret that is no base64": {"check", [2]string{whsec, "whsec_" + linkKey}},
		"a store that is no url":     {"check", [2]string{"redis://:", "redis ://:"}},
		"a password with a slash":    {"check", [2]string{redisPass, redisPass + "/%zz"}},
		"a key that is a list":       {"check", [2]string{"key: " + linkKey, "key: [" + linkKey + "]"}},
		"a user in a url":            {"check", [2]string{"url: \"http://", "url: \"http://sam:" + linkKey + "@"}},
		"no yaml":                    {"check", [2]string{"operations: {", "operations: {{"}},
		"a key of nothing":           {"check", [2]string{"screen_key: ", "screenkey: "}},
		"the same token twice":       {"check", [2]string{second, token}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rangegate.yaml")
			text := good
			if story.damage[0] != "" {
				require.Contains(t, text, story.damage[0])
				text = strings.ReplaceAll(text, story.damage[0], story.damage[1])
			}
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			var out bytes.Buffer
			cmd := support.Command(append(strings.Fields(story.command), "--config", path)...)
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			require.Equal(t, name == "shown", err == nil, out.String())
			require.NotEmpty(t, out.String())
			requireNone(t, name, out.String())
		})
	}
}
