package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// adapted is the generated request as it makes sense at the range: where it has some id it gets the one of something
// that is there, and minutes become as many as the session can take. What was made wrong stays wrong.
func (f *fixture) adapted(r *http.Request, session string) *http.Request {
	adapt := func(field, value string) string {
		if isID(value) {
			switch field {
			case "lane_id":
				return support.LaneID(2) // free
			case "group_id":
				return support.Group
			default:
				return session
			}
		}
		if (field == "after" || field == lastEventHeader) && !meantToFail(r) {
			return "0" // who waits behind a cursor that was never given is refused
		}
		if field == "until" && !meantToFail(r) {
			return "1" // the events of all requests before, sent again by each that asks for them, would be millions
		}
		if field == "webhook" && !meantToFail(r) {
			return theWebhook
		}
		if field == "time" && strings.HasSuffix(r.URL.Path, "/modify") ||
			field == "qty" && strings.HasSuffix(r.URL.Path, "/addTime") {
			return reachable(r, value)
		}
		return value
	}

	body, err := io.ReadAll(r.Body)
	require.NoError(f.t, err)
	url := *r.URL
	path := strings.Split(url.EscapedPath(), "/")
	for i := range path {
		path[i] = adapt("id", path[i])
	}
	if last := len(path) - 1; path[last] == "redeliver" && path[last-1] != "events" {
		path[last-1] = f.deliveredEvent()
		if meantToFail(r) { // to Specmatic a number is a wrong cursor, and in a path it is none
			path[last-1] += "x"
		}
	}
	query := url.Query()
	for field, values := range query {
		values[0] = adapt(field, values[0])
	}
	target := f.pos.API + strings.Join(path, "/")
	if url.RawQuery != "" {
		target += "?" + query.Encode()
	}
	body = adaptedBody(body, adapt)
	if strings.HasSuffix(r.URL.Path, "/simulate/ceasefire") && !meantToFail(r) {
		body = f.adaptedScope(body)
	}
	// the document cannot say that one of two fields is given
	if strings.HasSuffix(r.URL.Path, "/starts") && !meantToFail(r) {
		body = []byte(startOf(session))
	}
	// nor which operations cannot be, one after the other
	if strings.HasSuffix(r.URL.Path, "/batch") && !meantToFail(r) {
		body = []byte(`{"operations":[{"op":"modify","session_id":"` + session + `","time":5}]}`)
	}
	// nor which tokens there are, and what goes together
	if strings.HasSuffix(r.URL.Path, "/sessions") && !meantToFail(r) {
		body = without(body, "reservation")
		if !opensItsEnd(body) {
			body = without(body, "open_end")
		}
	}
	if strings.HasSuffix(r.URL.Path, "/reservations") && !meantToFail(r) { // likewise
		body = []byte(aReservation)
	}
	request, err := http.NewRequest(r.Method, target, bytes.NewReader(body))
	require.NoError(f.t, err)
	request.Header = r.Header.Clone()
	if last := request.Header.Get(lastEventHeader); last != "" {
		request.Header.Set(lastEventHeader, adapt(lastEventHeader, last))
	}
	if key := r.Header.Get(keyHeader); key != "" {
		request.Header.Set(keyHeader, f.unused(key))
	}
	return request
}

// adaptedScope names the bay or the lane that a ceasefire is to lie over. A document cannot say which of them goes with
// which scope.
func (f *fixture) adaptedScope(body []byte) []byte {
	var ceasefire struct {
		Scope string `json:"scope"`
		On    bool   `json:"on"`
	}
	require.NoError(f.t, json.Unmarshal(body, &ceasefire))
	return fmt.Appendf(nil, `{"scope":%q%s,"on":%v}`, ceasefire.Scope, scopes[ceasefire.Scope], ceasefire.On)
}

// deliveredEvent is the cursor of an event whose delivery has ended.
func (f *fixture) deliveredEvent() (cursor string) {
	support.Eventually(f.t, "the first event is delivered", func() bool {
		var page struct{ Events []support.Event }
		f.pos.Read("/events?limit=1", &page)
		cursor = page.Events[0].Cursor
		return page.Events[0].Attempt != nil && !page.Events[0].Interrupted()
	})
	return cursor
}

// adaptedBody adapts the fields of an object. Anything else stays as it is, to the byte.
func adaptedBody(body []byte, adapt func(field, value string) string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields == nil {
		return body
	}
	for field, raw := range fields {
		var text string
		if string(raw) == "null" { // what may be left out may be null
			continue
		}
		if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
			if adapted := adapt(field, text); adapted != text {
				fields[field] = json.RawMessage(strconv.Quote(adapted))
			}
		} else {
			fields[field] = json.RawMessage(adapt(field, string(raw)))
		}
	}
	adapted, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return adapted
}

// opensItsEnd reports whether a sale can have its open end: it is behind the minutes, and goes without a grace.
func opensItsEnd(sale []byte) bool {
	var wanted struct {
		Duration int  `json:"duration"`
		Grace    bool `json:"grace"`
		OpenEnd  struct {
			UpTo int `json:"up_to"`
		} `json:"open_end"`
	}
	return json.Unmarshal(sale, &wanted) == nil && wanted.OpenEnd.UpTo > wanted.Duration && !wanted.Grace
}

// without returns the body without that field.
func without(body []byte, field string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields[field] == nil {
		return body
	}
	delete(fields, field)
	rest, _ := json.Marshal(fields) // of what was just read
	return rest
}

// theWebhook is the name of the range's webhook.
const theWebhook = "pos"

func isID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }

// reachable brings minutes to add to where they leave the session 1 to 480 in all: the documents allow a million either
// way, and beyond what the session can take the answer is 409, rightly. Nor does Specmatic know of "not 0".
func reachable(r *http.Request, minutes string) string {
	n, err := strconv.Atoi(minutes)
	if err != nil || meantToFail(r) {
		return minutes
	}
	if n == 0 {
		n = 1
	}
	return strconv.Itoa(min(max(n, 1-soldMinutes), soldMinutes))
}

const (
	keyHeader       = "Idempotency-Key"
	lastEventHeader = "Last-Event-ID"
)

// unused is the key, or where it was used for another request already, which is an error of its own, one of its length.
// Of the shortest there are 94; after them it is longer.
func (f *fixture) unused(key string) string {
	for tries := 0; f.keys[key]; tries++ {
		random := make([]byte, len(key)+tries/1000)
		for i := range random {
			random[i] = byte('!' + rand.IntN('~'-'!'+1))
		}
		key = string(random)
	}
	f.keys[key] = true
	return key
}
