package sim

import (
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// fireLine is the state in force on a lane, with its countdown (LINK.md, Safety table). The zero value is a controller
// without a state since power-up: locked.
type fireLine struct {
	revision uint64
	hold     bool
	session  uuid.UUID
	phase    lanes.Phase
	left     time.Duration // at since
	since    time.Duration // when the state was applied, on the controller's own clock

	purchasing bool
	purchase   *lanes.Purchase // the latest of the session, nil before the first
}

// newFireLine returns the fire line after the controller has applied the state.
func newFireLine(s link.State, now lanes.Instant) fireLine {
	f := fireLine{revision: s.Revision, hold: s.Hold, since: now.Mono}
	if s.Session != nil {
		f.session, f.phase, f.left = s.Session.ID, s.Session.Phase, s.Session.Remaining(now)
		f.purchasing, f.purchase = s.Purchasing, s.Session.Purchase
	}
	return f
}

// countsDown reports whether the countdown runs.
func (f fireLine) countsDown() bool { return !f.hold && f.phase == lanes.Running }

func (f fireLine) remaining(now lanes.Instant) time.Duration {
	if !f.countsDown() {
		return f.left
	}
	return max(0, f.left-(now.Mono-f.since))
}

// open reports whether anyone can shoot. At zero the line is locked without a message of the gateway.
func (f fireLine) open(now lanes.Instant) bool { return f.countsDown() && f.remaining(now) > 0 }

// heldAt returns the fire line after the controller has locked it by itself at that time, on its own clock.
func (f fireLine) heldAt(at time.Duration) fireLine {
	f.left, f.since = f.remaining(lanes.Instant{Mono: at}), at
	f.hold = true
	return f
}

// reportLog stores a controller's reports, numbered from 1 within the log's id, until they are acked.
type reportLog struct {
	id      string
	seq     uint64 // of the newest report
	unacked []report
}

type report struct {
	seq     uint64
	kind    string
	session uuid.UUID
	at      time.Duration // on the controller's own clock
	buy     basket
	detail  string // of a fault
}

// basket is the content of a reported purchase.
type basket struct {
	purchase uuid.UUID
	items    []lanes.Item
}

func newReportLog() reportLog { return reportLog{id: uuid.NewString()} }

// add numbers the report and stores it.
func (l *reportLog) add(r report, now lanes.Instant) report {
	l.seq++
	r.seq, r.at = l.seq, now.Mono
	l.unacked = append(l.unacked, r)
	return r
}

// ack removes the report with that number and all before it. It ignores an ack for another log.
func (l *reportLog) ack(saved lanes.Log) {
	if saved.ID != l.id {
		return
	}
	for len(l.unacked) > 0 && l.unacked[0].seq <= saved.Seq {
		l.unacked = l.unacked[1:]
	}
	if len(l.unacked) == 0 {
		l.unacked = nil // an idle lane has no buffer
	}
}

// message is the report as it is sent: with its age, so that clocks need not agree.
func (r report) message(log string, now lanes.Instant) lanes.Report {
	return lanes.Report{
		Log:     lanes.Log{ID: log, Seq: r.seq},
		Kind:    r.kind,
		Session: r.session,
		Age:     now.Mono - r.at,

		Purchase: r.buy.purchase,
		Items:    r.buy.items,
		Detail:   r.detail,
	}
}
