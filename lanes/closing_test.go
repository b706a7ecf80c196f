package lanes_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// For any hours of a lane and a group, near to when clocks are set, and any commands: what is sold ends before either
// closes if the session goes on at once, what is refused says how many minutes fit, and nothing but a sale is refused
// for it.
func TestNoSaleEndsAfterClosing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ofLane, ofGroup, wall := anyTwoHours(t)
		now := lanes.Instant{Wall: wall, Mono: 100 * time.Hour}
		lane := lanes.Lane{Accessible: true, Usable: true, Purchasing: true, Terms: lanes.Terms{Hours: ofLane}}
		group, hours := uuid.UUID{1}, ofLane
		if rapid.Bool().Draw(t, "the group has hours") {
			lane.GroupHours = map[uuid.UUID]*lanes.Hours{group: ofGroup}
			hours = ofGroup.In(ofLane)
		}
		planned := func(lane lanes.Lane) time.Time {
			left := lane.Session.Remaining(now)
			if p := lane.Session.Purchase; p != nil && p.Phase == lanes.Pending {
				left += time.Duration(p.Minutes()) * time.Minute
			}
			return now.Wall.Add(left)
		}
		// closes is when it does, now if it is closed, and in a week where that is not known.
		closes := func() time.Time {
			state := hours.At(now.Wall)
			switch {
			case !state.Open:
				return now.Wall
			case state.Closes.IsZero():
				return now.Wall.Add(7 * 24 * time.Hour)
			}
			return state.Closes
		}
		decide := func(command lanes.Command, sells int) {
			change, err := lane.Decide(now, command)
			if errors.Is(err, lanes.ErrDue) {
				change, err = lane.Decide(now, lanes.Expire{})
				require.NoError(t, err)
				lane = change.Lane
				change, err = lane.Decide(now, command)
			}
			var refusal *lanes.AfterClosing
			switch {
			case err == nil && sells > 0:
				require.False(t, planned(change.Lane).After(closes()), "sold past the closing")
			case errors.As(err, &refusal):
				require.Positive(t, sells, "only a sale is refused")
				require.Less(t, refusal.Most, sells)
				begins := now.Wall
				if lane.Session != nil {
					begins = planned(lane)
				}
				fits := func(minutes int) bool {
					return !begins.Add(
						time.Duration(minutes) * time.Minute).After(closes())
				}
				require.True(t, refusal.Most == 0 || fits(refusal.Most))
				require.False(t, fits(refusal.Most+1))
			}
			if err == nil {
				lane = change.Lane
			}
		}
		room := func() {
			if lane.Session == nil {
				return // whom it would be sold to is not known
			}
			n := lane.Room(now)
			require.True(t, n == 0 || !planned(lane).Add(time.Duration(n)*time.Minute).After(closes()))
		}
		session := func() uuid.UUID {
			if lane.Session == nil {
				return uuid.Nil
			}
			return lane.Session.ID
		}
		minutes := func(t *rapid.T, lowest, highest int) int {
			return rapid.OneOf(rapid.IntRange(lowest, highest), rapid.IntRange(lowest, min(40, highest))).
				Draw(t, "minutes")
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				n := minutes(t, 1, 480)
				decide(lanes.Create{Session: uuid.New(), Group: group, Minutes: n, AutoStart: rapid.Bool().Draw(t,
					"auto-start"), Purchasing: true, ByStaff: rapid.Bool().Draw(t, "by staff")}, n)
			},
			"sell anyway": func(t *rapid.T) {
				decide(lanes.Create{
					Session: uuid.New(), Group: group, Minutes: minutes(t, 1, 480), AutoStart: true,
					ByStaff: true, AfterClosing: true,
				}, 0)
			},
			"modify": func(t *rapid.T) {
				n := minutes(t, -60, 480)
				decide(lanes.Modify{Session: session(), Minutes: n}, n)
			},
			"modify anyway": func(t *rapid.T) {
				decide(lanes.Modify{Session: session(), Minutes: minutes(t, 1, 480), AfterClosing: true}, 0)
			},
			"set duration": func(t *rapid.T) {
				n, sold := minutes(t, 1, 480), 0
				if lane.Session != nil {
					sold = int(lane.Session.Sold / time.Minute)
				}
				decide(lanes.SetDuration{Session: session(), Minutes: n}, n-sold)
			},
			"buy": func(t *rapid.T) {
				n := minutes(t, 0, 120)
				decide(lanes.Buy{
					Session: session(), Purchase: uuid.New(),
					Items: []lanes.Item{{ID: lanes.TimeItem, Qty: max(1, n)}},
				}, max(1, n))
			},
			"settle": func(t *rapid.T) {
				if lane.Session != nil && lane.Session.Purchase != nil {
					decide(lanes.Settle{
						Session: session(), Purchase: lane.Session.Purchase.ID,
						Phase: rapid.SampledFrom([]lanes.PurchasePhase{
							lanes.Accepted, lanes.Declined,
							lanes.Unresolved,
						}).Draw(t, "phase"),
					}, 0)
				}
			},
			"clear": func(t *rapid.T) {
				for _, open := range lane.Open {
					decide(lanes.Clear{
						Session: open.Session, Purchase: open.ID, Credit: rapid.Bool().Draw(t, "credit"),
					}, 0)
				}
			},
			"schedule": func(t *rapid.T) {
				if lane.Session == nil || lane.Session.Phase != lanes.Waiting {
					return
				}
				start := now.Add(time.Duration(rapid.Int64Range(0, int64(lanes.MaxStartAhead)).Draw(t, "ahead")))
				runs := planned(lane).Sub(now.Wall)
				endsLate := func(begins time.Time) bool {
					state := hours.At(begins)
					return !state.Open || !state.Closes.IsZero() && begins.Add(runs).After(state.Closes)
				}
				_, err := lane.Decide(now, lanes.Schedule{
					Session: session(),
					Start:   lanes.Start{ID: uuid.New(), At: start},
				})
				late := endsLate(start.Wall) && !endsLate(now.Wall)
				require.Equal(t, late, err != nil, "refused where the start makes it late, and nowhere else: %v", err)
				var refusal *lanes.StartAfterClosing
				if late {
					require.ErrorAs(t, err, &refusal)
					require.True(t, refusal.Closes.After(now.Wall))
					require.True(t, refusal.Closes.Before(start.Wall.Add(runs)), "it is past that")
					require.False(t, hours.At(refusal.Closes).Open)
				}
			},
			"enter":  func(*rapid.T) { decide(lanes.Enter{Session: session()}, 0) },
			"pause":  func(*rapid.T) { decide(lanes.Pause{Session: session()}, 0) },
			"resume": func(*rapid.T) { decide(lanes.Resume{Session: session()}, 0) },
			"stop":   func(*rapid.T) { decide(lanes.Stop{Session: session()}, 0) },
			"":       func(*rapid.T) { room() },
			"time goes by": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "for")))
			},
		})
	})
}
