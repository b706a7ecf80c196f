package storetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

func holdsStay(s *stage) {
	o := s.claim(uuid.New())
	o.flush(o.batch())
	assert.Zero(s, o.load().Holds, "there never were any")

	set := holds("Ann Lee")
	lifted := set.Lift(lanes.Scope{Kind: lanes.OverRange}, opening.Add(day))
	for _, want := range []lanes.Holds{set, lifted, {}, set} { // also none at all take the place of some
		batch := o.batch()
		batch.Holds = &want
		o.flush(batch)
		assert.Equal(s, want, o.load().Holds)

		without := o.with(o.n)
		without.Holds = nil
		o.flush(without)
		assert.Equal(s, want, o.load().Holds)
		s.reopen()
		assert.Equal(s, want, o.load().Holds)
		o = s.claim(o.rangeID)
	}
}

func holdsComeBackExactly(s *stage) {
	o := s.claim(uuid.New())
	first, last := time.Time{}, time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	var many lanes.Holds // far more than a range has: it takes several pages of a file
	for _, who := range texts {
		for _, at := range []time.Time{first, opening, last} {
			for _, kind := range []string{lanes.OverRange, lanes.OverBay, lanes.OverLane, who} {
				over := lanes.Scope{Kind: kind, ID: uuid.New()}
				many.InForce = append(many.InForce, lanes.HoldRecord{Scope: over, Who: who, Since: at})
				many.Lifted = append(many.Lifted, lanes.LiftRecord{Scope: over, At: at})
			}
		}
	}
	for _, want := range []lanes.Holds{
		many,
		{InForce: many.InForce[:1]},
		{Lifted: many.Lifted[:1]},
		{InForce: []lanes.HoldRecord{}, Lifted: []lanes.LiftRecord{}},
		many,
	} {
		batch := o.batch()
		batch.Holds = &want
		o.flush(batch)
		s.reopen()
		assert.Equal(s, want, o.load().Holds)
	}
}

// drawHolds is the record after a change, or any other.
func drawHolds(t *rapid.T, before lanes.Holds, lanePool []uuid.UUID) lanes.Holds {
	over := rapid.SampledFrom([]lanes.Scope{
		{Kind: lanes.OverRange}, {Kind: lanes.OverBay, ID: lanePool[0]}, {Kind: lanes.OverLane, ID: lanePool[1]},
	}).Draw(t, "over")
	switch rapid.SampledFrom([]string{"set", "lift", "none", "other"}).Draw(t, "change") {
	case "set":
		return before.Set(over, rapid.String().Draw(t, "who"), opening)
	case "lift":
		return before.Lift(over, opening.Add(time.Hour))
	case "other":
		return holds(rapid.String().Draw(t, "who"))
	}
	return lanes.Holds{}
}
