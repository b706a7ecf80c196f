package catalog

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"code.dny.dev/ssrf"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/webhook/egress"
)

// fails asks for ammo, expects a failure with that outcome, and returns its reason.
func (r *fixture) fails(t *testing.T, outcome string) string {
	products, err := r.client.Fetch(t.Context(), Ammo, "7d1c")
	require.Nil(t, products)
	var failed *Failed
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "products_failed", failed.Code())
	require.Equal(t, Ammo, failed.Type)
	require.Equal(t, map[string]float64{"ammo " + outcome: 1}, r.counted(t))
	log := r.log.lines()
	said, fault := json.Marshal(err.Error())
	require.NoError(t, fault)
	require.Equal(t, `{"level":"warn","type":"ammo","outcome":"`+outcome+`","message":`+string(said)+`}`,
		log[len(log)-1])
	reason, found := strings.CutPrefix(err.Error(), "products of type ammo: the products API ")
	require.True(t, found, err.Error())
	return reason
}

func TestABodyThatIsNoArrayFails(t *testing.T) {
	for _, body := range []string{
		"", "null", "{}", `{"products":[]}`, `"[]"`, "[", "[]]", "[] []", "[1,]", "<html>", "[{]", "\ufeff[]",
		strings.Repeat("[", 100_000),
	} {
		require.Equal(t, "did not answer with a JSON array", newFixture(t, answer(body)).fails(t, "invalid"), "%.20q",
			body)
	}
}

func TestAnAnswerMayHaveOneMebibyte(t *testing.T) {
	body := "[" + aBox + strings.Repeat(" ", 1<<20-len(aBox)-2) + "]"
	products, err := newFixture(t, answer(body)).client.Fetch(t.Context(), Ammo, "")
	require.NoError(t, err)
	require.Len(t, products, 1)
	require.Equal(t, "answered with more than 1 MiB", newFixture(t, answer(body+" ")).fails(t, "too_large"))
}

func TestAnyStatusBut200Fails(t *testing.T) {
	for status, want := range map[int]string{
		201: "answered with status 201 Created, where 200 is wanted",
		404: "answered with status 404 Not Found, where 200 is wanted",
		500: "answered with status 500 Internal Server Error, where 200 is wanted",
		302: "answered with status 302 Found, where 200 is wanted", // it says not where to
	} {
		r := newFixture(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte("[]"))
		})
		require.Equal(t, want, r.fails(t, "refused"))
	}
}

func TestTheTimeoutCoversTheWholeAnswer(t *testing.T) {
	for name, begin := range map[string]func(w http.ResponseWriter){
		"before the header": func(http.ResponseWriter) {},
		"within the body": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte("["))
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newFixture(t, func(w http.ResponseWriter, request *http.Request) {
				begin(w)
				<-request.Context().Done()
			})
			r.client.settings.Timeout = 50 * time.Millisecond
			require.Regexp(t, `^did not answer in full within \d+ms$`, r.fails(t, "timed_out"))
		})
	}
}

func TestWhoCannotBeReachedIsSaid(t *testing.T) {
	r := newFixture(t, answer("[]"))
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, nobody.Close())
	r.setURL("http://" + nobody.Addr().String() + "/?key=hidden")
	require.Equal(t, "could not be reached: the connection was refused", r.fails(t, "unreachable"))

	r.setURL(strings.Replace(r.server.URL, "http:", "https:", 1))
	require.Contains(t, r.fails(t, "unreachable"), "could not be reached: it does not speak TLS")

	safe := httptest.NewUnstartedServer(answer("[]"))
	safe.Config.ErrorLog = discardLog
	safe.StartTLS()
	defer safe.Close()
	r.setURL(safe.URL)
	require.Contains(t, r.fails(t, "unreachable"), "could not be reached: its certificate is ")

	r = newFixture(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	require.Equal(t, "could not be reached: the connection failed, or broke before the answer was complete",
		r.fails(t, "unreachable"))

	r.setURL(r.server.URL)
	dialer := net.Dialer{Control: ssrf.New(ssrf.WithAnyPort()).Safe}
	r.client.http.Transport = &http.Transport{DialContext: dialer.DialContext}
	require.Equal(t, "could not be reached: the address is not allowed", r.fails(t, "unreachable"))

	for failure, want := range map[*net.DNSError]string{
		{IsNotFound: true}: "the host name is not known", {}: "the host name could not be looked up",
	} {
		require.Equal(t, want, egress.Reason(fmt.Errorf("dial: %w", failure), ""))
	}

	for _, address := range []string{":", "http://[", "http://a b"} {
		r.setURL(address)
		require.Equal(t, "is configured with an address that is no URL", r.fails(t, "unreachable"))
	}
}

// What is secret in an address stays out of the sentence, wherever the failure comes from.
func TestAFailureTellsNoSecretOfTheAddress(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"abort":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"bad location": func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Location", "http://%zz/"+request.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
		},
		"elsewhere": func(w http.ResponseWriter, request *http.Request) {
			http.Redirect(w, request, "http://example.invalid/?"+request.URL.RawQuery, http.StatusFound)
		},
	} {
		r := newFixture(t, h)
		r.setURL(strings.Replace(r.server.URL, "://", "://user:hidden@", 1) + "?key=hidden")
		_, err := r.client.Fetch(t.Context(), Ammo, "")
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "hidden", name)
	}
}

type defective struct{}

func (defective) RoundTrip(*http.Request) (*http.Response, error) { panic("a defect") }

// A defect of ours costs the answer, and not the process.
func TestADefectIsAFailureLikeAnother(t *testing.T) {
	c := New(Settings{
		URL: "http://pos.example", Timeout: time.Second, Transport: defective{}, Log: zerolog.Nop(),
		Metrics: NewMetrics(prometheus.NewRegistry()),
	})
	_, err := c.All(t.Context(), "")
	var failed *Failed
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "could not be asked: a defect of the gateway", failed.Reason)
}
