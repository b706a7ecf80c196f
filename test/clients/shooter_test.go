package clients

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// shooter is at the screen of lane 1.
type shooter struct {
	t      testing.TB
	pos    support.POS
	screen string // its address
	client *http.Client
}

func newShooter(t testing.TB, playground *support.Gateway) *shooter {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	s := &shooter{t, playground.POS(), playground.API + "/lane/" + support.LaneID(1), &http.Client{Jar: jar}}
	response, err := s.client.Get(s.screen + "?key=playground-lane-1-screen")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	return s
}

// buy buys as the screen does, as soon as the purchase before it has ended.
func (s *shooter) buy(product string, quantity int) {
	var session string
	for session = range s.pos.Sessions() {
	}
	body := fmt.Sprintf(`{"purchase_id":%q,"session_id":%q,"items":[{"id":%q,"qty":%d}]}`, uuid.NewString(), session,
		product, quantity)
	support.Eventually(s.t, "the purchase is taken", func() bool {
		response, err := s.client.Post(s.screen+"/purchase", "application/json", strings.NewReader(body))
		require.NoError(s.t, err)
		require.NoError(s.t, response.Body.Close())
		return response.StatusCode == http.StatusAccepted
	})
}

// forgery is a request to the webhook, of which some are right.
type forgery struct {
	name   string
	status int // that the kit has to answer
	header http.Header
	body   string
}

// forgeries are requests that differ from a right one in one thing each. The till does not know what they tell.
func forgeries(t testing.TB) []forgery {
	const body, another = `{"event":"somethingNew"}`, `{"event":"somethingElse"}`
	const alien = "whsec_bm90IGEgc2VjcmV0IG9mIHRoaXMgcmFuZ2UhIQ=="
	now := time.Now()
	signed := func(secret string, at time.Time) http.Header {
		key, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		id := "msg_" + uuid.NewString()
		signature, err := key.Sign(id, at, []byte(body))
		require.NoError(t, err)
		header := http.Header{}
		header.Set("webhook-id", id)
		header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
		header.Set("webhook-signature", signature)
		return header
	}
	changed := func(name, value string) http.Header {
		header := signed(support.Secret, now)
		header.Set(name, value)
		return header
	}
	two := signed(support.Secret, now)
	two.Set("webhook-signature", "v1,bm90IHRoaXMgb25l "+two.Get("webhook-signature"))
	return []forgery{
		{"right, of a kind that the till does not know", http.StatusNoContent, signed(support.Secret, now), body},
		{"two signatures, of which one is right", http.StatusNoContent, two, body},
		{"another secret", http.StatusUnauthorized, signed(alien, now), body},
		{"another body", http.StatusUnauthorized, signed(support.Secret, now), another},
		{"another id", http.StatusUnauthorized, changed("webhook-id", "msg_1"), body},
		{"six minutes old", http.StatusUnauthorized, signed(support.Secret, now.Add(-6*time.Minute)), body},
		{"six minutes early", http.StatusUnauthorized, signed(support.Secret, now.Add(6*time.Minute)), body},
		{"a timestamp that is no number", http.StatusUnauthorized, changed("webhook-timestamp", "now"), body},
		{
			"a timestamp of one byte that some call a digit", http.StatusUnauthorized,
			changed("webhook-timestamp", "\xb2"), body,
		},
		{
			"a signature of one byte that is no letter", http.StatusUnauthorized,
			changed("webhook-signature", "v1,\xff"), body,
		},
		{
			"another version of signatures", http.StatusUnauthorized,
			changed("webhook-signature", "v2,"+strings.TrimPrefix(two.Get("webhook-signature"), "v1,")), body,
		},
		{"no headers", http.StatusUnauthorized, http.Header{}, body},
	}
}

func (f forgery) send(t testing.TB, webhook string) (status int) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+webhook+"/webhook",
		bytes.NewBufferString(f.body))
	require.NoError(t, err)
	request.Header = f.header
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}
