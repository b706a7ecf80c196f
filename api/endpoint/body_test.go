package endpoint

import (
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestABodyIsExactlyOneJSONObject(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":          "",
		"blank":            " \n",
		"null":             "null",
		"a list":           "[" + ordered + "]",
		"a string":         `"{}"`,
		"half an object":   ordered[:20],
		"garbage behind":   ordered + "x",
		"two objects":      ordered + ordered,
		"a comma too many": strings.TrimSuffix(ordered, "}") + ",}",
		"a byte order":     "\ufeff" + ordered,
		"broken UTF-8":     strings.Replace(ordered, "Jo", "J\xff", 1),
		"too deep": strings.TrimSuffix(ordered, "}") + `,"x":` +
			strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			_, h := newDemo()
			f := problem(t, call(h, "POST", prefix+"/sessions", body))
			require.Len(t, f.Fields, 1)
			require.Contains(t, f.Fields, "body")
		})
	}
	_, h := newDemo()
	require.Equal(t, 201, call(h, "POST", prefix+"/sessions", " \n"+ordered+"\t\n").Code)
}

func TestABodyThatBreaksOff(t *testing.T) {
	_, h := newDemo()
	r := httptest.NewRequest("POST", prefix+"/sessions", io.MultiReader(
		strings.NewReader(ordered[:10]), iotest.ErrReader(errors.New("connection reset"))))
	r.Header.Set("token", "any")
	require.Equal(t, Faults{"body": "could not be read to its end"}, problem(t, serve(h, r)).Fields)
}

func TestTheSizeOfABody(t *testing.T) {
	_, h := newDemo()
	padded := func(size int) string { return ordered + strings.Repeat(" ", size-len(ordered)) }
	require.Equal(t, 201, call(h, "POST", prefix+"/sessions", padded(64<<10)).Code)
	require.Equal(t, "too_large", problem(t, call(h, "POST", prefix+"/sessions", padded(64<<10+1))).Code)
}

func TestContentTypes(t *testing.T) {
	for mediaType, accepted := range map[string]bool{
		"": true, "application/json": true, "Application/JSON": true, "application/json; charset=utf-8": true,
		"application/json;charset": true, "text/plain": false, "application/json-patch+json": false,
		"application/x-www-form-urlencoded": false, "json": false, "application/json, text/plain": false,
	} {
		_, h := newDemo()
		w := call(h, "POST", prefix+"/sessions", ordered, "Content-Type", mediaType)
		if accepted {
			require.Equal(t, 201, w.Code, mediaType)
		} else {
			require.Equal(t, "unsupported_media_type", problem(t, w).Code, mediaType)
		}
	}
}

func TestABodyThatIsNotReadIsIgnored(t *testing.T) {
	_, h := newDemo()
	junk := strings.Repeat("junk", 64<<10)
	require.Equal(t, 204, call(h, "POST", prefix+"/sessions/"+laneID+"/modify?time=5", junk, "Content-Type",
		"text/plain").Code)
	require.Equal(t, 200, call(h, "GET", prefix+"/sessions", junk).Code)
}

func TestABodyOfOptionalFieldsIsOptional(t *testing.T) {
	d, h := newDemo()
	require.Equal(t, 201, call(h, "POST", prefix+"/simulate/help", "", "Content-Type", "text/plain").Code)
	require.Equal(t, uuid.Nil, d.last)
	require.Equal(t, 201, call(h, "POST", prefix+"/simulate/help", "{}").Code)
	require.Equal(t, 201, call(h, "POST", prefix+"/simulate/help", `{"session_id":"`+laneID+`"}`).Code)
	require.Equal(t, uuid.MustParse(laneID), d.last)
	require.Contains(t, problem(t, call(h, "POST", prefix+"/simulate/help", "x")).Fields, "body")
}

// Every body results in a create or in one of the documented refusals, and a create keeps its rules.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		ordered, "", "null", "{}", "[]", `{"duration":60.0}`, `{"duration":1e2,"duration":5}`,
		"{\"customer_name\":\"\xff\"}",
		`{"customer_name":"\ud800","lane_id":"` + laneID + `","duration":1}`, ordered + "{}", `{"auto_start":null}`,
	} {
		f.Add([]byte(seed))
	}
	d, h := newDemo()
	f.Fuzz(func(t *testing.T, body []byte) {
		w := call(h, "POST", prefix+"/sessions", string(body))
		require.Empty(t, d.defects)
		if w.Code != 201 {
			require.Contains(t, []string{"invalid_request", "too_large"}, problem(t, w).Code)
			return
		}
		var object map[string]any
		require.NoError(t, json.Unmarshal(body, &object))
		require.True(t, utf8.Valid(body))
		got := d.last.(create)
		require.EqualValues(t, object["duration"], got.Duration)
		require.True(t, 1 <= got.Duration && got.Duration <= 480)
		require.Equal(t, strings.TrimSpace(object["customer_name"].(string)), got.Customer)
		require.NotEmpty(t, got.Customer)
		require.Equal(t, strings.ToLower(object["lane_id"].(string)), got.Lane.String())
		if given, ok := object["auto_start"].(bool); ok {
			require.Equal(t, given, got.AutoStart)
		}
	})
}
