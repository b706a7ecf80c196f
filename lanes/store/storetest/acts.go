package storetest

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func pagesOfActs(s *stage) {
	o := s.claim(uuid.New())
	var all []lanes.Act
	for _, cursor := range cursors {
		batch := o.batch()
		batch.Acts = []lanes.Act{act(cursor, fmt.Sprint("staff ", cursor))}
		o.flush(batch)
		o.flush(o.batch()) // one without any leaves them
		all = append(all, batch.Acts...)
	}
	read := func(after uint64, limit int) ([]lanes.Act, error) {
		return s.store.Acts(s.Context(), o.rangeID, after, limit)
	}
	pages(s, all, read)
	s.reopen()
	pages(s, all, read)
}

// actsAgain: a refill has acts that the store has kept, and others that it has lost, in between as well.
func actsAgain(s *stage) {
	o := s.claim(uuid.New())
	var all []lanes.Act
	for cursor := uint64(1); cursor <= 12; cursor++ {
		all = append(all, act(cursor, "sam"))
	}
	batch := o.batch()
	batch.Acts = slices.Concat(all[:3], all[5:7])
	o.flush(batch)
	for _, last := range []uint64{40, 20} {
		refill := o.batch()
		refill.Refill, refill.Acts, refill.LastAct = true, slices.Clone(all[2:]), last
		refill.Acts[0].Detail = "as it is known now"
		refill.Acts[0].At = refill.Acts[0].At.Add(day)
		o.flush(refill)
		assert.Equal(s, slices.Concat(all[:2], refill.Acts), o.acts())
		assert.Equal(s, uint64(40), o.load().LastAct, "the highest ever given")
		s.reopen()
	}
	o.flush(o.batch())
	batch = o.batch()
	batch.Acts = []lanes.Act{act(41, "kim")}
	o.flush(batch)
	assert.Equal(s, uint64(41), o.load().LastAct)
	assert.Len(s, o.acts(), 13)
}

// staffStay: when customers' names leave the history, who did something is told on.
func staffStay(s *stage) {
	s.keep(store.Retention{Events: 90 * day, History: 90 * day, Names: day, Cap: 1000})
	o := s.claim(uuid.New())
	acts := o.logged(opening, opening).Acts
	o.trim(opening.Add(30*day), func() bool { return o.history()[1].Session.Customer == "" })
	assert.Equal(s, acts, o.acts())
}
