package integrator

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnEventIsListed(t *testing.T) {
	r := newFixture(t, secret)
	status, _ := r.send(r.signed(purchase, time.Now(), secret))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `[{"number":1,"at":"2026-05-01T12:00:00Z","event":"purchaseRequest",`+
		`"session_id":"7d1c8a9e-0000-4000-8000-000000000001","lane_id":"44444444-4444-4444-8444-000000000007",`+
		`"items":[{"id":"9mm-box-50","qty":2},{"id":"time","qty":30}],"range_id":"11111111-1111-4111-8111-111111111111",`+
		`"webhook_id":"msg_1","signature":"right","answer":"accept","status":200,"reason":"","again_of":0,"known":false,"late":false}]`, jsonOf(r.arrived()))
}

func TestALateEventIsShownAsLate(t *testing.T) {
	r := newFixture(t, secret)
	request := r.signed(started, time.Now(), secret)
	request.Header.Set("webhook-late", "true")
	status, _ := r.send(request)
	require.Equal(t, http.StatusNoContent, status)
	require.True(t, r.arrived()[0].Late)
}

func TestTheSignatureIsChecked(t *testing.T) {
	r := newFixture(t, secret, another)
	now := time.Now()
	with := func(name, value string) *http.Request {
		request := r.signed(started, now, secret)
		if value == "" {
			request.Header.Del(name)
		} else {
			request.Header.Set(name, value)
		}
		return request
	}
	const foreign = "whsec_bm9ib2R5IGtub3dzIHRoaXMgb25l"
	for name, c := range map[string]struct {
		request *http.Request
		want    Signature
	}{
		"the first secret":       {r.signed(started, now, secret), Right},
		"the second secret":      {r.signed(started, now, another), Right},
		"during rotation":        {r.signed(started, now, foreign, another), Right},
		"four minutes old":       {r.signed(started, now.Add(-4*time.Minute), secret), Right},
		"another secret":         {r.signed(started, now, foreign), Wrong},
		"not signed":             {r.signed(started, now), Missing},
		"no id":                  {with("webhook-id", ""), Missing},
		"no timestamp":           {with("webhook-timestamp", ""), Missing},
		"another id":             {with("webhook-id", "msg_2"), Wrong},
		"a timestamp of letters": {with("webhook-timestamp", "noon"), Wrong},
		"nonsense":               {with("webhook-signature", "v1,AAAA v2, ,"), Wrong},
		"too old":                {r.signed(started, now.Add(-6*time.Minute), secret), Untimely},
		"too new":                {r.signed(started, now.Add(6*time.Minute), secret), Untimely},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := r.send(c.request)
			list := r.arrived()
			arrival := list[len(list)-1]
			require.Equal(t, c.want, arrival.Signature)
			require.Equal(t, "sessionStarted", arrival.Event, "it is listed in any case")
			require.Equal(t, status, arrival.Status)
			if c.want == Right {
				require.Equal(t, http.StatusNoContent, status)
				return
			}
			require.Equal(t, http.StatusUnauthorized, status)
			require.Equal(t, Rejected, arrival.Answer)
			require.Contains(t, body, `{"error":`+jsonOf(arrival.Reason)+`,"user_message":"","trace_id":"`)
			require.NotEmpty(t, arrival.Reason)
		})
	}
}

func TestAChangedBodyIsRejected(t *testing.T) {
	r := newFixture(t, secret)
	request := r.signed(purchase, time.Now(), secret)
	changed := r.signed(strings.Replace(purchase, `"qty":2`, `"qty":9`, 1), time.Now())
	changed.Header = request.Header
	status, _ := r.send(changed)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, Wrong, r.arrived()[0].Signature)
}

func TestWithoutSecretsNothingIsChecked(t *testing.T) {
	r := newFixture(t)
	status, _ := r.event(started)
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, Unchecked, r.arrived()[0].Signature)
}

func TestAnInvalidSecretIsRefusedAndNotQuoted(t *testing.T) {
	for _, bad := range []string{"whsec_%%%", "c2VjcmV0", ""} {
		_, err := New(Settings{Secrets: []string{secret, bad}})
		require.EqualError(t, err, "integrator: secret 2 is not whsec_ and base64")
	}
}

func TestABodyThatIsNoEventIsRejectedAndListed(t *testing.T) {
	r := newFixture(t)
	for _, body := range []string{
		"", "{", "null", "[]", "7", "{}", `{"event":7}`,
		`{"event":"purchaseRequest","items":[{"qty":"2"}]}`,
	} {
		status, answered := r.event(body)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, answered, `"error":"the body is not an event in JSON"`)
	}
	require.Len(t, r.arrived(), 8)
}

func TestTextsOfAnEventAreShortened(t *testing.T) {
	r := newFixture(t)
	long := strings.Repeat("ü", 200)
	items := strings.TrimSuffix(strings.Repeat(`{"id":"`+long+`","qty":1},`, 100), ",")
	request := r.signed(`{"event":"`+long+`","items":[`+items+`]}`, time.Now())
	request.Header.Set("webhook-id", strings.Repeat("x", 4000))
	status, _ := r.send(request)
	require.Equal(t, http.StatusNoContent, status)
	arrival := r.arrived()[0]
	require.Equal(t, strings.Repeat("ü", 127), arrival.Event, "no broken character")
	require.Len(t, arrival.WebhookID, 255)
	require.Len(t, arrival.Items, 50)

	status, _ = r.event(`{"event":"` + strings.Repeat("x", 64<<10) + `"}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Len(t, r.arrived(), 1)
}
