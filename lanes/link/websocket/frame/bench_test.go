package frame_test

import (
	"testing"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

func BenchmarkState(b *testing.B) {
	now := lanes.Instant{Mono: time.Hour}
	running := &lanes.Session{
		ID: session, Group: groupID, Customer: "Jo Smith", Phase: lanes.Running, Left: 30 * time.Minute, Since: now,
	}
	for _, c := range []struct {
		name  string
		state link.State
	}{
		{"held", link.State{Revision: 7, Hold: true}},
		{"running", link.State{Revision: 8, Session: running}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				frame.State(frame.ProvenState{State: c.state}, now)
			}
		})
	}
}

func BenchmarkFromController(b *testing.B) {
	for _, c := range []struct {
		name string
		text []byte
	}{
		{"applied", frame.AppliedRevision(7)},
		{"report", frame.Report(lanes.Report{
			Log: lanes.Log{ID: "log", Seq: 3}, Kind: lanes.ReportHelp,
			Session: session, Age: time.Second,
		})},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := frame.FromController(c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
