package actors

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
)

// Reservations keep lanes of the range for a POS while its customer pays. A reservation is nothing but what its lanes
// have of it: all of them are saved in one write, and whether it keeps a lane is decided by that lane, by the time of
// the decision. Its methods may be called from any goroutine.
type Reservations struct {
	r *Range
	// turn is full while lanes are being chosen and reserved, until the outcome of that is known: so nobody has
	// more of them than lanes.MostReserved, and two requests never choose the same lanes.
	turn chan struct{}
}

// Reserve keeps lanes from everybody but the holder of the reservation's token, all or none, from now on. Errors:
// ErrNoLanesFit, ErrReservationLimit, ErrAfterClosing; of named lanes lanes.OnLane with what refuses one; those that
// every method of Range may return, and with a key those of idempotency.Once.
func (s *Reservations) Reserve(
	ctx context.Context, wanted lanes.Wanted, reservation lanes.Reservation, key *lanes.KeyOf[lanes.Reserved],
) (reserved lanes.Reserved, err error) {
	from := posRequester(ctx)
	reservation.By = from.who
	err = s.r.onceTogether(ctx, key.Of(&reserved), func(claim *idempotency.Claim) (saving bool, err error) {
		if err := s.takeTurn(ctx); err != nil {
			return false, err
		}
		var chosen []uuid.UUID
		defer func() { s.endTurn(saving, err, chosen) }() // also after a panic
		chosen, saving, err = s.reserve(ctx, from, wanted, reservation, claim, &reserved)
		return saving, err
	})
	return reserved, err
}

// takeTurn waits until nobody else reserves lanes.
func (s *Reservations) takeTurn(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return lanes.ErrTimeout
	case <-s.r.life.Done():
		return context.Cause(s.r.life)
	}
}

// endTurn lets the next one go on, as soon as the board shows what has become of the lanes.
func (s *Reservations) endTurn(saving bool, err error, chosen []uuid.UUID) {
	if saving && errors.Is(err, lanes.ErrTimeout) {
		s.r.committer.LastSaved(chosen[0], func(lanes.Lane) { <-s.turn })
		return
	}
	<-s.turn
}

// reserve chooses lanes and has them reserved, and others where one of those cannot be sold any more.
func (s *Reservations) reserve(
	ctx context.Context, from requester, wanted lanes.Wanted, reservation lanes.Reservation, claim *idempotency.Claim,
	reserved *lanes.Reserved,
) (chosen []uuid.UUID, saving bool, err error) {
	refused := map[uuid.UUID]bool{} // is not chosen again
	for {
		reservation.Made = s.r.clock.Now()
		chosen, err = s.choose(wanted, reservation, refused)
		if err != nil {
			return nil, false, err
		}
		made := reservation
		*reserved = lanes.Reserved{ID: made.ID, Lanes: chosen, Until: made.End().Wall.UTC()}
		ops := make([]lanes.Operation, 0, len(chosen))
		for _, lane := range chosen {
			ops = append(ops, lanes.Operation{Lane: lane, Command: lanes.Reserve{Reservation: &made}})
		}
		saving, err = s.r.together(ctx, from, ops, claim, func([]lanes.Decided) {})
		var each lanes.Refusals
		notLent, isNotLent := errors.AsType[*lanes.OnLane](err)
		switch {
		case isNotLent: // the lane has refused before anything was decided
			refused[notLent.Lane] = true
		case !errors.As(err, &each):
			return chosen, saving, err
		default:
			err = nil
		}
		for i, why := range each {
			switch {
			case why == nil:
				continue
			case err == nil:
				err = &lanes.OnLane{Lane: chosen[i], Err: why}
			}
			refused[chosen[i]] = true
		}
		if len(wanted.Lanes) > 0 || errors.Is(err, lanes.ErrAfterClosing) {
			return chosen, false, err
		}
	}
}

// choose returns lanes that can be reserved, as far as the board knows.
func (s *Reservations) choose(wanted lanes.Wanted, reservation lanes.Reservation,
	refused map[uuid.UUID]bool,
) ([]uuid.UUID, error) {
	all := s.r.Lanes()
	chosen, err := wanted.Choose(all, reservation.Made, s.r.Holds(), refused)
	if err != nil {
		return nil, err
	}
	count := len(chosen)
	for _, status := range all {
		if status.Lane.ReservedFor(reservation.Made) > 0 && status.Lane.Reservation.Holder == reservation.Holder {
			count++
		}
	}
	if count > lanes.MostReserved(len(all)) {
		return nil, lanes.ErrReservationLimit
	}
	return chosen, nil
}

// Reservation returns the lanes that the reservation keeps now. Errors: ErrReservationNotFound.
func (s *Reservations) Reservation(id uuid.UUID) (lanes.Reserved, error) {
	now, reserved := s.r.clock.Now(), lanes.Reserved{ID: id}
	for _, status := range s.r.Lanes() {
		if status.Lane.IsReservedBy(id, now) {
			reserved.Lanes = append(reserved.Lanes, status.ID)
			reserved.Until = now.Wall.Add(status.Lane.ReservedFor(now)).UTC()
		}
	}
	if reserved.Lanes == nil {
		return reserved, lanes.ErrReservationNotFound
	}
	return reserved, nil
}

// EndReservation gives the lanes of the reservation free for the POS. Without any there is nothing to do. Errors: those
// that every method of Range may return, and with a key those of idempotency.Once.
func (s *Reservations) EndReservation(ctx context.Context, id uuid.UUID, key *lanes.Key) error {
	return s.r.onceTogether(ctx, key, func(claim *idempotency.Claim) (saving bool, err error) {
		var ops []lanes.Operation
		for _, status := range s.r.Lanes() {
			if reservation := status.Lane.Reservation; reservation != nil && reservation.ID == id {
				ops = append(ops, lanes.Operation{Lane: status.ID, Command: lanes.EndReservation{Reservation: id}})
			}
		}
		if len(ops) == 0 {
			return false, s.r.stillOwns(ctx) // another process may have claimed the range, and reserved the lanes
		}
		return s.r.together(ctx, posRequester(ctx), ops, claim, func([]lanes.Decided) {})
	})
}
