package actors

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestARestartKeepsEverySession(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		waiting, running, paused := f.createWaiting(0, 10), f.create(1, 20), f.create(2, 30)
		f.advance(4 * time.Minute)
		f.pause(paused)
		before := f.Lanes()
		f.shutDown()
		require.True(t, f.isOpen(1), "the hardware runs on")
		f.advance(3 * time.Minute)
		f.start()

		require.Equal(t, []uuid.UUID{waiting, running, paused}, f.activeSessions())
		require.Equal(t, 10*time.Minute, f.remaining(waiting))
		require.Equal(t, 13*time.Minute, f.remaining(running))
		require.Equal(t, 26*time.Minute, f.remaining(paused))
		ranOn := *before[1].Lane.Session
		ranOn.RanOn = 3 * time.Minute
		before[1].Lane.Session = &ranOn
		for i, now := range f.Lanes() {
			require.Equal(t, before[i].Lane, now.Lane)
		}
		f.enter(0)
		f.resume(paused)
		for i := range 3 {
			require.True(t, f.isOpen(i))
		}
		f.advance(26 * time.Minute)
		for _, session := range []uuid.UUID{waiting, running, paused} {
			require.Equal(t, lanes.Expired, f.endedSession(session).Reason)
			require.Equal(t, f.endedSession(session).Session.Sold, f.endedSession(session).Used)
		}
	}, withLanes(3))
}

func TestSessionsThatEndedWhileDownAreSavedBeforeTheRangeIsReady(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now()
		session := f.create(0, 10)
		f.shutDown()
		f.advance(time.Hour)
		save := make(chan struct{})
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if len(batch.Ended) > 0 {
				<-save
			}
			return flush()
		})
		require.NoError(t, f.tryStart())
		synctest.Wait()
		require.False(t, f.gateway.Ready(1))
		require.Equal(t, "starting ×1", f.why(rangeKind, -1))
		require.Equal(t, lanes.StateStarting, f.observed(rangeKind, -1).State)
		close(save)
		synctest.Wait()
		require.True(t, f.gateway.Ready(1))

		ended := f.endedSession(session)
		require.Equal(t, lanes.Expired, ended.Reason)
		require.Equal(t, begun.Wall.Add(10*time.Minute), ended.At)
		require.Equal(t, 10*time.Minute, ended.Used)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped},
			f.eventKinds(session))
		require.Equal(t, uuid.Nil, f.controller(0).Shown().Session)
		f.create(0, 10)
	})
}

func TestALaneInUseCannotLeaveTheLayout(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		removed, due, stays := f.create(0, 30), f.create(1, 5), f.create(2, 30)
		all := f.settings.Layout.Lanes
		f.shutDown()
		f.advance(10 * time.Minute)

		f.settings.Layout.Lanes = all[2:]
		err := f.tryStart()
		require.ErrorIs(t, err, ErrLayout)
		require.ErrorContains(t, err, all[0].ID.String())
		require.ErrorContains(t, err, all[1].ID.String())
		require.ErrorContains(t, err, "20m0s left")

		f.settings.Retire = []uuid.UUID{all[0].ID}
		require.ErrorIs(t, f.tryStart(), ErrLayout, "the other one is still in use")
		f.advance(time.Second)
		f.settings.Retire = []uuid.UUID{all[0].ID, all[1].ID}
		f.start()
		require.Equal(t, lanes.EndReason(lanes.ByStaff), f.endedSession(removed).Reason)
		require.Equal(t, 10*time.Minute+time.Second, f.endedSession(removed).Used, "a start that fails ends no session")
		require.Equal(t, lanes.Expired, f.endedSession(due).Reason)
		require.Equal(t, 5*time.Minute, f.endedSession(due).Used)
		require.Equal(t, 20*time.Minute-time.Second, f.remaining(stays))

		f.settings.Retire = nil
		f.restart()
		require.Equal(t, []uuid.UUID{stays}, f.activeSessions())
	}, withLanes(3))
}

// The event is announced however long it takes to save it.
func TestTheEndOfARetiredSessionIsAnnounced(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.shutDown()
		f.settings.Retire = []uuid.UUID{f.laneID(0)}
		f.settings.Layout.Lanes = f.settings.Layout.Lanes[1:]
		release := f.blockFlushes()
		require.NoError(t, f.tryStart())
		synctest.Wait()
		release()
		synctest.Wait()
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped},
			webhook.kinds())
		require.Equal(t, lanes.EndReason(lanes.ByStaff), f.endedSession(session).Reason)
	}, withWebhook(webhook))
}

// A POS that reads while the range starts must not think that its sessions are gone.
func TestEverySessionIsShownWhileTheRangeStarts(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var sessions []uuid.UUID
		for i := range f.settings.Layout.Lanes {
			sessions = append(sessions, f.create(i, 30))
		}
		for range 20 {
			before := f.Lanes()
			f.shutDown()
			require.NoError(t, f.tryStart())
			require.Equal(t, sessions, f.activeSessions())
			require.NoError(t, f.tryModify(sessions[len(sessions)-1], 1))
			synctest.Wait()
			for i, lane := range f.Lanes()[:len(sessions)-1] {
				require.Equal(t, before[i].Lane, lane.Lane)
			}
		}
	}, withLanes(10))
}

// While the gateway is down sessions run on: the controllers count by themselves.

// ranOn returns how long the session ran while the gateway was down, for staff to make up.
func (f *fixture) ranOn(session uuid.UUID) time.Duration {
	f.Helper()
	lane, found := f.board.Find(session)
	require.True(f, found)
	return lane.Session.RanOn
}

func TestSessionsThatRanOnAreForStaffToMakeUp(t *testing.T) {
	for _, reboot := range []bool{false, true} {
		var logs logRecorder
		runFixture(t, func(t *testing.T, f *fixture) {
			first, second, expired, paused, waiting := f.create(0, 30), f.create(1, 30), f.create(2, 7),
				f.create(3, 30), f.createWaiting(4, 30)
			f.pause(paused)
			f.advance(5*time.Minute + 3*time.Second)
			f.shutDown()
			if reboot {
				f.clock.Reboot()
			}
			f.advance(2*time.Minute + time.Second)
			f.start()
			require.Contains(t, logs.String(), `"sessions":2,"down":121000,"message":"sessions ran on`)
			for session, want := range map[uuid.UUID]time.Duration{
				first: 2*time.Minute + time.Second, second: 2*time.Minute + time.Second, paused: 0, waiting: 0,
			} {
				require.Equal(t, want, f.ranOn(session))
			}
			require.Equal(t, 7*time.Minute, f.endedSession(expired).Used)

			left := f.remaining(first)
			f.staffCommand(first, lanes.MakeUp{Session: first, Give: true})
			f.staffCommand(first, lanes.MakeUp{Session: first, Give: true})
			require.Equal(t, left+3*time.Minute, f.remaining(first), "in whole minutes, and once")
			require.Equal(t, f.remaining(first), f.controller(0).Shown().Remaining)
			f.staffCommand(second, lanes.MakeUp{Session: second})
			require.Equal(t, left, f.remaining(second))
			require.Zero(t, f.ranOn(first)+f.ranOn(second))
			require.Equal(t, []string{"make_up +3", "make_up +0"}, f.actSummaries())
			require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified},
				f.eventKinds(first))
			require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, f.eventKinds(second))
			f.restart()
			require.Zero(t, f.ranOn(first)+f.ranOn(second), "the time is made up")
		}, withLanes(5), withLog(zerolog.New(&logs)))
	}
}

func TestAMinuteOfDowntimeIsNotReported(t *testing.T) {
	var logs logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		for range 3 {
			f.advance(15 * time.Second)
			f.shutDown()
			f.advance(time.Minute)
			f.start()
		}
		require.Zero(t, f.ranOn(session))
		require.NotContains(t, logs.String(), "ran on")
	}, withLog(zerolog.New(&logs)))
}

// Only downtime of more than a minute counts, each time once.
func TestDowntimeAddsUpOverRestarts(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 480)
		var down time.Duration
		for i, term := range []time.Duration{
			2 * time.Minute, 90 * time.Second, time.Minute, 0,
			61 * time.Second, time.Hour,
		} {
			f.advance(time.Duration(i) * 7 * time.Second)
			f.shutDown()
			f.advance(term)
			f.start()
			if term > time.Minute {
				down += term
			}
			require.Equal(t, down, f.ranOn(session))
		}
	})
}

// The session was resumed after the last checkpoint: it cannot have run for longer than since then.
func TestTheTimeThatRanOnIsNoMoreThanTheTimeThatRan(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.pause(session)
		f.advance(checkpointEvery + 7*time.Second)
		f.resume(session)
		f.advance(time.Second)
		f.kill()
		f.advance(2 * time.Minute)
		f.start()
		require.Equal(t, 2*time.Minute+time.Second, f.ranOn(session))
		require.Equal(t, 30*time.Minute-f.ranOn(session), f.remaining(session))
	})
}

// Whatever flush of the start is the last one before the next crash, no time counts twice and none is forgotten.
func TestACrashDuringTheRecoveryCountsNoTimeTwice(t *testing.T) {
	for flushes := range 6 {
		runFixture(t, func(t *testing.T, f *fixture) {
			var sessions []uuid.UUID
			for i := range 4 {
				sessions = append(sessions, f.create(i, 60))
			}
			f.shutDown()
			f.advance(2 * time.Minute)
			done := 0
			f.store.setHook(func(ctx context.Context, _ store.Batch, flush func() error) error {
				if done++; done > flushes {
					return store.ErrFenced // as if the process were gone
				}
				return flush()
			})
			if err := f.tryStart(); err != nil {
				require.ErrorIs(t, err, lanes.ErrNotOwner, "the start notices it, or ends before")
			}
			synctest.Wait()
			f.shutDown()
			f.store.setHook(nil)
			f.advance(3 * time.Minute)
			f.start()
			for _, session := range sessions {
				require.Equal(t, 5*time.Minute, f.ranOn(session), "after %d flushes", flushes)
			}
		}, withLanes(4))
	}
}

func TestARangeThatFailsToStartLogsNoTimeThatRanOn(t *testing.T) {
	var logs logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.create(1, 30)
		all := f.settings.Layout.Lanes
		f.shutDown()
		f.advance(5 * time.Minute)
		f.settings.Layout.Lanes = all[1:]
		require.ErrorIs(t, f.tryStart(), ErrLayout)
		require.NotContains(t, logs.String(), "ran on")
		f.settings.Layout.Lanes = all
		f.start()
		require.Equal(t, 1, strings.Count(logs.String(), "ran on"))
	}, withLog(zerolog.New(&logs)))
}
