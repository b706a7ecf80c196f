package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// Secrets as an operator gets them from Standard Webhooks: two of the range, while it changes from one to the other,
// and one that is not the range's.
const (
	first  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	second = "whsec_c2Vjb25kIHNlY3JldCBvZiB0aGUgcmFuZ2U="
	alien  = "whsec_bm90IGEgc2VjcmV0IG9mIHRoaXMgcmFuZ2UhIQ=="
)

// delivery is a request that the webhook got, and the secret to verify it with.
type delivery struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

func TestSignaturesAreThoseOfStandardWebhooks(t *testing.T) {
	for _, secrets := range [][]string{{first}, {first, second}} {
		t.Run(fmt.Sprintf("%d secrets", len(secrets)), func(t *testing.T) {
			for _, d := range delivered(t, secrets) {
				t.Log(d.Headers["webhook-signature"], d.Body)
				require.Len(t, strings.Fields(d.Headers["webhook-signature"]), len(secrets))
				for _, secret := range secrets {
					accepted, refused := d.withSecret(secret), "No matching signature found"
					require.Equal(t, []string{
						"",
						refused,
						refused,
						refused,
						"Message timestamp too old",
						"Missing required headers",
					}, verdicts(t, []delivery{
						accepted,
						d.withSecret(alien),
						accepted.withBody(strings.Replace(d.Body, "s", "S", 1)),
						accepted.withHeader("webhook-timestamp", d.sentLater(t, time.Second)),
						accepted.withHeader("webhook-timestamp", d.sentLater(t, -6*time.Minute)),
						accepted.withHeader("webhook-signature", ""),
					}))
				}
			}
		})
	}
}

// The ids tell deliveries apart, so a signature of one is none of another.
func TestASignatureIsOfOneDeliveryOnly(t *testing.T) {
	all := delivered(t, []string{first})
	one, another := all[0].withSecret(first), all[1].withSecret(first)
	require.Equal(t, []string{"No matching signature found"}, verdicts(t, []delivery{
		one.withHeader("webhook-id", another.Headers["webhook-id"]),
	}))
}

// A request that is sent again has the body and the id of the first one, and a timestamp and a signature of its own.
func TestRedeliveredRequestsAreVerified(t *testing.T) {
	module(t, "standardwebhooks/package.json")
	webhook := support.NewUnverifiedReceiver(t)
	pos := support.NewConfig(t, support.Lanes(1, 1), fmt.Sprintf("webhook: {url: %q, secrets: [%s]}", webhook.URL+
		"/webhook", first)).Serve(t).POS()
	pos.Sell(1, soldMinutes)
	require.Len(t, pos.AttemptedEvents(), 2)
	pos.Expect(204, "POST", "/events/1/redeliver", "")
	support.Eventually(t, "the first event arrives again", func() bool { return len(webhook.Arrived()) == 3 })
	answer := pos.Expect(202, "POST", "/events/redeliver", `{"after":"0","until":"2","kinds":["sessionStarted"]}`)
	require.JSONEq(t, `{"events":1,"next":null}`, answer.Body)
	support.Eventually(t, "the second event arrives again", func() bool { return len(webhook.Arrived()) == 4 })
	arrived := webhook.Arrived()
	var all []delivery
	for again, before := range map[int]int{2: 0, 3: 1} {
		require.Equal(t, arrived[before].Body, arrived[again].Body)
		require.Equal(t, arrived[before].Header.Get("webhook-id"), arrived[again].Header.Get("webhook-id"))
		headers := map[string]string{}
		for name := range arrived[again].Header {
			headers[strings.ToLower(name)] = arrived[again].Header.Get(name)
		}
		all = append(all, delivery{Secret: first, Headers: headers, Body: arrived[again].Body})
	}
	require.Equal(t, []string{"", ""}, verdicts(t, all))
}

// A request that is tried again has the body and the id of the first one, and a timestamp and a signature of its own.
func TestRetriedRequestsAreVerified(t *testing.T) {
	module(t, "standardwebhooks/package.json")
	webhook := support.NewUnverifiedReceiver(t)
	webhook.Respond(func(_ support.Arrival, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	setting := fmt.Sprintf("webhook: {url: %q, secrets: [%s, %s], retry: {for: 1h}}", webhook.URL+
		"/webhook", first, second)
	pos := support.NewConfig(t, support.Lanes(1, 1), setting).Serve(t).POS()
	pos.Sell(1, soldMinutes)
	support.Eventually(t, "the first event is tried again", func() bool { return len(webhook.Arrived()) >= 2 })
	webhook.Respond(support.Accept)
	support.Eventually(t, "both events have been taken", func() bool { return len(webhook.Arrived()) >= 4 })
	arrived := webhook.Arrived()
	var all []delivery
	for _, again := range arrived[:3] {
		require.Equal(t, arrived[0].Body, again.Body)
		require.Equal(t, arrived[0].Header.Get("webhook-id"), again.Header.Get("webhook-id"))
		headers := map[string]string{}
		for name := range again.Header {
			headers[strings.ToLower(name)] = again.Header.Get(name)
		}
		all = append(all, delivery{Secret: first, Headers: headers, Body: again.Body},
			delivery{Secret: second, Headers: headers, Body: again.Body})
	}
	require.Len(t, map[string]bool{
		arrived[0].Header.Get("webhook-signature"): true, arrived[1].Header.Get("webhook-signature"): true,
		arrived[2].Header.Get("webhook-signature"): true,
	}, 3, "each is signed for its own time")
	require.Equal(t, []string{"", "", "", "", "", ""}, verdicts(t, all))
}

// delivered sells a session, in which a customer buys something, pauses, resumes and stops it, and is what the webhook
// got of that.
func delivered(t *testing.T, secrets []string) []delivery {
	module(t, "standardwebhooks/package.json") // before anything else, as it may be why there is no test
	webhook := support.NewUnverifiedReceiver(t)
	pos := support.NewConfig(t, support.Lanes(1, 1),
		fmt.Sprintf("webhook: {url: %q, secrets: [%s]}", webhook.URL+"/webhook", strings.Join(secrets, ", "))).Serve(t).
		POS()
	session := pos.Sell(1, soldMinutes)
	pos.Expect(201, "POST", "/simulate/purchaseRequest", `{"product_id":"Zielscheibe, Ø 50 cm","qty":2}`)
	for _, command := range []string{"/pause", "/resume", "/stop"} {
		pos.Command(session, command)
	}
	support.Eventually(t, "the session's end arrives", func() bool {
		return slices.Contains(webhook.Events(session), "sessionStopped")
	})
	var all []delivery
	for _, a := range webhook.Arrived() {
		headers := map[string]string{}
		for name := range a.Header {
			headers[strings.ToLower(name)] = a.Header.Get(name)
		}
		all = append(all, delivery{Headers: headers, Body: a.Body})
	}
	require.Len(t, all, 6, "created, started, a purchase, paused, resumed, stopped")
	return all
}

func (d delivery) withSecret(secret string) delivery {
	d.Secret = secret
	return d
}

func (d delivery) withBody(body string) delivery {
	d.Body = body
	return d
}

func (d delivery) withHeader(header, value string) delivery {
	d.Headers = maps.Clone(d.Headers)
	d.Headers[header] = value
	return d
}

// sentLater is the timestamp of a request that was sent that much later.
func (d delivery) sentLater(t *testing.T, later time.Duration) string {
	seconds, err := strconv.ParseInt(d.Headers["webhook-timestamp"], 10, 64)
	require.NoError(t, err)
	return strconv.FormatInt(seconds+int64(later/time.Second), 10)
}

// verdicts are what npm's standardwebhooks says of the deliveries: nothing, or why it refuses one.
func verdicts(t *testing.T, deliveries []delivery) []string {
	node := support.Program(t, "node")
	script, err := filepath.Abs("verify.mjs")
	require.NoError(t, err)
	in, err := json.Marshal(deliveries)
	require.NoError(t, err)
	out, log, success := tool{dir: t.TempDir(), stdin: in, args: []string{node, script}}.run(t)
	require.True(t, success, log)
	var refusals []string // null of JSON is ""
	require.NoError(t, json.Unmarshal([]byte(out), &refusals), out)
	return refusals
}
