package hardware_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"rangegate/actors/hardware"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

var (
	errGone    = errors.New("connection refused")
	errRenewed = errors.New("renewed")
)

// The stories under testdata tell what a lane does with its hardware, in the order in which it happens. Under
// each step stands what follows from it, and what is known afterwards. To write down what the code does now:
// go test ./actors/hardware -run Stories -rewrite, and then read the difference.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") { // what a property that failed leaves behind
			return
		}
		s := story{
			now:      lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Mono: time.Hour},
			sessions: map[lanes.Phase]*lanes.Session{},
		}
		datadriven.RunTest(t, path, s.step)
	})
}

type story struct {
	now        lanes.Instant
	line       hardware.Line
	sessions   map[lanes.Phase]*lanes.Session
	revision   uint64 // of the state that was sent last
	fenced     bool
	holdOnLoss bool
}

func (s *story) step(t *testing.T, d *datadriven.TestData) string {
	moment := hardware.Moment{Instant: s.now, Fenced: s.fenced}
	var fx hardware.Effects
	switch d.Cmd {
	case "wait":
		s.now = s.now.Add(duration(t, d, "for"))
	case "another-gateway-may-have-the-range":
		s.fenced = true
	case "controllers-lock-themselves-on-loss":
		s.holdOnLoss = true
	case "start":
		fx = s.line.Start(s.now)
	case "want":
		fx = s.line.Want(s.state(d), moment)
	case "up":
		fx = s.line.Up(&link.Hello{Hold: d.HasArg("held")}, d.HasArg("lane-held"), s.holdOnLoss, moment)
	case "decided":
		fx = s.line.Decided(moment)
	case "applied":
		revision := s.revision
		d.MaybeScanArgs(t, "revision", &revision)
		fx = s.line.Applied(revision, s.now)
	case "failed":
		err := errGone
		switch {
		case d.HasArg("faulty"):
			err = link.ErrFaulty
		case d.HasArg("driver"):
			err = hardware.ErrDriver
		}
		fx = s.line.Failed(err, d.HasArg("waited-for"), s.now)
	case "hear-again":
		fx = s.line.HearAgain(errGone, d.HasArg("waited-for"), s.now)
	case "renew":
		fx = s.line.Renew(errRenewed, d.HasArg("waited-for"), s.now)
	case "retry-over":
		fx = s.line.RetryOver()
	case "grace-over":
		since := s.line.DownSince()
		if d.HasArg("of-an-earlier-loss") {
			since--
		}
		fx = s.line.GraceOver(since)
	default:
		d.Fatalf(t, "no such step: %s", d.Cmd)
	}
	if fx.Send != nil {
		s.revision = fx.Send.Revision
	}
	return s.describe(fx)
}

func duration(t *testing.T, d *datadriven.TestData, key string) time.Duration {
	var text string
	d.ScanArgs(t, key, &text)
	length, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return length
}

// state is what a step wants: free, or a session in that phase with 30 minutes left, held or not, or one that waits for
// its start. The same session is the same value: states are compared by identity.
func (s *story) state(d *datadriven.TestData) link.State {
	for _, phase := range []lanes.Phase{lanes.Running, lanes.Paused, lanes.Waiting} {
		if !d.HasArg(string(phase)) {
			continue
		}
		if d.HasArg("with-a-start") {
			at := s.now.Add(time.Minute)
			return link.State{Hold: d.HasArg("held"), Session: &lanes.Session{
				Sold: 30 * time.Minute, Left: 30 * time.Minute, Phase: phase, Since: s.now, Start: &lanes.Start{At: at},
			}}
		}
		if s.sessions[phase] == nil {
			s.sessions[phase] = &lanes.Session{
				Sold: 30 * time.Minute, Left: 30 * time.Minute,
				Phase: phase, Since: s.now,
			}
		}
		return link.State{Hold: d.HasArg("held"), Session: s.sessions[phase]}
	}
	return link.State{Hold: d.HasArg("held")}
}

func (s *story) describe(fx hardware.Effects) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if fx.Lock {
		line("show: locked %t", s.line.Locked())
	}
	if fx.HangUp != nil {
		line("hang up: %v", fx.HangUp)
	}
	if fx.Down != nil {
		line("down: %s, %d in a row; dial again within %s", fx.Down.What, fx.Down.Failures, fx.Down.Within)
	}
	if fx.Dial {
		line("dial")
	}
	if fx.Ask {
		line("ask the range why it is locked")
	}
	if fx.Send != nil {
		line("send %d: %s", fx.Send.Revision, describeState(*fx.Send))
	}
	if fx.BeginGrace {
		line("begin the grace")
	}
	if fx.Shown {
		state, since := s.line.Link()
		line("show: link %s since %s%s", state, since.Format("15:04:05"), problem(s.line.NotUsable()))
	}
	if fx.Released {
		line("the release is confirmed")
	}
	if fx.Confirmed {
		line("in force: held %t", s.line.HasInForce(true))
	}
	if fx.Known {
		line("known: %s", describeHardware(s.line.Hardware()))
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func problem(text string) string {
	if text == "" {
		return ""
	}
	return ", not usable: " + text
}

func describeState(state link.State) string {
	words := "free"
	if state.Session != nil {
		words = string(state.Session.Phase)
	}
	if state.Hold {
		words += ", held"
	}
	return words
}

func describeHardware(known lanes.Hardware) string {
	words := "nothing is wanted"
	if known.Wanted != nil {
		words = "wanted " + describeKnown(known.Wanted) + ": " + string(known.Stage)
	}
	switch {
	case known.Applied == nil:
		return words
	case known.InHello:
		return words + "; it says that it has " + describeKnown(known.Applied)
	}
	return words + "; it has confirmed " + describeKnown(known.Applied)
}

func describeKnown(state *lanes.HardwareState) string {
	words := "free"
	if state.Phase != "" {
		words = fmt.Sprintf("%s with %s left", state.Phase, state.Left)
	}
	if state.Hold {
		words += ", held"
	}
	return words + " since " + state.Since.Format("15:04:05")
}
