package storetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

func holdsRemain(s *fixture) {
	o := s.claim(uuid.New())
	o.flush(o.batch())
	assert.Zero(s, o.load().Holds, "there never were any")

	set := holds("Ann Lee")
	lifted := set.Lift(lanes.Scope{Kind: lanes.OverRange}, opening.Add(day))
	for _, want := range []lanes.Holds{set, lifted, {}, set} { // an empty record also replaces one
		batch := o.batch()
		batch.Holds = &want
		o.flush(batch)
		assert.Equal(s, want, o.load().Holds)

		without := o.filled(o.n)
		without.Holds = nil
		o.flush(without)
		assert.Equal(s, want, o.load().Holds)
		s.reopen()
		assert.Equal(s, want, o.load().Holds)
		o = s.claim(o.rangeID)
	}
}

func holdsSurviveExactly(s *fixture) {
	o := s.claim(uuid.New())
	first, last := time.Time{}, time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	var large lanes.Holds // more than a range has: several pages of a file
	for _, who := range texts {
		for _, at := range []time.Time{first, opening, last} {
			for _, kind := range []string{lanes.OverRange, lanes.OverBay, lanes.OverLane, who} {
				scope := lanes.Scope{Kind: kind, ID: uuid.New()}
				large.InForce = append(large.InForce, lanes.HoldRecord{Scope: scope, Who: who, Since: at})
				large.Lifted = append(large.Lifted, lanes.LiftRecord{Scope: scope, At: at})
			}
		}
	}
	for _, want := range []lanes.Holds{
		large,
		{InForce: large.InForce[:1]},
		{Lifted: large.Lifted[:1]},
		{InForce: []lanes.HoldRecord{}, Lifted: []lanes.LiftRecord{}},
		large,
	} {
		batch := o.batch()
		batch.Holds = &want
		o.flush(batch)
		s.reopen()
		assert.Equal(s, want, o.load().Holds)
	}
}

// drawHolds returns the record after a random change.
func drawHolds(t *rapid.T, current lanes.Holds, lanePool []uuid.UUID) lanes.Holds {
	scope := rapid.SampledFrom([]lanes.Scope{
		{Kind: lanes.OverRange}, {Kind: lanes.OverBay, ID: lanePool[0]}, {Kind: lanes.OverLane, ID: lanePool[1]},
	}).Draw(t, "over")
	switch rapid.SampledFrom([]string{"set", "lift", "none", "other"}).Draw(t, "change") {
	case "set":
		return current.Set(scope, rapid.String().Draw(t, "who"), opening)
	case "lift":
		return current.Lift(scope, opening.Add(time.Hour))
	case "other":
		return holds(rapid.String().Draw(t, "who"))
	}
	return lanes.Holds{}
}
