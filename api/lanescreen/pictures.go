package lanescreen

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
)

const (
	maxPictureSize  = 96 << 10 // bytes (SPEC.md part 8)
	cacheSize       = 32 << 20 // bytes, for all ranges together
	pictureLifetime = 10 * time.Minute
	failureLifetime = 30 * time.Second
	pictureTimeout  = 5 * time.Second
	maxFetches      = 8 // in parallel, for one range
	maxRedirects    = 3
	entryOverhead   = 1 << 10 // bytes of a cache entry beside its picture, also of a failure
)

// imageTypes are the accepted content types, as detected from the first bytes. SVG is not accepted: it may
// contain scripts.
var imageTypes = []string{"image/jpeg", "image/png", "image/webp", "image/gif"}

// Pictures fetches and caches the pictures of products, so that no screen connects to the integrator. The
// least recently used are dropped first. Its methods are safe for concurrent use.
type Pictures struct {
	userAgent string
	sources   map[uuid.UUID]source
	fetches   singleflight.Group

	mu      sync.Mutex
	bytes   int
	entries map[pictureID]*list.Element
	recent  *list.List // of *picture, the most recently used first
}

// source fetches the pictures of one range.
type source struct {
	client http.Client
	slots  chan struct{}
}

type pictureID struct {
	rangeID uuid.UUID
	address string
}

// picture is a cached picture, or a failure to fetch it: then contentType is empty.
type picture struct {
	id          pictureID
	contentType string
	body        []byte
	expires     time.Time
}

// NewPictures fetches the pictures of each range with its transport, which refuses addresses that are not allowed.
func NewPictures(userAgent string, transports map[uuid.UUID]http.RoundTripper) *Pictures {
	p := &Pictures{
		userAgent: userAgent, sources: map[uuid.UUID]source{}, entries: map[pictureID]*list.Element{},
		recent: list.New(),
	}
	for id, transport := range transports {
		p.sources[id] = source{
			http.Client{Transport: transport, CheckRedirect: limitRedirects},
			make(chan struct{}, maxFetches),
		}
	}
	return p
}

func limitRedirects(_ *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}
	return nil
}

// get returns the picture at the address, fetched once for parallel calls. It fails only when ctx ends before.
func (p *Pictures) get(ctx context.Context, id pictureID) (*picture, error) {
	if found := p.cached(id); found != nil {
		return found, nil
	}
	done := p.fetches.DoChan(id.rangeID.String()+id.address, func() (any, error) {
		if found := p.cached(id); found != nil { // by the fetch before this one
			return found, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pictureTimeout)
		defer cancel()
		fetched := &picture{id: id}
		fetched.contentType, fetched.body = p.fetch(ctx, id)
		fetched.expires = time.Now().Add(pictureLifetime)
		if fetched.contentType == "" {
			fetched.expires = time.Now().Add(failureLifetime)
		}
		p.store(fetched)
		return fetched, nil
	})
	select {
	case result := <-done:
		return result.Val.(*picture), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fetch returns a picture as its server sends it; an empty type for a failure, whatever it is.
func (p *Pictures) fetch(ctx context.Context, id pictureID) (contentType string, body []byte) {
	source, ok := p.sources[id.rangeID]
	if !ok {
		return "", nil
	}
	select {
	case source.slots <- struct{}{}:
		defer func() { <-source.slots }()
	case <-ctx.Done():
		return "", nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, id.address, nil)
	if err != nil {
		return "", nil
	}
	request.Header.Set("Accept", "image/webp, image/jpeg, image/png, image/gif")
	request.Header.Set("User-Agent", p.userAgent)
	response, err := source.client.Do(request)
	if err != nil {
		return "", nil
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", nil
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, maxPictureSize+1))
	contentType = http.DetectContentType(body)
	if err != nil || len(body) > maxPictureSize || !slices.Contains(imageTypes, contentType) {
		return "", nil
	}
	return contentType, body
}

// cached returns a picture that has not expired, or nil.
func (p *Pictures) cached(id pictureID) *picture {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.entries[id]
	if entry == nil || time.Now().After(entry.Value.(*picture).expires) {
		return nil
	}
	p.recent.MoveToFront(entry)
	return entry.Value.(*picture)
}

// store adds a picture to the cache, and drops the least recently used ones until the cache fits.
func (p *Pictures) store(fetched *picture) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(p.entries[fetched.id])
	p.entries[fetched.id] = p.recent.PushFront(fetched)
	p.bytes += fetched.size()
	for p.bytes > cacheSize {
		p.drop(p.recent.Back())
	}
}

func (p *Pictures) drop(entry *list.Element) {
	if entry == nil {
		return
	}
	dropped := p.recent.Remove(entry).(*picture)
	delete(p.entries, dropped.id)
	p.bytes -= dropped.size()
}

func (p *picture) size() int { return len(p.body) + len(p.id.address) + entryOverhead }

// picture serves a product's picture at an address that picturePath has signed.
func (l *screen) picture(w http.ResponseWriter, r *http.Request) {
	lane, query := screens.KeyOf(r.Context()), r.URL.Query()
	address := query.Get("url")
	if !screens.Equal(query.Get("signed"), lane.Sign("picture", address)) {
		l.fail(w, r, endpoint.Refusal("not_found"))
		return
	}
	found, err := l.Pictures.get(r.Context(), pictureID{lane.Range, address})
	switch {
	case err != nil:
		l.fail(w, r, err)
	case found.contentType == "":
		l.fail(w, r, endpoint.Refusal("not_found"))
	default:
		w.Header().Set("Content-Type", found.contentType)
		w.Header().Set("Cache-Control", "private, max-age=600")
		_, _ = w.Write(found.body)
	}
}
