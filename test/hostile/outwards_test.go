package hostile

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/test/support"
)

// operator is an operations token that cannot be guessed.
const operator = "planted-operator-6b1f0c9e5d7a48239b0e4f6a7c8d1e2f"

// inProduction is a configuration for real ranges, whose lane links are out of anybody's reach.
func inProduction(c support.Config) string {
	c.Operator = operator
	c.Ranges = slices.Clone(c.Ranges)
	for i := range c.Ranges {
		c.Ranges[i].Settings = append(slices.Clone(c.Ranges[i].Settings), "insecure_links: true")
	}
	return strings.Replace(c.String(), "environment: playground", "environment: production", 1)
}

// check runs rangegate check on the configuration, and returns its exit code and everything that it printed.
func check(t *testing.T, configuration string, flags ...string) (code int, output string) {
	t.Helper()
	cmd := support.Command(append([]string{"check", "--config", support.WriteFile(t, "rangegate.yaml", configuration)},
		flags...)...)
	out, _ := cmd.CombinedOutput()
	require.NotNil(t, cmd.ProcessState)
	return cmd.ProcessState.ExitCode(), string(out)
}

// neighbour is a server on the operator's own network. It counts what it is asked.
type neighbour struct {
	*httptest.Server
	asked atomic.Int32
}

// newNeighbour serves with the certificate, or without TLS when there is none.
func newNeighbour(t *testing.T, certificate *tls.Certificate, handler http.HandlerFunc) *neighbour {
	n := &neighbour{}
	n.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.asked.Add(1)
		handler(w, r)
	}))
	if certificate == nil {
		n.Start()
	} else {
		n.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		n.StartTLS()
	}
	t.Cleanup(n.Close)
	return n
}

var jpeg = []byte("\xff\xd8\xff\xe0 a picture")

func sendPicture(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(jpeg) }

// The integrator's products API is on the range's own network, and has been taken over: the addresses that it names are
// those of its neighbours there. The gateway asks it, and none of them.
func TestAPrivateProductsAPICannotSendTheGatewayToItsNeighbours(t *testing.T) {
	pair := certificatetest.Issue(t, 1<<40)
	authority, _ := pair.Files(t)
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	victim, plain := newNeighbour(t, &certificate, sendPicture), newNeighbour(t, nil, sendPicture)
	pictures := map[string]string{
		"own": "/own.jpg", "own-redirected": "/to?/own.jpg",
		"neighbour": victim.URL + "/1.jpg", "neighbour-redirected": "/to?" + victim.URL + "/2.jpg",
		"by-name": strings.Replace(victim.URL, "127.0.0.1", "localhost", 1) + "/3.jpg", "plain-redirected": "/to?" +
			plain.URL + "/4.jpg",
		"metadata": "https://169.254.169.254/latest.jpg", "plain": plain.URL + "/5.jpg",
	}
	var redirected atomic.Bool
	var shop *neighbour
	shop = newNeighbour(t, &certificate, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/products" && redirected.Load():
			http.Redirect(w, r, victim.URL+"/products", http.StatusTemporaryRedirect)
		case r.URL.Path == "/products" && r.URL.Query().Get("type") == "ammo":
			var offered []string
			for id, picture := range pictures {
				if strings.HasPrefix(picture, "/") {
					picture = shop.URL + picture
				}
				offered = append(offered,
					fmt.Sprintf(`{"id":%q,"display_name":%[1]q,"price":1,"max_qty":2,"picture_url":%q}`, id, picture))
			}
			_, _ = io.WriteString(w, "["+strings.Join(offered, ",")+"]")
		case r.URL.Path == "/products":
			_, _ = io.WriteString(w, "[]")
		case r.URL.Path == "/to":
			http.Redirect(w, r, r.URL.RawQuery, http.StatusFound)
		default:
			sendPicture(w, r)
		}
	})
	controllers := support.NewControllers(t, 1, 1)
	const screenKey = "oV3xK9dQ7mT2bR5wZ1cY8n"
	file := support.WriteFile(t, "rangegate.yaml",
		inProduction(support.NewConfig(t, []string{controllers.Lane(1, "screen_key: "+screenKey)},
			"purchasing: true",
			fmt.Sprintf("webhook: {url: %q, secrets: [%s], allow_private: true}", shop.URL+"/webhook", support.Secret),
			fmt.Sprintf("products: {url: %q, allow_private: true}", shop.URL))))
	cmd := support.ServeCommand(file)
	cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+authority)
	gateway := support.Start(t, cmd).Ready()
	gateway.POS().Sell(1, 30, `,"enable_purchasing":true`)

	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	screen := support.Client{API: gateway.API, HTTP: &http.Client{Jar: jar}}
	send := func(path string) support.Answer {
		t.Helper()
		answer, err := screen.Do("GET", path, "")
		require.NoError(t, err)
		return answer
	}
	lane := "/lane/" + support.LaneID(1)
	require.Equal(t, 200, send(lane+"?key="+screenKey).Status)
	var offered struct {
		Ammo []struct{ ID, Picture string }
	}
	answer := send(lane + "/products")
	require.Equal(t, 200, answer.Status, answer.Body)
	answer.Decode(t, &offered)
	require.Len(t, offered.Ammo, len(pictures))
	for _, product := range offered.Ammo {
		if product.ID == "plain" {
			require.Empty(t, product.Picture)
			continue
		}
		shown := send(product.Picture)
		if strings.HasPrefix(product.ID, "own") {
			require.Equal(t, string(jpeg), shown.Body, product.ID)
		} else {
			require.Equal(t, 404, shown.Status, product.ID)
		}
	}

	redirected.Store(true)
	require.Equal(t, "products_failed", send(lane+"/products").Code())
	require.Zero(t, victim.asked.Load(), "a neighbour was asked")
	require.Zero(t, plain.asked.Load(), "a neighbour was asked without TLS")
}

// Without allow_private not even the products API itself is asked.
func TestAProductsAPIOnThePrivateNetworkIsNotAskedUnlessAllowed(t *testing.T) {
	shop := newNeighbour(t, nil, sendPicture)
	secured := strings.Replace(shop.URL, "http:", "https:", 1)
	controllers := support.NewControllers(t, 1, 1)
	code, output := check(t, inProduction(support.NewConfig(t, controllers.Lanes(),
		fmt.Sprintf("products: {url: %q}", secured))))
	require.Equal(t, 1, code, output)
	require.Contains(t, output, "could not be reached: the address is not allowed")
	require.Zero(t, shop.asked.Load())
}

// What check says of a configuration of production, without a look at machine and network, and with one.
func TestCheckRefusesWhatGivesSecretsAway(t *testing.T) {
	controllers := support.NewControllers(t, 1, 1)
	const password, short = "planted-password", "whsec_cGxhbnRlZC1zaG9ydA=="
	for name, c := range map[string]struct {
		store, setting, fault string
	}{
		"a password in the clear": {
			support.Redis("redis://:" + password + "@192.0.2.1:6379/0"), "purchasing: false",
			"store.redis: would send its password to another host in the clear",
		},
		"a key that is short": {
			support.NewSQLite(t), "webhook: {url: 'https://pos.example', secrets: [" + short + "]}",
			"ranges[0].webhook.secrets[0]: wants at least 24 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			configuration := support.NewConfig(t, controllers.Lanes(), c.setting)
			configuration.Store = c.store
			for _, flags := range [][]string{{"--offline"}, nil} {
				code, output := check(t, inProduction(configuration), flags...)
				require.Equal(t, 2, code, output)
				require.Contains(t, output, c.fault)
				require.NotContains(t, output, password)
				require.NotContains(t, output, short)
			}
		})
	}
}

func TestCheckNamesWhatIsOpen(t *testing.T) {
	controllers := support.NewControllers(t, 1, 1)
	configuration := support.NewConfig(t, controllers.Lanes(), "webhook: {url: 'https://pos.example'}")
	configuration.API = "10.255.255.254:8080"
	code, output := check(t, inProduction(configuration), "--offline")
	require.Equal(t, 2, code, output)
	require.Contains(t, output, "http.address: can be reached by other machines")
	configuration.HTTP = "insecure_http: true"
	code, output = check(t, inProduction(configuration), "--offline")
	require.Zero(t, code, output)
	require.Contains(t, output, "http.address is plain HTTP: whoever is on that network reads tokens, PINs "+
		"and customers' names")
	require.Contains(t, output, "ranges[0].webhook.secrets has no secret: the integrator cannot tell the gateway's "+
		"events from forged ones")
	_, output = check(t, inProduction(configuration))
	require.Regexp(t, `(?m)^warn +configuration +http\.address is plain HTTP`, output)
	require.Regexp(t, `(?m)^warn +configuration +ranges\[0\]\.webhook\.secrets has no secret`, output)
}

// The configuration is copied to wherever backups go, and the files of its secrets are not. A token is
// replaced in its file, while the gateway runs; a file that is gone or open to everybody leaves the tokens in
// force.
func TestALostConfigurationHasNoSecrets(t *testing.T) {
	controllers := support.NewControllers(t, 1, 1)
	const later = "5ec2e700-0000-4000-8000-000000000009"
	credentials := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(credentials, name), []byte(text), 0o600))
	}
	write("operator", operator+"\n")
	write("tokens", support.Token+"\n")
	write("link", support.LinkKey(1)+"\n")
	configuration := strings.NewReplacer(
		`token: "`+operator+`"`, "token_file: operator", "tokens: ["+support.Token+"]", "tokens_file: tokens",
		fmt.Sprintf("key: %q", support.LinkKey(1)), "key_file: link",
	).Replace(inProduction(support.NewConfig(t, controllers.Lanes())))
	require.Equal(t, 3, strings.Count(configuration, "_file"))
	require.NotContains(t, configuration, support.Token)

	file := support.WriteFile(t, "rangegate.yaml", configuration)
	environment := "CREDENTIALS_DIRECTORY=" + credentials
	checked := support.Command("check", "--offline", "--config", file)
	checked.Env = append(checked.Env, environment)
	shown, err := checked.CombinedOutput()
	require.NoError(t, err, string(shown))
	cmd := support.ServeCommand(file)
	cmd.Env = append(cmd.Env, environment)
	gateway := support.Start(t, cmd).Ready()
	gateway.Token = operator
	gateway.POS().Sell(1, 30) // over a link that wants its key

	status := func(token string) int {
		t.Helper()
		answer, err := support.Client{API: gateway.API, Range: support.RangeID, Token: token}.Do("GET",
			support.V2+"/lanes", "")
		require.NoError(t, err)
		return answer.Status
	}
	reload := func() support.Answer { return gateway.Operate("POST", "/reload", "") }
	var answers strings.Builder
	write("tokens", later+"\n")
	answer := reload()
	require.Equal(t, 200, answer.Status, answer.Body)
	require.Contains(t, answer.Body, `"tokens"`)
	require.Equal(t, 200, status(later))
	require.Equal(t, 401, status(support.Token))

	require.NoError(t, os.Chmod(filepath.Join(credentials, "tokens"), 0o644))
	answer = reload()
	answers.WriteString(answer.Body)
	require.Equal(t, "configuration_invalid", answer.Code())
	require.Contains(t, answer.Body,
		"ranges[0].tokens_file: names a file that every user of this machine can read or change")
	require.NoError(t, os.Remove(filepath.Join(credentials, "tokens")))
	gateway.Signal(syscall.SIGHUP)
	gateway.WaitLogged("ranges[0].tokens_file: names a file that does not exist")
	require.Equal(t, 200, status(later), "what was in force stays")

	for _, page := range []string{
		"/metrics", "/actors", "/debug/pprof/heap?debug=1", "/debug/pprof/allocs?debug=1",
		"/debug/pprof/goroutine?debug=2",
	} {
		answer := gateway.Operate("GET", page, "")
		require.Equal(t, 200, answer.Status, page)
		answers.WriteString(answer.Body)
	}
	require.Zero(t, gateway.Terminate())
	for _, secret := range []string{operator, later, support.Token} {
		require.NotContains(t, gateway.Log()+answers.String()+string(shown), secret)
	}
}
