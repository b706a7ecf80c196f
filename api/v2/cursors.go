package v2

import (
	"context"

	"rangegate/api/endpoint"
)

// recordLog is the event log of a range, or its history, as cursors see it.
type recordLog struct {
	id    uint64 // names the log, from the first look at it on: see Range.LogID
	given uint64 // the highest cursor that was given, saved or not
	saved uint64 // likewise that is durable
	// keptBehind returns the cursor behind which the log is whole.
	keptBehind func(context.Context) (uint64, error)
}

func eventLog(ctx context.Context, r Range) recordLog {
	id := r.LogID() // before anything of the log is read
	given, _, _ := r.Latest(ctx)
	saved, _ := r.Saved()
	return recordLog{id, given, saved, r.EventsKeptBehind}
}

func historyLog(ctx context.Context, r Range) recordLog {
	id := r.LogID()
	_, given, _ := r.Latest(ctx)
	_, saved := r.Saved()
	return recordLog{id, given, saved, r.HistoryKeptBehind}
}

// position is where somebody reads a log.
type position struct {
	log recordLog
	// after is the number of the record to read behind.
	after uint64
	// anywhere is true where reading begins with what is kept, whatever was before it.
	anywhere bool
}

// locate returns the position of a cursor, which the field gave. It refuses one of another log with
// cursor_gone, and one that the log has not given yet, as who reads behind it would miss everything until the
// log has reached it. A cursor that does not name its log, from before cursors did, is taken for one of this
// log.
func (l recordLog) locate(ctx context.Context, c endpoint.LogCursor, field string) (position, error) {
	switch {
	case c.Latest:
		return position{log: l, after: l.saved}, nil
	case c.Log != 0 && c.Log != l.id:
		return position{}, l.gone(ctx)
	case c.Number > l.given:
		return position{}, endpoint.Faults{field: "is ahead of every cursor that this range has given: its store " +
			"was rolled back, or the cursor was not kept as it was. Read from 0, and ignore what you know by its id"}
	}
	return position{log: l, after: c.Number, anywhere: c.Log == 0 && c.Number == 0}, nil
}

// gone returns the refusal of a cursor that says where to go on.
func (l recordLog) gone(ctx context.Context) error {
	behind, err := l.keptBehind(ctx)
	if err != nil {
		return err
	}
	return endpoint.CursorGone{Oldest: l.cursor(behind)}
}

// cursor returns the cursor of a record.
func (l recordLog) cursor(number uint64) endpoint.LogCursor {
	return endpoint.LogCursor{Log: l.id, Number: number}
}

// checkKept refuses a position behind which records were that are not kept any more. It is called after what
// is behind the position was read, so that nothing was removed between.
func (p position) checkKept(ctx context.Context) error {
	if p.anywhere || p.after >= p.log.saved {
		return nil
	}
	behind, err := p.log.keptBehind(ctx)
	switch {
	case err != nil:
		return err
	case p.after < behind:
		return endpoint.CursorGone{Oldest: p.log.cursor(behind)}
	}
	return nil
}
