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

// offer makes these addresses the pictures of products, and returns their paths on the screen.
func (f *fixture) offer(addresses ...string) (paths []string) {
	f.shop.Ammo = nil
	for _, address := range addresses {
		f.shop.Ammo = append(f.shop.Ammo, catalog.Product{ID: address, Price: "1", PictureURL: address})
	}
	var all products
	require.NoError(f.t, json.Unmarshal(f.send("GET", "/lane/"+lane1+"/products", "").Body.Bytes(), &all))
	for _, p := range all.Ammo {
		paths = append(paths, p.Picture)
	}
	return paths
}

// newPictureServer serves the pictures by path, and counts the requests.
func newPictureServer(t *testing.T, pictures map[string][]byte) (url string, requests *atomic.Int32) {
	requests = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if body, ok := pictures[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "image/jpeg") // also if it is none
			_, _ = w.Write(body)
			return
		}
		http.Redirect(w, r, r.URL.Path+"/further", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func TestOnlyImagesOfAtMost96KBAreShown(t *testing.T) {
	large := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{1}, maxPictureSize-8)...)
	pictures := map[string][]byte{
		"/a.jpg": jpeg, "/large.png": large, "/a.webp": []byte("RIFF\x10\x00\x00\x00WEBPVP8 "), "/moved/further": jpeg,
		"/larger.png": append(large, 1), "/page": []byte("<html><script>alert(1)</script>"),
		"/a.svg": []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "/nothing": {},
	}
	url, _ := newPictureServer(t, pictures)
	f := newFixture(t).opened()
	for path, kind := range map[string]string{
		"/a.jpg": "image/jpeg", "/large.png": "image/png", "/a.webp": "image/webp", "/moved": "image/jpeg",
		"/larger.png": "", "/page": "", "/a.svg": "", "/nothing": "", "/for/ever": "",
	} {
		response := f.send("GET", f.offer(url + path)[0], "")
		if kind == "" {
			require.Equal(t, http.StatusNotFound, response.Code, path)
			require.Contains(t, response.Body.String(), `"code":"not_found"`)
			continue
		}
		require.Equal(t, http.StatusOK, response.Code, path)
		require.Equal(t, kind, response.Header().Get("Content-Type"))
		require.Equal(t, "nosniff", response.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "private, max-age=600", response.Header().Get("Cache-Control"))
	}
}

func TestOnlyPicturesOfProductsAreFetched(t *testing.T) {
	url, requests := newPictureServer(t, map[string][]byte{"/a.jpg": jpeg, "/b.jpg": jpeg})
	f := newFixture(t).opened()
	path := f.offer(url + "/a.jpg")[0]
	for _, made := range []string{
		"/lane/" + lane1 + "/picture?url=" + url + "/a.jpg", "/lane/" + lane1 + "/picture", path + "x",
		"/lane/" + lane1 + "/picture?url=" + url + "/b.jpg&" + path[bytes.Index([]byte(path), []byte("signed")):],
	} {
		require.Equal(t, http.StatusNotFound, f.send("GET", made, "").Code, made)
	}
	require.Zero(t, requests.Load())
	require.Equal(t, http.StatusOK, f.send("GET", path, "").Code)
}

// The products API cannot make the gateway fetch an address inside its network.
func TestPicturesAtPrivateAddressesAreNotFetched(t *testing.T) {
	url, requests := newPictureServer(t, map[string][]byte{"/a.jpg": jpeg})
	f := newFixtureWithTransport(t, egress.Transport(true, 1)).opened()
	require.Equal(t, http.StatusNotFound, f.send("GET", f.offer(url + "/a.jpg")[0], "").Code)
	require.Zero(t, requests.Load())
}

func TestParallelRequestsFetchAPictureOnce(t *testing.T) {
	url, requests := newPictureServer(t, map[string][]byte{"/a.jpg": jpeg})
	f := newFixture(t).opened()
	path := f.offer(url + "/a.jpg")[0]
	request := httptest.NewRequest("GET", path, nil)
	request.AddCookie(f.cookies[lane1])
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			response := httptest.NewRecorder()
			f.handler.ServeHTTP(response, request.Clone(t.Context()))
			assert.Equal(t, jpeg, response.Body.Bytes())
		})
	}
	all.Wait()
	require.EqualValues(t, 1, requests.Load())
}

// fakeTransport responds to every request with a picture, or fails while broken.
type fakeTransport struct {
	requests int
	broken   bool
	body     []byte
}

func (f *fakeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	f.requests++
	if f.broken {
		return nil, fmt.Errorf("unreachable")
	}
	recorder := httptest.NewRecorder()
	_, _ = recorder.Write(f.body)
	response := recorder.Result()
	response.Request = r
	return response, nil
}

func TestPicturesAreCachedForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &fakeTransport{broken: true, body: jpeg}
		p := NewPictures("rangegate/test", map[uuid.UUID]http.RoundTripper{theRange: transport})
		fetched := func() string {
			found, err := p.get(t.Context(), pictureID{theRange, "https://pos.example/a.jpg"})
			require.NoError(t, err)
			return found.contentType
		}
		require.Empty(t, fetched())
		require.Empty(t, fetched())
		require.Equal(t, 1, transport.requests, "failures are cached too")
		transport.broken = false
		time.Sleep(failureLifetime + time.Second)
		require.Equal(t, "image/jpeg", fetched())
		time.Sleep(pictureLifetime - time.Second)
		require.Equal(t, "image/jpeg", fetched())
		require.Equal(t, 2, transport.requests)
		time.Sleep(2 * time.Second)
		require.Equal(t, "image/jpeg", fetched())
		require.Equal(t, 3, transport.requests, "the picture may have changed")
	})
}

func TestTheCacheIsBounded(t *testing.T) {
	transport := &fakeTransport{body: append(jpeg, make([]byte, 90<<10)...)}
	p := NewPictures("rangegate/test", map[uuid.UUID]http.RoundTripper{theRange: transport})
	for i := range 1000 {
		_, err := p.get(t.Context(), pictureID{theRange, fmt.Sprintf("https://pos.example/%d.jpg", i)})
		require.NoError(t, err)
		_, err = p.get(t.Context(), pictureID{theRange, "https://pos.example/0.jpg"})
		require.NoError(t, err)
		require.LessOrEqual(t, p.bytes, cacheSize)
	}
	require.Equal(t, 1000, transport.requests, "frequently used pictures stay cached")
	require.Equal(t, len(p.entries), p.recent.Len())
}
