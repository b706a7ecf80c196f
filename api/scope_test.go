package api

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// A token that may only read gets 403 for everything else, whatever the path, and its holder is no failed
// authentication.
func TestATokenThatMayOnlyRead(t *testing.T) {
	s := settings(&fakeRange{status: 200})
	s.Limits = Limits{FailuresPerMinute: 1}
	s.Credentials[uuid.MustParse(someRange)] = append(s.Credentials[uuid.MustParse(someRange)],
		Credential{Digest: digest(otherToken), ReadOnly: true})
	h := New(s)
	ask := func(method, path, token string) (status int, code string) {
		response := send(h, method, path, "range-id", someRange, "token", token)
		var body struct{ Code string }
		if method != "HEAD" && response.Body.Len() > 0 {
			_ = json.Unmarshal(response.Body.Bytes(), &body)
		}
		return response.Code, body.Code
	}
	for _, path := range []string{prefix1 + "/sessions", prefix2 + "/sessions", prefix2 + "/events", prefix2 +
		"/simulate/products"} {
		for _, method := range []string{"GET", "HEAD"} {
			status, _ := ask(method, path, otherToken)
			require.Equal(t, 200, status, path)
		}
	}
	for _, write := range [][2]string{
		{"POST", prefix1 + "/sessions"},
		{"PATCH", prefix1 + "/sessions"},
		{"POST", prefix2 + "/sessions"},
		{"POST", prefix2 + "/sessions/" + theSession + "/stop"},
		{"POST", prefix2 + "/simulate/help"},
		{"POST", prefix2 + "/nowhere"},
		{"PUT", prefix2 + "/sessions"},
		{"BREW", prefix2 + "/sessions"},
	} {
		status, code := ask(write[0], write[1], otherToken)
		require.Equal(t, 403, status, write)
		require.Equal(t, "forbidden", code, write)
		status, _ = ask(write[0], write[1], someToken)
		require.NotEqual(t, 403, status, "another token of the range may: %s", write)
	}
	status, _ := ask("GET", prefix2+"/nowhere", otherToken)
	require.Equal(t, 404, status)
	status, code := ask("POST", prefix2+"/sessions", theSession)
	require.Equal(t, 401, status)
	require.Equal(t, "unauthorized", code)
}

// The name of a token is on the line of the access log, and goes to the range with the request.
func TestTheNameOfATokenIsRecorded(t *testing.T) {
	var log bytes.Buffer
	r := &fakeRange{status: 200}
	s := settings(r)
	s.Log = zerolog.New(&log)
	s.Credentials[uuid.MustParse(someRange)] = []Credential{
		{Digest: digest(someToken), Name: "till 1"},
		{Digest: digest(otherToken)},
	}
	h := New(s)
	for _, c := range []struct{ token, who string }{{someToken, "till 1"}, {otherToken, ""}} {
		log.Reset()
		require.Equal(t, 204, send(h, "POST", prefix2+"/sessions/"+theSession+"/stop", "range-id", someRange,
			"token", c.token).Code)
		require.Equal(t, c.who, r.who)
		var line struct{ Who *string }
		require.NoError(t, json.Unmarshal(log.Bytes(), &line), log.String())
		if c.who == "" {
			require.Nil(t, line.Who)
		} else {
			require.Equal(t, c.who, *line.Who)
		}
	}
}
