package hardware_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/actors/hardware"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Whatever happens in whatever order, the three promises of the package hold, and a controller whose link is up
// has been sent what is wanted.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := world{T: t, now: lanes.Instant{Wall: time.Unix(1_000, 0), Mono: time.Hour}}
		w.follow(w.line.Start(w.now))
		t.Repeat(map[string]func(*rapid.T){
			"want":       func(*rapid.T) { w.want() },
			"up":         func(*rapid.T) { w.up() },
			"decided":    func(*rapid.T) { w.decided() },
			"applied":    func(*rapid.T) { w.applied() },
			"failed":     func(*rapid.T) { w.end(w.line.Failed(errGone, w.draw("waited for"), w.now)) },
			"hear again": func(*rapid.T) { w.end(w.line.HearAgain(errGone, w.draw("waited for"), w.now)) },
			"retry over": func(*rapid.T) { w.follow(w.line.RetryOver()) },
			"fence":      func(*rapid.T) { w.fenced = w.fenced || rapid.IntRange(0, 9).Draw(t, "fence") == 0 },
			"wait":       func(*rapid.T) { w.now = w.now.Add(time.Minute) },
			"":           func(*rapid.T) { w.check() },
		})
	})
}

// world is the controller of one lane, and what is to be promised of it.
type world struct {
	*rapid.T
	line   hardware.Line
	now    lanes.Instant
	fenced bool
	wanted *link.State

	linked   bool
	asked    bool // the range decides
	held     bool // the controller is, for all that it was sent
	revision uint64
	newest   link.State
	locked   bool // it has confirmed a held state and was sent nothing else since
	inForce  bool // the newest state
}

func (w *world) draw(what string) bool { return rapid.Bool().Draw(w.T, what) }

func (w *world) moment() hardware.Moment {
	return hardware.Moment{Instant: w.now, Fenced: w.fenced}
}

func (w *world) want() {
	state := link.State{Hold: w.draw("hold")}
	if w.draw("sold") {
		phase := rapid.SampledFrom([]lanes.Phase{lanes.Waiting, lanes.Running, lanes.Paused}).Draw(w.T, "phase")
		state.Session = &lanes.Session{Phase: phase, Left: 5 * time.Minute, Since: w.now}
	}
	w.wanted = &state
	w.follow(w.line.Want(state, w.moment()))
}

func (w *world) up() {
	if w.linked {
		w.Skip("the link is up")
	}
	hello := link.Hello{Hold: w.draw("controller held")}
	w.linked, w.held, w.revision, w.locked, w.inForce = true, hello.Hold, 0, false, false
	fx := w.line.Up(&hello, w.draw("lane held"), w.draw("hold on loss"), w.moment())
	w.asked = fx.Ask
	if w.asked {
		require.True(w, hello.Hold, "a controller that is not locked is no question")
	}
	w.follow(fx)
}

func (w *world) decided() {
	w.asked = false
	w.follow(w.line.Decided(w.moment()))
}

func (w *world) applied() {
	if w.revision == 0 {
		w.Skip("nothing was sent")
	}
	revision := rapid.Uint64Range(1, w.revision).Draw(w.T, "revision")
	fx := w.line.Applied(revision, w.now)
	require.Equal(w, revision == w.revision, fx.Confirmed)
	if fx.Confirmed {
		w.inForce = true
		w.locked = w.newest.Hold
	}
	if fx.Released {
		require.False(w, w.newest.Hold || w.wanted.Hold)
	}
	w.follow(fx)
}

func (w *world) end(fx hardware.Effects) {
	if fx.Down != nil {
		require.Positive(w, fx.Down.Within)
		w.linked, w.asked, w.locked, w.inForce, w.revision = false, false, false, false, 0
	}
	w.follow(fx)
}

// follow is the controller: it does what it is sent.
func (w *world) follow(fx hardware.Effects) {
	state := fx.Send
	if state == nil {
		return
	}
	require.True(w, w.linked, "sent to nobody")
	require.Equal(w, w.revision+1, state.Revision)
	require.False(w, w.asked && !state.Hold, "it releases a controller that is locked for no known reason")
	require.False(w, w.fenced && state.Open(w.now), "it opens the fire line for a gateway that may have lost the range")
	require.False(w, w.fenced && w.held && !state.Hold, "it releases for a gateway that may have lost the range")
	w.revision, w.newest, w.held, w.inForce = state.Revision, *state, state.Hold, false
	w.locked = w.locked && state.Hold
}

func (w *world) check() {
	require.False(w, w.line.Locked() && !w.locked, "shown as locked, and not confirmed")
	require.Equal(w, w.linked, w.line.IsUp())
	for _, hold := range []bool{true, false} {
		if w.line.HasInForce(hold) {
			require.True(w, w.inForce && w.newest.Hold == hold, "in force, and not confirmed")
		}
	}
	agrees := w.linked && w.inForce && w.wanted != nil &&
		w.newest.Hold == w.wanted.Hold && w.newest.Session == w.wanted.Session
	require.Equal(w, agrees, w.line.Hardware().Stage == lanes.InForce, "operators see it if both agree, and only then")
	if w.linked && w.wanted != nil && !w.fenced && (!w.asked || w.wanted.Hold) {
		sent := w.newest
		sent.Revision = 0
		require.Equal(w, *w.wanted, sent, "what is wanted is sent")
		require.Positive(w, w.revision)
	}
}
