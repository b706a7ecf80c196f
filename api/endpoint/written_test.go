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

// An answer that writes itself is sent as it is written, and described as what it looks like.
func TestAnAnswerThatWritesItself(t *testing.T) {
	api := (&demo{}).api()
	r := api.Router()
	say := func(w string) Written[word] {
		return func(to []byte) []byte { return append(append(append(to, `{"word":"`...), w...), `"}`...) }
	}
	e := Handle("GET", "/{word}", 200, "One word", func(in *Input) string { return in.PathOneOf("word", "The word", "yes", "no") },
		func(_ context.Context, word string) (Written[word], error) { return say(word), nil })
	api.Mount(r, prefix, []Endpoint{e})
	document := api.Document(Reference{Prefix: prefix}, []Endpoint{e})
	require.NotNil(t, document.Components.Schemas["word"])
	require.JSONEq(t, `{"word":"yes"}`, string(encode(document.Components.Examples["word"].Value.Value)))

	// Its buffer is another's once it is sent, and not before.
	ask := func(word string, meanwhile func()) string {
		w := slowClient{httptest.NewRecorder(), meanwhile}
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+"/"+word, nil))
		return w.Body.String()
	}
	var inBetween string
	require.Equal(t, `{"word":"no"}`+"\n", ask("no", func() { inBetween = ask("yes", func() {}) }))
	require.Equal(t, `{"word":"yes"}`+"\n", inBetween)
}

// slowClient takes an answer only after something else has happened.
type slowClient struct {
	*httptest.ResponseRecorder
	meanwhile func()
}

func (c slowClient) Write(answer []byte) (int, error) {
	c.meanwhile()
	return c.ResponseRecorder.Write(answer)
}
