package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Written returns the batch in the samples of a version: that version's rangegate claimed the range at
// opening and flushed this batch, which has a value in every field of its records.
func Written(version int) store.Batch {
	id := func(n byte) uuid.UUID { return uuid.UUID{0xa5, 15: n} }
	began := at(time.Minute)
	purchase := &lanes.Purchase{
		ID: id(10), Session: id(2), Items: []lanes.Item{{ID: lanes.TimeItem, Qty: 15}, {ID: "targets", Qty: 2}},
		Phase: lanes.Pending, At: at(2 * time.Minute), Event: id(32), Earlier: []uuid.UUID{id(11), id(12)},
	}
	running, held, free := occupied(id(1), "Jo & <Ann> Smith"), occupied(id(3), "Зоя"), free(id(5))
	running.Session.ID, running.Session.Group, running.Session.Purchase = id(2), id(6), purchase
	held.Session.ID, held.Session.Group = id(4), id(6)
	held.Session.Phase, held.Session.ByHold, held.Session.Began = lanes.Paused, true, nil
	held.Held, held.Released, held.Fault = true, &began, "carrier jammed"
	free.Open = []*lanes.Purchase{{
		ID: id(13), Session: id(7), Phase: lanes.Unresolved, At: at(0),
		Reason: "timed out", Trace: "t-1",
	}}
	snapshots := []lanes.Snapshot{running, held, free}

	events := []lanes.Logged{pending(1), delivered(pending(2)), pending(5)}
	for i := range events {
		events[i].Event.ID, events[i].Event.Session, events[i].Event.Lane = id(byte(30+i)), id(2), id(1)
	}
	events[2].Simulated, events[2].Event.Kind, events[2].Event.Items = true, lanes.PurchaseRequest, purchase.Items
	sessions := []lanes.Ended{ended(3, "Ann Lee"), ended(4, "")}
	for i := range sessions {
		sessions[i].Session.ID, sessions[i].Session.Group, sessions[i].Lane = id(byte(40+i)), id(6), id(5)
	}
	batch := store.Batch{
		Range: id(0), Epoch: uint64(opening.UnixMilli()), N: 1, Now: opening,
		Checkpoint: &lanes.Checkpoint{At: began, Boot: "7d5e36ac"},
		Lanes:      snapshots, Events: events, Ended: sessions, LastEvent: 9, LastEnded: 8,
		Keys: []lanes.KeptAnswer{answer("k-1"), answer("k-2")},
		Holds: &lanes.Holds{
			InForce: []lanes.HoldRecord{{
				Scope: lanes.Scope{Kind: lanes.OverLane, ID: id(3)}, Who: "sam",
				Since: opening,
			}},
			Lifted: []lanes.LiftRecord{{Scope: lanes.Scope{Kind: lanes.OverRange}, At: opening}},
		},
	}
	if version >= 5 {
		batch.Checkpoint.Offset = &lanes.Offset{Ahead: -40 * time.Millisecond, Clock: "5c9a"}
	}
	if version >= 3 {
		purchase.RequestTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
		events[0].Trace, events[2].Trace = "0af7651916cd43dd8448eb211c80319c", purchase.RequestTrace
	}
	if version < 2 {
		for i := range snapshots {
			lane := &snapshots[i]
			lane.Sale, lane.Help, lane.Stray = lanes.AsConfigured, nil, nil
			if lane.Session != nil {
				lane.Session.RanOn = 0
			}
		}
		for i := range sessions {
			sessions[i].Session.RanOn = 0
		}
		return batch
	}
	batch.Acts, batch.LastAct = []lanes.Act{act(2, "sam"), act(6, "kim")}, 7
	batch.Acts[0].Lane, batch.Acts[0].Session = id(1), id(2)
	batch.Acts[1] = lanes.Act{Cursor: 6, At: opening, Who: "kim", What: "hold"}
	return batch
}

// OfVersion tests a store that rangegate of that version has written. The bench has the sample.
func OfVersion(t *testing.T, bench Bench, version int) {
	s := &fixture{T: t, bench: bench, retention: generous}
	s.store = bench.Open(t, s.retention)
	t.Cleanup(func() { _ = s.store.Close() })
	was := Written(version)
	want := saved{
		Recovered: normalize(store.Recovered{
			Checkpoint: *was.Checkpoint, Lanes: was.Lanes, Keys: was.Keys, Holds: *was.Holds,
			Pending:   []lanes.Logged{was.Events[0], was.Events[2]},
			LastEvent: was.LastEvent, LastEnded: was.LastEnded, LastAct: was.LastAct,
		}),
		Events: was.Events, History: was.Ended, Acts: append([]lanes.Act{}, was.Acts...),
	}
	o := anyone(s, was.Range)
	require.Equal(t, want, o.saved())
	for _, ended := range was.Ended {
		found, err := s.store.Ended(t.Context(), store.InAnyEpoch(was.Range), ended.Session.ID)
		require.NoError(t, err)
		assert.Equal(t, ended, found)
	}

	// It accepts flushes, with every present field.
	o = s.claim(was.Range)
	require.Equal(t, was.Epoch+1, o.epoch)
	o.flush(o.batch())
	require.Equal(t, want, o.saved())
	now := Written(store.Version)
	now.Epoch, now.N = o.epoch, o.n+1
	for i := range now.Events {
		now.Events[i].Cursor += 10
	}
	for i := range now.Ended {
		now.Ended[i].Cursor += 10
		now.Ended[i].Session.ID[0]++
	}
	for i := range now.Acts {
		now.Acts[i].Cursor += 10
	}
	o.flush(now)
	want.Recovered.Checkpoint, want.Recovered.Lanes, want.Recovered.Holds = *now.Checkpoint, now.Lanes, *now.Holds
	want.Recovered.Pending = append(want.Recovered.Pending, now.Events[0], now.Events[2])
	want.Recovered.LastEvent, want.Recovered.LastEnded, want.Recovered.LastAct = 15, 14, 16
	want.Recovered = normalize(want.Recovered)
	want.Events, want.History = append(want.Events, now.Events...), append(want.History, now.Ended...)
	want.Acts = append(want.Acts, now.Acts...)
	require.Equal(t, want, o.saved())
	s.reopen()
	require.Equal(t, want, o.saved())
}
