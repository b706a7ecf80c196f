package replay_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
	"rangegate/lanes/replay"
)

// Whatever is asked of two lanes in whatever order, with both clocks stepping and machines that restart: what is on
// record gives the same sessions again.
func TestTheRecordGivesTheSameSessionsAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for i := range w.lanes {
			w.lanes[i].Terms = lanes.Terms{
				Warnings:     []time.Duration{30 * time.Minute, 5 * time.Minute},
				TellsExpired: rapid.Bool().Draw(t, "tells expired"), Grace: 10 * time.Minute,
			}
		}
		minutes := func(low int) int { return rapid.IntRange(low, 200).Draw(t, "minutes") }
		age := func() time.Duration { return time.Duration(rapid.Int64Range(-1e9, int64(time.Hour)).Draw(t, "age")) }
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				w.decide(w.drawLane(t), lanes.Create{
					Session: w.newID(), Minutes: minutes(1), AutoStart: rapid.Bool().Draw(t, "auto-start"),
					Purchasing: true, ByStaff: true,
					Grace:   rapid.Bool().Draw(t, "grace"),
					OpenEnd: rapid.SampledFrom([]int{0, 0, 240, 480}).Draw(t, "open end"),
					WarnAt: rapid.SampledFrom([][]time.Duration{nil, nil, {}, {20 * time.Minute, time.Minute}}).
						Draw(t, "warn at"),
				})
			},
			"enter": func(t *rapid.T) {
				w.ask(t, func(s uuid.UUID) lanes.Command { return lanes.Enter{Session: s, Age: age()} })
			},
			"pause": func(t *rapid.T) { w.ask(t, func(s uuid.UUID) lanes.Command { return lanes.Pause{Session: s} }) },
			"resume": func(t *rapid.T) {
				w.ask(t,
					func(s uuid.UUID) lanes.Command { return lanes.Resume{Session: s} })
			},
			"modify": func(t *rapid.T) {
				w.ask(t, func(s uuid.UUID) lanes.Command { return lanes.Modify{Session: s, Minutes: minutes(-200)} })
			},
			"set duration": func(t *rapid.T) {
				w.ask(t, func(s uuid.UUID) lanes.Command { return lanes.SetDuration{Session: s, Minutes: minutes(1)} })
			},
			"make up": func(t *rapid.T) {
				w.ask(t, func(s uuid.UUID) lanes.Command {
					return lanes.MakeUp{
						Session: s,
						Give:    rapid.Bool().Draw(t, "give"),
					}
				})
			},
			"stop": func(t *rapid.T) {
				by := rapid.SampledFrom([]lanes.By{lanes.ByPOS, lanes.ByStaff, lanes.ByLane}).Draw(t, "by")
				w.ask(t, func(s uuid.UUID) lanes.Command { return lanes.Stop{Session: s, By: by} })
			},
			"advance": func(t *rapid.T) {
				by := time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "by"))
				w.ask(t, func(s uuid.UUID) lanes.Command { return lanes.Advance{Session: s, By: by} })
			},
			"report": func(t *rapid.T) {
				kind := rapid.SampledFrom([]string{lanes.ReportEntered, lanes.ReportHelp, lanes.ReportCarrierHit}).
					Draw(t, "kind")
				w.reports++
				lane, session := w.drawLane(t), uuid.Max
				if s := w.lanes[rapid.IntRange(0, 1).Draw(t, "reported of")].Session; s != nil {
					session = s.ID
				}
				// It may have waited for the store: then it counts from its arrival, whatever was decided since.
				decided, waited := w.now, time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "waited"))
				if s := w.lanes[lane].Session; s != nil && s.ID == session && !w.now.Add(-waited).Before(s.Created) {
					w.now = w.now.Add(-waited)
				}
				w.decide(lane, lanes.Report{
					Log: lanes.Log{ID: "log", Seq: w.reports}, Kind: kind, Session: session, Age: age(),
					Elsewhere: lanes.IsKnown,
				})
				w.now = decided
			},
			"schedule": func(t *rapid.T) {
				w.ask(t, func(s uuid.UUID) lanes.Command {
					return lanes.Schedule{Session: s, Start: lanes.Start{ID: uuid.Max, At: w.now.Add(max(0, age()))}}
				})
			},
			"begin":     func(t *rapid.T) { w.decide(w.drawLane(t), lanes.Begin{}) },
			"warn":      func(t *rapid.T) { w.decide(w.drawLane(t), lanes.Warn{}) },
			"go beyond": func(t *rapid.T) { w.decide(w.drawLane(t), lanes.GoBeyond{}) },
			"opened late": func(t *rapid.T) {
				lane, from := w.drawLane(t), w.now.Add(-max(0, age()))
				if locked := w.lanes[lane].LockedFor(from, w.now); locked > 0 {
					w.decide(lane, lanes.OpenedLate{Session: w.lanes[lane].Session.ID, Locked: locked})
				}
			},
			"link lost": func(t *rapid.T) { w.loseLink(w.drawLane(t)) },
			"link up":   func(t *rapid.T) { w.linkUp(t, w.drawLane(t)) },
			"link lost beyond what was sold, and up": func(t *rapid.T) {
				lane := w.drawLane(t)
				if s := w.lanes[lane].Session; s != nil {
					w.now = w.now.Add(max(0, s.Remaining(w.now)))
					w.loseLink(lane)
					w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "lost for")))
					w.linkUp(t, lane)
				}
			},
			"its hello is saved": func(t *rapid.T) { w.saveHello(w.drawLane(t)) },
			"call help":          func(t *rapid.T) { w.decide(w.drawLane(t), lanes.CallHelp{}) },
			"help done":          func(t *rapid.T) { w.decide(w.drawLane(t), lanes.HelpDone{}) },
			"hold":               func(t *rapid.T) { w.decide(w.drawLane(t), lanes.Hold{}) },
			"release":            func(t *rapid.T) { w.decide(w.drawLane(t), lanes.Release{}) },
			"buy":                func(t *rapid.T) { w.buy(t) },
			"clear": func(t *rapid.T) {
				lane := w.drawLane(t)
				for _, open := range w.lanes[lane].Open {
					w.decide(lane, lanes.Clear{
						Session: open.Session, Purchase: open.ID, Credit: rapid.Bool().Draw(t, "credit"),
					})
				}
			},
			"move": func(t *rapid.T) { w.move(t) },
			"reopen": func(t *rapid.T) {
				if last := len(w.ended) - 1; last >= 0 && !w.reopened[last] && !w.lanes[0].Due(w.now) &&
					!w.lanes[1].Due(w.now) {
					w.reopened[last] = w.decide(w.drawLane(t), lanes.Reopen{Ended: w.ended[last]})
				}
			},
			"time goes by": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(40*time.Minute)).Draw(t, "for")))
			},
			"wall clock is set": func(t *rapid.T) {
				w.now.Wall = w.now.Wall.Add(time.Duration(rapid.Int64Range(-1e13, 1e13).Draw(t, "by")))
			},
			"restart": func(t *rapid.T) { w.restart(t) },
		})
		for lane := range w.lanes {
			w.ask(t, func(s uuid.UUID) lanes.Command { return lanes.Stop{Session: s, By: lanes.ByStaff} })
			w.stop(lane)
		}
		found, figures := verify(w.log, w.ended)
		require.Empty(t, found)
		require.Equal(t, len(w.ended), figures.Sessions)
		require.Zero(t, figures.Older+figures.Cut)
	})
}

// world is two lanes, their clocks, and what a store has of them.
type world struct {
	now     lanes.Instant
	boot    int
	lanes   [2]lanes.Lane
	reports uint64
	ids     byte
	log     []lanes.Logged
	ended   []lanes.Ended

	reopened map[int]bool // of ended
}

// newID returns another id each time.
func (w *world) newID() uuid.UUID {
	w.ids++
	return uuid.UUID{0: 7, 15: w.ids}
}

func newWorld() *world {
	w := &world{reopened: map[int]bool{}, now: lanes.Instant{
		Wall: time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC),
		Mono: time.Hour,
	}}
	for i := range w.lanes {
		w.lanes[i] = lanes.Lane{ID: uuid.UUID{15: byte(i + 1)}, Accessible: true, Usable: true, Purchasing: true}
	}
	return w
}

func (w *world) drawLane(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "lane") }

// ask asks the session on a lane, if there is one.
func (w *world) ask(t *rapid.T, command func(session uuid.UUID) lanes.Command) {
	lane := w.drawLane(t)
	if s := w.lanes[lane].Session; s != nil {
		w.decide(lane, command(s.ID))
	}
}

func (w *world) stop(lane int) {
	if s := w.lanes[lane].Session; s != nil {
		w.decide(lane, lanes.Stop{Session: s.ID, By: lanes.ByStaff})
	}
}

// decide gives the lane the command, after its session has expired where it is due, and saves what follows.
func (w *world) decide(lane int, command lanes.Command) (accepted bool) {
	change, err := w.lanes[lane].Decide(w.now, command)
	if errors.Is(err, lanes.ErrDue) {
		w.decide(lane, lanes.Expire{})
		return w.decide(lane, command)
	}
	if err != nil {
		return false
	}
	change.AskedBy(lanes.ByPOS)
	for _, event := range change.Events {
		w.log = append(w.log, lanes.Logged{Cursor: uint64(len(w.log) + 1), Event: again(event)})
	}
	w.lanes[lane] = change.Lane
	if change.Other != nil {
		w.lanes[1-lane] = *change.Other
	}
	if change.Ended != nil {
		record := again(*change.Ended)
		record.Cursor = uint64(len(w.ended) + 1)
		w.ended = append(w.ended, record)
	}
	return true
}

// again is a value as it comes out of a store.
func again[T any](value T) (stored T) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil {
		panic(err)
	}
	return stored
}

func (w *world) loseLink(lane int) {
	l, since := &w.lanes[lane], w.now
	if newest := len(l.Heard) - 1; newest >= 0 {
		l.Heard = slices.Clone(l.Heard)
		l.Heard[newest].Lost = &since
	} else {
		l.Unproven = &since
	}
	w.decide(lane, lanes.LinkLost{})
}

// linkUp is the hello of the hardware, which may wait for the store.
func (w *world) linkUp(t *rapid.T, lane int) {
	proof := lanes.Proof{OpenEnd: rapid.Bool().Draw(t, "can"), Open: true}
	l := &w.lanes[lane]
	if s := l.Session; s != nil && !l.Due(w.now) {
		proof.Session = s.ID
		proof.RunsFor = s.RunsFor(w.now) + time.Duration(rapid.Int64Range(0, int64(10*time.Minute)).
			Draw(t, "stood still"))
	}
	switch {
	case proof.OpenEnd && l.Unproven != nil && rapid.Bool().Draw(t, "it waits"):
		l.Heard = append(slices.Clone(l.Heard), lanes.Heard{At: w.now, Proof: proof})
	case len(l.Heard) == 0:
		w.decide(lane, lanes.Inspect{Proof: proof})
		if proof.OpenEnd {
			l.Unproven = nil
		}
	}
}

// saveHello decides the first hello that waits for the store, as it came then.
func (w *world) saveHello(lane int) {
	l, now := &w.lanes[lane], w.now
	if len(l.Heard) == 0 {
		return
	}
	first := l.Heard[0]
	w.now = first.At
	w.decide(lane, lanes.Inspect{Proof: first.Proof})
	w.now = now
	l.Unproven, l.Heard = first.Lost, l.Heard[1:]
}

func (w *world) move(t *rapid.T) {
	lane := w.drawLane(t)
	to, err := w.lanes[1-lane].AwaitMove(w.now, lanes.ByStaff)
	if s := w.lanes[lane].Session; err == nil && s != nil && !w.lanes[lane].Due(w.now) {
		unproven, decided := w.lanes[lane].Unproven, w.now
		if w.decide(lane, lanes.Move{Session: s.ID, To: to}) && s.HasOpenEnd() && unproven != nil {
			w.lanes[1-lane] = w.lanes[1-lane].UnprovenSince(&decided)
			w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "arrives after")))
			w.decide(1-lane, lanes.Arrive{})
			w.lanes[1-lane].Unproven = nil
		}
	}
}

// buy buys time, which is accepted, refused, or left to staff.
func (w *world) buy(t *rapid.T) {
	lane, purchase := w.drawLane(t), w.newID()
	s := w.lanes[lane].Session
	if s == nil || w.lanes[lane].Due(w.now) {
		return
	}
	items := []lanes.Item{{ID: lanes.TimeItem, Qty: rapid.IntRange(0, 60).Draw(t, "bought")}, {ID: "targets", Qty: 2}}
	w.decide(lane, lanes.Buy{Session: s.ID, Purchase: purchase, Items: items})
	w.decide(lane, lanes.Request{Session: s.ID, Purchase: purchase})
	w.now = w.now.Add(time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "asked for")))
	phase := rapid.SampledFrom([]lanes.PurchasePhase{lanes.Accepted, lanes.Declined, lanes.Unresolved}).Draw(t, "phase")
	w.decide(lane, lanes.Settle{Session: s.ID, Purchase: purchase, Phase: phase})
}

// restart saves the lanes and restores them some time later, on the same boot or another one, by a wall clock that
// may have been set meanwhile, before the last checkpoint too.
func (w *world) restart(t *rapid.T) {
	last := lanes.Checkpoint{At: w.now, Boot: string(rune('a' + w.boot))}
	ago := time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "since the checkpoint"))
	last.At.Mono -= ago
	last.At.Wall = last.At.Wall.Add(-ago)
	saved := [2]lanes.Snapshot{}
	for i, lane := range w.lanes {
		w.lanes[i].Heard = nil
		saved[i] = again(lanes.Snapshot{Lane: lane, Boot: last.Boot})
	}
	w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "down")))
	if rapid.Bool().Draw(t, "rebooted") {
		w.boot++
		w.now.Mono = time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "up"))
		w.now.Wall = w.now.Wall.Add(time.Duration(rapid.Int64Range(-1e12, 1e12).Draw(t, "set by")))
	}
	now := lanes.Checkpoint{At: w.now, Boot: string(rune('a' + w.boot))}
	for i := range w.lanes {
		w.lanes[i] = saved[i].Restore(now, last).RanOn(last.Down(now), w.now).Unseen(last.Down(now), w.now).
			WithUnsaved(w.lanes[i])
	}
}

// verify computes what is on record again.
func verify(log []lanes.Logged, history []lanes.Ended) (found []replay.Difference, figures replay.Figures) {
	r := replay.New(replay.Window{LogWhole: true, HistoryWhole: true},
		func(d replay.Difference) { found = append(found, d) })
	for _, entry := range log {
		r.Event(entry)
		for r.Wants() && len(history) > 0 {
			r.Record(history[0])
			history = history[1:]
		}
	}
	for _, record := range history {
		r.Record(record)
	}
	r.Finish()
	return found, r.Figures
}
