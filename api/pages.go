package api

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/screens"
)

// The maximum number of pages of records at a time. A page has endpoint.PageBytes at most. A client that does
// not read its page keeps the room for it until endpoint closes the connection. A range has one page read and
// encoded at a time, which takes one processor: the other ones are left to the other ranges.
const (
	maxPages      = 32          // of all ranges
	maxRangePages = 8           // of one range
	pageWait      = time.Second // for the room of a page; for its turn to be read it waits as long as its request may
)

// pages limits the pages of records that are read, encoded and written for the POS and for staff.
type pages struct {
	process *semaphore.Weighted
	byRange map[uuid.UUID]rangePages
	refused prometheus.Counter
}

// rangePages are the pages of one range.
type rangePages struct{ room, turn *semaphore.Weighted }

// newPages has the ranges of the settings.
func newPages(s Settings) *pages {
	p := &pages{semaphore.NewWeighted(maxPages), map[uuid.UUID]rangePages{}, s.Traffic.limited.WithLabelValues("pages")}
	for id := range maps.Keys(s.Credentials) {
		p.byRange[id] = rangePages{semaphore.NewWeighted(maxRangePages), semaphore.NewWeighted(1)}
	}
	return p
}

// reserve waits for the room of a page, and refuses the request with `overloaded` when there is none within
// pageWait. Then it waits for the page's turn, until ctx ends.
func (p *pages) reserve(ctx context.Context) (endpoint.PageRoom, error) {
	limited, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	own := p.byRange[request.RangeID(ctx)]
	err := own.room.Acquire(limited, 1)
	if err == nil {
		if err = p.process.Acquire(limited, 1); err != nil {
			own.room.Release(1)
		}
	}
	switch {
	case ctx.Err() != nil: // the client is gone
		return endpoint.PageRoom{}, ctx.Err()
	case err != nil:
		p.refused.Inc()
		return endpoint.PageRoom{}, screens.Overloaded("pages of records of this range, or of all, are " +
			"being read and written")
	}
	written := sync.OnceFunc(func() { p.process.Release(1); own.room.Release(1) })
	encoded, err := p.turn(ctx)
	if err != nil {
		written()
		return endpoint.PageRoom{}, err
	}
	return endpoint.PageRoom{Encoded: encoded, Written: written}, nil
}

// turn waits until a page, or a part of a table, may be read and encoded, or until ctx ends.
func (p *pages) turn(ctx context.Context) (done func(), err error) {
	own := p.byRange[request.RangeID(ctx)]
	if err := own.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { own.turn.Release(1) }), nil
}
