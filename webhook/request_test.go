package webhook

import (
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/tracing"
)

func TestTheBodyOfEveryKind(t *testing.T) {
	const ids = `"session_id":"22222222-2222-4222-8222-222222222222","lane_id":"33333333-3333-4333-8333-333333333333"`
	for kind, body := range map[lanes.Kind]string{
		lanes.Help:            `{"event":"help",` + ids + `}`,
		lanes.CarrierHit:      `{"event":"carrierHit",` + ids + `}`,
		lanes.SessionCreated:  `{"event":"sessionCreated",` + ids + `}`,
		lanes.SessionStarted:  `{"event":"sessionStarted",` + ids + `}`,
		lanes.SessionPaused:   `{"event":"sessionPaused",` + ids + `}`,
		lanes.SessionResumed:  `{"event":"sessionResumed",` + ids + `}`,
		lanes.SessionStopped:  `{"event":"sessionStopped",` + ids + `}`,
		lanes.SessionModified: `{"event":"sessionModified",` + ids + `}`,
		lanes.PurchaseRequest: `{"event":"purchaseRequest",` + ids +
			`,"items":[{"id":"time","qty":30},{"id":"target <b>","qty":2}]}`,
		lanes.SessionEnding: `{"event":"sessionEnding",` + ids +
			`,"minutes_remaining":4.5,"ends_at":"2026-05-01T12:04:30.123Z"}`,
		lanes.SessionExpired: `{"event":"sessionExpired",` + ids + `,"grace_ends_at":null}`,
	} {
		t.Run(string(kind), func(t *testing.T) {
			integrator := startReceiver(t, status(http.StatusNoContent))
			made, _ := newClient(t, integrator.URL).Attempt(t.Context(), entry(newEvent(kind)), false)
			require.Empty(t, made.Error)
			require.Equal(t, 204, made.Status)
			require.Len(t, integrator.requests(), 1)
			require.Equal(t, body, integrator.requests()[0].body)
		})
	}
}

func TestOnlyAPurchaseRequestHasItems(t *testing.T) {
	event := newEvent(lanes.PurchaseRequest)
	event.Kind = lanes.Help
	require.Nil(t, BodyOf(event).Items)
}

// An event that later ones have passed says so, and is else the same.
func TestALateEventSaysSo(t *testing.T) {
	integrator := startReceiver(t, status(http.StatusOK))
	client, event := newClient(t, integrator.URL, withSecrets(secretA)), newEvent(lanes.SessionStarted)
	for _, late := range []bool{false, true} {
		made, _ := client.Attempt(t.Context(), entry(event), late)
		require.Empty(t, made.Error)
	}
	first, second := integrator.requests()[0], integrator.requests()[1]
	require.Empty(t, first.header.Values("webhook-late"))
	require.Equal(t, []string{"true"}, second.header.Values("webhook-late"))
	second.header.Del("webhook-late")
	require.Equal(t, first, second)
}

// Whoever may have an event already is told so.
func TestARedeliveredEventSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		earlier []lanes.Attempt
		says    bool
	}{
		"the first delivery":        {nil, false},
		"it was refused":            {[]lanes.Attempt{{Status: 503, Error: lanes.Refused}}, true},
		"it was delivered":          {[]lanes.Attempt{{Status: 204}}, true},
		"nobody knows":              {[]lanes.Attempt{{Error: lanes.Interrupted}}, true},
		"there was no webhook then": {[]lanes.Attempt{{Error: lanes.NoWebhook}}, false},
		"too many waited":           {[]lanes.Attempt{{Error: lanes.Dropped + ": more than 5 events waited"}}, false},
		"dropped, then refused": {
			[]lanes.Attempt{{Error: lanes.Dropped}, {Status: 422, Error: lanes.Refused}},
			true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			integrator := startReceiver(t, status(http.StatusOK))
			event := entry(newEvent(lanes.SessionStarted))
			event.Earlier = c.earlier
			made, _ := newClient(t, integrator.URL).Attempt(t.Context(), event, false)
			require.Empty(t, made.Error)
			var want []string
			if c.says {
				want = []string{"true"}
			}
			require.Equal(t, want, integrator.requests()[0].header.Values("event-redelivered"))
		})
	}
}

func TestTheHeadersOfAnEvent(t *testing.T) {
	integrator := startReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "crumb", Value: "1"})
	})
	client := newClient(t, integrator.URL+"/events/in?shop=7", withSecrets(secretA))
	event := newEvent(lanes.SessionStarted)
	for range 2 { // the second could bring the first one's cookie
		made, _ := client.Attempt(t.Context(), entry(event), false)
		require.Empty(t, made.Error)
	}
	for _, got := range integrator.requests() {
		require.Equal(t, "POST", got.method)
		require.Equal(t, "/events/in?shop=7", got.path)
		require.Regexp(t, regexp.MustCompile(`^v1,[0-9A-Za-z+/]{43}=$`), got.header.Get("webhook-signature"))
		got.header.Del("webhook-signature")
		half := hex.EncodeToString(event.ID[8:])
		require.Equal(t, http.Header{
			"Content-Length":    {strconv.Itoa(len(got.body))},
			"Content-Type":      {"application/json"},
			"Event-Occurred-At": {"2026-05-01T12:00:00.123Z"},
			"Event-Sequence":    {"1042"},
			"Range-Id":          {"11111111-1111-4111-8111-111111111111"},
			"Traceparent":       {"00-" + strings.ReplaceAll(event.ID.String(), "-", "") + "-" + half + "-01"},
			"User-Agent":        {"rangegate/1.2.3"},
			"Webhook-Id":        {"msg_" + event.ID.String()},
			"Webhook-Timestamp": {"1777636800"},
		}, got.header)
	}
}

func TestAnAttemptIsDatedInUTC(t *testing.T) {
	integrator := startReceiver(t, status(http.StatusOK))
	zone := time.FixedZone("zone", 3*60*60)
	client := newClient(t, integrator.URL, func(s *Settings) {
		s.Now = func() time.Time { return time.Now().In(zone) }
	})
	made, _ := client.Attempt(t.Context(), entry(newEvent(lanes.Help)), false)
	require.Equal(t, made.At.UTC().Round(0), made.At, "as the store gives it back")
}

// The receiver gets the trace of the request that the event follows from: the caller's own place in it, where nothing
// is traced here.
func TestTheTraceOfARequestGoesOnToTheWebhook(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	const sampled, unsampled = "00-" + trace + "-00f067aa0ba902b7-01", "00-" + trace + "-00f067aa0ba902b7-00"
	logged := entry(newEvent(lanes.Help))
	half := hex.EncodeToString(logged.Event.ID[8:])
	for sent, by := range map[string]lanes.Logged{
		"00-" + hex.EncodeToString(logged.Event.ID[:]) + "-" + half + "-01": {},
		sampled:                            {Trace: trace, Span: tracing.Parent(sampled)},
		unsampled:                          {Trace: trace, Span: tracing.Parent(unsampled)},
		"00-" + trace + "-" + half + "-01": {Trace: trace}, // after a restart
	} {
		integrator := startReceiver(t, status(http.StatusOK))
		logged.Trace, logged.Span = by.Trace, by.Span
		newClient(t, integrator.URL).Attempt(t.Context(), logged, false)
		require.Equal(t, sent, integrator.requests()[0].header.Get("traceparent"))
	}
}

const (
	secretA = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secretB = "whsec_c2Vjb25kIHNlY3JldCBvZiB0aGUgcmFuZ2U="
	secretC = "whsec_bm90IHVzZWQgaGVyZSBhdCBhbGwgYXQgYWxs"
)

func TestAnEventIsSignedWithEverySecret(t *testing.T) {
	for _, secrets := range [][]string{{}, {secretA}, {secretA, secretB}} {
		integrator := startReceiver(t, status(http.StatusOK))
		require.Empty(t, attempt(t, newClient(t, integrator.URL, withSecrets(secrets...))).Error)
		got := integrator.requests()[0]

		require.Len(t, strings.Fields(got.header.Get("webhook-signature")), len(secrets))
		require.Equal(t, len(secrets) > 0, got.header["Webhook-Signature"] != nil, "absent, not empty")
		for _, secret := range []string{secretA, secretB, secretC} {
			verifier, err := standardwebhooks.NewWebhook(secret)
			require.NoError(t, err)
			err = verifier.VerifyIgnoringTimestamp([]byte(got.body), got.header)
			if slices.Contains(secrets, secret) {
				require.NoError(t, err)
				require.Error(t, verifier.VerifyIgnoringTimestamp([]byte(got.body+" "), got.header))
			} else {
				require.Error(t, err)
			}
		}
	}
}

// The example is Standard Webhooks' own.
func TestASignatureIsThatOfTheStandard(t *testing.T) {
	all, err := newSigners([]string{secretA})
	require.NoError(t, err)
	signature, err := all.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	require.NoError(t, err)
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", signature)
}

func TestAClientIsNotMadeOfNonsense(t *testing.T) {
	for _, wrong := range []Settings{
		{URL: ""},
		{URL: "planted.example/events"},
		{URL: "ftp://planted.example"},
		{URL: "https:///planted"},
		{URL: "https://planted.example:%zz"},
		{URL: "https://planted.example", Secrets: []string{secretA, "whsec_planted?"}},
	} {
		_, err := New(wrong)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "planted")
	}
}

// Whoever has several secrets is told which one is wrong, as they stand in the configuration: the first is number 1.
func TestASecretThatIsNoneIsNamedByItsNumber(t *testing.T) {
	_, err := New(Settings{URL: "https://integrator.test", Secrets: []string{secretA, "whsec_planted?", secretB}})
	require.ErrorContains(t, err, "webhook: secret 2: ")
	_, err = New(Settings{URL: "https://integrator.test", Secrets: []string{"whsec_planted?"}})
	require.ErrorContains(t, err, "webhook: secret 1: ")
}
