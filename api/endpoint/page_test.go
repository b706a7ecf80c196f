package endpoint

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

type words struct {
	Paged `json:"-"`

	Words []string `json:"words"`
}

// A page has its room from before it is read until its client has accepted it, and its turn until it is encoded.
func TestAPageKeepsItsRoomUntilItIsWritten(t *testing.T) {
	reserved, composed := 0, 0
	api := (&demo{}).api()
	api.ReservePage = func(context.Context) (PageRoom, error) {
		reserved, composed = reserved+1, composed+1
		return PageRoom{sync.OnceFunc(func() { composed-- }), sync.OnceFunc(func() { reserved-- })}, nil
	}
	r := api.Router()
	list := Handle("GET", "/words", 200, "Words", NoInput, func(context.Context, Empty) (words, error) {
		require.Equal(t, 1, reserved, "while it is read")
		require.Equal(t, 1, composed, "while it is read")
		return words{Words: []string{strings.Repeat("a", 3*pieceBytes)}}, nil
	})
	one := Handle("GET", "/word", 200, "A word", NoInput, func(context.Context, Empty) (word, error) {
		require.Zero(t, reserved, "no page")
		return word{}, nil
	})
	all := Handle("GET", "/all", 200, "All words", NoInput, func(context.Context, Empty) ([]string, error) {
		require.Zero(t, reserved, "no page")
		return []string{strings.Repeat("a", 3*pieceBytes)}, nil
	})
	api.Mount(r, prefix, []Endpoint{list, one, all})
	pieces := 0
	w := slowClient{httptest.NewRecorder(), func() {
		require.Equal(t, 1, reserved, "while it is written")
		require.Zero(t, composed, "while it is written")
		pieces++
	}}
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+"/words", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, 4, pieces)
	require.JSONEq(t, `{"words":["`+strings.Repeat("a", 3*pieceBytes)+`"]}`, w.Body.String())
	require.Zero(t, reserved)
	r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, prefix+"/word", nil))

	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+"/all", nil)) // no page, and as large
	require.Equal(t, 8, pieces)
	require.Zero(t, reserved)
	api.ReservePage = func(context.Context) (PageRoom, error) { return PageRoom{}, errors.New("no room") }
	for path, status := range map[string]int{
		"/words": http.StatusInternalServerError,
		"/all":   http.StatusInternalServerError, "/word": http.StatusOK,
	} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+path, nil))
		require.Equal(t, status, w.Code, path)
	}
}

// One record is always on a page.
func TestARecordLargerThanAPage(t *testing.T) {
	large := strings.Repeat("a", PageBytes)
	require.Len(t, Fit([]string{large, "b"}), 1)
	require.Len(t, Fit([]string{"a", "b"}), 2)
	require.Empty(t, Fit([]string{}))
}

// The deadline moves with each piece: a client that goes on reading gets everything, however slow it is, and one that
// has stopped keeps its page's room for no longer than a piece may take.
func TestAPageIsWrittenAsLongAsItsClientReads(t *testing.T) {
	body := []byte(strings.Repeat("a", 10*pieceBytes))
	for name, c := range map[string]struct {
		takes func(piece int) time.Duration
		want  int
		after time.Duration
	}{
		"slow": {
			func(int) time.Duration { return pieceTimeout - time.Second }, len(body),
			10 * (pieceTimeout - time.Second),
		},
		"stops reading": {func(piece int) time.Duration {
			if piece == 2 {
				return time.Hour
			}
			return 0
		}, 2 * pieceBytes, pieceTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				// as the server has it
				w := &timedClient{httptest.NewRecorder(), c.takes, 0, began.Add(30 * time.Second)}
				writePieces(w, body)
				require.Equal(t, c.want, w.Body.Len())
				require.Equal(t, c.after, time.Since(began))
			})
		})
	}
}

// timedClient takes its time for each piece, and loses its connection at the deadline.
type timedClient struct {
	*httptest.ResponseRecorder
	takes    func(piece int) time.Duration
	pieces   int
	deadline time.Time
}

func (c *timedClient) SetWriteDeadline(deadline time.Time) error {
	c.deadline = deadline
	return nil
}

func (c *timedClient) Write(p []byte) (int, error) {
	takes := c.takes(c.pieces)
	c.pieces++
	if left := time.Until(c.deadline); takes > left {
		time.Sleep(left)
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(takes)
	return c.ResponseRecorder.Write(p)
}
