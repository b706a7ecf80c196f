package actors

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// power is what a gateway runs on. It fails at a flush: that one and all behind it never reach the file, or the one
// does and nobody learns of it. What is left of the gateway afterwards waits, and is fenced when the next one starts.
type power struct {
	failsAt int64 // the flush, counted from 1; 0: it does not fail
	written bool  // that flush reaches the file
	flushes atomic.Int64
	gone    chan struct{}
}

func (p *power) hook(ctx context.Context, _ store.Batch, flush func() error) error {
	n := p.flushes.Add(1)
	if p.failsAt == 0 || n < p.failsAt {
		return flush()
	}
	if n == p.failsAt && p.written {
		_ = flush()
	}
	<-p.gone
	return store.ErrFenced
}

// failed reports whether the gateway has come to the flush at which it fails.
func (p *power) failed() bool { return p.failsAt > 0 && p.flushes.Load() >= p.failsAt }

// on runs the gateway on the power.
func (g *rig) on(p *power) {
	p.gone = make(chan struct{})
	g.store.hook(p.hook)
}

// dies ends the gateway whose power has failed.
func (g *rig) dies(p *power) {
	g.Helper()
	g.claimElsewhere()
	close(p.gone)
	synctest.Wait()
	g.shutDown()
	g.store.hook(nil)
}

// ledger is what the POS knows of the one purchase of 15 minutes.
type ledger struct {
	asked, accepted atomic.Int64
}

// sells takes a second to think, and accepts: also when nobody listens any more.
func (l *ledger) sells(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	l.asked.Add(1)
	l.accepted.Add(1)
	select {
	case <-time.After(time.Second):
		return accepts(ctx, event)
	case <-ctx.Done():
		return lanes.Attempt{At: event.At, Error: lanes.Interrupted}, lanes.Answer{}
	}
}

// requireNothingLost is what holds whatever happened: what the POS accepted is in the session, or waits for staff.
func (g *rig) requireNothingLost(l *ledger) {
	g.Helper()
	require.LessOrEqual(g, l.asked.Load(), int64(1), "the POS is asked at most once")
	added := (g.Sessions()[0].Minutes - 30) / 15
	switch open := len(g.Unresolved()); {
	case open == 0:
		require.EqualValues(g, l.accepted.Load(), added, "what was accepted is added, and nothing else")
	default:
		require.Equal(g, 1, open)
		require.Zero(g, added, "what waits for staff is not added")
	}
	shown := g.shown(0)
	require.NotEqual(g, lanes.Pending, shown.Phase, "every purchase comes to an end")
	require.Equal(g, shown.Phase == lanes.Unresolved, len(g.Unresolved()) == 1)
	require.Equal(g, added, countKind(g.happened(g.onBoard()[0]), lanes.SessionModified))
	require.Equal(g, added == 1, shown.Phase == lanes.Accepted)
	require.Zero(g, g.controller(0).Unacked())
}

// A gateway is killed between any two of its saves while a purchase takes its course, and the next one is killed as
// well between any two. The controller tells again what was not acked.
func TestAPurchaseThroughTwoKills(t *testing.T) {
	for _, written := range []bool{false, true} {
		for first := int64(1); ; first++ {
			second := int64(0)
			for dieTwice(t, first, second, written) {
				second++
			}
			if second == 0 { // it came to its end before
				break
			}
		}
	}
}

// dieTwice reports whether the gateways died, both if both should. It is false as well when the story has failed.
func dieTwice(t *testing.T, first, second int64, written bool) (died bool) {
	t.Run(fmt.Sprintf("at flushes %d and %d, written %t", first, second, written), func(t *testing.T) {
		died = toldOfTwoKills(t, first, second, written)
	})
	return died
}

func toldOfTwoKills(t *testing.T, first, second int64, written bool) (died bool) {
	pos, book := &inbox{}, &ledger{}
	pos.sells(book.sells)
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		one, other := &power{failsAt: first, written: written}, &power{failsAt: second, written: written}
		g.on(one)
		g.buys(0, minutes(15))
		g.pass(3 * time.Second) // before the next checkpoint
		died = one.failed()
		g.dies(one)
		if second > 0 {
			g.on(other)
			require.NoError(t, g.tryStart())
			g.pass(3 * time.Second)
			died = died && other.failed()
			g.dies(other)
		}
		g.start()
		g.pass(lastBackoff)
		g.requireNothingLost(book)
		g.restart()
		g.pass(lastBackoff)
		g.requireNothingLost(book)
	}, withWebhook(pos), withLanes(1))
	return died
}
