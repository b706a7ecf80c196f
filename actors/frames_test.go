package actors

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/loglevel"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

// followFrames has an operator follow the link of the i-th lane.
func (f *fixture) followFrames(i int) lanes.FollowedFrames {
	f.Helper()
	synctest.Wait() // nothing of before is under way
	followed, err := f.FollowFrames(f.requestContext(), "root", f.laneID(i))
	require.NoError(f, err)
	f.Cleanup(followed.Stop)
	synctest.Wait()
	return followed
}

// kindsOf waits until everything has happened, and returns the kinds of the frames since the call before, each with an
// arrow for who has sent it, and all that is shown of them.
func kindsOf(t *testing.T, followed lanes.FollowedFrames) (kinds, shown string) {
	t.Helper()
	synctest.Wait()
	frames, dropped := followed.Next()
	require.Zero(t, dropped)
	var all, texts []string
	for _, frame := range frames {
		arrow := "←"
		if frame.Sent {
			arrow = "→"
		}
		all, texts = append(all, arrow+frame.Kind), append(texts, string(frame.Shown))
		require.False(t, frame.At.IsZero())
		require.Empty(t, frame.Problem)
	}
	return strings.Join(all, " "), strings.Join(texts, "\n")
}

// An operator sees all that a lane and its hardware say to each other, over every connection, and no customer's name.
// It is on record, and nothing is kept once nobody follows.
func TestAnOperatorFollowsTheFramesOfALink(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		followed := f.followFrames(0)
		require.Equal(t, []string{"follow_frames "}, f.actSummaries())
		require.Equal(t, []any{"root", f.laneID(0)}, []any{f.acts()[0].Who, f.acts()[0].Lane})
		kinds, _ := kindsOf(t, followed)
		require.Empty(t, kinds, "what was said before is not kept")

		f.setHold(f.laneScope(0))
		f.create(1, 30)
		kinds, shown := kindsOf(t, followed)
		require.Equal(t, "→state ←applied", kinds, "and nothing of the other lane")
		require.Contains(t, shown, `"hold":true`)
		require.Contains(t, shown, `"customer_name":"(redacted)"`)
		require.NotContains(t, shown, f.newSale(1).Customer)

		f.callHelp(0)
		kinds, shown = kindsOf(t, followed)
		require.ElementsMatch(t, []string{"←report", "→state", "→ack", "←applied"}, strings.Fields(kinds))
		require.Contains(t, shown, `"kind":"help"`)

		f.reconnect(0)
		kinds, _ = kindsOf(t, followed)
		require.Equal(t, "→hello ←hello →state ←applied", kinds, "the link that was made anew belongs to it")
		f.panicLane(0)
		f.advance(firstBackoff)
		kinds, _ = kindsOf(t, followed)
		// A life that begins may tell the same state once more, where it has the holds again after its link is up.
		require.Regexp(t, "^→hello ←hello( →state| ←applied)+$", kinds, "and so does that of the lane's next life")
		restore := f.cutLink(0)
		f.advance(lastBackoff)
		kinds, _ = kindsOf(t, followed)
		require.NotEmpty(t, kinds)
		require.Empty(t, strings.ReplaceAll(strings.ReplaceAll(kinds, "→hello", ""), " ", ""), "nobody answers")
		restore()

		followed.Stop()
		kinds, _ = kindsOf(t, followed)
		require.Empty(t, kinds)
		f.liftHold(f.laneScope(0))
		kinds, _ = kindsOf(t, followed)
		require.Empty(t, kinds)
		require.Empty(t, f.taps.Of(f.laneID(0)))
	}, withLanes(2))
}

// A follower who takes nothing delays nothing, and learns that something is missing.
func TestAFollowerWhoTakesNothingDelaysNothing(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		followed := f.followFrames(0)
		for range 70 {
			f.pause(session)
			f.resume(session)
		}
		f.requireOpen(0)
		frames, dropped := followed.Next()
		require.Positive(t, dropped)
		require.Equal(t, 280, len(frames)+int(dropped), "140 states, and as many confirmations")
	}, withLanes(1))
}

// Frames are followed until the range stops here, for whatever reason; then the reason is known.
func TestFollowingFramesEndsWithTheRange(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(f *fixture)
		reason error
	}{
		"the gateway stops": {(*fixture).shutDown, lanes.ErrStarting},
		"another process claims the range": {func(f *fixture) {
			f.claimElsewhere()
			require.Error(f, f.tryCreate(0, 30))
		}, lanes.ErrNotOwner},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				followed := f.followFrames(0)
				c.end(f)
				<-followed.Ended
				require.ErrorIs(t, followed.Why(), c.reason)
				_, err := f.FollowFrames(t.Context(), "root", f.laneID(0))
				require.ErrorIs(t, err, c.reason)
			}, withLanes(1))
		})
	}
}

// A few follow a lane's link at a time; more of them, and those who name no lane, are refused, and not on record.
func TestFewOperatorsFollowTheFramesOfALink(t *testing.T) {
	var log logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		for range link.MaxFollowers {
			f.followFrames(0)
		}
		_, err := f.FollowFrames(f.requestContext(), "root", f.laneID(0))
		require.ErrorIs(t, err, lanes.ErrTooManyFollowers)
		_, err = f.FollowFrames(f.requestContext(), "root", uuid.New())
		require.ErrorIs(t, err, lanes.ErrLaneNotFound)
		f.followFrames(1)
		f.advance(time.Second)
		require.Len(t, f.acts(), link.MaxFollowers+1)
		require.Equal(t, link.MaxFollowers+1,
			strings.Count(log.String(), "an operator follows the frames of a lane's link"))
		require.Contains(t, log.String(), `"who":"root"`)
	}, withLanes(2), withLog(loglevel.OfProcess(zerolog.New(&log))))
}
