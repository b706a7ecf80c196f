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
	"regexp"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
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
	night      = "planted-night-shift"
	signIns    = "5ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2" // signs the cookies of staff
	whsec      = "whsec_cGxhbnRlZC13ZWJob29rLXNlY3JldA=="
	inQuery    = "planted-in-the-query"
	linkKey    = "planted-link-key-of-lane-2"
	screenKey  = "planted-screen-key"
	boardKey   = "planted-key-of-the-wall"
	pin        = "$argon2id$v=19$m=65536,t=2,p=2$cGxhbnRlZC1zYWx0$cGxhbnRlZC1waW4tb2Ytc2Ft"
	redisPass  = "planted-redis-password"
	customer   = "Planted Customer"
	idempotent = "planted-receipt"
)

var planted = []string{
	token, second, guessed, operator, night, signIns, strings.TrimPrefix(whsec, "whsec_"), inQuery, linkKey, screenKey,
	boardKey, pin, redisPass,
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
	text := support.Config{Operator: operator, Store: support.Redis(redis), Ranges: []support.Range{{
		Tokens: []string{token, second},
		Settings: []string{
			"purchasing: true",
			fmt.Sprintf("webhook: {url: %q, secrets: [%s], timeout: 1s}", webhook, whsec),
			fmt.Sprintf("products: {url: %q, timeout: 1s}", products),
			fmt.Sprintf("staff: [{name: sam, pin_hash: %q}]", pin),
			"board: {key: " + boardKey + ", names: true}",
		},
		Lanes: []string{
			support.Lane(1, "screen_key: "+screenKey),
			support.Lane(2, fmt.Sprintf("link: {driver: websocket, address: %q, key: %s}", lane, linkKey)),
		},
	}}}.String()
	return strings.Replace(text, "operations: {",
		fmt.Sprintf("operations: {tokens: [{name: night shift, token: %s}], ", night), 1)
}

// settings are the secrets of a configuration: the key before each, and the text behind it.
var settings = regexp.MustCompile(
	`\b(tokens|secrets|token|pin_hash|screen_key|key|redis): (\[[^\]{]*\]|"[^"]*"|[^\[,}\s][^,}\s]*)`)

// inFiles is the same configuration with every secret in a file of its own.
func inFiles(t *testing.T, configuration string) string {
	t.Helper()
	dir := t.TempDir()
	n := 0
	moved := settings.ReplaceAllStringFunc(configuration, func(found string) string {
		n++
		parts := settings.FindStringSubmatch(found)
		content := strings.ReplaceAll(strings.Trim(parts[2], `"[]`), ", ", "\n") + "\n"
		path := filepath.Join(dir, fmt.Sprint("file-", n))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return fmt.Sprintf("%s_file: %q", parts[1], path)
	})
	require.Equal(t, 9, n, "every secret has moved")
	for _, secret := range []string{
		token, second, operator, night, whsec, linkKey, screenKey, boardKey,
		pin, redisPass,
	} {
		require.NotContains(t, moved, secret)
	}
	return moved
}

// echo is a neighbour that answers with everything it was sent, and refuses.
func echo() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_ = r.Write(w)
	}))
}

func TestNoSecretIsShown(t *testing.T) {
	requireNothingShown(t, func(configuration string) string { return configuration })
}

func TestNoSecretOfAFileIsShown(t *testing.T) {
	requireNothingShown(t, func(configuration string) string { return inFiles(t, configuration) })
}

// requireNothingShown serves a configuration with every secret, in the form that written gives it, and looks through
// everything that the gateway says.
func requireNothingShown(t *testing.T, written func(configuration string) string) {
	redis := redistest.Start(t, "--requirepass", redisPass)
	integrator, controller := echo(), echo()
	defer controller.Close()
	store := strings.Replace(redis.URL(), "redis://", "redis://:"+redisPass+"@", 1)
	text := written(configuration(store, integrator.URL+"/hook?key="+inQuery, integrator.URL,
		strings.Replace(controller.URL, "http:", "ws:", 1)))
	options, err := goredis.ParseURL(store)
	require.NoError(t, err)
	admin := goredis.NewClient(options)
	defer func() { _ = admin.Close() }()
	require.NoError(t, admin.HSet(t.Context(), "rangegate:{sign-ins}", "secret", signIns).Err())
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
	require.Equal(t, 401, ask(operations, "GET", "/ranges/"+support.RangeID+"/holds", "", "Authorization",
		"Bearer "+guessed).Status)
	ask(operations, "GET", "/ranges/"+support.RangeID+"/purchases", "", bearer...)
	ask(operations, "GET", "/readyz", "")
	ask(operations, "GET", "/ranges/"+support.RangeID+"/holds", "", "Authorization", "Bearer "+night)
	ask(at, "POST", "/control/sign-in", `{"range_id":"`+support.RangeID+`","name":"sam","pin":"planted-guess"}`)
	ask(at, "POST", "/control/sign-in", `{"range_id":"`+support.RangeID+
		`","name":"planted-pin-as-name","pin":"planted-guess"}`)
	ask(at, "GET", "/control/api/health", "", "Cookie", "rangegate_control="+signIns+"; rangegate_device="+signIns)
	require.Equal(t, 401, ask(at, "GET", "/board/"+support.RangeID+"?key="+boardKey, "").Status,
		"the page that it redirects to, without the cookie")
	ask(at, "GET", "/board/"+support.RangeID+"?key="+guessed, "")
	for _, page := range []string{
		"/actors", "/actors?range=" + support.RangeID, "/actors/" + support.LaneID(1),
		"/log-level",
	} {
		require.Equal(t, 200, ask(operations, "GET", page, "", bearer...).Status, page)
		require.Equal(t, 401, ask(operations, "GET", page, "", "Authorization", "Bearer "+guessed).Status, page)
	}
	for _, profile := range []string{
		"/debug/pprof/heap?debug=1", "/debug/pprof/allocs?debug=1",
		"/debug/pprof/goroutine?debug=2",
	} {
		require.Equal(t, 200, ask(operations, "GET", profile, "", bearer...).Status, profile)
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
	good := configuration("redis://:"+redisPass+"@"+nobody+"/0", "http://"+nobody+"/hook", "http://"+nobody,
		"ws://"+nobody)
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
		"a secret for a path":        {"check", [2]string{"key: " + linkKey, "key_file: " + linkKey}},
		"the operator's token twice": {"check", [2]string{night, operator}},
		"a new secret and no store":  {"store new-secret", [2]string{}},
		"a path below a secret":      {"check", [2]string{"key: " + linkKey, "key_file: /" + linkKey}},
	} {
		text := good
		if story.damage[0] != "" {
			require.Contains(t, text, story.damage[0])
			text = strings.ReplaceAll(text, story.damage[0], story.damage[1])
		}
		t.Run(name, func(t *testing.T) { requireNothingPrinted(t, story.command, text, name == "shown") })
	}
	for name, story := range map[string]struct {
		command string
		damage  [2]string
	}{
		"files, shown":                     {"check --offline", [2]string{}},
		"files, the pre-flight fails":      {"check", [2]string{}},
		"files, the store is not there":    {"serve", [2]string{}},
		"files, a secret that is no token": {"check", [2]string{token, linkKey}},
		"files, a key that is no base64":   {"check", [2]string{whsec, "whsec_" + linkKey}},
		"files, a hash that is none":       {"check", [2]string{pin, linkKey}},
		"files, a screen key to guess":     {"check", [2]string{screenKey, "planted-"}},
		"files, a store that is no url":    {"check", [2]string{"redis://:", "redis ://:"}},
		"files, the same token twice":      {"check", [2]string{second, token}},
		"files, a secret of two lines":     {"check", [2]string{linkKey, linkKey + ", " + linkKey}},
	} {
		t.Run(name, func(t *testing.T) {
			text := good
			if story.damage[0] != "" {
				require.Contains(t, text, story.damage[0])
				text = strings.ReplaceAll(text, story.damage[0], story.damage[1])
			}
			if strings.Contains(name, "two lines") {
				text = strings.Replace(text, "key: "+linkKey+", "+linkKey, "key: ["+linkKey+", "+linkKey+"]", 1)
			}
			requireNothingPrinted(t, story.command, inFiles(t, text), name == "files, shown")
		})
	}
}

// requireNothingPrinted runs a command on the configuration, and looks for the secrets in what it prints.
func requireNothingPrinted(t *testing.T, command, configuration string, succeeds bool) {
	t.Helper()
	var out bytes.Buffer
	cmd := support.Command(append(strings.Fields(command), "--config",
		support.WriteFile(t, "rangegate.yaml", configuration))...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	require.Equal(t, succeeds, err == nil, out.String())
	require.NotEmpty(t, out.String())
	requireNone(t, command, out.String())
}

// What signs the cookies of staff is shown neither where it is made nor where it is damaged.
func TestTheSecretOfTheSignInsIsNotShown(t *testing.T) {
	config := support.NewConfig(t, support.Lanes(1, 1))
	path := config.Write(t)
	run := func(command string) string {
		var out bytes.Buffer
		cmd := support.Command(append(strings.Fields(command), "--config", path)...)
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // some of them fail
		return out.String()
	}
	said := run("store new-secret")
	file := strings.TrimSuffix(strings.TrimPrefix(config.Store, `sqlite: "`), `"`) + ".secret"
	secret, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, said, strings.TrimSpace(string(secret)))
	for _, damaged := range []string{signIns, signIns[:60], signIns + "5ec2", strings.Replace(signIns, "5", "z", 1)} {
		require.NoError(t, os.WriteFile(file, []byte(damaged), 0o600))
		requireNone(t, "a command", run("store check")+run("check")+run("store new-secret"))
		require.NoError(t, os.WriteFile(file, []byte(damaged), 0o600))
		if damaged != signIns {
			requireNone(t, "a start that fails", run("serve"))
		}
	}
}
