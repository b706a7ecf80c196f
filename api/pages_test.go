package api

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/api/request"
)

// pagesOf are the pages of those ranges, whose metrics go to the registry.
func pagesOf(registry *prometheus.Registry, ranges ...uuid.UUID) *pages {
	s := Settings{Traffic: NewTraffic(registry), Credentials: Credentials{}}
	for _, id := range ranges {
		s.Credentials[id] = nil
	}
	return newPages(s)
}

// asOf is the context of a request of the range.
func asOf(t *testing.T, id uuid.UUID) context.Context {
	ctx := request.Track(zerolog.Nop(), nil)(t.Context(), "trace", "")
	request.SetRange(ctx, id)
	return ctx
}

// Clients that do not read their pages keep their range from reading more of them, for a moment each, and no
// other range.
func TestPagesThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		ranges := []uuid.UUID{uuid.New(), uuid.New()}
		p := pagesOf(registry, ranges...)
		var unread []endpoint.PageRoom
		for range maxRangePages {
			page, err := p.reserve(asOf(t, ranges[0]))
			require.NoError(t, err)
			page.Encoded()
			unread = append(unread, page)
		}
		began := time.Now()
		_, err := p.reserve(asOf(t, ranges[0]))
		var refusal interface{ Code() string }
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "overloaded", refusal.Code())
		require.Equal(t, pageWait, time.Since(began))
		require.Equal(t, []string{`rangegate_requests_limited_total{limit="pages"} 1`},
			metricLines(registry, "rangegate_requests_limited_total"))

		page, err := p.reserve(asOf(t, ranges[1]))
		require.NoError(t, err, "another range")
		page.Written()
		time.AfterFunc(pageWait/2, unread[0].Written)
		_, err = p.reserve(asOf(t, ranges[0]))
		require.NoError(t, err, "once a page is written")
	})
}

// All ranges together have a bound too: pages that the clients of some do not read leave the others a moment's wait.
func TestPagesOfAllRangesThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ranges := make([]uuid.UUID, maxPages/maxRangePages+1)
		for i := range ranges {
			ranges[i] = uuid.New()
		}
		p := pagesOf(prometheus.NewRegistry(), ranges...)
		var unread endpoint.PageRoom
		for _, id := range ranges[1:] {
			for range maxRangePages {
				page, err := p.reserve(asOf(t, id))
				require.NoError(t, err)
				page.Encoded()
				unread = page
			}
		}
		for range maxRangePages + 1 { // a refusal takes no room of its range
			began := time.Now()
			_, err := p.reserve(asOf(t, ranges[0]))
			require.Error(t, err)
			require.Equal(t, pageWait, time.Since(began))
		}
		unread.Written()
		_, err := p.reserve(asOf(t, ranges[0]))
		require.NoError(t, err, "once a page of another range is written")
	})
}

// However many pages of a range are asked for, one is read and encoded at a time. The others wait as long as
// their requests may.
func TestPagesOfARangeAreReadOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := uuid.New()
		p := pagesOf(prometheus.NewRegistry(), id)
		ctx, cancel := context.WithTimeout(asOf(t, id), timeout)
		defer cancel()
		first, err := p.reserve(ctx)
		require.NoError(t, err)
		time.AfterFunc(timeout/2, first.Encoded)
		second, err := p.reserve(ctx)
		require.NoError(t, err, "while the first one is written")
		first.Written()
		first.Encoded() // once more, which gives nobody a turn

		_, err = p.reserve(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = p.turn(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		second.Encoded()
		part, err := p.turn(asOf(t, id))
		require.NoError(t, err)
		part()
		for range maxRangePages - 1 { // the page that got no turn has given its room back
			page, err := p.reserve(asOf(t, id))
			require.NoError(t, err)
			page.Encoded()
		}
	})
}
