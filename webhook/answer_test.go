package webhook

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func TestWhatTheIntegratorSaysToAPurchase(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		says   string
		answer lanes.Answer
	}{
		"success": {200, `{"success":true,"trace_id":"t-1"}`, lanes.Answer{Trace: "t-1"}},
		"refusal with words for the customer": {
			402, `{"error":"card 12 declined","user_message":"Your card was declined.","trace_id":"t-2"}`,
			lanes.Answer{UserMessage: "Your card was declined.", Error: "card 12 declined", Trace: "t-2"},
		},
		"refusal without words": {
			409, `{"error":"sold out","trace_id":"t-3"}`,
			lanes.Answer{Error: "sold out", Trace: "t-3"},
		},
		"keys nobody knows": {
			500, `{"hint":{"a":[1]},"user_message":"Sorry"}`,
			lanes.Answer{UserMessage: "Sorry"},
		},
		"nulls":                        {500, `{"error":null,"user_message":null,"trace_id":null}`, lanes.Answer{}},
		"success that says it is none": {200, `{"success":"no"}`, lanes.Answer{}},
		"nothing":                      {500, "", lanes.Answer{}},
		"a web page":                   {502, "<html><body>Bad gateway</body></html>", lanes.Answer{}},
		"half of it":                   {500, `{"error":"sold out","user_message":"So`, lanes.Answer{}},
		"more after it":                {500, `{"error":"sold out"} {"error":"no"}`, lanes.Answer{}},
		"a number for a text": {
			500, `{"error":5,"user_message":"Sorry"}`,
			lanes.Answer{UserMessage: "Sorry"},
		},
		"other types beside a text": {
			500,
			`{"error":{"a":[1]},"trace_id":[7],"success":"no","user_message":"Sorry"}`,
			lanes.Answer{UserMessage: "Sorry"},
		},
		"a key in another case":    {500, `{"User_Message":"Sorry"}`, lanes.Answer{}},
		"an object for a text":     {500, `{"user_message":{"en":"Sorry"}}`, lanes.Answer{}},
		"an array":                 {500, `[{"error":"sold out"}]`, lanes.Answer{}},
		"a text":                   {500, `"sold out"`, lanes.Answer{}},
		"null":                     {500, `null`, lanes.Answer{}},
		"bytes that are no text":   {500, "{\"error\":\"\xff\xfe\"}", lanes.Answer{Error: "\uFFFD\uFFFD"}},
		"an abyss of brackets":     {500, strings.Repeat("[", 30_000), lanes.Answer{}},
		"just as much as is read":  {500, padded(maxAnswerBytes), lanes.Answer{Error: "sold out"}},
		"a byte more than is read": {500, padded(maxAnswerBytes + 1), lanes.Answer{}},
		"far more than is read":    {500, padded(20 * maxAnswerBytes), lanes.Answer{}},
		"control characters": {
			500, `{"user_message":"\u0007No\u001b[31m \u0000more\r\nof\tthese\n"}`,
			lanes.Answer{UserMessage: "No[31m more  of these"},
		},
		"more text than a screen takes": {
			500, `{"error":"` + strings.Repeat("ж", 501) + `"}`,
			lanes.Answer{Error: strings.Repeat("ж", 500)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			integrator := startReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.says)
			})
			made, answer := newClient(t, integrator.URL).
				Attempt(t.Context(), entry(newEvent(lanes.PurchaseRequest)), false)
			require.Equal(t, tc.status, made.Status)
			require.Equal(t, errorOfStatus(tc.status), made.Error)
			require.Equal(t, tc.answer, answer)
		})
	}
}

// padded is a refusal of so many bytes.
func padded(size int) string {
	const refusal, end = `{"error":"sold out"`, `}`
	return refusal + strings.Repeat(" ", size-len(refusal)-len(end)) + end
}

func TestAnAnswerWithoutAnEnd(t *testing.T) {
	integrator := startReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		for err := error(nil); err == nil; {
			_, err = w.Write(make([]byte, 4096))
		}
	})
	for _, kind := range []lanes.Kind{lanes.PurchaseRequest, lanes.Help} {
		made, answer := newClient(t, integrator.URL).Attempt(t.Context(), entry(newEvent(kind)), false)
		require.Empty(t, made.Error)
		require.Zero(t, answer)
	}
}

// Nobody asked for compression, so there may be no end to what it unpacks to.
func TestACompressedAnswerIsNotUnpacked(t *testing.T) {
	integrator := startReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packer := gzip.NewWriter(w)
		_, _ = io.WriteString(packer, `{"user_message":"Sorry"}`)
		_ = packer.Close()
	})
	_, answer := newClient(t, integrator.URL).Attempt(t.Context(), entry(newEvent(lanes.PurchaseRequest)), false)
	require.Zero(t, answer)
}

func TestOtherEventsHaveNoAnswer(t *testing.T) {
	integrator := startReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"user_message":"Hello"}`)
	})
	_, answer := newClient(t, integrator.URL).Attempt(t.Context(), entry(newEvent(lanes.Help)), false)
	require.Zero(t, answer)
}

// A receiver that takes nothing may say when it wants to be tried again. With a delivery that means nothing.
func TestAReceiverThatSaysWhen(t *testing.T) {
	for header, asked := range map[string]time.Duration{
		"120": 2 * time.Minute, "0": 0, "": 0, "-5": 0, "soon": 0, "1e3": 0,
		"18446744073709551615":                       1 << 30 * time.Second,
		noon.Add(time.Hour).Format(http.TimeFormat):  noon.Truncate(time.Second).Add(time.Hour).Sub(noon),
		noon.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		t.Run(header, func(t *testing.T) {
			code := http.StatusServiceUnavailable
			integrator := startReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", header)
				w.WriteHeader(code)
			})
			client := newClient(t, integrator.URL)
			_, answer := client.Attempt(t.Context(), entry(newEvent(lanes.Help)), false)
			require.Equal(t, lanes.Answer{RetryAfter: asked}, answer)
			code = http.StatusNoContent
			_, answer = client.Attempt(t.Context(), entry(newEvent(lanes.Help)), false)
			require.Zero(t, answer)
		})
	}
}

func FuzzAnAnswerIsLegible(f *testing.F) {
	f.Add([]byte(`{"error":"a\u0000b","user_message":"` + strings.Repeat("é", 600) + `","trace_id":"\ud800"}`))
	f.Fuzz(func(t *testing.T, said []byte) {
		answer := parseAnswer(said)
		for _, text := range []string{answer.Error, answer.UserMessage, answer.Trace} {
			require.True(t, utf8.ValidString(text))
			require.LessOrEqual(t, utf8.RuneCountInString(text), longestText)
			require.Equal(t, text, cleanText(text), "nothing is left to do")
		}
	})
}
