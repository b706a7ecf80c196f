package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/logtail"
)

// logFollower follows the log of a server.
type logFollower struct {
	t      *testing.T
	stream *bufio.Reader
}

func followLog(t *testing.T, server *httptest.Server, query string) logFollower {
	t.Helper()
	status, contentType, body := askToFollow(t, server, query)
	require.Equal(t, 200, status)
	require.Equal(t, "text/event-stream", contentType)
	return logFollower{t, bufio.NewReader(body)}
}

func askToFollow(t *testing.T, server *httptest.Server, query string) (status int, contentType string, body io.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/observer/log"+query, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Authorization", "Bearer operator")
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.StatusCode, response.Header.Get("Content-Type"), response.Body
}

// next returns the next message that is no beat.
func (f logFollower) next() (event, data string) {
	f.t.Helper()
	for {
		var fields [3]string
		for i := range fields {
			line, err := f.stream.ReadString('\n')
			require.NoError(f.t, err)
			_, fields[i], _ = strings.Cut(strings.TrimSpace(line), ": ")
		}
		if fields[0] != "beat" {
			return fields[0], fields[1]
		}
	}
}

// counts returns the next message, which is one of counts, without its time.
func (f logFollower) counts() string {
	f.t.Helper()
	event, data := f.next()
	require.Equal(f.t, "counts", event, data)
	var counts map[string]any
	require.NoError(f.t, json.Unmarshal([]byte(data), &counts))
	require.NotEmpty(f.t, counts["at"])
	delete(counts, "at")
	text, err := json.Marshal(counts)
	require.NoError(f.t, err)
	return string(text)
}

// An operator follows the log through a filter, also of a range that another node owns: the lines that match as they
// were written, and how many others there were. Closing ends it.
func TestTheLogIsFollowed(t *testing.T) {
	tail, closing := logtail.New(io.Discard), make(chan struct{})
	log := zerolog.New(tail)
	settings := operationsSettings(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	settings.Closing, settings.LogTail = closing, tail
	server := httptest.NewServer(NewOperations(settings))
	defer server.Close()

	all, warnings := followLog(t, server, ""), followLog(t, server, "?level=warn&text=Controller&range="+otherRange)
	const none = `{"dropped":0,"level":"debug","matching":0,"node":"north-1","not_matching":0,"not_written":0}`
	require.JSONEq(t, strings.Replace(none, "debug", zerolog.GlobalLevel().String(), 1), all.counts())
	warnings.counts()
	log.Info().Str("path", "/a<b>").Msg("request")
	event, data := all.next()
	require.Equal(t, []string{"line", `{"level":"info","path":"/a<b>","message":"request"}`}, []string{event, data})
	require.Contains(t, all.counts(), `"matching":1,"node":"north-1","not_matching":0,`)
	require.Contains(t, warnings.counts(), `"matching":0,"node":"north-1","not_matching":1,`)
	log.Warn().Str("range_id", otherRange).Str("error", "the CONTROLLER refused").Msg("link down")
	event, data = warnings.next()
	require.Equal(t, "line", event)
	require.Contains(t, data, "link down")
	require.Contains(t, warnings.counts(), `"matching":1,"node":"north-1","not_matching":1,`)

	close(closing)
	_, err := io.ReadAll(warnings.stream)
	require.NoError(t, err, "it ends")
	_, err = io.ReadAll(all.stream)
	require.NoError(t, err, "it ends")
	server.Close() // which waits for the requests
	require.Zero(t, tail.Followers())
}

// Lines of the access log that a flood of strangers does not get are counted while somebody follows.
func TestAFollowerOfTheLogLearnsWhatIsNotWritten(t *testing.T) {
	tail, closing := logtail.New(io.Discard), make(chan struct{})
	settings := operationsSettings(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	settings.Closing, settings.LogTail, settings.Log = closing, tail, zerolog.New(tail)
	h := NewOperations(settings)
	server := httptest.NewServer(h)
	defer server.Close()
	defer close(closing)
	flood := func() {
		for range 200 {
			send(h, "GET", "/observer")
		}
	}
	flood()
	before := settings.Traffic.sample.Dropped()
	require.Positive(t, before)
	f := followLog(t, server, "?level=error")
	require.Contains(t, f.counts(), `"not_written":0`)
	flood()
	for strings.Contains(f.counts(), `"not_written":0`) { // what was written of it
	}
}

// The log needs the token, and a filter that can be. Beyond the limit a follower is refused.
func TestWhoMayFollowTheLog(t *testing.T) {
	tail, closing := logtail.New(io.Discard), make(chan struct{})
	settings := operationsSettings(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	require.Equal(t, 404, sendAuthorized(NewOperations(settings), "GET", "/observer/log", "").Code, "without a tail")
	settings.Closing, settings.LogTail = closing, tail
	h := NewOperations(settings)
	require.Equal(t, 401, send(h, "GET", "/observer/log").Code)
	page := send(h, "GET", "/observer/log", "Accept", "text/html")
	require.Contains(t, page.Header().Get("Content-Type"), "text/html")
	require.Equal(t, "not_found", codeOf(t, sendAuthorized(h, "GET", "/observer/log?range="+theSession, "")))
	for _, query := range []string{"range=north", "lane=1", "level=loud", "text=" + strings.Repeat("x", 101)} {
		require.Equal(t, 400, sendAuthorized(h, "GET", "/observer/log?"+query, "").Code, query)
	}
	require.Equal(t, 200, sendAuthorized(h, "HEAD", "/observer/log", "").Code)
	require.Zero(t, tail.Followers())

	server := httptest.NewServer(h)
	defer server.Close()
	defer close(closing)
	for range logtail.MaxFollowers {
		followLog(t, server, "?lane="+uuid.NewString()).counts()
	}
	status, _, body := askToFollow(t, server, "")
	require.Equal(t, 503, status)
	problem, err := io.ReadAll(body)
	require.NoError(t, err)
	require.Contains(t, string(problem), `"code":"overloaded"`)
}
