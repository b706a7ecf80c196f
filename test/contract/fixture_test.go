package contract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// fixture is a proxy between Specmatic and the gateway, because a document cannot say what there is at a
// range. Before each request it brings the range into one state: its only session is on lane 1 and runs. It is
// paused where the request is to resume it, waits where it is to start it (with a start where that is asked for), and
// has ended where its end is read. What an
// earlier request has simulated or reserved is undone.
// Then it adapts the request to that and passes it on. It leaves the answer as it is.
type fixture struct {
	URL string

	t        testing.TB
	pos      support.POS
	mu       sync.Mutex
	keys     map[string]bool // idempotency keys that were used
	undo     bool            // the request before has simulated a state of the range
	reserved struct {        // the reservation that a request has made
		ID string `json:"reservation_id"`
	}
	answers []string // "GET /api/v2/pos/lanes 200"
}

func newFixture(t testing.TB, gateway *support.Gateway) *fixture {
	f := &fixture{t: t, pos: gateway.POS(), keys: map[string]bool{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

func (f *fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
		panic(http.ErrAbortHandler)
	}
	var request *http.Request
	var answer answered
	for range maxRepeats {
		r.Body = io.NopCloser(bytes.NewReader(body))
		request = f.adapted(r, f.reset(r.URL.Path))
		if answer, err = exchange(request); err != nil {
			f.t.Error(err)
			panic(http.ErrAbortHandler)
		}
		if answer.status != http.StatusServiceUnavailable {
			break
		}
	}
	f.judge(request, answer)
	f.noteReservation(request, answer)
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
}

// maxRepeats is how often a request is made that is refused for now, because the store of a busy machine
// takes its time.
const maxRepeats = 5

// answered is what the gateway has answered.
type answered struct {
	status int
	header http.Header
	body   []byte
}

func exchange(request *http.Request) (answered, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return answered{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := readAnswer(response)
	return answered{response.StatusCode, response.Header, body}, err
}

// readAnswer reads the whole answer, of a stream its first two messages: Specmatic waits for the end of an answer.
func readAnswer(response *http.Response) ([]byte, error) {
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return io.ReadAll(response.Body)
	}
	var text []byte
	for lines := bufio.NewReader(response.Body); bytes.Count(text, []byte("\n\n")) < 2; {
		line, err := lines.ReadBytes('\n')
		text = append(text, line...)
		if err != nil {
			return text, err
		}
	}
	return text, nil
}

// soldMinutes is the time of every session: half of the longest, so that it can be doubled.
const soldMinutes = 240

// reset makes the only session, in the state that a request to the path needs, and returns its id.
func (f *fixture) reset(path string) string {
	f.endSimulation()
	f.endReservation()
	f.undo = strings.Contains(path, "/simulate/")
	for id := range f.pos.Sessions() {
		f.pos.Insist(http.StatusNoContent, "POST", "/sessions/"+id+"/stop", "")
	}
	order := func(fields ...string) string {
		return f.pos.Insist(http.StatusCreated, "POST", "/sessions", support.Order(1, soldMinutes, fields...)).
			SessionID(f.t)
	}
	if strings.Contains(path, "/starts/") {
		var start struct {
			ID string `json:"start_id"`
		}
		f.pos.Insist(http.StatusCreated, "POST", "/starts", startOf(order(`,"auto_start":false`))).Decode(f.t, &start)
		return start.ID
	}
	if strings.HasSuffix(path, "/start") || strings.HasSuffix(path, "/starts") ||
		strings.HasSuffix(path, "/simulate/enter") {
		return order(`,"auto_start":false`)
	}
	if strings.Contains(path, "/reservations/") {
		f.pos.Insist(http.StatusCreated, "POST", "/reservations", aReservation).Decode(f.t, &f.reserved)
		return f.reserved.ID
	}
	session := order()
	if strings.Contains(path, "/history/") {
		f.pos.Insist(http.StatusNoContent, "POST", "/sessions/"+session+"/stop", "")
		return session
	}
	support.Eventually(f.t, "the session begins", func() bool { return f.pos.Session(session).Began != nil })
	if strings.HasSuffix(path, "/resume") {
		f.pos.Insist(http.StatusNoContent, "POST", "/sessions/"+session+"/pause", "")
	}
	return session
}

// aReservation is a request for one lane, for a short while: what it leaves is over soon.
const aReservation = `{"lanes":1,"seconds":10}`

// noteReservation notes what a request has reserved.
func (f *fixture) noteReservation(r *http.Request, answer answered) {
	if strings.HasSuffix(r.URL.Path, "/reservations") && answer.status == http.StatusCreated {
		require.NoError(f.t, json.Unmarshal(answer.body, &f.reserved))
	}
}

// endReservation gives free what an earlier request has reserved.
func (f *fixture) endReservation() {
	if f.reserved.ID != "" {
		f.pos.Insist(http.StatusNoContent, "DELETE", "/reservations/"+f.reserved.ID, "")
		f.reserved.ID = ""
	}
}

// startOf is a request that the session begins some time from now.
func startOf(session string) string {
	return fmt.Sprintf(`{"session_ids":[%q],"in_seconds":3600}`, session)
}

// endSimulation brings the range out of the state that a request has simulated.
func (f *fixture) endSimulation() {
	if !f.undo {
		return
	}
	f.pos.Insist(http.StatusNoContent, "POST", "/simulate/error", `{"code":"timeout","requests":0}`)
	f.pos.Insist(http.StatusNoContent, "POST", "/simulate/fault",
		fmt.Sprintf(`{"lane_id":%q,"on":false}`, support.LaneID(2)))
	for kind, id := range scopes {
		f.pos.Insist(http.StatusOK, "POST", "/simulate/ceasefire", fmt.Sprintf(`{"scope":%q%s,"on":false}`, kind, id))
	}
}

// scopes are what a ceasefire lies over, with the further field that names it.
var scopes = map[string]string{
	"range": "",
	"bay":   fmt.Sprintf(`,"id":%q`, support.Bay),
	"lane":  fmt.Sprintf(`,"id":%q`, support.LaneID(2)),
}

// judge writes the answer down, and is stricter than Specmatic, to which one 4xx is as good as another: as everything
// else about the request is right, what is wrong with it is its form.
func (f *fixture) judge(request *http.Request, answer answered) {
	f.answers = append(f.answers, fmt.Sprintf("%s %s %d", request.Method, request.URL.Path, answer.status))
	if meantToFail(request) && answer.status != http.StatusBadRequest {
		f.t.Errorf("malformed, and not answered 400: %s %s\n%v\n%d %s",
			request.Method, request.URL, request.Header, answer.status, answer.body)
	}
}

// meantToFail tells whether Specmatic has made the request wrong: it sends along the status that it expects.
func meantToFail(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Specmatic-Response-Code"), "4")
}

// succeeded tells whether a request for the operation ("GET /lanes") was answered 2xx.
func (f *fixture) succeeded(prefix, operation string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	method, path, _ := strings.Cut(operation, " ")
	path = regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/ ]+`)
	pattern := regexp.MustCompile("^" + method + " " + prefix + path + " 2..$")
	for _, answer := range f.answers {
		if pattern.MatchString(answer) {
			return true
		}
	}
	return false
}
