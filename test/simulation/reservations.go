package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/test/linear"
)

// reserved is a reservation that a POS has asked for, by the true time. Machines may differ by clocksDiffer.
type reserved struct {
	of    uuid.UUID // its range
	id    uuid.UUID // uuid.Nil until it is acknowledged
	asked time.Time
	term  time.Duration

	unknown time.Time               // until when it may keep any lane of its range
	mayKeep map[uuid.UUID]time.Time // until when it may keep these
	keeps   map[uuid.UUID]bool      // lanes that are its own until sureUntil
}

func (r *reserved) sureUntil() time.Time { return r.asked.Add(r.term - clocksDiffer) }

// judgeReservations checks what is saved at once of reserved lanes:
//
//   - a lane is kept by the reservation that was acknowledged, until its POS sells the lane, ends it, or it is over;
//   - all lanes of a reservation are reserved in one write;
//   - one token has no more lanes reserved than it may.
//
// mu is held.
func (j *judge) judgeReservations(b store.Batch) {
	together := map[uuid.UUID][]uuid.UUID{}
	for _, lane := range b.Lanes {
		j.newest[lane.ID] = lane
		if lane.Reservation != nil {
			together[lane.Reservation.ID] = append(together[lane.Reservation.ID], lane.ID)
		}
		for _, r := range j.reserved {
			kept := lane.Session == nil && lane.Reservation != nil && lane.Reservation.ID == r.id
			if r.keeps[lane.ID] && !kept && time.Now().Before(r.sureUntil()) {
				j.world.fail("reservation %.8s keeps lane %s, which is saved with %+v and %s", r.id, suffix(lane.ID),
					lane.Reservation, brief(lane.Session))
			}
		}
	}
	for id, all := range together {
		if first, found := j.reservedAtOnce[id]; !found {
			j.reservedAtOnce[id] = all
		} else if slices.ContainsFunc(all, func(lane uuid.UUID) bool { return !slices.Contains(first, lane) }) {
			j.world.fail("reservation %.8s was saved for %v, and then for %v", id, first, all)
		}
	}
	count := 0
	for id, lane := range j.newest {
		if j.lane(id).of == b.Range && lane.Reservation != nil && time.Now().
			Before(lane.Reservation.End().Wall.Add(-clocksDiffer)) {
			count++
		}
	}
	if count > lanes.MostReserved(laneCount) {
		j.world.fail("%d lanes of range %.8s are reserved", count, b.Range)
	}
}

// reserving notes that a reservation is about to be asked for.
func (j *judge) reserving(of uuid.UUID, term time.Duration) *reserved {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &reserved{of: of, asked: time.Now(), term: term, unknown: time.Now().Add(time.Hour)}
	j.reserved = append(j.reserved, r)
	return r
}

// granted checks a reservation that is acknowledged.
func (j *judge) granted(r *reserved, id uuid.UUID, all []uuid.UUID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.id, r.unknown, r.mayKeep, r.keeps = id, time.Now(), map[uuid.UUID]time.Time{}, map[uuid.UUID]bool{}
	for _, lane := range all {
		r.keeps[lane], r.mayKeep[lane] = true, time.Now().Add(r.term+clocksDiffer)
	}
	if saved := j.reservedAtOnce[id]; len(saved) != len(all) ||
		slices.ContainsFunc(saved, func(lane uuid.UUID) bool { return !r.keeps[lane] }) {
		j.world.fail("reservation %.8s is acknowledged for %v, and saved for %v", id, all, saved)
	}
	j.figures["reservations"]++
}

// notGranted notes that nothing was reserved; or that an attempt without an answer may still have.
func (j *judge) notGranted(r *reserved, uncertain bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.unknown = time.Now(); uncertain {
		r.unknown = time.Now().Add(storeDelay + r.term + clocksDiffer)
	}
}

// ending notes that the reservation of these lanes is about to be used or ended; ended, that it was.
func (j *judge) ending(r *reserved, all ...uuid.UUID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, lane := range all {
		delete(r.keeps, lane)
	}
}

func (j *judge) hasEnded(r *reserved, all ...uuid.UUID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, lane := range all {
		r.mayKeep[lane] = time.Now()
	}
}

// keptFor checks that a lane which was refused as reserved, to a request that began then, may have been.
func (j *judge) keptFor(of, lane uuid.UUID, began time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.ContainsFunc(j.reserved, func(r *reserved) bool {
		return r.of == of && (r.unknown.After(began) || r.mayKeep[lane].After(began))
	}) {
		j.world.fail("lane %s is refused as reserved, and no reservation keeps it", suffix(lane))
	}
	j.figures["refused as reserved"]++
}

// checkouts has customers pay for lanes that are reserved meanwhile, one after the other, until ctx ends.
func (c *client) checkouts(ctx context.Context, r *rangeOf) {
	for sleep(ctx, c.upTo(5*time.Second)) == nil {
		count, first := 1+c.draw(3), c.draw(laneCount)
		named := r.lanes[first:min(first+count, laneCount)]
		wanted := []string{
			fmt.Sprintf(`"lanes":%d`, count), fmt.Sprintf(`"lanes":%d,"adjacent":true`, count), `"lane_ids":["` +
				joined(named) + `"]`,
		}
		kind, term := c.draw(len(wanted)), time.Duration(15+c.draw(30))*time.Second
		kept := c.judge.reserving(r.id, term)
		got, reply := c.insist(ctx, r, http.MethodPost, "/reservations",
			fmt.Sprintf(`{%s,"seconds":%d}`, wanted[kind], term/time.Second))
		var answer struct {
			ID    uuid.UUID   `json:"reservation_id"`
			Token string      `json:"token"`
			Lanes []uuid.UUID `json:"lanes"`
			Lane  uuid.UUID   `json:"lane_id"`
		}
		_ = json.Unmarshal([]byte(got.Body), &answer)
		switch {
		case reply.Outcome == linear.Refused && ctx.Err() == nil:
			c.judge.notGranted(kept, false)
			if reply.Code == "lane_reserved" {
				c.judge.keptFor(r.id, answer.Lane, kept.asked)
			}
			if !slices.Contains([]string{"lane_reserved", "lane_occupied", "no_lanes_fit", "reservation_limit"},
				reply.Code) {
				c.fail("range %d: a reservation was refused: %s", r.number, reply.Code)
			}
			continue
		case reply.Outcome != linear.Done:
			c.judge.notGranted(kept, true)
			continue
		}
		c.judge.granted(kept, answer.ID, answer.Lanes)
		if kind == 2 && !slices.Equal(answer.Lanes, named) || kind < 2 && len(answer.Lanes) != count ||
			kind == 1 && !r.areAdjacent(answer.Lanes) {
			c.fail("range %d: %s was reserved as %v", r.number, wanted[kind], answer.Lanes)
		}
		paid := c.upTo(term / 2)
		if c.draw(6) == 0 {
			paid = term + clocksDiffer + c.upTo(20*time.Second)
		}
		if sleep(ctx, paid) == nil {
			c.checkOut(ctx, r, kept, answer.Token)
		}
	}
}

// checkOut sells the lanes of a reservation with its token, and ends what is left of it. A sale may not be refused.
func (c *client) checkOut(ctx context.Context, r *rangeOf, kept *reserved, token string) {
	for lane, id := range r.lanes {
		// the session of a pair has both of its lanes
		if !kept.keeps[id] || lane >= moveFrom && lane < wildFrom || c.draw(2) == 0 {
			continue
		}
		history, minutes := alone, 1
		if lane == 0 {
			history, minutes = 0, 60
		}
		c.judge.ending(kept, id)
		got := c.command(ctx, r, history, linear.Call{Kind: "create", Lane: lane, Minutes: minutes, Reservation: token})
		switch {
		case got.Outcome == linear.Done:
			c.judge.hasEnded(kept, id)
			r.setSold(anybodys, lane, got.State.Session)
		case got.Outcome == linear.Refused && ctx.Err() == nil && time.Now().Before(kept.sureUntil()):
			c.fail("range %d: lane %d was reserved as %.8s, and its sale is refused: %s", r.number, lane,
				kept.id, got.Code)
		}
	}
	all := make([]uuid.UUID, 0, len(kept.mayKeep))
	for lane := range kept.mayKeep {
		all = append(all, lane)
	}
	c.judge.ending(kept, all...)
	if _, reply := c.insist(ctx, r, http.MethodDelete, "/reservations/"+kept.id.String(),
		""); reply.Outcome == linear.Done {
		c.judge.hasEnded(kept, all...)
	}
}

// areAdjacent is true if the lanes lie side by side in one bay.
func (r *rangeOf) areAdjacent(all []uuid.UUID) bool {
	bays := map[bool]bool{}
	for i, lane := range all {
		at := slices.Index(r.lanes, lane)
		if at != slices.Index(r.lanes, all[0])+i {
			return false
		}
		bays[at >= wildFrom] = true
		if at == relayFrom && i > 0 {
			return false
		}
	}
	return len(bays) == 1
}

func joined(ids []uuid.UUID) string {
	texts := make([]string, 0, len(ids))
	for _, id := range ids {
		texts = append(texts, id.String())
	}
	return strings.Join(texts, `","`)
}
