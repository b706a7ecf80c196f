package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// BatchOf makes the batch n of a range, of which each has new records, and some that replace older ones.
func BatchOf(rangeID uuid.UUID, epoch, n uint64) store.Batch {
	now := lanes.Instant{Wall: opening.Add(time.Duration(n) * time.Second), Mono: time.Duration(n)}
	lane := uuid.NewSHA1(rangeID, []byte{byte(n % 7)})
	session := lanes.Session{ID: uuid.NewSHA1(lane, []byte{byte(n)}), Customer: "Jo Smith", Since: now, Created: now}
	if n%3 == 0 {
		session.Correlation = &lanes.Correlation{ExternalID: fmt.Sprint("receipt-", n%2)}
	}
	event := func(cursor uint64) lanes.Logged {
		return lanes.Logged{Cursor: cursor, Event: lanes.Event{
			ID: uuid.NewSHA1(rangeID, []byte{byte(cursor)}), Kind: lanes.Help, Session: session.ID,
			Lane: lane, At: opening,
		}}
	}
	b := store.Batch{
		Range: rangeID, Epoch: epoch, N: n, Now: now.Wall, Checkpoint: &lanes.Checkpoint{At: now, Boot: "boot"},
		Lanes:  []lanes.Snapshot{{Lane: lanes.Lane{ID: lane, Session: &session}, Boot: "boot"}},
		Events: []lanes.Logged{event(3*n - 2), event(3*n - 1), event(3 * n)},
		Ended:  []lanes.Ended{{Cursor: n, Session: session, Lane: lane, At: now.Wall, Reason: lanes.Expired}},
		Keys:   []lanes.KeptAnswer{{Name: fmt.Sprint("key-", n), Body: "{}", At: now.Wall}},
		Holds:  HoldsAfter(n),
	}
	if n%2 == 0 {
		b.Acts = []lanes.Act{{Cursor: n / 2, At: now.Wall, Who: "sam", What: "stop", Lane: lane, Session: session.ID}}
	}
	if n > 1 {
		done := event(3*n - 5)
		done.Attempt = &lanes.Attempt{At: now.Wall, Status: 204}
		b.Events = append(b.Events, done)
		b.Forget = []string{fmt.Sprint("key-", n/2)}
	}
	return b
}

// HoldsAfter returns the holds after the batch n of BatchOf, short or longer than a page of a file.
func HoldsAfter(n uint64) *lanes.Holds {
	var h lanes.Holds
	for i := range byte(n % 25) {
		scope := lanes.Scope{Kind: lanes.OverLane, ID: uuid.UUID{i}}
		h = h.Set(scope, fmt.Sprint("who ", n), opening)
		if i%2 == 0 {
			h = h.Lift(scope, opening)
		}
	}
	return &h
}

// RequireBatches requires that the store has of a range the batches 1, 2, … of BatchOf, each whole and once:
// those that were acknowledged, and perhaps the next one, which may have begun. It returns how many it has.
func RequireBatches(t *testing.T, s store.Store, rangeID uuid.UUID, acknowledged uint64) (count uint64) {
	t.Helper()
	o := anyone(&fixture{T: t, store: s}, rangeID)
	found := o.saved()
	count = found.Recovered.LastEnded
	require.GreaterOrEqual(t, count, acknowledged, "what was acknowledged is lost")
	require.LessOrEqual(t, count, acknowledged+1)
	m := &model{
		lanes: map[uuid.UUID]lanes.Snapshot{}, events: map[uint64]lanes.Logged{},
		acts: map[uint64]lanes.Act{}, keys: map[string]lanes.KeptAnswer{},
	}
	for n := uint64(1); n <= count; n++ {
		m.apply(BatchOf(rangeID, 0, n))
	}
	require.Equal(t, m.want(), found)
	return count
}
