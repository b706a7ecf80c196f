package actors

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// The change was saved, and before its lane came to say so the range was lost to another process: who asked must not be
// told that nothing was changed.
func TestNobodyIsToldThatNothingChangedAfterItWasSaved(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		modified := g.begin(func() error { return g.tryModify(session, 5) })

		// The lane has so much waiting that it refuses the next one, and stays with that.
		stays, stayed := make(chan struct{}), make(chan struct{})
		for range maxWaiting {
			g.toLane(0, &request{ctx: t.Context(), command: lanes.Modify{Session: session, Minutes: 1}})
		}
		g.toLane(0, &request{ctx: t.Context(), command: lanes.Modify{Session: session, Minutes: 1}, done: func(bool) {
			close(stays)
			<-stayed
		}})
		leave := sync.OnceFunc(func() { close(stayed) })
		defer leave()
		<-stays
		release()
		synctest.Wait()
		g.claimElsewhere()
		require.ErrorIs(t, g.tryCreate(1, 30), lanes.ErrNotOwner)
		require.ErrorIs(t, g.answerOf(modified, time.Second), lanes.ErrTimeout)
		leave()
		synctest.Wait()
		g.restart()
		g.pass(lastBackoff)
		require.Equal(t, 35, g.Sessions()[0].Minutes)
	})
}
