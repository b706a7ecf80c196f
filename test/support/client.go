package support

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Client makes requests to an address for one range.
type Client struct {
	API, Range, Token string
	HTTP              *http.Client // nil: the default one
}

// Answer is what a request was answered.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Do makes a request. Headers come in pairs; an empty value takes a header away.
func (c Client) Do(method, path, body string, headers ...string) (Answer, error) {
	request, err := http.NewRequest(method, c.API+path, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("range-id", c.Range)
	request.Header.Set("token", c.Token)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			request.Header.Del(headers[i])
		}
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, string(read)}, err
}

// Code is the stable word of a refusal, empty for any other answer.
func (a Answer) Code() string {
	var refusal struct{ Code string }
	_ = json.Unmarshal([]byte(a.Body), &refusal)
	return refusal.Code
}

// IsStoreAway is true of a refusal because the store takes more than a second: nothing was changed.
func (a Answer) IsStoreAway() bool { return a.Code() == "store_unavailable" }

// IsForNow is true of what is answered otherwise later: a refusal for now (503), or an unknown outcome (504).
func (a Answer) IsForNow() bool {
	return a.Status == http.StatusServiceUnavailable || a.Status == http.StatusGatewayTimeout
}

// Decode reads the body as JSON.
func (a Answer) Decode(t testing.TB, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.Body), into), a.Body)
}

// SessionID is the id of the session that the answer shows.
func (a Answer) SessionID(t testing.TB) string {
	t.Helper()
	var view Session
	a.Decode(t, &view)
	return view.ID
}

// Wait waits, and returns false when ctx ended first.
func Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
