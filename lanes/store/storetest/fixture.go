package storetest

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// fixture is a bench with an open store.
type fixture struct {
	*testing.T
	bench     Bench
	retention store.Retention
	store     store.Store
}

// reopen closes the store, runs the functions, and opens it again.
func (s *fixture) reopen(whileClosed ...func()) {
	require.NoError(s, s.store.Close())
	for _, run := range whileClosed {
		run()
	}
	s.store = s.bench.Open(s.T, s.retention)
}

// setRetention reopens the store with another retention.
func (s *fixture) setRetention(r store.Retention) {
	s.retention = r
	s.reopen()
}

// owner is a process that has claimed a range.
type owner struct {
	*fixture
	rangeID  uuid.UUID
	epoch, n uint64
}

// claim makes an owner of a range.
func (s *fixture) claim(rangeID uuid.UUID) *owner { return s.claimAt(rangeID, opening) }

func (s *fixture) claimAt(rangeID uuid.UUID, now time.Time) *owner {
	epoch, err := s.store.Claim(s.Context(), rangeID, now)
	require.NoError(s, err)
	return &owner{fixture: s, rangeID: rangeID, epoch: epoch}
}

func (o *owner) rangeEpoch() store.RangeEpoch {
	return store.RangeEpoch{Range: o.rangeID, Epoch: o.epoch, N: o.n}
}

// anyone reads the range whoever has claimed it.
func anyone(s *fixture, rangeID uuid.UUID) *owner {
	return &owner{fixture: s, rangeID: rangeID, epoch: store.InAnyEpoch(rangeID).Epoch}
}

// batch returns the next batch of the range, without records.
func (o *owner) batch() store.Batch {
	return store.Batch{Range: o.rangeID, Epoch: o.epoch, N: o.n + 1, Now: opening}
}

// flush writes the batch, which must succeed.
func (o *owner) flush(b store.Batch) {
	o.Helper()
	require.NoError(o, o.store.Flush(o.Context(), b))
	o.n = b.N
}

// try flushes a batch and returns the error.
func (o *owner) try(b store.Batch) error { return o.store.Flush(o.Context(), b) }

// load reads the range, its lanes and keys sorted. The bodies of answers are read one by one, as for a repeat.
func (o *owner) load() store.Recovered {
	o.Helper()
	r, err := o.store.Load(o.Context(), o.rangeEpoch())
	require.NoError(o, err)
	for i, key := range r.Keys {
		answer, err := o.store.Answer(o.Context(), o.rangeEpoch(), key.Name)
		require.NoError(o, err)
		require.Equal(o, answer.Shed(), key)
		r.Keys[i] = answer
	}
	return normalize(r)
}

// events reads the whole event log.
func (o *owner) events() []lanes.Logged {
	o.Helper()
	events, err := o.store.Events(o.Context(), o.rangeEpoch(), 0, math.MaxInt32)
	require.NoError(o, err)
	return append([]lanes.Logged{}, events...)
}

// history reads the whole history.
func (o *owner) history() []lanes.Ended {
	o.Helper()
	history, err := o.store.History(o.Context(), o.rangeEpoch(), 0, math.MaxInt32)
	require.NoError(o, err)
	return append([]lanes.Ended{}, history...)
}

// acts reads all acts of staff.
func (o *owner) acts() []lanes.Act {
	o.Helper()
	acts, err := o.store.Acts(o.Context(), o.rangeEpoch(), 0, math.MaxInt32)
	require.NoError(o, err)
	return append([]lanes.Act{}, acts...)
}

// saved is everything that can be read of a range.
type saved struct {
	Recovered store.Recovered
	Events    []lanes.Logged
	History   []lanes.Ended
	Acts      []lanes.Act
}

func (o *owner) saved() saved {
	o.Helper()
	return saved{Recovered: o.load(), Events: o.events(), History: o.history(), Acts: o.acts()}
}

// normalize sorts lists without an order, and makes nil lists empty, so that equal values compare equal.
func normalize(r store.Recovered) store.Recovered {
	r.Lanes = append([]lanes.Snapshot{}, r.Lanes...)
	slices.SortFunc(r.Lanes, func(a, b lanes.Snapshot) int { return slices.Compare(a.ID[:], b.ID[:]) })
	r.Keys = append([]lanes.KeptAnswer{}, r.Keys...)
	slices.SortFunc(r.Keys, func(a, b lanes.KeptAnswer) int { return cmp.Compare(a.Name, b.Name) })
	r.Pending = append([]lanes.Logged{}, r.Pending...)
	return r
}

// opening is the time of every flush that names no other.
var opening = time.Date(2025, time.June, 1, 9, 0, 0, 123_456_789, time.UTC)

func at(later time.Duration) lanes.Instant {
	return lanes.Instant{Wall: opening.Add(later), Mono: 77*time.Hour + later}
}

// occupied returns a lane with a running session, and with a value in every field.
func occupied(lane uuid.UUID, customer string) lanes.Snapshot {
	s := lanes.Snapshot{Boot: "7d5e36ac"}
	began := at(time.Minute)
	s.ID = lane
	s.Log = lanes.Log{ID: "log", Seq: 12}
	s.Sale = lanes.OffSale
	s.Help, s.Stray = &lanes.HelpCall{At: opening, Coming: true}, &began.Wall
	s.Session = &lanes.Session{
		ID: uuid.New(), Group: uuid.New(), Customer: customer, Purchasing: true, Sold: time.Hour, Phase: lanes.Running,
		Left: time.Hour - 1, Since: began, Created: at(0), Began: &began, Rested: time.Second, Facts: 2,
		RanOn: 3 * time.Minute,
	}
	return s
}

// free returns a lane without a session.
func free(lane uuid.UUID) lanes.Snapshot {
	return lanes.Snapshot{Lane: lanes.Lane{ID: lane}, Boot: "7d5e36ac"}
}

// uncleared returns a lane whose session's time is up, and that is not clear.
func uncleared(lane uuid.UUID) lanes.Snapshot {
	s := free(lane)
	s.Uncleared = &lanes.Uncleared{Session: uuid.New(), Since: at(time.Hour)}
	return s
}

// pending returns an event without an attempt.
func pending(cursor uint64) lanes.Logged {
	return lanes.Logged{Cursor: cursor, Event: lanes.Event{
		ID: uuid.New(), Kind: lanes.SessionStarted, Session: uuid.New(), Lane: uuid.New(), At: opening,
	}}
}

// delivered returns the event with its attempt.
func delivered(e lanes.Logged) lanes.Logged {
	e.Attempt = &lanes.Attempt{At: opening.Add(time.Second), Status: 204, Duration: 3 * time.Millisecond}
	return e
}

// ended returns an ended session.
func ended(cursor uint64, customer string) lanes.Ended {
	session := *occupied(uuid.New(), customer).Session
	session.Left = 0
	return lanes.Ended{
		Cursor: cursor, Session: session, Lane: uuid.New(), At: opening, Reason: lanes.Expired,
		Used: time.Hour, Paused: time.Minute,
	}
}

// act returns an act of staff.
func act(cursor uint64, who string) lanes.Act {
	return lanes.Act{
		Cursor: cursor, At: opening, Who: who, What: "add_time", Lane: uuid.New(), Session: uuid.New(),
		Detail: "15 minutes",
	}
}

// holds returns a record with holds in force and one that has ended.
func holds(who string) lanes.Holds {
	lane, bay := lanes.Scope{Kind: lanes.OverLane, ID: uuid.New()}, lanes.Scope{Kind: lanes.OverBay, ID: uuid.New()}
	return lanes.Holds{}.
		Set(lanes.Scope{Kind: lanes.OverRange}, who, opening).
		Set(lane, who, opening.Add(time.Second)).
		Set(bay, who, opening.Add(time.Minute)).
		Lift(lane, opening.Add(time.Hour))
}

// answer returns an idempotency key with its answer.
func answer(name string) lanes.KeptAnswer {
	return lanes.KeptAnswer{Name: name, Fingerprint: "POST /sessions", Status: 201, Body: `{"a":1}`, At: opening}
}
