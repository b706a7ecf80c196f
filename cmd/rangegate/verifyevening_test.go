package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// evening is a range of lanes, and what its store has of an evening on it.
type evening struct {
	now   lanes.Instant
	dice  *rand.Rand
	lanes []lanes.Lane
	log   []lanes.Logged
	ended []lanes.Ended
}

func newEvening(n int, begins time.Time) *evening {
	w := &evening{now: lanes.Instant{Wall: begins, Mono: 100 * time.Hour}, dice: rand.New(rand.NewPCG(7, 7))}
	for range n {
		w.lanes = append(w.lanes, lanes.Lane{ID: w.newID(), Accessible: true, Usable: true})
	}
	return w
}

func (w *evening) newID() (id uuid.UUID) {
	for i := range id {
		id[i] = byte(w.dice.Uint32())
	}
	return id
}

// play lets time go by, half a minute at a time, in which something is asked of a few lanes. At its end every
// session has ended.
func (w *evening) play(long time.Duration) {
	for end := w.now.Add(long); w.now.Before(end); {
		w.now = w.now.Add(30 * time.Second)
		held := w.dice.IntN(240) == 0 // a ceasefire of half a minute
		for i := range w.lanes {
			if held {
				w.ask(i, lanes.Hold{}, lanes.ByStaff)
			} else {
				w.ask(i, lanes.Release{}, lanes.ByStaff)
			}
			w.step(i)
		}
	}
	for i := range w.lanes {
		if s := w.lanes[i].Session; s != nil {
			w.ask(i, lanes.Stop{Session: s.ID, By: lanes.ByStaff}, lanes.ByStaff)
		}
	}
}

func (w *evening) step(i int) {
	s := w.lanes[i].Session
	if s == nil {
		w.ask(i, lanes.Create{Session: w.newID(), Minutes: 30 + 15*w.dice.IntN(4), ByStaff: true}, lanes.ByPOS)
		return
	}
	switch w.dice.IntN(60) {
	case 0:
		w.ask(i, lanes.Pause{Session: s.ID}, lanes.ByStaff)
	case 1, 2:
		w.ask(i, lanes.Resume{Session: s.ID}, lanes.ByStaff)
	case 3:
		w.ask(i, lanes.Modify{Session: s.ID, Minutes: 15}, lanes.ByPOS)
	case 4, 5, 6:
		w.ask(i, lanes.CallHelp{}, lanes.ByLane)
	case 7:
		if to, err := w.lanes[(i+1)%len(w.lanes)].AwaitMove(w.now, lanes.ByStaff); err == nil {
			w.ask(i, lanes.Move{Session: s.ID, To: to}, lanes.ByStaff)
		}
	case 8:
		if w.dice.IntN(4) == 0 {
			w.ask(i, lanes.Stop{Session: s.ID, By: lanes.ByPOS}, lanes.ByPOS)
		}
	default:
		if s.Phase == lanes.Waiting {
			w.ask(i, lanes.Enter{Session: s.ID, Age: time.Second}, lanes.ByLane)
		} else {
			w.ask(i, lanes.HelpDone{}, lanes.ByStaff)
		}
	}
}

// ask asks a lane, whose session expires first where it is due. A refusal changes nothing.
func (w *evening) ask(i int, command lanes.Command, by lanes.By) {
	if w.lanes[i].Due(w.now) {
		w.decide(i, lanes.Expire{}, lanes.ByTimer)
	}
	w.decide(i, command, by)
}

func (w *evening) decide(i int, command lanes.Command, by lanes.By) {
	change, err := w.lanes[i].Decide(w.now, command)
	if err != nil {
		return
	}
	change.AskedBy(by)
	for _, event := range change.Events {
		w.log = append(w.log, lanes.Logged{Cursor: uint64(len(w.log) + 1), Event: event, Delivery: lanes.Delivery{
			Attempt: &lanes.Attempt{At: event.At, Status: 200, Duration: 34567890},
		}})
	}
	w.lanes[i] = change.Lane
	if change.Other != nil {
		w.lanes[(i+1)%len(w.lanes)] = *change.Other
	}
	if change.Ended != nil {
		change.Ended.Cursor = uint64(len(w.ended) + 1)
		w.ended = append(w.ended, *change.Ended)
	}
}

// save writes all of it to an empty store, and closes that.
func (w *evening) save(t *testing.T, s store.Store) {
	id := uuid.MustParse(gatewaytest.DemoRange)
	epoch, err := s.Claim(t.Context(), id, w.now.Wall)
	require.NoError(t, err)
	n, ended := uint64(0), w.ended
	for events := range slices.Chunk(w.log, 4000) {
		n++
		require.NoError(t, s.Flush(t.Context(), store.Batch{
			Range: id, Epoch: epoch, N: n, Now: w.now.Wall, Events: events, Ended: ended,
		}))
		ended = nil
	}
	require.NoError(t, s.Close())
}

// plant makes twelve differences, each of another kind in another session, and returns what names them.
func (w *evening) plant(t *testing.T) map[uuid.UUID]string {
	named := map[uuid.UUID]string{}
	// record is the end of a session that none was planted in yet and that does.
	record := func(what string, does func(lanes.Ended) bool) *lanes.Ended {
		for i := range w.ended {
			if s := w.ended[i].Session.ID; named[s] == "" && does(w.ended[i]) {
				named[s] = what
				return &w.ended[i]
			}
		}
		require.Fail(t, "there is no session for it", what)
		return nil
	}
	// event is the index in the log of an event with that command, of a session likewise.
	event := func(what, command string) int {
		for i, entry := range w.log {
			d := entry.Event.Decision
			if d != nil && d.Command == command && named[entry.Event.Session] == "" && w.hasEnded(entry.Event.Session) {
				named[entry.Event.Session] = what
				return i
			}
		}
		require.Fail(t, "there is no event for it", what)
		return 0
	}
	whichever := func(lanes.Ended) bool { return true }
	record("time used: recorded", whichever).Used += time.Minute
	record("time sold: recorded", whichever).Session.Sold -= time.Minute
	record("time paused: recorded", func(e lanes.Ended) bool { return e.Paused > 0 }).Paused = 0
	record("why it ended: recorded staff, computed expired",
		func(e lanes.Ended) bool { return e.Reason == lanes.Expired }).Reason = "staff"
	record("lane at the end: recorded", whichever).Lane = uuid.Max
	moved := event("lane of event", "move")
	for i := moved + 1; ; i++ { // what follows the move is on the lane that it left
		if w.log[i].Event.Session == w.log[moved].Event.Session {
			w.log[i].Event.Lane = uuid.Max
			break
		}
	}
	w.log[event("computed", "modify")].Event.Decision.Minutes++
	lost := event("is missing in the log", "pause")
	twice := event("is in the log twice", "resume")
	kind := event("recorded sessionStopped, computed sessionPaused", "pause")
	w.log[kind].Event.Kind = lanes.SessionStopped
	late := event("time of event", "expire")
	w.log[late].Event.At = w.log[late].Event.At.Add(time.Second)
	gone := record("it has ended in the log, and is not in the history", whichever).Cursor
	w.ended = slices.DeleteFunc(w.ended, func(e lanes.Ended) bool { return e.Cursor == gone })
	again := w.log[twice]
	w.log = append(slices.Delete(w.log, lost, lost+1), again)
	for i := range w.log {
		w.log[i].Cursor = uint64(i + 1)
	}
	for i := range w.ended {
		w.ended[i].Cursor = uint64(i + 1)
	}
	return named
}

func (w *evening) hasEnded(session uuid.UUID) bool {
	return slices.ContainsFunc(w.ended, func(e lanes.Ended) bool { return e.Session.ID == session })
}
