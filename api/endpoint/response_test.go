package endpoint

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

type word struct {
	Word string `json:"word" example:"yes"`
}

// A response that appends its own JSON is sent as appended, and described as its view.
func TestAResponseThatAppendsItsOwnJSON(t *testing.T) {
	api := (&demo{}).api()
	r := api.Router()
	spell := func(w string) Appender[word] {
		return func(buffer []byte) []byte { return append(append(append(buffer, `{"word":"`...), w...), `"}`...) }
	}
	e := Handle("GET", "/{word}", 200, "One word",
		func(in *Input) string { return in.PathOneOf("word", "The word", "yes", "no") },
		func(_ context.Context, word string) (Appender[word], error) { return spell(word), nil })
	api.Mount(r, prefix, []Endpoint{e})
	document := api.Document(Reference{Prefix: prefix}, []Endpoint{e})
	require.NotNil(t, document.Components.Schemas["word"])
	require.JSONEq(t, `{"word":"yes"}`, string(encode(document.Components.Examples["word"].Value.Value)))

	// The buffer is reused only after the response is sent.
	get := func(word string, meanwhile func()) string {
		w := slowClient{httptest.NewRecorder(), meanwhile}
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+"/"+word, nil))
		return w.Body.String()
	}
	var inBetween string
	require.Equal(t, `{"word":"no"}`+"\n", get("no", func() { inBetween = get("yes", func() {}) }))
	require.Equal(t, `{"word":"yes"}`+"\n", inBetween)
}

// slowClient calls meanwhile before it accepts the response.
type slowClient struct {
	*httptest.ResponseRecorder
	meanwhile func()
}

func (c slowClient) Write(response []byte) (int, error) {
	c.meanwhile()
	return c.ResponseRecorder.Write(response)
}
