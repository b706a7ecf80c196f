package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// Signing in and out is recorded among the acts, in their order, and survives a restart.
func TestSigningInIsRecorded(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		began := f.clock.Now().Wall
		f.Record(f.requestContext(), "sam", lanes.DidSignIn)
		session := f.staffCreateWaiting(0, 30)
		f.staffCommand(session, lanes.Stop{Session: session, By: lanes.ByStaff})
		f.advance(time.Minute)
		f.Record(f.requestContext(), "kim", lanes.DidFailSignIn)
		f.Record(f.requestContext(), "sam", lanes.DidSignOut)
		synctest.Wait()
		f.restart()
		require.Equal(t, []string{"sign_in ", "create 30", "stop ", "sign_in_failed ", "sign_out "}, f.actSummaries())
		acts := f.acts()
		require.Equal(t, lanes.Act{Cursor: 1, At: began, Who: "sam", What: "sign_in"}, acts[0])
		require.Equal(t, "kim", acts[3].Who)
		require.Equal(t, began.Add(time.Minute), acts[3].At)
	})
}

// While the store is down nothing of it piles up: it is in the log.
func TestSigningInWhileTheStoreIsDown(t *testing.T) {
	var logs logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		f.store.setHook(refuseFlush)
		f.Record(f.requestContext(), "sam", lanes.DidSignIn)
		synctest.Wait()
		require.Contains(t, logs.String(), `"who":"sam","what":"sign_in","message":"an act of staff was not saved"`)
		f.store.setHook(nil)
		f.advance(time.Minute)
		require.Empty(t, f.actSummaries())
		f.Record(f.requestContext(), "sam", lanes.DidSignOut)
		synctest.Wait()
		require.Equal(t, []string{"sign_out "}, f.actSummaries())
	}, withLog(zerolog.New(&logs)))
}
