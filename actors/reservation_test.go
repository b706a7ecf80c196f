package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/trace"
)

// newReservation is one of three minutes with that token.
func newReservation(token string) lanes.Reservation {
	return lanes.Reservation{
		ID: uuid.New(), Token: lanes.TokenDigest(token), Holder: token,
		Term: lanes.DefaultReserved,
	}
}

// tryReserve reserves lanes for the holder of the token, with a POS's token of that name.
func (f *fixture) tryReserve(token string, wanted lanes.Wanted) (lanes.Reserved, error) {
	return f.Reserve(trace.WithWho(f.requestContext(), token), wanted, newReservation(token), nil)
}

func (f *fixture) reserve(token string, numbers ...int) lanes.Reserved {
	f.Helper()
	reserved, err := f.tryReserve(token, lanes.Wanted{Lanes: f.laneIDs(numbers...)})
	require.NoError(f, err)
	return reserved
}

// tryBuy sells 30 minutes on the i-th lane to the holder of the token.
func (f *fixture) tryBuy(i int, token string) error {
	sale := f.newSale(30)
	sale.Reservation = token
	_, err := f.Create(f.requestContext(), f.laneID(i), sale, nil)
	return err
}

// reservedLanes are the numbers of the lanes that are reserved.
func (f *fixture) reservedLanes() (numbers []int) {
	for i, status := range f.Lanes() {
		if status.Lane.ReservedFor(f.Now()) > 0 {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// A POS keeps two lanes while its customer pays: nobody else gets one, and it gets both. Both are saved in one write.
func TestLanesAreKeptForWhoeverIsPaying(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var together []int
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if len(batch.Lanes) > 0 {
				together = append(together, len(batch.Lanes))
			}
			return flush()
		})
		reserved := f.reserve("a", 1, 0)
		f.store.setHook(nil)
		require.Equal(t, []int{2}, together)
		require.Equal(t, f.laneIDs(0, 1), reserved.Lanes)
		require.Equal(t, f.Now().Wall.Add(3*time.Minute).UTC(), reserved.Until)
		session := f.create(2, 30)
		var refused *lanes.ReservedError
		require.ErrorAs(t, f.tryCreate(0, 30), &refused)
		require.Equal(t, reserved.Until, refused.Until)
		require.ErrorIs(t, f.tryBuy(1, "b"), lanes.ErrLaneReserved)
		require.ErrorIs(t, f.tryMove(session, 1), lanes.ErrLaneReserved)
		_, err := f.StaffCreate(f.requestContext(), "sam", f.laneID(1), f.newSale(30))
		require.ErrorIs(t, err, lanes.ErrLaneReserved)
		_, err = f.StaffMove(f.requestContext(), "sam", session, f.laneID(1), false)
		require.ErrorIs(t, err, lanes.ErrLaneReserved)
		_, err = f.tryReserve("b", lanes.Wanted{Lanes: f.laneIDs(3, 1)})
		require.ErrorIs(t, err, lanes.ErrLaneReserved)
		require.Equal(t, []int{0, 1}, f.reservedLanes(), "all or none")

		f.advance(2 * time.Minute)
		require.NoError(t, f.tryBuy(0, "a"))
		found, err := f.Reservation(reserved.ID)
		require.NoError(t, err)
		require.Equal(t, lanes.Reserved{ID: reserved.ID, Lanes: f.laneIDs(1), Until: reserved.Until}, found)
		require.ErrorIs(t, f.tryBuy(0, "a"), lanes.ErrLaneOccupied)
		require.NoError(t, f.tryBuy(1, "a"))
		_, err = f.Reservation(reserved.ID)
		require.ErrorIs(t, err, lanes.ErrReservationNotFound)
	}, withLanes(4))
}

// Neither a ceasefire nor the lane's hardware refuses whoever has paid; staff who close the lane do.
func TestWhoeverHasPaidIsNotRefused(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.reserve("a", 0)
		f.setHold(rangeScope)
		f.cutLink(0)
		f.advance(time.Minute)
		require.NotEmpty(t, f.Lanes()[0].NotUsable)
		f.staffLaneCommand(0, lanes.Offer{Sale: lanes.OffSale})
		require.ErrorIs(t, f.tryBuy(0, "a"), lanes.ErrLaneNotAccessible)
		f.staffLaneCommand(0, lanes.Offer{Sale: lanes.AsConfigured})
		require.NoError(t, f.tryBuy(0, "a"))
		require.Equal(t, lanes.Paused, f.Sessions()[0].Phase)
	})
}

// At its end everybody may buy again, and whoever looks is told; a POS that is late buys like anybody.
func TestTheEndOfAReservation(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.reserve("a", 0)
		_, version, wake, _ := f.LaneChange(f.laneID(0))
		f.advance(3*time.Minute - time.Millisecond)
		require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrLaneReserved)
		f.advance(time.Millisecond)
		<-wake
		_, after, _, _ := f.LaneChange(f.laneID(0))
		require.Greater(t, after, version)
		require.Empty(t, f.reservedLanes())
		f.advance(time.Minute)
		require.NoError(t, f.tryBuy(0, "a"))

		f.reserve("b", 1)
		f.advance(3 * time.Minute)
		session := f.create(1, 30)
		require.ErrorIs(t, f.tryBuy(1, "b"), lanes.ErrLaneOccupied)
		f.stop(session)
		require.ErrorIs(t, f.tryBuy(1, "b"), lanes.ErrReservationOver)
	})
}

// The POS gives up, or staff do it for the POS. Both may do so again; staff are on record, and a POS with a name.
func TestAReservationIsEnded(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		reserved := f.reserve("till", 0, 1)
		for range 2 {
			f.staffLaneCommand(0, lanes.EndReservation{Reservation: reserved.ID})
		}
		require.ErrorIs(t, f.tryBuy(0, "till"), lanes.ErrReservationOver)
		require.Equal(t, []int{1}, f.reservedLanes())
		for range 2 {
			require.NoError(t, f.EndReservation(trace.WithWho(f.requestContext(), "till"), reserved.ID, nil))
		}
		require.NoError(t, f.EndReservation(f.requestContext(), uuid.New(), nil))
		require.Empty(t, f.reservedLanes())
		var acts []string
		for _, act := range f.acts() {
			acts = append(acts, strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", act.Who, f.inForce.Load().name(act.Lane),
				act.What, act.Detail)))
		}
		require.Equal(t, []string{
			"till: Lane 1 reserve 180", "till: Lane 2 reserve 180", "sam: Lane 1 end_reservation till",
			"till: Lane 2 end_reservation till",
		}, acts)
	}, withLanes(4))
}

// Another sale goes first on one of the lanes: none is reserved, and the others are for sale.
func TestALaneThatIsSoldMeanwhileRefusesAll(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		release := f.blockFlushes()
		sold := f.runAsync(func() error { return f.tryCreate(1, 30) })
		reserved := f.runAsync(func() error {
			_, err := f.tryReserve("a", lanes.Wanted{Lanes: f.laneIDs(0, 1, 2)})
			return err
		})
		waiting := f.runAsync(func() error { return f.tryCreate(0, 30) })
		chosen := f.runAsync(func() error {
			_, err := f.tryReserve("b", lanes.Wanted{Count: 2})
			return err
		})
		release()
		require.NoError(t, <-sold)
		var refused *lanes.OnLane
		err := <-reserved
		require.ErrorAs(t, err, &refused)
		require.Contains(t, f.laneIDs(0, 1), refused.Lane, "the lanes are asked in the order of their ids")
		require.ErrorIs(t, err, lanes.ErrLaneOccupied)
		require.NoError(t, <-waiting, "it was never reserved")
		require.NoError(t, <-chosen)
		require.Equal(t, []int{2, 3}, f.reservedLanes())
		require.NoError(t, f.tryCreate(4, 30))
	}, withLanes(6))
}

// What was chosen is sold meanwhile: other lanes are.
func TestOtherLanesAreChosen(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		release := f.blockFlushes()
		sold := f.runAsync(func() error { return f.tryCreate(0, 30) })
		key := &lanes.KeyOf[lanes.Reserved]{Name: "k", Fingerprint: "f", Render: func(r lanes.Reserved) (int, []byte) {
			return 201, fmt.Append(nil, r.Lanes)
		}}
		reserve := func() (lanes.Reserved, error) {
			return f.Reserve(f.requestContext(), lanes.Wanted{Count: 2}, newReservation("a"), key)
		}
		chosen := f.runAsync(func() error {
			_, err := reserve()
			return err
		})
		release()
		require.NoError(t, <-sold)
		require.NoError(t, <-chosen)
		require.Equal(t, []int{1, 2}, f.reservedLanes())
		_, err := reserve()
		var repeat *lanes.Repeat
		require.ErrorAs(t, err, &repeat)
		require.Equal(t, fmt.Sprint(f.laneIDs(1, 2)), repeat.Kept.Body)
		f.restart()
		_, err = reserve()
		require.ErrorAs(t, err, &repeat)
		require.Equal(t, fmt.Sprint(f.laneIDs(1, 2)), repeat.Kept.Body)
		require.Equal(t, []int{1, 2}, f.reservedLanes())
	}, withLanes(4))
}

// Nobody reserves the range empty, however many requests come at once: half of the lanes are left for others.
func TestATokenReservesHalfOfTheRange(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		requests := make([]func() error, 0, 40)
		for i := range cap(requests) {
			requests = append(requests, func() error {
				_, err := f.tryReserve([]string{"a", "b"}[i%2], lanes.Wanted{Count: 1})
				return err
			})
		}
		release := f.blockFlushes()
		outcomes := map[string]int{}
		answered := f.runAsync(func() error {
			for _, err := range runTogether(requests...) {
				outcomes[code(err)]++
			}
			return nil
		})
		release()
		require.NoError(t, <-answered)
		require.Equal(t, 9, outcomes["ok"])
		require.Equal(t, 31, outcomes["reservation_limit"]+outcomes["no_lanes_fit"], "%v", outcomes)
		by := map[string]int{}
		for _, status := range f.Lanes() {
			by[status.Lane.Reservation.Holder]++
		}
		require.LessOrEqual(t, max(by["a"], by["b"]), 5)
		f.advance(3 * time.Minute)
		_, err := f.tryReserve("a", lanes.Wanted{Count: 6})
		require.ErrorIs(t, err, lanes.ErrReservationLimit)
		f.reserve("a", 0, 1, 2, 3, 4)
	}, withLanes(9))
}

// Many want the same lanes at once, by their names in any order: one gets them, nobody waits for ever.
func TestManyReserveTheSameLanes(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		requests := make([]func() error, 0, 30)
		for i := range cap(requests) {
			requests = append(requests, func() error {
				numbers := [][]int{{0, 1, 2}, {2, 1}, {1, 0}, {2, 0, 1}}[i%4]
				_, err := f.tryReserve(fmt.Sprint(i), lanes.Wanted{Lanes: f.laneIDs(numbers...)})
				return err
			})
		}
		won := 0
		for _, err := range runTogether(requests...) {
			if won++; err != nil {
				won--
				require.ErrorIs(t, err, lanes.ErrLaneReserved)
			}
		}
		require.Equal(t, 1, won)
	}, withLanes(6))
}

// The gateway is killed at its first flush of a reservation, before or after that is written: the lanes are reserved
// all, or none is; and so they are after a second kill, on the same boot.
func TestAKillLeavesAllOrNone(t *testing.T) {
	for _, written := range []bool{false, true} {
		runFixture(t, func(t *testing.T, f *fixture) {
			f.advance(time.Second)
			point := &killPoint{flush: 1, written: written}
			f.setKillPoint(point)
			answer := f.runAsync(func() error {
				_, err := f.tryReserve("a", lanes.Wanted{Lanes: f.laneIDs(0, 1, 2)})
				return err
			})
			require.True(t, point.reached())
			f.killAt(point)
			require.Error(t, <-answer)
			for range 2 {
				f.start()
				f.advance(time.Second)
				require.Equal(t, written, len(f.reservedLanes()) == 3, "%v", f.reservedLanes())
				require.Equal(t, !written, len(f.reservedLanes()) == 0, "%v", f.reservedLanes())
				f.kill()
			}
			f.start()
			require.Equal(t, written, f.tryCreate(1, 30) != nil)
			if written {
				require.NoError(t, f.tryBuy(1, "a"))
			}
		}, withLanes(6))
	}
}

// What comes of a reservation whose save fails, hangs, or whose answer is lost.
func TestAReservationThatIsNotSaved(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.store.setHook(refuseFlush)
		_, err := f.tryReserve("a", lanes.Wanted{Lanes: f.laneIDs(0, 1)})
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		f.store.setHook(nil)
		f.advance(time.Second)
		require.Empty(t, f.reservedLanes())
		require.NoError(t, f.tryCreate(0, 30))

		resolve := f.blockNextFlush(func(func() error) error { return errReplyLost }) // so it is repeated
		reserved := f.runAsync(func() error {
			_, err := f.tryReserve("a", lanes.Wanted{Lanes: f.laneIDs(1, 2)})
			return err
		})
		require.ErrorIs(t, f.answerOf(reserved, 5*time.Second), lanes.ErrTimeout)
		require.Empty(t, f.reservedLanes())
		resolve()
		require.Equal(t, []int{1, 2}, f.reservedLanes(), "it was sent, and is saved late")
		_, err = f.tryReserve("a", lanes.Wanted{Count: 1})
		require.ErrorIs(t, err, lanes.ErrReservationLimit, "and counts")
		_, err = f.tryReserve("b", lanes.Wanted{Count: 1})
		require.NoError(t, err)
		require.NoError(t, f.tryBuy(2, "a"))
	}, withLanes(4))
}

// A lane that panics has forgotten what it decided: nothing is reserved, and every lane goes on.
func TestALaneThatPanicsReservesNothing(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		release := f.blockFlushes()
		sold := f.runAsync(func() error { return f.tryCreate(1, 30) })
		reserved := f.runAsync(func() error { // the first lane has decided, and waits for the second
			_, err := f.tryReserve("a", lanes.Wanted{Lanes: f.laneIDs(0, 1)})
			return err
		})
		f.panicLane(0)
		created := f.runAsync(func() error { return f.tryCreate(0, 30) })
		release()
		require.NoError(t, <-sold)
		require.Error(t, <-reserved)
		require.NoError(t, <-created)
		f.advance(time.Second)
		require.Empty(t, f.reservedLanes())
		require.Len(t, f.Sessions(), 2)

		release = f.blockFlushes()
		reserved = f.runAsync(func() error { // both have decided, and it is being saved
			_, err := f.tryReserve("a", lanes.Wanted{Lanes: f.laneIDs(2, 3)})
			return err
		})
		f.panicLane(2)
		release()
		if err := <-reserved; err != nil {
			require.ErrorIs(t, err, lanes.ErrTimeout)
		}
		f.advance(time.Second)
		require.Equal(t, []int{2, 3}, f.reservedLanes())
		require.NoError(t, f.tryBuy(2, "a"))
		require.NoError(t, f.tryBuy(3, "a"))
	}, withLanes(4))
}

// A lane that is being sold does not leave the range, unless by force.
func TestALaneThatIsBeingSoldDoesNotLeave(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.reserve("a", 1)
		lose := func(s *Settings) { s.Layout.Lanes = slices.Delete(s.Layout.Lanes, 1, 2) }
		err := f.reload(false, lose)
		require.ErrorIs(t, err, ErrInUse)
		require.ErrorContains(t, err, "is being sold, reserved for another 3m0s")
		require.ErrorIs(t, f.tryCreate(1, 30), lanes.ErrLaneReserved)
		require.NoError(t, f.reload(true, lose))
		require.Len(t, f.Lanes(), 2)

		f.reserve("a", 1)
		f.advance(2 * time.Minute)
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Name = "Other" }), "nothing else is refused")
		require.Equal(t, []int{1}, f.reservedLanes())
	}, withLanes(3))
}

// Requests of everybody, in any order and at once, with restarts in between: no lane is ever sold to anybody but the
// holder of its reservation.
func TestReservationsNeverDouble(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var mu sync.Mutex
		owners := map[uuid.UUID]string{} // lane → token of its newest reservation that was answered
		for round := range 6 {
			var all []func() error
			for i := range 24 {
				token := fmt.Sprint("r", round, "-", i)
				all = append(all, func() error {
					reserved, err := f.tryReserve(token, lanes.Wanted{Count: 1 + i%2, Adjacent: i%4 == 1})
					mu.Lock()
					defer mu.Unlock()
					for _, lane := range reserved.Lanes {
						if err == nil {
							assert.Empty(t, owners[lane], "reserved twice")
							owners[lane] = token
						}
					}
					return nil
				}, func() error { _ = f.tryCreate(i%6, 1); return nil })
			}
			runTogether(all...)
			f.kill()
			f.start()
			for i := range f.Lanes() {
				switch owner := owners[f.laneID(i)]; {
				case owner != "":
					require.ErrorIs(t, f.tryCreate(i, 1), lanes.ErrLaneReserved)
					require.NoError(t, f.tryBuy(i, owner))
				default:
					require.NotErrorIs(t, f.tryCreate(i, 1), lanes.ErrLaneReserved)
				}
			}
			for _, session := range f.activeSessions() {
				f.stop(session)
			}
			clear(owners)
		}
	}, withLanes(6))
}

// Another node takes the range over: who is paying keeps the lane there, for as long.
func TestAReservationOutlivesATakeOver(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	settings := Settings{
		Grace: 30 * time.Second, Driver: sim.New(realClock(t).Now), Receivers: oneReceiver(nil, 1, 100),
		Layout: lanes.Layout{
			Range: uuid.New(), Name: "Shared", Groups: []lanes.Group{{ID: uuid.New(), Name: "Public"}},
			Lanes: makePlaces(4),
		},
	}
	machine := func(clock.Reference) clock.Clock { return realClock(t) }
	first := startSharing(t, server.URL(), machine).take(t, settings)
	reserved, err := first.Reserve(t.Context(), lanes.Wanted{Count: 2}, newReservation("a"), nil)
	require.NoError(t, err)
	second := startSharing(t, server.URL(), machine).take(t, settings)
	found, err := second.Reservation(reserved.ID)
	require.NoError(t, err)
	require.Equal(t, reserved.Lanes, found.Lanes)
	require.WithinDuration(t, reserved.Until, found.Until, time.Second)
	sale := lanes.Create{Session: uuid.New(), Group: settings.Layout.Groups[0].ID, Customer: "Jo", Minutes: 30}
	_, err = second.Create(t.Context(), reserved.Lanes[0], sale, nil)
	require.ErrorIs(t, err, lanes.ErrLaneReserved)
	sale.Reservation = "a"
	_, err = second.Create(t.Context(), reserved.Lanes[0], sale, nil)
	require.NoError(t, err)
	_, err = first.Reserve(t.Context(), lanes.Wanted{Count: 1}, newReservation("b"), nil)
	require.ErrorIs(t, err, lanes.ErrNotOwner)
}

// A process that has lost its range, as one that was suspended, does not know what the new owner has reserved.
func TestThereIsNothingToEndOnlyForTheOwnerOfTheRange(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		require.NoError(t, f.EndReservation(f.requestContext(), uuid.New(), nil))
		f.store.unreadable.Store(true)
		require.ErrorIs(t, f.EndReservation(f.requestContext(), uuid.New(), nil), lanes.ErrStoreUnavailable)
		ctx, giveUp := context.WithCancel(t.Context())
		giveUp()
		require.ErrorIs(t, f.EndReservation(ctx, uuid.New(), nil), lanes.ErrTimeout)
		f.store.unreadable.Store(false)
		f.claimElsewhere()
		require.ErrorIs(t, f.EndReservation(f.requestContext(), uuid.New(), nil), lanes.ErrNotOwner)
	})
}

// A lane to which a session is about to move is not free, although it still shows as such: others are chosen.
func TestAReservationChoosesOtherLanesThanAMoveDoes(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(3, 30)
		release := f.blockFlushes()
		modified := f.runAsync(func() error { return f.tryModify(session, 5) })
		moved := f.runAsync(func() error { return f.tryMove(session, 0) })
		_, err := f.tryReserve("till 1", lanes.Wanted{Lanes: f.laneIDs(0)})
		require.ErrorIs(t, err, lanes.ErrLaneOccupied)
		refused, named := errors.AsType[*lanes.OnLane](err)
		require.True(t, named && refused.Lane == f.laneID(0))
		reserved := f.runAsync(func() error {
			_, err := f.tryReserve("till 1", lanes.Wanted{Count: 2})
			return err
		})
		release()
		require.NoError(t, errors.Join(<-modified, <-moved, <-reserved))
		synctest.Wait()
		require.Equal(t, []int{1, 2}, f.reservedLanes())
	}, withLanes(4))
}
