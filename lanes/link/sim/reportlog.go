package sim

import (
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// reportLog is a controller's memory of what it has to report: numbered from 1 within its name, each kept until it
// is acked.
type reportLog struct {
	id      string
	seq     uint64 // of the newest report
	unacked []happening
}

type happening struct {
	seq     uint64
	kind    string
	session uuid.UUID
	at      time.Duration // by the controller's own clock
	buy     basket
	detail  string // of a fault
}

// basket is what a purchase that is reported holds.
type basket struct {
	purchase uuid.UUID
	items    []lanes.Item
}

func newReportLog() reportLog { return reportLog{id: uuid.NewString()} }

// keep numbers what happened now.
func (l *reportLog) keep(h happening, now lanes.Instant) happening {
	l.seq++
	h.seq, h.at = l.seq, now.Mono
	l.unacked = append(l.unacked, h)
	return h
}

// ack forgets the report of that number and all before it. An ack of another log says nothing about this one.
func (l *reportLog) ack(saved lanes.Log) {
	if saved.ID != l.id {
		return
	}
	for len(l.unacked) > 0 && l.unacked[0].seq <= saved.Seq {
		l.unacked = l.unacked[1:]
	}
	if len(l.unacked) == 0 {
		l.unacked = nil // an idle lane keeps no buffer
	}
}

// report is how the controller tells it at now, out of the log of that name: with its age, so that no clocks need agree.
func (h happening) report(log string, now lanes.Instant) lanes.Report {
	return lanes.Report{
		Log:     lanes.Log{ID: log, Seq: h.seq},
		Kind:    h.kind,
		Session: h.session,
		Age:     now.Mono - h.at,

		Purchase: h.buy.purchase,
		Items:    h.buy.items,
		Detail:   h.detail,
	}
}
