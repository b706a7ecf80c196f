package actors

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// A lane is stuck when a change of it hangs in the store: nobody knows whether it will be saved. Closings that come
// meanwhile are in force at once.

func withDeadline(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// resolutions are how the one flush that hangs can end: told is what its client hears in the end.
var resolutions = map[string]struct {
	written bool
	end     func(flush func() error) error
}{
	"written":                          {true, func(flush func() error) error { return flush() }},
	"written, but the answer was lost": {true, func(flush func() error) error { return losesAnswers(context.Background(), store.Batch{}, flush) }},
	"not written, and nobody knows":    {true, func(func() error) error { return errAnswerLost }}, // so it is repeated
	"refused":                          {false, func(func() error) error { return store.ErrRefused }},
}

// hangOnce lets the next flush hang until it is resolved; those after it pass.
func (g *rig) hangOnce(end func(flush func() error) error) (resolve func()) {
	held := make(chan struct{})
	g.store.hook(func(_ context.Context, _ store.Batch, flush func() error) error {
		g.store.hook(nil)
		<-held
		return end(flush)
	})
	return func() {
		close(held)
		g.pass(time.Second)
	}
}

func TestAStopOverridesAChangeThatHangs(t *testing.T) {
	changes := map[string]struct {
		paused  bool
		command func(session uuid.UUID) lanes.Command
		fact    lanes.Kind
	}{
		"modify": {false, func(s uuid.UUID) lanes.Command { return lanes.Modify{Session: s, Minutes: 10} }, lanes.SessionModified},
		"resume": {true, func(s uuid.UUID) lanes.Command { return lanes.Resume{Session: s} }, lanes.SessionResumed},
	}
	for name, change := range changes {
		for ending, resolution := range resolutions {
			t.Run(name+" that ends "+ending, func(t *testing.T) {
				var hardware witness
				inFakeTime(t, func(t *testing.T, g *rig) {
					session := g.create(0, 30)
					g.pass(time.Minute)
					if change.paused {
						g.pause(session)
					}
					before := g.happened(session)
					resolve := g.hangOnce(resolution.end)
					changed := g.begin(func() error {
						_, err := g.On(t.Context(), session, change.command(session), nil)
						return err
					})
					g.pass(500 * time.Millisecond)
					arrived, locked := g.clock.Now(), time.Now()
					stopped := g.begin(func() error { return g.tryStop(session) })
					require.False(t, g.open(0), "locked before anything is known")
					require.ErrorIs(t, g.answerOf(stopped, 500*time.Millisecond), lanes.ErrNotSaved)
					require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(session) }), 0), lanes.ErrNotSaved)
					g.pass(2 * time.Second)

					resolve()
					if err := g.answerOf(changed, 0); resolution.written {
						require.NoError(t, err)
						before = append(before, change.fact)
					} else {
						require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
					}
					require.Equal(t, append(before, lanes.SessionStopped), g.happened(session))
					require.Equal(t, arrived.Wall, g.ended(session).At)
					require.Empty(t, g.onBoard())
					require.False(t, hardware.opened(g.lane(0), locked), "it never opened in between")
				}, watchedBy(&hardware))
			})
		}
	}
}

func TestAHoldOverridesACreateThatHangs(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var hardware witness
			inFakeTime(t, func(t *testing.T, g *rig) {
				begun := time.Now()
				resolve := g.hangOnce(resolution.end)
				sale := g.sale(30)
				sold := g.begin(func() error {
					_, err := g.Create(t.Context(), g.lane(0), sale, nil)
					return err
				})
				g.toLane(0, &request{ctx: t.Context(), command: lanes.Hold{}, by: lanes.ByStaff})
				require.True(t, g.controller(0).Shown().Hold, "held before anything is known")
				g.pass(3 * time.Second)

				resolve()
				if err := g.answerOf(sold, 0); resolution.written {
					require.NoError(t, err)
					require.Equal(t, 30*time.Minute, g.left(sale.Session))
					require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused}, g.happened(sale.Session))
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
					require.Empty(t, g.onBoard())
					require.Empty(t, g.happened(sale.Session))
				}
				require.True(t, g.controller(0).Shown().Hold)
				require.False(t, hardware.opened(g.lane(0), begun), "it never opened")
			}, watchedBy(&hardware))
		})
	}
}

func TestACreateThatHangsIsThereOnceItIsSaved(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				resolve := g.hangOnce(resolution.end)
				sale := g.sale(30)
				ctx, cancel := withDeadline(t, 2*time.Second)
				defer cancel()
				_, err := g.Create(ctx, g.lane(0), sale, nil)
				require.ErrorIs(t, err, lanes.ErrTimeout)
				require.Empty(t, g.onBoard(), "nothing is shown that may not be")
				require.False(t, g.open(0))

				resolve()
				require.Equal(t, resolution.written, g.open(0))
				g.restart()
				require.Equal(t, resolution.written, g.open(0))
				if resolution.written {
					require.Equal(t, []uuid.UUID{sale.Session}, g.onBoard())
				} else {
					require.Empty(t, g.onBoard())
				}
			})
		})
	}
}

// The old deadline passes while nobody knows whether there is a new one: the lane is locked until it is known.
func TestADeadlinePassesWhileAnExtensionHangs(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				begun := g.clock.Now()
				session := g.create(0, 10)
				g.pass(10*time.Minute - time.Second)
				resolve := g.hangOnce(resolution.end)
				extended := g.begin(func() error { return g.tryModify(session, 5) })
				g.pass(2 * time.Second)
				require.Equal(t, uuid.Nil, g.controller(0).Shown().Session, "locked")

				resolve()
				if err := g.answerOf(extended, 0); resolution.written {
					require.NoError(t, err)
					require.True(t, g.open(0), "it goes on")
					g.pass(5 * time.Minute)
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
				}
				ended := g.ended(session)
				require.Equal(t, lanes.Expired, ended.Reason)
				require.Equal(t, begun.Wall.Add(ended.Session.Sold), ended.At)
			})
		})
	}
}

func TestAPauseOverridesAnExtensionThatHangs(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 10)
				resolve := g.hangOnce(resolution.end)
				extended := g.begin(func() error { return g.tryModify(session, 5) })
				g.pass(400 * time.Millisecond)
				paused := g.begin(func() error { return g.tryPause(session) })
				require.False(t, g.open(0), "locked before anything is known")
				require.ErrorIs(t, g.answerOf(paused, 600*time.Millisecond), lanes.ErrNotSaved)
				g.pass(time.Second)

				resolve()
				left := 10*time.Minute - 400*time.Millisecond
				if err := g.answerOf(extended, 0); resolution.written {
					require.NoError(t, err)
					left += 5 * time.Minute
				}
				require.Equal(t, left, g.left(session), "paused as of when that arrived")
				require.False(t, g.open(0))
				g.restart()
				require.Equal(t, left, g.left(session))
			})
		})
	}
}

func TestAStopOverridesAMoveThatHangs(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var hardware witness
			inFakeTime(t, func(t *testing.T, g *rig) {
				session, begun := g.create(0, 10), time.Now()
				g.pass(time.Minute)
				resolve := g.hangOnce(resolution.end)
				moved := g.begin(func() error { return g.tryMove(session, 1) })
				arrived := g.clock.Now()
				stopped := g.begin(func() error { return g.tryStop(session) })
				require.False(t, g.open(0), "locked before anything is known")
				require.ErrorIs(t, g.answerOf(stopped, time.Second), lanes.ErrNotSaved)

				resolve()
				if err := g.answerOf(moved, 0); resolution.written {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
				}
				require.Equal(t, arrived.Wall, g.ended(session).At)
				require.Equal(t, 1, g.stopsOf(session))
				require.False(t, hardware.opened(g.lane(1), begun), "where it moved to never opened")
				g.create(0, 10)
				g.create(1, 10)
			}, watchedBy(&hardware))
		})
	}
}
