package contract

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"rangegate/test/process"
)

// stage stands between Specmatic and the gateway, because a document cannot say what there is at a range. Before each
// request it sets the scene: nobody is there but one session, in lane 1, that runs, or is paused where the request is to
// resume it. Then it adapts the request to that and passes it on. The answer it leaves alone.
type stage struct {
	URL string

	t       testing.TB
	pos     till
	mu      sync.Mutex
	keys    map[string]bool // idempotency keys that were used
	answers []string        // "GET /api/v2/pos/lanes 200"
}

func newStage(t testing.TB, gateway string) *stage {
	s := &stage{t: t, pos: till{t, process.Client{API: gateway, Range: rangeID, Token: token}}, keys: map[string]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session := s.set(strings.HasSuffix(r.URL.Path, "/resume"))
	request := s.adapted(r, session)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		s.t.Error(err)
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Error(err)
		panic(http.ErrAbortHandler)
	}
	s.judge(request, response, answer)
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer)
}

// set gives the id of the only session.
func (s *stage) set(paused bool) string {
	s.pos.clear()
	session := s.pos.sell(lane(1))
	s.pos.begun(session)
	if paused {
		s.pos.must("POST", v2+"/sessions/"+session+"/pause", "")
	}
	return session
}

// judge takes the answer down, and is stricter than Specmatic, to which one 4xx is as good as another: as everything
// else about the request is right, what is wrong with it is its form.
func (s *stage) judge(request *http.Request, response *http.Response, answer []byte) {
	s.answers = append(s.answers, fmt.Sprintf("%s %s %d", request.Method, request.URL.Path, response.StatusCode))
	if meantToFail(request) && response.StatusCode != http.StatusBadRequest {
		s.t.Errorf("malformed, and not answered 400: %s %s\n%v\n%d %s",
			request.Method, request.URL, request.Header, response.StatusCode, answer)
	}
}

// meantToFail tells whether Specmatic has made the request wrong: it sends along the status that it expects.
func meantToFail(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Specmatic-Response-Code"), "4")
}

// succeeded tells whether a request for the operation ("GET /lanes") was answered 2xx.
func (s *stage) succeeded(prefix, operation string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	method, path, _ := strings.Cut(operation, " ")
	path = regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/ ]+`)
	pattern := regexp.MustCompile("^" + method + " " + prefix + path + " 2..$")
	for _, answer := range s.answers {
		if pattern.MatchString(answer) {
			return true
		}
	}
	return false
}
