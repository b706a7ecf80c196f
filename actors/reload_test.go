package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// 100 of 200 lanes have sessions. Lanes are added, changed and removed, and no connection and no deadline of
// any other lane changes.
func TestAReloadChangesOnlyWhatItNames(t *testing.T) {
	dials := &dialCounter{}
	runFixture(t, func(t *testing.T, f *fixture) {
		var sessions []uuid.UUID
		for i := range 100 {
			sessions = append(sessions, f.create(i, 30))
		}
		f.advance(time.Minute)
		before := f.Sessions()
		renamed, renewed, removed := f.laneID(3), f.laneID(4), []uuid.UUID{f.laneID(150), f.laneID(199)}
		added := lanes.Place{ID: uuid.New(), Name: "A new lane", Accessible: true}
		began := f.clock.Now()
		require.NoError(t, f.reload(false, func(s *Settings) {
			s.Layout.Lanes[3].Name = "Lane three"
			s.Layout.Lanes[5].Accessible = false
			s.Layout.Lanes = slices.DeleteFunc(s.Layout.Lanes, func(p lanes.Place) bool {
				return slices.Contains(removed, p.ID)
			})
			s.Layout.Lanes = append([]lanes.Place{added}, s.Layout.Lanes...) // the others move down on the board
		}, renewed))
		passed := f.clock.Now().Since(began)

		after := f.Sessions()
		require.Len(t, after, 100)
		for i, view := range after {
			require.Equal(t, sessions[i], view.ID)
			require.Equal(t, before[i].Remaining-passed, view.Remaining, "its time ran on, to the nanosecond")
			found, err := f.Session(f.Context(), sessions[i])
			require.NoError(t, err)
			require.Equal(t, view, found, "it is found where it is shown now")
		}
		dials.mu.Lock()
		for lane, times := range dials.dials {
			want := 1
			if lane == renewed {
				want = 2
			}
			require.Equal(t, want, times, "lane %s", lane)
		}
		require.Len(t, dials.dials, 201)
		dials.mu.Unlock()

		shown := f.Lanes()
		require.Len(t, shown, 199)
		require.Equal(t, added, shown[0].Place)
		require.Equal(t, lanes.LinkUp, shown[0].Link)
		require.Equal(t, "Lane three", shown[4].Name)
		require.Equal(t, renamed, shown[4].ID)
		require.False(t, shown[6].Lane.Accessible)
		f.create(0, 30) // at the new lane
		require.True(t, f.isOpen(0))
		_, err := f.Create(f.requestContext(), removed[0], f.newSale(30), nil)
		require.Equal(t, lanes.ErrLaneNotFound, err)

		f.advance(40 * time.Minute)
		for _, session := range sessions {
			require.Equal(t, 30*time.Minute, f.endedSession(session).Used)
		}
		f.restart()
		require.Len(t, f.Lanes(), 199)
	}, withLanes(200), withDialCounter(dials))
}

func TestAReloadThatRemovesALaneInUseChangesNothing(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(1, 30)
		err := f.reload(false, func(s *Settings) {
			s.Layout.Lanes[0].Name = "Another name"
			s.Layout.Lanes = s.Layout.Lanes[:1]
		})
		require.ErrorIs(t, err, ErrInUse)
		require.ErrorContains(t, err, f.laneID(1).String())
		require.ErrorContains(t, err, session.String())
		require.Equal(t, "Lane 1", f.Lanes()[0].Name)
		require.True(t, f.isOpen(1))
		f.create(2, 30) // it was to be removed as well, was ready for that, and is for sale again

		require.NoError(t, f.reload(true, func(s *Settings) { s.Layout.Lanes = s.Layout.Lanes[:1] }), "forced")
		require.Len(t, f.Lanes(), 1)
		require.EqualValues(t, lanes.ByStaff, f.endedSession(session).Reason)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped},
			f.eventKinds(session))
		f.restart()
	}, withLanes(3))
}

func TestALaneThatIsAddedDuringACeasefireIsHeld(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(rangeScope)
		require.NoError(t, f.reload(false, func(s *Settings) {
			s.Layout.Lanes = append(s.Layout.Lanes, lanes.Place{
				ID: uuid.New(), Bay: s.Layout.Bays[0].ID, Name: "New",
				Accessible: true,
			})
		}))
		f.create(4, 30)
		f.requireHeld(0, 1, 2, 3, 4)
		f.liftHold(rangeScope)
		f.requireOpen(4)
	}, withBays)
}

// A reload cannot circumvent a hold: it moves no lane out of one, and none into one.
func TestAReloadMovesNoLaneOutOfAHoldOrIntoOne(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(f.bayScope(1))
		for name, change := range map[string]func(*Settings){
			"out of it":   func(s *Settings) { s.Layout.Lanes[2].Bay = s.Layout.Bays[0].ID },
			"into it":     func(s *Settings) { s.Layout.Lanes[0].Bay = s.Layout.Bays[1].ID },
			"without bay": func(s *Settings) { s.Layout.Bays, s.Layout.Lanes = s.Layout.Bays[:1], s.Layout.Lanes[:2] },
		} {
			require.ErrorIs(t, f.reload(false, change), ErrInUse, name)
		}
		f.requireHeld(2, 3)
		f.liftHold(f.bayScope(1))
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Lanes[2].Bay = s.Layout.Bays[0].ID }))
		f.setHold(f.bayScope(0))
		f.requireHeld(0, 1, 2)
	}, withBays)
}

func TestALaneThatIsAddedAgainKeepsItsState(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		all := slices.Clone(f.settings.Layout.Lanes)
		require.NoError(t, f.StaffLane(f.requestContext(), "sam", f.laneID(1), lanes.Offer{Sale: lanes.OffSale}))
		for _, restarted := range []bool{false, true} {
			require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Lanes = s.Layout.Lanes[:1] }))
			if restarted {
				f.restart()
			}
			require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Lanes = all }))
			require.False(t, f.Lanes()[1].Lane.ForSale(), "staff had closed it for sale")
		}
	})
}

func TestAReloadAddsAndRemovesRanges(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		other := f.settings
		other.Layout.Range, other.Layout.Lanes = uuid.New(), makePlaces(3)
		session := f.create(0, 30)
		require.NoError(t, f.gateway.Reload(f.Context(), Reload{Begin: []Settings{other}}))
		synctest.Wait()
		require.True(t, f.gateway.Ready(2))
		added, err := f.gateway.Range(other.Layout.Range)
		require.NoError(t, err)
		_, err = added.Create(f.requestContext(), other.Layout.Lanes[2].ID, f.newSale(30), nil)
		require.NoError(t, err)

		err = f.gateway.Reload(f.Context(), Reload{End: []uuid.UUID{other.Layout.Range}})
		require.ErrorIs(t, err, ErrInUse)
		require.True(t, f.gateway.Ready(2))
		require.NoError(t, f.gateway.Reload(f.Context(), Reload{
			End: []uuid.UUID{other.Layout.Range}, Force: true,
			Who: "operator",
		}))
		_, err = f.gateway.Range(other.Layout.Range)
		require.Equal(t, lanes.ErrStarting, err)
		require.True(t, f.gateway.Ready(1))
		require.Equal(t, []uuid.UUID{session}, f.activeSessions())
	})
}

// A reload that is refused late undoes what it had done before; here the end of a session cannot be saved.
func TestARefusedReloadRemovesTheRangesThatItAdded(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		other := f.settings
		other.Layout.Range, other.Layout.Lanes = uuid.New(), makePlaces(3)
		f.create(1, 30)
		smaller := f.settings
		smaller.Layout.Lanes = smaller.Layout.Lanes[:1]
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if batch.Range == other.Layout.Range {
				return flush()
			}
			return errors.New("the disk is gone")
		})
		err := f.gateway.Reload(f.Context(),
			Reload{Begin: []Settings{other}, Change: []Changed{{Settings: smaller}}, Force: true})
		require.ErrorIs(t, err, lanes.ErrNotSaved)
		f.store.setHook(nil)
		f.advance(time.Minute)
		require.True(t, f.gateway.Ready(1))
		require.Len(t, f.Lanes(), 2)
	})
}

// The gateway that owns a range keeps it when the reload of another gateway, which was to take it over, is refused.
func TestARefusedReloadTakesNoRangeFromAnotherGateway(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		other := f.settings
		other.Layout.Range, other.Layout.Lanes = uuid.New(), makePlaces(3)
		epoch, err := f.store.Claim(f.Context(), other.Layout.Range, f.clock.Now().Wall)
		require.NoError(t, err)
		f.create(1, 30)
		smaller := f.settings
		smaller.Layout.Lanes = smaller.Layout.Lanes[:1]
		err = f.gateway.Reload(f.Context(), Reload{Begin: []Settings{other}, Change: []Changed{{Settings: smaller}}})
		require.ErrorIs(t, err, ErrInUse)
		require.NoError(t, f.store.Flush(f.Context(), store.Batch{
			Range: other.Layout.Range, Epoch: epoch, N: 1,
			Now: f.clock.Now().Wall,
		}))
	})
}

// The lane may be removed just when clients use it: they get an answer, whichever came first.
func TestALaneThatIsRemovedWhileItIsUsedAnswersItsClients(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for range 20 {
			var clients sync.WaitGroup
			answers := make([]error, 20)
			lane := f.laneID(1)
			for i := range answers {
				clients.Go(func() {
					session := f.newSale(30)
					if _, answers[i] = f.Create(f.requestContext(), lane, session, nil); answers[i] == nil {
						_, _ = f.On(f.requestContext(), session.Session,
							lanes.Stop{Session: session.Session, By: lanes.ByPOS}, nil)
					}
				})
			}
			all := f.settings.Layout.Lanes
			err := f.reload(false, func(s *Settings) { s.Layout.Lanes = s.Layout.Lanes[:1] })
			clients.Wait()
			for _, answer := range answers {
				require.NotEqual(t, lanes.ErrTimeout, answer)
			}
			if err == nil {
				require.Empty(t, f.activeSessions())
				require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Lanes = all }))
			}
			f.advance(time.Minute)
		}
	})
}

// No request to a lane that is being stopped is lost: either the lane takes it before it stops, or the client
// learns that there is no such lane.
func TestARequestToAStoppingLaneIsAnswered(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		all, lane := f.settings.Layout.Lanes, f.laneID(1)
		for range 300 {
			asked := make([]*request, 8)
			var clients sync.WaitGroup
			for i := range asked {
				asked[i] = &request{
					ctx: t.Context(), command: lanes.Pause{Session: uuid.New()},
					reply: make(chan reply, 1),
				}
				clients.Go(func() { f.addresses.sendTo(lane, asked[i]) })
			}
			for _, now := range [][]lanes.Place{all[:1], all} {
				changed := f.settings
				changed.Layout.Lanes = now
				require.NoError(t, f.exchange(t.Context(), Changed{Settings: changed}, "operator"))
				clients.Wait()
			}
			synctest.Wait()
			for _, a := range asked {
				require.Len(t, a.reply, 1)
			}
		}
	})
}

func TestAnotherWebhookTakesOver(t *testing.T) {
	first, second := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		require.NoError(t, f.reload(false, func(s *Settings) { only(s).Webhook = second }))
		f.stop(session)
		require.NoError(t, f.reload(false, func(s *Settings) { only(s).Webhook = nil }))
		f.create(1, 30)
		f.advance(time.Minute)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, first.kinds())
		require.Equal(t, []lanes.Kind{lanes.SessionStopped}, second.kinds())
	}, withWebhook(first))
}

// A hold is set while the reload waits for a busy lane, after the reload has checked the holds. Whatever the
// new configuration does to the hold's scope, no lane escapes the hold, also if an earlier hold over it is
// known to have ended, and no hold without lanes remains.
func TestAHoldThatIsSetDuringAReloadLosesNoLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(2, 30)
		f.setHold(rangeScope)
		f.liftHold(rangeScope)
		bay := f.bayScope(1)
		before := slices.Clone(f.settings.Layout.Lanes)
		var busy chan struct{}
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if len(batch.Acts) > 0 && busy == nil { // the lane to be removed is being closed for sale
				busy = make(chan struct{})
				<-busy
			}
			return flush()
		})
		go func() { _ = f.StaffLane(f.requestContext(), "sam", before[3].ID, lanes.Offer{Sale: lanes.OffSale}) }()
		synctest.Wait()
		reloaded := make(chan error, 1)
		go func() {
			changed := f.settings // lane 2 moves to the other bay, lane 3 is removed, and so is their bay
			changed.Layout.Bays = changed.Layout.Bays[:1]
			changed.Layout.Lanes = slices.Clone(before[:3])
			changed.Layout.Lanes[2].Bay = changed.Layout.Bays[0].ID
			reloaded <- f.gateway.Reload(f.Context(), Reload{Change: []Changed{{Settings: changed}}, Who: "operator"})
		}()
		synctest.Wait()
		held := f.startHold(bay)
		synctest.Wait()
		close(busy)
		require.NoError(t, <-reloaded)
		<-held
		f.advance(2 * time.Second)

		require.False(t, f.isOpen(2))
		status := f.Lanes()[2]
		require.True(t, status.Lane.Held)
		require.True(t, status.Locked)
		require.Equal(t, lanes.Paused, status.Lane.Session.Phase)
		require.Equal(t, []lanes.Scope{{Kind: lanes.OverLane, ID: before[2].ID}}, f.heldScopes(),
			"a hold over nothing could not be lifted")
		require.Equal(t, "sam", f.Holds().InForce[0].Who)
		f.liftHold(lanes.Scope{Kind: lanes.OverLane, ID: before[2].ID})
		require.True(t, f.isOpen(2))
		require.Equal(t, session, f.Lanes()[2].Lane.Session.ID)
	}, withBays)
}

// A range that is removed by force leaves no session and no event pending in the store: the next start would
// find it in use and refuse.
func TestARemovedRangeLeavesNothingPending(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		defer release()
		r, other := f.addRange(webhook)
		_, err := r.Create(f.requestContext(), other.Layout.Lanes[2].ID, f.newSale(30), nil)
		require.NoError(t, err)
		end := Reload{End: []uuid.UUID{other.Layout.Range}, Who: "operator"}
		require.ErrorIs(t, f.gateway.Reload(f.Context(), end), ErrInUse)
		require.True(t, f.gateway.Ready(2))

		end.Force = true
		require.NoError(t, f.gateway.Reload(f.Context(), end))
		saved, err := f.store.Load(f.Context(), store.InAnyEpoch(other.Layout.Range))
		require.NoError(t, err)
		require.Empty(t, saved.Pending)
		log, err := f.store.Events(f.Context(), store.InAnyEpoch(other.Layout.Range), 0, 100)
		require.NoError(t, err)
		var became []string
		for _, event := range log {
			became = append(became, string(event.Event.Kind)+" "+event.Attempt.Outcome())
		}
		require.Equal(t, []string{"sessionCreated interrupted", "sessionStarted dropped", "sessionStopped dropped"},
			became)
	})
}

// Where events are tried again, those of a removed range whose attempt hangs, the first one or a later one, do not
// stay pending either: a start without the range would be refused for them.
func TestARemovedRangeWithRetriesLeavesNothingPending(t *testing.T) {
	for name, hangs := range map[string]func(f *fixture, webhook *fakeWebhook, sell func()) (release func()){
		"at the first attempt": func(f *fixture, webhook *fakeWebhook, sell func()) func() {
			release := webhook.block()
			sell()
			f.advance(time.Second)
			return release
		},
		"when they are sent again": func(f *fixture, webhook *fakeWebhook, sell func()) func() {
			webhook.fails(500, nil)
			sell()
			f.advance(time.Second)
			release := webhook.block()
			f.advance(6 * time.Second)
			return release
		},
	} {
		t.Run(name, func(t *testing.T) {
			webhook := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				r, other := f.addRange(webhook)
				release := hangs(f, webhook, func() {
					for _, lane := range other.Layout.Lanes {
						_, err := r.Create(f.requestContext(), lane.ID, f.newSale(30), nil)
						require.NoError(t, err)
					}
				})
				defer release()
				require.NotEmpty(t, webhook.arrivals())
				end := Reload{End: []uuid.UUID{other.Layout.Range}, Who: "operator", Force: true}
				require.NoError(t, f.gateway.Reload(f.Context(), end))
				saved, err := f.store.Load(f.Context(), store.InAnyEpoch(other.Layout.Range))
				require.NoError(t, err)
				require.Empty(t, saved.Pending)
			}, withRetries)
		})
	}
}

// The last event of a range may have happened a moment ago. A receiver that answers gets it.
func TestARemovedRangeSendsItsLastEvents(t *testing.T) {
	slow := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		slow.setReply(func(_ context.Context, event lanes.Event) lanes.Attempt {
			time.Sleep(100 * time.Millisecond)
			return lanes.Attempt{At: event.At, Status: 200}
		})
		r, other := f.addRange(slow)
		sold, err := r.Create(f.requestContext(), other.Layout.Lanes[2].ID, f.newSale(30), nil)
		require.NoError(t, err)
		f.advance(time.Second)
		_, err = r.On(f.requestContext(), sold.ID, lanes.Pause{Session: sold.ID}, nil)
		require.NoError(t, err)
		require.NoError(t, f.gateway.Reload(f.Context(), Reload{
			End: []uuid.UUID{other.Layout.Range}, Force: true,
			Who: "operator",
		}))
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused,
			lanes.SessionStopped,
		}, slow.kinds())
	})
}

// Another gateway has claimed the range: its operator can remove it here, whatever is on it there.
func TestARangeThatAnotherGatewayOwnsCanBeRemoved(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.claimElsewhere()
		f.advance(checkpointEvery)
		_, err := f.gateway.Range(f.settings.Layout.Range)
		require.Equal(t, lanes.ErrNotOwner, err)
		require.NoError(t, f.gateway.Reload(f.Context(), Reload{End: []uuid.UUID{f.settings.Layout.Range}}))
		_, err = f.gateway.Range(f.settings.Layout.Range)
		require.Equal(t, lanes.ErrStarting, err)
		require.True(t, f.gateway.Ready(0))
	})
}

// The store hangs while a range is removed: the range is removed all the same, and the operator gets an error
// that says so.
func TestARangeThatDoesNotStopInTimeIsRemovedAllTheSame(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		_, other := f.addRange(nil)
		back := make(chan struct{})
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if batch.Range == other.Layout.Range {
				<-back
				return errors.New("the disk is gone")
			}
			return flush()
		})
		err := f.gateway.Reload(f.Context(), Reload{End: []uuid.UUID{other.Layout.Range}})
		require.ErrorIs(t, err, ErrUnfinished)
		require.True(t, f.gateway.Ready(1))
		f.store.setHook(nil)
		close(back)
		f.advance(time.Minute)
		_, _ = f.addRange(nil)
		require.True(t, f.gateway.Ready(2))
	})
}

// The links are renewed just as a ceasefire is set: it reaches each lane over its new link.
func TestAHoldReachesALaneWhoseLinkIsRenewed(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for i := range 4 {
			f.create(i, 30)
		}
		renewed := make(chan error, 1)
		go func() {
			renewed <- f.gateway.Reload(f.Context(),
				Reload{Change: []Changed{{Settings: f.settings, Renew: f.laneIDs(0, 1, 2, 3)}}})
		}()
		held := f.startHold(rangeScope)
		require.NoError(t, <-renewed)
		<-held
		f.advance(time.Second)
		f.requireHeld(0, 1, 2, 3)
		f.requireLocked(0, 1, 2, 3)
		f.liftHold(rangeScope)
		f.requireOpen(0, 1, 2, 3)
	}, withBays)
}

// The report that a controller holds may arrive when its lane has just been removed: there is nothing to
// decide any more.
func TestAHoldingControllerOfARemovedLaneIsIgnored(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		removed := f.laneID(3)
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Lanes = s.Layout.Lanes[:3] }))
		f.addresses.sendRoot(&controllerHolds{removed})
		f.advance(time.Second)
		require.Zero(t, f.metricValue("rangegate_actor_restarts_total", "range"))
		require.Empty(t, f.heldScopes(), "there is no lane to lift it from")
	}, withBays)
}

// A reload with force is refused because a lane without a session does not answer: no session was stopped for it.
func TestAForcedReloadThatALaneRefusesEndsNoSession(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(1, 30)
		unblock := f.blockLane(2)
		err := f.reload(true, func(s *Settings) { s.Layout.Lanes = s.Layout.Lanes[:1] })
		require.ErrorIs(t, err, ErrInUse)
		require.NotErrorIs(t, err, ErrEnded)
		require.ErrorContains(t, err, f.laneID(2).String())
		unblock()
		f.advance(time.Second)
		require.Equal(t, []uuid.UUID{session}, f.activeSessions())
		require.True(t, f.isOpen(1))
		f.create(0, 30)
		f.create(2, 30)
	}, withLanes(3))
}

// Force has stopped a session, and the end of the next one cannot be saved: the answer says what was ended.
func TestAForcedReloadThatIsRefusedSaysWhatItEnded(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(1, 30), f.create(2, 30)
		ended := 0
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if ended += len(batch.Ended); ended > 1 {
				return store.ErrRefused
			}
			return flush()
		})
		smaller := f.settings
		smaller.Layout.Lanes = smaller.Layout.Lanes[:1]
		err := f.gateway.Reload(f.requestContext(), Reload{
			Change: []Changed{{Settings: smaller}}, Force: true,
			Who: "operator",
		})
		require.ErrorIs(t, err, ErrEnded)
		require.ErrorIs(t, err, lanes.ErrNotSaved)
		require.ErrorContains(t, err, fmt.Sprintf("session %s on lane %s, session %s on lane %s (not saved yet).",
			first, f.laneID(1), second, f.laneID(2)))
		require.Len(t, f.Lanes(), 3)
		f.storeReturns()
		require.Empty(t, f.activeSessions())
		f.create(1, 30) // it was ready to leave, and is for sale again
	}, withLanes(3))
}

// A lane is sold again just as force has stopped its session.
func TestAForcedReloadStopsWhatIsSoldMeanwhile(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first := f.create(1, 30)
		var second <-chan error
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if len(batch.Ended) > 0 && second == nil {
				sold := make(chan error, 1)
				second = sold
				go func() { sold <- f.tryCreate(1, 30) }()
				time.Sleep(10 * time.Millisecond) // it waits in the lane
			}
			return flush()
		})
		smaller := f.settings
		smaller.Layout.Lanes = smaller.Layout.Lanes[:1]
		require.NoError(t, f.gateway.Reload(f.requestContext(),
			Reload{Change: []Changed{{Settings: smaller}}, Force: true, Who: "operator"}))
		require.NoError(t, <-second)
		require.Empty(t, f.activeSessions())
		require.EqualValues(t, lanes.ByStaff, f.endedSession(first).Reason)
		require.Len(t, f.Lanes(), 1)
		require.Len(t, f.acts(), 2)
	})
}

// A reload reaches the lane that a session has left before that hears that its move is saved.
func TestASessionIsFoundThatMovesDuringAReload(t *testing.T) {
	for name, move := range map[string]func(f *fixture, session uuid.UUID) error{
		"by itself": func(f *fixture, session uuid.UUID) error { return f.tryMove(session, 1) },
		"in a batch": func(f *fixture, session uuid.UUID) error {
			_, err := f.Batch(f.requestContext(),
				lanes.Batch{Operations: []lanes.Operation{f.moveTo(1, session)}, Atomic: true}, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				release := f.blockFlushes()
				moved := f.runAsync(func() error { return move(f, session) })
				endTurn := f.keepBusy(0)
				f.addresses.sendTo(f.laneID(0), &replaced{})
				release()
				synctest.Wait()
				require.Equal(t, 1, f.laneOfSession(session))
				endTurn()
				require.NoError(t, <-moved)
				synctest.Wait()
				require.Equal(t, 1, f.laneOfSession(session))
				f.requireOpen(1)
				require.NoError(t, f.tryStop(session))
				synctest.Wait()
				f.requireOpen()
			})
		})
	}
}

// A lane that was kept for a move during a reload can be reserved once nothing came of the move.
func TestALaneIsFreeAfterAMoveThatFailedDuringAReload(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		resolve := f.blockNextFlush(func(func() error) error { return store.ErrRefused })
		moved := f.runAsync(func() error { return f.tryMove(session, 1) })
		f.addresses.sendTo(f.laneID(1), &replaced{})
		resolve()
		require.Error(t, <-moved)
		synctest.Wait()
		f.reserve("till 1", 1)
		require.Equal(t, []int{1}, f.reservedLanes())
	})
}

// A lane that is to leave has vacated, and begins anew while another range starts: it keeps itself free no longer. The
// reload is refused, since a session could be sold on it.
func TestALaneThatForgetsThatItHasVacatedRefusesTheReload(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		other, changed := f.settings, f.settings
		other.Layout.Range, other.Layout.Lanes = uuid.New(), makePlaces(1)
		changed.Layout.Lanes = slices.Clone(changed.Layout.Lanes[:1])
		f.store.loading = func() error {
			f.panicLane(1)
			f.create(1, 30)
			return nil
		}
		err := f.gateway.Reload(f.Context(), Reload{Begin: []Settings{other}, Change: []Changed{{changed, nil}}})
		require.ErrorIs(t, err, ErrInUse)
		require.Len(t, f.activeSessions(), 1)
		require.Len(t, f.Lanes(), 2)
	})
}
