package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/replay"
)

// evening is one session on two lanes, and another one behind it: sold for 60 minutes, begun, paused by a ceasefire,
// extended, moved, paused and resumed by staff, a carrier hit, and run out. Its cursors:
//
//	1 created   2 started   3 paused (hold)   4 resumed (release)   5 modified (+15)   6 modified (move)
//	7 paused    8 resumed   9 carrierHit     10 stopped (expire)    11 created, 12 started, 13 stopped of the other one
func evening() *world {
	w := newWorld()
	first, second := w.newID(), w.newID()
	after := func(d time.Duration) { w.now = w.now.Add(d) }
	must := func(lane int, command lanes.Command) {
		if !w.decide(lane, command) {
			panic(command.Name() + " is refused")
		}
	}
	must(0, lanes.Create{Session: first, Minutes: 60, ByStaff: true})
	after(4 * time.Minute)
	must(0, lanes.Enter{Session: first, Age: 3 * time.Second})
	after(10 * time.Minute)
	must(0, lanes.Hold{})
	after(2 * time.Minute)
	must(0, lanes.Release{})
	after(time.Minute)
	must(0, lanes.Modify{Session: first, Minutes: 15})
	to, err := w.lanes[1].AwaitMove(w.now, lanes.ByStaff)
	if err != nil {
		panic(err)
	}
	must(0, lanes.Move{Session: first, To: to})
	after(5 * time.Minute)
	must(1, lanes.Pause{Session: first})
	after(7 * time.Minute)
	must(1, lanes.Resume{Session: first})
	must(1, lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportCarrierHit, Session: first})
	after(2 * time.Hour)
	must(1, lanes.Expire{})
	must(1, lanes.Create{Session: second, Minutes: 30, AutoStart: true, ByStaff: true})
	after(10 * time.Minute)
	must(1, lanes.Stop{Session: second, By: lanes.ByPOS})
	return w
}

func TestAnEveningComesOutTheSame(t *testing.T) {
	w := evening()
	found, figures := verify(w.log, w.ended)
	require.Empty(t, found)
	require.Equal(t, replay.Figures{Sessions: 2, Events: 13}, figures)
	require.Equal(t, 75*time.Minute, w.ended[0].Used)
	require.Equal(t, 9*time.Minute, w.ended[0].Paused)
}

// The start of a session has come, and it is paused before it has begun. The wall clock is set between its start being
// scheduled and the pause, or drifts: the pause has the time of the new one.
func TestAPauseAtItsStartWhoseWallClockWasSet(t *testing.T) {
	for _, step := range []time.Duration{0, time.Nanosecond, -time.Hour, 26 * time.Hour} {
		w := newWorld()
		session := w.newID()
		for _, command := range []lanes.Command{
			lanes.Create{Session: session, Minutes: 60, ByStaff: true},
			lanes.Schedule{Session: session, Start: lanes.Start{ID: uuid.Max, At: w.now.Add(time.Minute)}},
			lanes.Pause{Session: session},
			lanes.Resume{Session: session},
			lanes.Stop{Session: session, By: lanes.ByPOS},
		} {
			if (command == lanes.Pause{Session: session}) {
				w.now = w.now.Add(time.Minute + 300*time.Millisecond)
				w.now.Wall = w.now.Wall.Add(step)
			}
			require.True(t, w.decide(0, command), command.Name())
		}
		found, _ := verify(w.log, w.ended)
		require.Empty(t, found, step)
		require.Equal(t, 300*time.Millisecond, w.ended[0].Used)
	}
}

// The customer has entered under a hold, and that was decided after its end, from which on the session runs.
func TestAReportThatWaitedLongerThanTheHold(t *testing.T) {
	w := newWorld()
	session := w.newID()
	w.decide(0, lanes.Create{Session: session, Minutes: 60, ByStaff: true})
	w.now = w.now.Add(time.Minute)
	w.decide(0, lanes.Hold{})
	arrived := w.now.Add(time.Second)
	w.now = w.now.Add(20 * time.Second)
	w.decide(0, lanes.Release{})
	released := w.now
	w.now = arrived
	require.True(t, w.decide(0, lanes.Report{
		Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportEntered,
		Session: session,
	}))
	w.now = released.Add(10 * time.Minute)
	w.stop(0)
	require.Equal(t, released, *w.ended[0].Session.Began)
	require.Equal(t, 10*time.Minute, w.ended[0].Used)
	found, _ := verify(w.log, w.ended)
	require.Empty(t, found)
}

// Each difference that is planted is named, and nothing else is.
func TestPlantedDifferencesAreNamed(t *testing.T) {
	event := func(w *world, cursor int) *lanes.Event { return &w.log[cursor-1].Event }
	decision := func(w *world, cursor int) *lanes.Decision { return w.log[cursor-1].Event.Decision }
	without := func(w *world, cursor int) { w.log = slices.Delete(w.log, cursor-1, cursor) }
	for _, planted := range []struct {
		name  string
		plant func(w *world)
		named []string // each is in one difference, in this order
	}{
		{"a minute too many was used", func(w *world) {
			w.ended[0].Used += time.Minute
		}, []string{"time used: recorded 1h16m0s, computed 1h15m0s"}},
		{"a minute too many was sold", func(w *world) {
			w.ended[0].Session.Sold += time.Minute
		}, []string{"time sold: recorded 1h16m0s, computed 1h15m0s"}},
		{"a millisecond less was paused", func(w *world) {
			w.ended[0].Paused -= time.Millisecond
		}, []string{"time paused: recorded 8m59.999s, computed 9m0s"}},
		{"a pause is missing", func(w *world) { without(w, 7) }, []string{"event 7 is missing in the log"}},
		{"a pause and its end are missing", func(w *world) {
			without(w, 8)
			without(w, 7)
		}, []string{"events 7 to 8 are missing in the log"}},
		{"an end of another kind in the history", func(w *world) {
			w.ended[0].Reason = "staff"
		}, []string{"why it ended: recorded staff, computed expired"}},
		{"an end of another kind in the log", func(w *world) {
			decision(w, 13).By = lanes.ByStaff
		}, []string{"why it ended: recorded pos, computed staff"}},
		{"it ended a minute late", func(w *world) {
			w.ended[0].At = w.ended[0].At.Add(time.Minute)
		}, []string{"when it ended: recorded 2026-05-01T19:28:57Z, computed 2026-05-01T19:27:57Z"}},
		{"its end in the log is a minute late", func(w *world) {
			event(w, 10).At = event(w, 10).At.Add(time.Minute)
		}, []string{"time of event 10: recorded 2026-05-01T19:28:57Z, computed 2026-05-01T19:27:57Z"}},
		{
			"the first event is lost", func(w *world) { without(w, 1) },
			[]string{"its first events are missing in the log"},
		},
		{
			"the last event is lost", func(w *world) { without(w, 10) },
			[]string{"its end, event 10, is missing in the log"},
		},
		{"a carrier hit is lost", func(w *world) { without(w, 9) }, []string{"event 9 is missing in the log"}},
		{
			"all events of a session are lost", func(w *world) { w.log = w.log[:10] },
			[]string{"none of its events is in the log"},
		},
		{"an event twice", func(w *world) {
			w.log = slices.Insert(w.log, 6, w.log[4])
		}, []string{"event 5, sessionModified, is in the log twice"}},
		{
			"the end twice", func(w *world) { w.log = append(w.log, w.log[12]) },
			[]string{"event 3, sessionStopped, is in the log twice"},
		},
		{"an event of another kind", func(w *world) {
			event(w, 7).Kind = lanes.Help
		}, []string{"kind of event 7: recorded help, computed sessionPaused"}},
		{"an event of nobody's", func(w *world) {
			event(w, 5).ID = uuid.Max
		}, []string{"sessionModified has an id that is none of its session", "event 5 is missing in the log"}},
		{"another lane after a move", func(w *world) {
			event(w, 7).Lane = w.lanes[0].ID
		}, []string{fmt.Sprintf("lane of event 7: recorded %v, computed %v", newWorld().lanes[0].ID,
			newWorld().lanes[1].ID)}},
		{"another lane in the history", func(w *world) {
			w.ended[0].Lane = w.lanes[0].ID
		}, []string{fmt.Sprintf("lane at the end: recorded %v, computed %v", newWorld().lanes[0].ID,
			newWorld().lanes[1].ID)}},
		{"more minutes in the log than were sold", func(w *world) {
			decision(w, 5).Minutes = 16
		}, []string{
			"time of event 10: recorded 2026-05-01T19:27:57Z, computed 2026-05-01T19:28:57Z", "when it ended:",
			"time sold: recorded 1h15m0s, computed 1h16m0s", "time used:",
		}},
		{"a second more of its time ran before a pause", func(w *world) {
			decision(w, 7).Passed += time.Second
		}, []string{
			"time of event 10: recorded 2026-05-01T19:27:57Z, computed 2026-05-01T19:27:56Z",
			"when it ended:",
		}},
		{"it was resumed under a hold", func(w *world) {
			decision(w, 8).Held = true
		}, []string{"sessionResumed follows from resume, which is refused when it is computed"}},
		{"it began although it was not created so", func(w *world) {
			decision(w, 11).Phase = lanes.Waiting
		}, []string{"sessionStarted follows from nothing that is on record"}},
		{"what an event follows from is gone", func(w *world) {
			event(w, 8).Decision = nil
		}, []string{"sessionResumed follows from nothing that is on record"}},
		{"a command that there never was", func(w *world) {
			decision(w, 8).Command = "undo"
		}, []string{`sessionResumed follows from "undo", which is no command that this version knows`}},
		{
			"a session is not in the history", func(w *world) { w.ended = w.ended[1:] },
			[]string{"it has ended in the log, and is not in the history"},
		},
		{"a session is in the history twice", func(w *world) {
			w.ended = append(w.ended, w.ended[0])
		}, []string{"it is in the history twice"}},
	} {
		t.Run(planted.name, func(t *testing.T) {
			w := evening()
			planted.plant(w)
			found, _ := verify(w.log, w.ended)
			var named []string
			for _, d := range found {
				named = append(named, d.What)
				require.Contains(t, []uuid.UUID{{0: 7, 15: 1}, {0: 7, 15: 2}}, d.Session)
				require.NotEqual(t, uuid.Nil, d.Lane)
			}
			require.Len(t, named, len(planted.named), strings.Join(named, "\n"))
			for i, want := range planted.named {
				require.Contains(t, named[i], want)
			}
		})
	}
}

// What lies outside of what was read is no difference.
func TestWhatWasNotRead(t *testing.T) {
	w := evening()
	compute := func(window replay.Window, log []lanes.Logged, history []lanes.Ended) (found []string,
		figures replay.Figures,
	) {
		r := replay.New(window, func(d replay.Difference) { found = append(found, d.What) })
		for _, entry := range log {
			r.Event(entry)
		}
		for _, record := range history {
			r.Record(record)
		}
		r.Finish()
		return found, r.Figures
	}

	found, figures := compute(replay.Window{LogWhole: true, Before: w.ended[0].Session.ID}, w.log, w.ended[1:])
	require.Empty(t, found, "the session before the window ended in the log that was read")
	require.Equal(t, 1, figures.Sessions)

	found, figures = compute(replay.Window{LogFrom: w.log[4].Event.At, Before: uuid.Max}, w.log[4:], w.ended)
	require.Empty(t, found, "the log of before is not kept any more")
	require.Equal(t, replay.Figures{Sessions: 2, Events: 9, Cut: 1}, figures)

	found, figures = compute(replay.Window{LogFrom: w.log[10].Event.At}, w.log[10:], w.ended)
	require.Empty(t, found, "nothing of it is kept any more")
	require.Equal(t, replay.Figures{Sessions: 2, Events: 3, Cut: 1}, figures)

	found, _ = compute(replay.Window{LogFrom: w.log[0].Event.At.Add(-time.Hour)}, w.log[4:], w.ended)
	require.Equal(t, []string{"its first events are missing in the log"}, found, "the log of then is kept")

	found, _ = compute(replay.Window{LogWhole: true}, w.log, w.ended[1:])
	require.Empty(t, found, "which record was the last before the window is not known")
}

// Sessions of a gateway that did not record what its events follow from are computed as far as they say.
func TestSessionsOfBefore(t *testing.T) {
	plant := func(change func(w *world)) (found []string, figures replay.Figures) {
		w := evening()
		for i := range 5 { // upgraded while it was on its lane
			w.log[i].Event.Decision = nil
		}
		change(w)
		differences, figures := verify(w.log, w.ended)
		for _, d := range differences {
			found = append(found, d.What)
		}
		return found, figures
	}
	found, figures := plant(func(*world) {})
	require.Empty(t, found)
	require.Equal(t, replay.Figures{Sessions: 2, Events: 13, Older: 1}, figures)

	found, _ = plant(func(w *world) { w.log[6].Event.Kind = lanes.SessionResumed })
	require.Equal(t, []string{
		"sessionResumed as event 7 of a session that is running",
		"sessionResumed as event 8 of a session that is running",
	}, found)
	found, _ = plant(func(w *world) { w.ended[0].Used -= time.Minute })
	require.Equal(t, []string{"time used 1h14m0s and left 0s do not make up the time sold, 1h15m0s"}, found)
	found, _ = plant(func(w *world) { w.ended[0].Session.Facts++ })
	require.Equal(t, []string{"events: recorded 11, in the log 10"}, found)
	found, _ = plant(func(w *world) { w.log = slices.Delete(w.log, 2, 3) })
	require.Equal(t, []string{"event 3 is missing in the log"}, found)
}

func TestWhoIsOnALane(t *testing.T) {
	w := evening()
	r := replay.New(replay.Window{}, func(d replay.Difference) { t.Error(d.What) })
	for _, entry := range w.log[:7] {
		r.Event(entry)
	}
	_, found := r.On(w.lanes[0].ID)
	require.False(t, found, "it has moved")
	present, found := r.On(w.lanes[1].ID)
	require.True(t, found)
	require.True(t, present.Exact)
	require.Equal(t, lanes.Paused, present.Session.Phase)
	require.Equal(t, 75*time.Minute-16*time.Minute-3*time.Second, present.Session.Left)
	require.Equal(t, "pause", present.Events[len(present.Events)-1].Event.Decision.Command)
}

func BenchmarkReplay(b *testing.B) {
	w := evening()
	b.ReportAllocs()
	for b.Loop() {
		if found, _ := verify(w.log, w.ended); len(found) > 0 {
			b.Fatal(found[0].What)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(w.log)), "ns/event")
}
