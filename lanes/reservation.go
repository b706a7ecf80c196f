package lanes

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"time"

	"github.com/google/uuid"
)

// The term of a reservation.
const (
	MinReserved     = 10 * time.Second
	MaxReserved     = 10 * time.Minute
	DefaultReserved = 3 * time.Minute
)

// MostReserved is how many of so many lanes one Holder has reserved at once at most: half of them, so that nobody
// reserves the range empty.
func MostReserved(lanes int) int { return (lanes + 1) / 2 }

// Reservation keeps a lane from everybody but the holder of its token, while the POS is being paid. Several lanes may
// have one reservation. It is a value: nobody changes it.
//
// A reservation that is over stays with its lane until somebody else has the lane: a POS that comes a moment too late
// still buys, as if the lane had not been reserved.
type Reservation struct {
	ID     uuid.UUID     `json:"reservation_id"`
	Token  string        `json:"token_sha256"` // TokenDigest of its token, which is not kept
	Holder string        `json:"holder"`       // which of the POS's tokens for the API has made it, as an opaque text
	By     string        `json:"by,omitempty"` // the name of that; empty: it has none
	Made   Instant       `json:"made"`
	Term   time.Duration `json:"term_ns"`
	// Minutes may be sold with the token although the range closes meanwhile: they fitted when it was made.
	// 0: none were named. Of groups with hours of their own they may be sold to Group alone; uuid.Nil: to none of
	// those.
	Minutes int       `json:"minutes,omitempty"`
	Group   uuid.UUID `json:"group_id,omitzero"`
}

// TokenDigest is what is kept of a reservation's token.
func TokenDigest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// End is when the reservation is over.
func (r *Reservation) End() Instant { return r.Made.Add(r.Term) }

// isOf reports whether the reservation has that token. A nil one has none.
func (r *Reservation) isOf(token string) bool {
	return r != nil && token != "" && subtle.ConstantTimeCompare([]byte(r.Token), []byte(TokenDigest(token))) == 1
}

// ReservedFor is for how long from now the lane stays reserved, if nobody ends that; 0 when it is not.
func (l Lane) ReservedFor(now Instant) time.Duration {
	if l.Reservation == nil {
		return 0
	}
	return max(0, l.Reservation.End().Since(now))
}

// IsReservedBy reports whether that reservation keeps the lane at now.
func (l Lane) IsReservedBy(reservation uuid.UUID, now Instant) bool {
	return l.ReservedFor(now) > 0 && l.Reservation.ID == reservation
}

// ReservedError is ErrLaneReserved with the end of the reservation.
type ReservedError struct{ Until time.Time }

func (e *ReservedError) Error() string { return ErrLaneReserved.Error() }

// Code is that of ErrLaneReserved.
func (e *ReservedError) Code() string { return ErrLaneReserved.Code() }

// Unwrap returns ErrLaneReserved.
func (e *ReservedError) Unwrap() error { return ErrLaneReserved }

// ReservedUntil is what a client is told.
func (e *ReservedError) ReservedUntil() time.Time { return e.Until }

// OnLane is an error that one of several lanes refused a request with.
type OnLane struct {
	Lane uuid.UUID
	Err  error
}

func (e *OnLane) Error() string { return e.Err.Error() }

// Unwrap returns the refusal.
func (e *OnLane) Unwrap() error { return e.Err }

// LaneID is what a client is told.
func (e *OnLane) LaneID() uuid.UUID { return e.Lane }

// checkSale returns why the lane cannot be sold now to whoever has that token of a reservation; empty: to somebody
// without one. The reservation is the word that the lane could be sold. Whoever has paid since is not refused for what
// has become of its hardware, but for what staff have decided: they have closed it for sale.
func (l Lane) checkSale(now Instant, byStaff bool, token string) error {
	left, own := l.ReservedFor(now), l.Reservation.isOf(token)
	switch {
	case l.Session != nil || l.AwaitsMove:
		return ErrLaneOccupied
	case left > 0 && own && l.ForSale():
		return nil
	case left > 0 && !own:
		return &ReservedError{Until: now.Wall.Add(left).UTC()}
	case token != "" && !own:
		return ErrReservationOver
	case !l.ForSale() && !byStaff:
		return ErrLaneNotAccessible
	case !l.Usable:
		return ErrLaneNotUsable
	case l.awaitsClearing(now) && !byStaff:
		return ErrLaneNotClear
	}
	return nil
}

// isPromised reports whether the minutes of the sale were promised to whoever has its token of the lane's reservation.
func (l Lane) isPromised(now Instant, sale Create) bool {
	return l.ReservedFor(now) > 0 && l.Reservation.isOf(sale.Reservation) &&
		max(sale.Minutes, sale.OpenEnd) <= l.Reservation.Minutes &&
		(l.GroupHours[sale.Group] == nil || sale.Group == l.Reservation.Group)
}

// Reserve keeps a lane that the POS can buy now from everybody else.
type Reserve struct{ Reservation *Reservation }

// Name implements Command.
func (Reserve) Name() string { return "reserve" }

func (cmd Reserve) decide(now Instant, c *Change) error {
	if err := c.Lane.checkSale(now, false, ""); err != nil {
		return err
	}
	if err := c.Lane.HoursOf(cmd.Reservation.Group).beforeClosing(now, 0, cmd.Reservation.Minutes,
		MaxMinutes); err != nil {
		return err
	}
	c.Lane.Reservation = cmd.Reservation
	return nil
}

// EndReservation gives the lane free again. Where the lane does not have that reservation, nothing changes.
type EndReservation struct{ Reservation uuid.UUID }

// Name implements Command.
func (EndReservation) Name() string { return "end_reservation" }

func (cmd EndReservation) decide(_ Instant, c *Change) error {
	if r := c.Lane.Reservation; r != nil && r.ID == cmd.Reservation {
		c.Lane.Reservation = nil
	}
	return nil
}

// Wanted is which lanes are to be reserved together.
type Wanted struct {
	Lanes    []uuid.UUID // those; none: the first ones that fit
	Count    int         // so many, without Lanes
	Adjacent bool        // side by side in the display order of one bay
	Bay      uuid.UUID   // in that bay; uuid.Nil: in any
	Minutes  int         // that are to be sold on each of the first ones; 0: not known, any
	Group    uuid.UUID   // that they are to be sold to; uuid.Nil: not known
}

// Choose returns the lanes, in their display order, from all of a range in that order. A lane that staff hold by itself
// is not chosen, nor one of refused; both may be named. Nor is one that closes too early, as long as there are others:
// if not, Reserve says of those when they close. Errors: ErrNoLanesFit; of named ones OnLane with ErrLaneNotFound, and
// with what refuses the sale of a lane.
func (w Wanted) Choose(all []LaneStatus, now Instant, holds Holds, refused map[uuid.UUID]bool) ([]uuid.UUID, error) {
	if len(w.Lanes) > 0 {
		return w.named(all, now)
	}
	passedOver := map[uuid.UUID]bool{} // at first
	for _, status := range all {
		if refused[status.ID] || status.Lane.HoursOf(w.Group).
			beforeClosing(now, 0, max(w.Minutes, MinMinutes), 0) != nil {
			passedOver[status.ID] = true
		}
	}
	if chosen, err := w.first(all, now, holds, passedOver); err == nil {
		return chosen, nil
	}
	return w.first(all, now, holds, refused)
}

// first returns the first lanes that can be sold and are not among refused. Errors: ErrNoLanesFit.
func (w Wanted) first(all []LaneStatus, now Instant, holds Holds, refused map[uuid.UUID]bool) ([]uuid.UUID, error) {
	var chosen []uuid.UUID
	beside := map[uuid.UUID][]uuid.UUID{} // bay → the lanes of it that fit, up to here without a gap
	for _, status := range all {
		fits := status.Lane.checkSale(now, false, "") == nil && !refused[status.ID] &&
			!holds.Has(Scope{OverLane, status.ID})
		switch {
		case w.Bay != uuid.Nil && w.Bay != status.Bay:
			continue
		case !fits:
			delete(beside, status.Bay)
			continue
		}
		chosen = append(chosen, status.ID)
		if w.Adjacent {
			chosen = append(beside[status.Bay], status.ID)
			beside[status.Bay] = chosen
		}
		if len(chosen) == w.Count {
			return chosen, nil
		}
	}
	return nil, ErrNoLanesFit
}

func (w Wanted) named(all []LaneStatus, now Instant) (chosen []uuid.UUID, err error) {
	for _, status := range all {
		if !slices.Contains(w.Lanes, status.ID) {
			continue
		}
		if err := status.Lane.checkSale(now, false, ""); err != nil {
			return nil, &OnLane{status.ID, err}
		}
		chosen = append(chosen, status.ID)
	}
	for _, lane := range w.Lanes {
		if !slices.Contains(chosen, lane) {
			return nil, &OnLane{lane, ErrLaneNotFound}
		}
	}
	return chosen, nil
}

// Reserved is a reservation as its holder sees it.
type Reserved struct {
	ID    uuid.UUID
	Lanes []uuid.UUID // that it keeps, in display order
	Until time.Time   // UTC
	Token string      // only in the answer to whoever has made it
}
