package actors

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
)

// Starts are the instants at which sessions of the range begin together. A start is nothing but what the sessions on
// the lanes have of it: it is gone with the last of them. Its methods may be called from any goroutine.
type Starts struct{ r *Range }

// ScheduleStart lets the sessions that wait begin together at that instant. Those that have begun or ended are in the
// view, and stay as they are. The lanes' controllers are told ahead once it is saved, all of it or nothing. Errors:
// ErrNotWaiting if no session waits, ErrStartScheduled if one has another start, a lanes.StartAfterClosing that names
// every session that would end after closing, ErrSessionNotFound, those that every method of Range may return, and
// with a key those of idempotency.Once.
func (s *Starts) ScheduleStart(
	ctx context.Context, sessions []uuid.UUID, at lanes.Instant, key *lanes.KeyOf[lanes.StartView],
) (lanes.StartView, error) {
	return s.schedule(ctx, posRequester(ctx), sessions, at, key)
}

// StaffScheduleStart is ScheduleStart by staff, who may let sessions end after closing: their log says so.
func (s *Starts) StaffScheduleStart(
	ctx context.Context, staff string, sessions []uuid.UUID, at lanes.Instant,
) (lanes.StartView, error) {
	return s.schedule(ctx, requester{lanes.ByStaff, staff}, sessions, at, nil)
}

// Start returns a start with the sessions on the lanes that have it. Errors: ErrStartNotFound.
func (s *Starts) Start(id uuid.UUID) (lanes.StartView, error) {
	view := lanes.StartView{ID: id}
	for _, status := range s.r.Lanes() {
		if session := status.Lane.Session; session != nil && session.Start != nil && session.Start.ID == id {
			view.At = session.Start.At.Wall
			view.Sessions = append(view.Sessions, status.Started())
		}
	}
	if view.Sessions == nil {
		return view, lanes.ErrStartNotFound
	}
	return view, nil
}

// DeleteStart takes the start from the sessions that have not begun. Errors: ErrStartNotFound, ErrNotWaiting if all
// have begun, those that every method of Range may return, and with a key those of idempotency.Once.
func (s *Starts) DeleteStart(ctx context.Context, start uuid.UUID, key *lanes.Key) error {
	return s.delete(ctx, posRequester(ctx), start, key)
}

// StaffDeleteStart is DeleteStart by staff.
func (s *Starts) StaffDeleteStart(ctx context.Context, staff string, start uuid.UUID) error {
	return s.delete(ctx, requester{lanes.ByStaff, staff}, start, nil)
}

func (s *Starts) schedule(
	ctx context.Context, from requester, sessions []uuid.UUID, at lanes.Instant, key *lanes.KeyOf[lanes.StartView],
) (view lanes.StartView, err error) {
	schedule := lanes.Schedule{Start: lanes.Start{ID: uuid.New(), At: at}, AfterClosing: from.by == lanes.ByStaff}
	err = s.decide(ctx, from, key.Of(&view), func() (ops []lanes.Operation, err error) {
		view, ops, err = s.plan(ctx, schedule, sessions)
		return ops, err
	}, func(decided []lanes.Decided) { s.show(&view, decided) })
	return view, err
}

// decide has the operations carried out that plan returns, and plans again where a session has moved or begun before
// they were decided.
func (s *Starts) decide(
	ctx context.Context, from requester, key *lanes.Key, plan func() ([]lanes.Operation, error),
	decided func([]lanes.Decided),
) error {
	return s.r.onceTogether(ctx, key, func(claim *idempotency.Claim) (saving bool, err error) {
		for {
			ops, err := plan()
			if err != nil {
				return false, err
			}
			saving, err := s.r.together(ctx, from, ops, claim, decided)
			var refused lanes.Refusals
			if errors.As(err, &refused) {
				err = refused.OfStart()
			}
			passing := refused != nil && (errors.Is(err, lanes.ErrSessionNotFound) ||
				errors.Is(err, lanes.ErrNotWaiting))
			switch {
			case passing && ctx.Err() == nil:
				continue
			case passing:
				err = lanes.ErrTimeout
			}
			return saving, err
		}
	})
}

// plan returns the start as it would be, and the operations that it takes: the command for each session that waits.
func (s *Starts) plan(
	ctx context.Context, schedule lanes.Schedule, sessions []uuid.UUID,
) (view lanes.StartView, ops []lanes.Operation, err error) {
	view = lanes.StartView{ID: schedule.Start.ID, At: schedule.Start.At.Wall}
	for _, session := range sessions {
		status, found := s.r.board.SessionStatus(session)
		if !found {
			if _, err := s.r.EndedSession(ctx, session); !errors.Is(err, lanes.ErrSessionEnded) {
				return view, nil, err
			}
			view.Sessions = append(view.Sessions, lanes.StartedSession{Session: session, State: lanes.StartOver})
			continue
		}
		view.Sessions = append(view.Sessions, status.Started())
		if status.Lane.Session.Phase == lanes.Waiting {
			schedule.Session = session
			ops = append(ops, lanes.Operation{Lane: status.ID, Command: schedule})
		}
	}
	if len(ops) == 0 {
		return view, nil, lanes.ErrNotWaiting
	}
	return view, ops, nil
}

// show brings the view up to what was decided.
func (s *Starts) show(view *lanes.StartView, decided []lanes.Decided) {
	for _, d := range decided {
		lane := d.Change.Lane
		status, _ := s.r.board.LaneStatus(lane.ID)
		status.Lane = lane
		i := slices.IndexFunc(view.Sessions,
			func(shown lanes.StartedSession) bool { return shown.Session == lane.Session.ID })
		view.Sessions[i] = status.Started()
	}
}

func (s *Starts) delete(ctx context.Context, from requester, start uuid.UUID, key *lanes.Key) error {
	return s.decide(ctx, from, key, func() (ops []lanes.Operation, err error) {
		view, err := s.Start(start)
		if err != nil {
			return nil, err
		}
		for _, waiting := range view.Sessions {
			if waiting.State != lanes.StartBegun {
				ops = append(ops, lanes.Operation{
					Lane:    waiting.Lane,
					Command: lanes.Unschedule{Session: waiting.Session, Start: start},
				})
			}
		}
		if len(ops) == 0 {
			return nil, lanes.ErrNotWaiting
		}
		return ops, nil
	}, func([]lanes.Decided) {})
}
