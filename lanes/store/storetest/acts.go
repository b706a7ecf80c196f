package storetest

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func pagesOfActs(s *fixture) {
	o := s.claim(uuid.New())
	var records []lanes.Act
	for _, cursor := range cursors {
		batch := o.batch()
		batch.Acts = []lanes.Act{act(cursor, fmt.Sprint("staff ", cursor))}
		o.flush(batch)
		o.flush(o.batch()) // a batch without acts changes none
		records = append(records, batch.Acts...)
	}
	read := func(after uint64, limit int) ([]lanes.Act, error) {
		return s.store.Acts(s.Context(), o.rangeEpoch(), after, limit)
	}
	pages(s, records, read)
	s.reopen()
	pages(s, records, read)
}

// actsFlushedTwice makes a refill with acts that the store has, and with acts that it has lost.
func actsFlushedTwice(s *fixture) {
	o := s.claim(uuid.New())
	var records []lanes.Act
	for cursor := uint64(1); cursor <= 12; cursor++ {
		records = append(records, act(cursor, "sam"))
	}
	batch := o.batch()
	batch.Acts = slices.Concat(records[:3], records[5:7])
	o.flush(batch)
	for _, last := range []uint64{40, 20} {
		refill := o.batch()
		refill.Refill, refill.Acts, refill.LastAct = true, slices.Clone(records[2:]), last
		refill.Acts[0].Detail = "changed since"
		refill.Acts[0].At = refill.Acts[0].At.Add(day)
		o.flush(refill)
		assert.Equal(s, slices.Concat(records[:2], refill.Acts), o.acts())
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

// staffNamesRemain checks that trimming customers' names keeps the names in the acts of staff.
func staffNamesRemain(s *fixture) {
	s.setRetention(store.Retention{Events: 90 * day, History: 90 * day, Names: day, Cap: 1000})
	o := s.claim(uuid.New())
	acts := o.fillLogs(opening, opening).Acts
	o.trim(opening.Add(30*day), func() bool { return o.history()[1].Session.Customer == "" })
	assert.Equal(s, acts, o.acts())
}
