package hostile

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/test/support"
)

// dialFrom connects to the address of a URL from a local address of this machine: everything in 127.0.0.0/8 is one.
func dialFrom(t testing.TB, url, local string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}, Timeout: support.Patience}
	connection, err := dialer.Dial("tcp", url[strings.Index(url, "//")+2:])
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// posFrom is a POS at a local address of this machine, with a connection of its own for each request.
func posFrom(g *support.Gateway, local string) support.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}, Timeout: support.Patience}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	return support.Client{
		API: g.API, Range: support.RangeID, Token: support.Token,
		HTTP: &http.Client{Transport: transport, Timeout: support.Patience},
	}
}

// heldSignIn is a sign-in whose body stops after its first byte.
const heldSignIn = "POST /control/sign-in HTTP/1.1\r\nHost: here\r\nContent-Type: " +
	"application/json\r\nContent-Length: 100\r\n\r\n{"

// serveWithFiles starts a gateway that may open so many files: a quarter of them are connections.
func serveWithFiles(t *testing.T, files int) *support.Gateway {
	t.Helper()
	config := support.NewConfig(t, support.Lanes(1, 2))
	limited := support.Limit(support.ServeCommand(config.Write(t)), fmt.Sprintf("-n %d", files))
	return support.Start(t, limited).Ready()
}

// hold opens connections from those addresses and sends the beginning of a request on each, and does so again
// when one is closed, until the test ends.
func hold(t *testing.T, g *support.Gateway, request string, pause time.Duration, count int, locals ...string) {
	t.Helper()
	stop := make(chan struct{})
	var holders, ready sync.WaitGroup
	ready.Add(count)
	for n := range count {
		holders.Go(func() {
			dialer := net.Dialer{
				LocalAddr: &net.TCPAddr{IP: net.ParseIP(locals[n%len(locals)])},
				Timeout:   support.Patience,
			}
			for first := true; ; first = false {
				connection, err := dialer.Dial("tcp", strings.TrimPrefix(g.API, "http://"))
				if err == nil {
					_, _ = io.WriteString(connection, request)
				}
				if first {
					ready.Done()
				}
				closed := make(chan struct{})
				go func() {
					defer close(closed)
					if err == nil {
						_, _ = io.Copy(io.Discard, connection)
						_ = connection.Close()
					}
				}()
				select {
				case <-closed:
				case <-stop:
					if err == nil {
						_ = connection.Close()
					}
					<-closed
					return
				}
				select {
				case <-time.After(pause):
				case <-stop:
					return
				}
			}
		})
	}
	ready.Wait()
	t.Cleanup(func() {
		close(stop)
		holders.Wait()
	})
}

// One host holds as many sign-ins as the gateway takes connections, and comes back when one is closed. A POS
// at another address, and one at the same address, are served all the time.
func TestOneHostThatHoldsSignInsShutsNobodyOut(t *testing.T) {
	g := serveWithFiles(t, 400) // 100 connections, 25 of one host
	hold(t, g, heldSignIn, 100*time.Millisecond, 100, "127.0.0.66")
	other, same := posFrom(g, "127.0.0.2"), posFrom(g, "127.0.0.66")
	for n := range 20 {
		answer, err := other.Do("GET", support.V2+"/lanes", "")
		require.NoError(t, err, "request %d of another host", n)
		require.Equal(t, 200, answer.Status)
		support.Eventually(t, "a request of the same host, whose connection may give way to a newer one before "+
			"it is read", func() bool {
			answer, err := same.Do("GET", support.V2+"/lanes", "")
			return err == nil && answer.Status == 200
		})
	}
	require.Positive(t, g.Metrics().Sum("rangegate_connections_limited_total", `limit="host"`))
}

// Many hosts hold sign-ins. A POS that was served before is served on, and one that was never here too.
func TestManyHostsThatHoldSignInsShutNobodyOut(t *testing.T) {
	g := serveWithFiles(t, 400)
	served := posFrom(g, "127.0.0.2")
	_, err := served.Do("GET", support.V2+"/lanes", "")
	require.NoError(t, err)
	var locals []string
	for n := range 50 {
		locals = append(locals, fmt.Sprintf("127.0.1.%d", n+1))
	}
	hold(t, g, heldSignIn, 200*time.Millisecond, 200, locals...)
	for name, pos := range map[string]support.Client{"served": served, "new": posFrom(g, "127.0.0.3")} {
		for n := range 20 {
			// On a slow machine a connection may make room before its request is read: a POS tries again.
			require.EventuallyWithT(t, func(t *assert.CollectT) {
				answer, err := pos.Do("GET", support.V2+"/lanes", "")
				require.NoError(t, err, "request %d of the %s POS", n, name)
				require.Equal(t, 200, answer.Status)
			}, support.Patience, 10*time.Millisecond)
		}
	}
	require.Positive(t, g.Metrics().Sum("rangegate_connections_limited_total", `limit="unauthenticated"`,
		`outcome="displaced"`))
}

// Idle connections of one host make room for its next ones.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	g := serveWithFiles(t, 400)
	var idle []net.Conn
	for range 30 {
		idle = append(idle, dialFrom(t, g.API, "127.0.0.66"))
	}
	for _, connection := range idle[:5] {
		require.NoError(t, connection.SetReadDeadline(time.Now().Add(support.Patience)))
		_, err := connection.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was closed")
	}
	require.Equal(t, 401, exchange(t, idle[29], "GET /api/v2/pos/lanes HTTP/1.1\r\nHost: here\r\n\r\n").Status)
}

// refusal is a response with the body of an error.
type refusal struct {
	Status int
	Closes bool   // the connection
	Error  string `json:"error"`
	Code   string `json:"code"`
	Trace  string `json:"trace_id"`
}

// exchange sends text over a connection and reads the response, which has to be an error in the one shape.
func exchange(t *testing.T, connection net.Conn, text string) (r refusal) {
	t.Helper()
	_, err := io.WriteString(connection, text)
	require.NoError(t, err)
	return readRefusal(t, connection)
}

func readRefusal(t *testing.T, connection net.Conn) (r refusal) {
	t.Helper()
	require.NoError(t, connection.SetReadDeadline(time.Now().Add(support.Patience)))
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	r.Status, r.Closes = response.StatusCode, response.Close
	if response.Header.Get("Content-Type") != "application/json" { // of net/http: it has no code
		return r
	}
	require.NoError(t, json.Unmarshal(body, &r), "%d: %s", response.StatusCode, body)
	require.NotEmpty(t, r.Error)
	require.Regexp(t, "^[0-9a-f]{32}$", r.Trace)
	require.Equal(t, r.Trace, response.Header.Get("Trace-Id"))
	return r
}

// What is no valid request is refused on both addresses: by the HTTP server of Go, which has a text of its own and
// closes the connection, where no handler sees it.
func TestWhatIsNoRequestIsRefused(t *testing.T) {
	g := support.NewConfig(t, support.Lanes(1, 1)).Serve(t)
	const get = "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	for name, c := range map[string]struct {
		text   string
		status int
		code   string // empty: a plain text
	}{
		"no HTTP":           {"hello\r\n\r\n", 400, ""},
		"no host":           {"GET / HTTP/1.1\r\n\r\n", 400, ""},
		"a bad host":        {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, ""},
		"a bad header":      {get + "a b: c\r\n\r\n", 400, ""},
		"two lengths":       {get + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, ""},
		"a negative length": {get + "Content-Length: -1\r\n\r\n", 400, ""},
		"a transfer coding": {get + "Transfer-Encoding: gzip\r\n\r\n", 501, ""},
		"an expectation":    {get + "Expect: a-miracle\r\n\r\n", 417, ""},
		"a long target": {
			"GET /" + strings.Repeat("a", 9<<10) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 414,
			"uri_too_long",
		},
		"long headers":          {get + "X: " + strings.Repeat("a", 60<<10) + "\r\n\r\n", 431, ""},
		"a version of the past": {"GET / HTTP/0.9\r\nHost: 127.0.0.1\r\n\r\n", 505, ""},
		"a later version":       {"GET / HTTP/3.0\r\nHost: 127.0.0.1\r\n\r\n", 505, ""},
	} {
		for _, url := range []string{g.API, g.Operations} {
			r := exchange(t, dialFrom(t, url, "127.0.0.1"), c.text)
			require.Equal(t, c.status, r.Status, name)
			require.Equal(t, c.code, r.Code, name)
			require.True(t, r.Closes || c.code != "", name)
			if c.code != "" {
				g.WaitLogged(r.Trace)
			}
		}
	}
}

// A header that stops ends its connection, and a body is answered with 408: it has 2 seconds before the client
// has shown credentials and 15 after.
func TestWhatDoesNotArriveIsATimeout(t *testing.T) {
	g := support.NewConfig(t, support.Lanes(1, 1)).Serve(t)
	authorized := fmt.Sprintf("POST /api/v2/pos/sessions HTTP/1.1\r\nHost: here\r\nrange-id: %s\r\ntoken: "+
		"%s\r\nContent-Length: 100\r\n\r\n{",
		support.RangeID, support.Token)
	var all sync.WaitGroup
	for name, c := range map[string]struct {
		text              string
		shortest, longest time.Duration
	}{
		"a sign-in":                     {heldSignIn, 1500 * time.Millisecond, 12 * time.Second},
		"a body with valid credentials": {authorized, 14 * time.Second, support.Patience},
		"a chunked body without an end": {strings.Replace(heldSignIn, "Content-Length: 100\r\n\r\n{",
			"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", 1), 1500 * time.Millisecond, 12 * time.Second},
	} {
		connection := dialFrom(t, g.API, "127.0.0.1")
		all.Go(func() {
			began := time.Now()
			r := exchange(t, connection, c.text)
			require.Equal(t, http.StatusRequestTimeout, r.Status, name)
			require.Equal(t, "request_timeout", r.Code, name)
			require.Greater(t, time.Since(began), c.shortest, name)
			require.Less(t, time.Since(began), c.longest, name)
		})
	}
	header := dialFrom(t, g.API, "127.0.0.1")
	_, err := io.WriteString(header, "GET / HTTP/1.1\r\nHost: he")
	require.NoError(t, err)
	require.NoError(t, header.SetReadDeadline(time.Now().Add(30*time.Second)))
	said, err := io.ReadAll(header)
	require.NoError(t, err, "it is closed")
	require.Empty(t, said)
	all.Wait()
}

// Without valid credentials a body has 1 KiB. What is refused before its body is read is not kept waiting for it.
func TestBodiesWithoutCredentialsAreSmall(t *testing.T) {
	g := support.NewConfig(t, support.Lanes(1, 1)).Serve(t)
	large := `{"range_id":"` + support.RangeID + `","name":"sam","pin":"123456","x":"` +
		strings.Repeat("a", 1<<10) + `"}`
	signIn := fmt.Sprintf("POST /control/sign-in HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n%s",
		len(large), large)
	r := exchange(t, dialFrom(t, g.API, "127.0.0.1"), signIn)
	require.Equal(t, 413, r.Status)
	require.Equal(t, "too_large", r.Code)
	require.Contains(t, r.Error, "1024")

	support.Eventually(t, "it is refused within a second", func() bool { // a busy machine may take longer
		began := time.Now()
		r = exchange(t, dialFrom(t, g.API, "127.0.0.1"),
			"POST /api/v2/pos/sessions HTTP/1.1\r\nHost: here\r\nContent-Length: 60000\r\n\r\n{")
		require.Equal(t, 401, r.Status)
		require.True(t, r.Closes)
		return time.Since(began) < time.Second
	})

	pos := g.POS()
	pos.Expect(201, "POST", "/sessions", support.Order(1, 30, `,"x":"`+strings.Repeat("a", 60<<10)+`"`))
}

// Plain HTTP at an address with TLS is refused, and so is what is no request over TLS. HTTP/2 works.
func TestOverTLS(t *testing.T) {
	certificate, key := certificatetest.Issue(t, time.Hour).Files(t)
	config := support.NewConfig(t, support.Lanes(1, 1))
	config.HTTP = fmt.Sprintf("tls: {certificate: %q, key: %q}", certificate, key)
	g := config.Serve(t)
	r := exchange(t, dialFrom(t, g.API, "127.0.0.1"), "GET / HTTP/1.1\r\nHost: here\r\n\r\n")
	require.Equal(t, 400, r.Status)

	secured := func(protocols ...string) *tls.Conn {
		c := tls.Client(dialFrom(t, g.API, "127.0.0.1"), &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
		require.NoError(t, c.Handshake())
		return c
	}
	require.Equal(t, 505, exchange(t, secured(), "GET / HTTP/3.0\r\nHost: here\r\n\r\n").Status)
	require.Equal(t, 431, exchange(t, secured("http/1.1"), "GET / HTTP/1.1\r\nHost: h\r\nX: "+
		strings.Repeat("a", 60<<10)+"\r\n\r\n").Status)
	require.Equal(t, 408, exchange(t, secured(), heldSignIn).Status)
	require.Equal(t, 401, exchange(t, secured(), "GET /api/v2/pos/lanes HTTP/1.1\r\nHost: here\r\n\r\n").Status)

	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	response, err := (&http.Client{Transport: transport}).Get(g.API + "/control/")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 200, response.StatusCode)
	require.Equal(t, 2, response.ProtoMajor)

	held := dialFrom(t, g.API, "127.0.0.1") // no handshake
	require.NoError(t, held.SetReadDeadline(time.Now().Add(30*time.Second)))
	_, err = held.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

// A page of another site that points its own name to the operations address is not answered. The machine's
// own names are.
func TestOtherNamesOfTheOperationsAddressAreRefused(t *testing.T) {
	config := support.NewConfig(t, support.Lanes(1, 1)).String()
	config = strings.Replace(config, `token: "operator"`, `token: "operator", hosts: [gateway.internal]`, 1)
	g := support.Serve(t, config).Ready()
	port := g.Operations[strings.LastIndex(g.Operations, ":"):]
	ask := func(host, path string) int {
		request, err := http.NewRequest(http.MethodGet, g.Operations+path, nil)
		require.NoError(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		for _, host := range []string{
			"attacker.example", "attacker.example" + port, "localhost.attacker.example",
			"127.0.0.1.attacker.example", "gateway.internal.attacker.example",
		} {
			require.Equal(t, http.StatusMisdirectedRequest, ask(host, path), host)
		}
		for _, host := range []string{
			"127.0.0.1" + port, "localhost" + port, "LOCALHOST", "[::1]" + port, "10.0.0.5",
			"gateway.internal" + port, "gateway.internal.",
		} {
			require.Equal(t, 200, ask(host, path), host)
		}
	}
	r := exchange(t, dialFrom(t, g.Operations, "127.0.0.1"), "GET /metrics HTTP/1.1\r\nHost: attacker.example\r\n\r\n")
	require.Equal(t, "misdirected_request", r.Code)
	connection := dialFrom(t, g.Operations, "127.0.0.1")
	_, err := io.WriteString(connection, "GET /livez HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 200, response.StatusCode, "a health check without a host")
}

// A client cannot choose the address that it is limited by, nor fill the log.
func TestForgedForwardingHeadersAndTheLog(t *testing.T) {
	config := support.NewConfig(t, support.Lanes(1, 1))
	config.HTTP = "behind_proxy: true, trusted_proxies: [127.0.0.9], limits: {failures: 20}"
	g := config.Serve(t)
	attacker := posFrom(g, "127.0.0.66")
	attacker.Token = "wrong"
	statuses, began := map[int]int{}, time.Now()
	for n := range 300 {
		answer, err := attacker.Do("GET", support.V2+"/lanes?"+strings.Repeat("q", 1000), "", "X-Forwarded-For",
			fmt.Sprintf("203.0.113.%d", n%250))
		require.NoError(t, err)
		statuses[answer.Status]++
	}
	require.LessOrEqual(t, statuses[401], 25+int(time.Since(began)/(3*time.Second)), "one address, whatever it says")
	require.Equal(t, 300, statuses[401]+statuses[429])

	proxy := posFrom(g, "127.0.0.9")
	proxy.Token = "wrong"
	answer, err := proxy.Do("GET", support.V2+"/lanes", "", "X-Forwarded-For", "203.0.113.1")
	require.NoError(t, err)
	require.Equal(t, 401, answer.Status, "the word of the proxy counts")

	path := "/" + strings.Repeat("a", 8000)
	_, err = attacker.Do("GET", path, "")
	require.NoError(t, err)
	dropped := g.Metrics().Sum("rangegate_access_log_dropped_total")
	logged := 10 * time.Since(began).Seconds() // and a hundred at once
	require.Greater(t, dropped, 190-logged)
	require.Less(t, float64(strings.Count(g.Log(), `"message":"request"`)), 150+logged)
	for line := range strings.Lines(g.Log()) {
		require.Less(t, len(line), 1500)
	}
}

// A reload forgets neither wrong credentials nor wrong PINs.
func TestAReloadForgetsNoFailures(t *testing.T) {
	config := support.NewConfig(t, support.Lanes(1, 1), "staff: [{name: sam, pin_hash: '"+pinHash+"'}]")
	config.HTTP = "limits: {failures: 5}"
	g := config.Serve(t)
	guess := func() int {
		answer, err := support.Client{API: g.API, Range: support.RangeID, Token: "wrong"}.Do("GET",
			support.V2+"/lanes", "")
		require.NoError(t, err)
		return answer.Status
	}
	signIn := func() int {
		answer, err := support.Client{API: g.API}.Do("POST", "/control/sign-in", `{"range_id":"`+support.RangeID+
			`","name":"sam","pin":"000000"}`)
		require.NoError(t, err)
		return answer.Status
	}
	began := time.Now()
	for range 5 {
		require.Equal(t, 401, guess())
		require.Equal(t, 401, signIn())
	}
	// exhaust tries until it is one too many, and returns how many were let in.
	exhaust := func(try func() int) (tried int) {
		for status := try(); status != 429; status = try() {
			require.Equal(t, 401, status)
			tried++
		}
		return tried
	}
	exhaust(guess)
	exhaust(signIn)
	config.Sections = []string{"log: {level: debug}"}
	g.Configure(config.String())
	require.Equal(t, 200, g.Operate("POST", "/reload", "").Status)
	for _, try := range []func() int{guess, signIn} {
		require.LessOrEqual(t, exhaust(try), int(time.Since(began)/(12*time.Second)), "five a minute, and no more")
	}
}

// pinHash is the hash of some PIN.
const pinHash = "$argon2id$v=19$m=19456,t=2,p=1$EEK29Vw/dH7VqlgfaIF6mw$WA2gFBOKHPEEDk8mgP2ylg1vpLNO5fG01YC/oRedUco"
