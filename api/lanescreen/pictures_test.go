package lanescreen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/catalog"
	"rangegate/webhook/egress"
)

var jpeg = []byte("\xff\xd8\xff\xe0 a picture")

// offer makes these addresses the pictures of products, and answers the paths that the screen gets them at.
func (r *rig) offer(addresses ...string) (paths []string) {
	r.shop.Ammo = nil
	for _, address := range addresses {
		r.shop.Ammo = append(r.shop.Ammo, catalog.Product{ID: address, Price: "1", PictureURL: address})
	}
	var all products
	require.NoError(r.t, json.Unmarshal(r.ask("GET", "/lane/"+lane1+"/products", "").Body.Bytes(), &all))
	for _, p := range all.Ammo {
		paths = append(paths, p.Picture)
	}
	return paths
}

// gallery answers each path with what is there.
func gallery(t *testing.T, pictures map[string][]byte) (url string, asked *atomic.Int32) {
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if body, there := pictures[r.URL.Path]; there {
			w.Header().Set("Content-Type", "image/jpeg") // whatever it is
			_, _ = w.Write(body)
			return
		}
		http.Redirect(w, r, r.URL.Path+"/further", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestOnlyImagesOfAtMost96KBAreShown(t *testing.T) {
	large := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{1}, largestPicture-8)...)
	pictures := map[string][]byte{
		"/a.jpg": jpeg, "/large.png": large, "/a.webp": []byte("RIFF\x10\x00\x00\x00WEBPVP8 "), "/moved/further": jpeg,
		"/larger.png": append(large, 1), "/page": []byte("<html><script>alert(1)</script>"), "/a.svg": []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "/nothing": {},
	}
	url, _ := gallery(t, pictures)
	r := newRig(t).opened()
	for path, kind := range map[string]string{
		"/a.jpg": "image/jpeg", "/large.png": "image/png", "/a.webp": "image/webp", "/moved": "image/jpeg",
		"/larger.png": "", "/page": "", "/a.svg": "", "/nothing": "", "/for/ever": "",
	} {
		answer := r.ask("GET", r.offer(url + path)[0], "")
		if kind == "" {
			require.Equal(t, http.StatusNotFound, answer.Code, path)
			require.Contains(t, answer.Body.String(), `"code":"not_found"`)
			continue
		}
		require.Equal(t, http.StatusOK, answer.Code, path)
		require.Equal(t, kind, answer.Header().Get("Content-Type"))
		require.Equal(t, "nosniff", answer.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "private, max-age=600", answer.Header().Get("Cache-Control"))
	}
}

func TestNothingIsFetchedThatIsNoProductsPicture(t *testing.T) {
	url, asked := gallery(t, map[string][]byte{"/a.jpg": jpeg, "/b.jpg": jpeg})
	r := newRig(t).opened()
	path := r.offer(url + "/a.jpg")[0]
	for _, made := range []string{
		"/lane/" + lane1 + "/picture?url=" + url + "/a.jpg", "/lane/" + lane1 + "/picture", path + "x",
		"/lane/" + lane1 + "/picture?url=" + url + "/b.jpg&" + path[bytes.Index([]byte(path), []byte("signed")):],
	} {
		require.Equal(t, http.StatusNotFound, r.ask("GET", made, "").Code, made)
	}
	require.Zero(t, asked.Load())
	require.Equal(t, http.StatusOK, r.ask("GET", path, "").Code)
}

// A products API that names an address inside of the network gets nobody there.
func TestPicturesOfInnerAddressesAreNotFetched(t *testing.T) {
	url, asked := gallery(t, map[string][]byte{"/a.jpg": jpeg})
	r := newRigWith(t, egress.Transport(true, 1)).opened()
	require.Equal(t, http.StatusNotFound, r.ask("GET", r.offer(url + "/a.jpg")[0], "").Code)
	require.Zero(t, asked.Load())
}

func TestAPictureIsFetchedOnceForAll(t *testing.T) {
	url, asked := gallery(t, map[string][]byte{"/a.jpg": jpeg})
	r := newRig(t).opened()
	path := r.offer(url + "/a.jpg")[0]
	request := httptest.NewRequest("GET", path, nil)
	request.AddCookie(r.cookies[lane1])
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			answer := httptest.NewRecorder()
			r.handler.ServeHTTP(answer, request.Clone(t.Context()))
			assert.Equal(t, jpeg, answer.Body.Bytes())
		})
	}
	all.Wait()
	require.EqualValues(t, 1, asked.Load())
}

// still answers every request with a picture, or fails while broken.
type still struct {
	asked  int
	broken bool
	body   []byte
}

func (s *still) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	if s.broken {
		return nil, fmt.Errorf("unreachable")
	}
	answer := httptest.NewRecorder()
	_, _ = answer.Write(s.body)
	response := answer.Result()
	response.Request = r
	return response, nil
}

func TestPicturesAreKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &still{broken: true, body: jpeg}
		p := NewPictures("rangegate/test", map[uuid.UUID]http.RoundTripper{theRange: from})
		fetched := func() string {
			found, err := p.of(t.Context(), pictureID{theRange, "https://pos.example/a.jpg"})
			require.NoError(t, err)
			return found.kind
		}
		require.Empty(t, fetched())
		require.Empty(t, fetched())
		require.Equal(t, 1, from.asked, "that there is none is kept too")
		from.broken = false
		time.Sleep(failureLasts + time.Second)
		require.Equal(t, "image/jpeg", fetched())
		time.Sleep(pictureLasts - time.Second)
		require.Equal(t, "image/jpeg", fetched())
		require.Equal(t, 2, from.asked)
		time.Sleep(2 * time.Second)
		require.Equal(t, "image/jpeg", fetched())
		require.Equal(t, 3, from.asked, "it may be another one by now")
	})
}

func TestKeptPicturesAreBounded(t *testing.T) {
	from := &still{body: append(jpeg, make([]byte, 90<<10)...)}
	p := NewPictures("rangegate/test", map[uuid.UUID]http.RoundTripper{theRange: from})
	for i := range 1000 {
		_, err := p.of(t.Context(), pictureID{theRange, fmt.Sprintf("https://pos.example/%d.jpg", i)})
		require.NoError(t, err)
		_, err = p.of(t.Context(), pictureID{theRange, "https://pos.example/0.jpg"})
		require.NoError(t, err)
		require.LessOrEqual(t, p.bytes, picturesAtMost)
	}
	require.Equal(t, 1000, from.asked, "what is asked for often is kept")
	require.Equal(t, len(p.known), p.used.Len())
}
