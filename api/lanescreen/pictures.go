package lanescreen

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"rangegate/api/endpoint"
)

const (
	largestPicture  = 96 << 10 // bytes (SPEC.md part 8)
	picturesAtMost  = 32 << 20 // bytes that are kept, of all ranges together
	pictureLasts    = 10 * time.Minute
	failureLasts    = 30 * time.Second
	pictureTimeout  = 5 * time.Second
	fetchesAtMost   = 8 // at a time, of one range
	redirectsAtMost = 3
	overhead        = 1 << 10 // bytes that a picture takes beside its own, also one that there is not
)

// shownKinds are the images that are shown, by what their first bytes say. SVG is a document, which can do more than be
// looked at.
var shownKinds = []string{"image/jpeg", "image/png", "image/webp", "image/gif"}

// Pictures fetches the pictures of products for the lane screens, so that no screen talks to the integrator, and keeps
// them for a while. Its methods are safe for concurrent use.
type Pictures struct {
	userAgent string
	ways      map[uuid.UUID]way
	flights   singleflight.Group

	mu    sync.Mutex
	bytes int
	known map[pictureID]*list.Element
	used  *list.List // of *kept, the latest first
}

// way is how the pictures of one range are reached.
type way struct {
	client http.Client
	turns  chan struct{}
}

type pictureID struct {
	rangeID uuid.UUID
	address string
}

// kept is a picture, or that there is none: then kind is empty.
type kept struct {
	id    pictureID
	kind  string
	body  []byte
	until time.Time
}

// NewPictures reaches the pictures of each range by its transport, which guards against addresses that are not allowed.
func NewPictures(userAgent string, transports map[uuid.UUID]http.RoundTripper) *Pictures {
	p := &Pictures{userAgent: userAgent, ways: map[uuid.UUID]way{}, known: map[pictureID]*list.Element{}, used: list.New()}
	for id, transport := range transports {
		p.ways[id] = way{http.Client{Transport: transport, CheckRedirect: fewRedirects}, make(chan struct{}, fetchesAtMost)}
	}
	return p
}

func fewRedirects(_ *http.Request, before []*http.Request) error {
	if len(before) > redirectsAtMost {
		return errors.New("too many redirects")
	}
	return nil
}

// of is the picture at the address. One that is asked for many times at once is fetched once.
func (p *Pictures) of(ctx context.Context, id pictureID) (*kept, error) {
	if found := p.recall(id); found != nil {
		return found, nil
	}
	done := p.flights.DoChan(id.rangeID.String()+id.address, func() (any, error) {
		if found := p.recall(id); found != nil { // by the flight before this one
			return found, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pictureTimeout)
		defer cancel()
		fetched := &kept{id: id, until: time.Now().Add(pictureLasts)}
		if kind, body, err := p.fetch(ctx, id); err == nil {
			fetched.kind, fetched.body = kind, body
		} else {
			fetched.until = time.Now().Add(failureLasts)
		}
		p.keep(fetched)
		return fetched, nil
	})
	select {
	case answer := <-done:
		return answer.Val.(*kept), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *Pictures) fetch(ctx context.Context, id pictureID) (kind string, body []byte, err error) {
	way, known := p.ways[id.rangeID]
	if !known {
		return "", nil, errors.New("the range has no pictures")
	}
	select {
	case way.turns <- struct{}{}:
		defer func() { <-way.turns }()
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, id.address, nil)
	if err != nil {
		return "", nil, err
	}
	request.Header.Set("Accept", "image/webp, image/jpeg, image/png, image/gif")
	request.Header.Set("User-Agent", p.userAgent)
	response, err := way.client.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", nil, fmt.Errorf("status %d", response.StatusCode)
	}
	if body, err = io.ReadAll(io.LimitReader(response.Body, largestPicture+1)); err != nil {
		return "", nil, err
	}
	kind = http.DetectContentType(body)
	if len(body) > largestPicture || !slices.Contains(shownKinds, kind) {
		return "", nil, errors.New("no image of at most 96 KB")
	}
	return kind, body, nil
}

func (p *Pictures) recall(id pictureID) *kept {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.known[id]
	if at == nil || time.Now().After(at.Value.(*kept).until) {
		return nil
	}
	p.used.MoveToFront(at)
	return at.Value.(*kept)
}

// keep keeps it, and forgets those that were not asked for for longest as far as they do not fit.
func (p *Pictures) keep(fetched *kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(p.known[fetched.id])
	p.known[fetched.id] = p.used.PushFront(fetched)
	p.bytes += fetched.size()
	for p.bytes > picturesAtMost {
		p.forget(p.used.Back())
	}
}

func (p *Pictures) forget(at *list.Element) {
	if at == nil {
		return
	}
	gone := p.used.Remove(at).(*kept)
	delete(p.known, gone.id)
	p.bytes -= gone.size()
}

func (k *kept) size() int { return len(k.body) + len(k.id.address) + overhead }

// picture is a product's picture, by an address that products has signed.
func (l *screen) picture(w http.ResponseWriter, r *http.Request) {
	at, query := laneIn(r.Context()), r.URL.Query()
	address := query.Get("url")
	if !same(query.Get("signed"), at.signed("picture", address)) {
		l.fail(w, r, endpoint.Refusal("not_found"))
		return
	}
	found, err := l.Pictures.of(r.Context(), pictureID{at.Range, address})
	switch {
	case err != nil:
		l.fail(w, r, err)
	case found.kind == "":
		l.fail(w, r, endpoint.Refusal("not_found"))
	default:
		w.Header().Set("Content-Type", found.kind)
		w.Header().Set("Cache-Control", "private, max-age=600")
		_, _ = w.Write(found.body)
	}
}
