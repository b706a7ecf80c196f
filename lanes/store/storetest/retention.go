package storetest

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// maxTrimFlushes is more than a store needs to trim the records of any test.
const maxTrimFlushes = 2000

// trim makes empty flushes at that time until done.
func (o *owner) trim(now time.Time, done func() bool) (flushes int) {
	o.Helper()
	for ; !done(); flushes++ {
		require.Less(o, flushes, maxTrimFlushes, "records remain after all these flushes")
		batch := o.batch()
		batch.Now = now
		o.flush(batch)
	}
	return flushes
}

// fillLogs writes a delivered event, an ended session and an act at each of the times, with cursors from 1.
func (o *owner) fillLogs(times ...time.Time) store.Batch {
	batch := o.batch()
	for i, at := range times {
		event, session := delivered(pending(uint64(i+1))), ended(uint64(i+1), "Jo Smith")
		event.Event.At, session.At = at, at
		batch.Events = append(batch.Events, event)
		batch.Ended = append(batch.Ended, session)
		done := act(uint64(i+1), "sam")
		done.At = at
		batch.Acts = append(batch.Acts, done)
	}
	o.flush(batch)
	return batch
}

func trimsExpired(s *fixture) {
	s.setRetention(store.Retention{Events: 3 * day, History: 9 * day, Names: 9 * day, Cap: 1_000_000})
	o := s.claim(uuid.New())
	const old = 1000
	times := make([]time.Time, old, old+2)
	for i := range times {
		times[i] = opening
	}
	times = append(times, opening.Add(day), opening.Add(2*day))
	log := o.fillLogs(times...)
	events, history := log.Events, log.Ended
	batch := o.batch()
	batch.Now = opening.Add(3 * day)
	o.flush(batch)
	require.Len(s, o.events(), old+2, "none is older than its term")

	afterEvents := opening.Add(3*day + time.Second)
	o.trim(afterEvents, func() bool { return len(o.events()) < old+2 })
	require.NotEmpty(s, o.events()[2:], "a little at a time")
	o.trim(afterEvents, func() bool { return len(o.events()) <= 2 })
	assert.Equal(s, events[old:], o.events())
	assert.Len(s, o.history(), old+2, "its term is longer")
	assert.Len(s, o.acts(), old+2, "as long as that of the history")

	afterHistory := opening.Add(9*day + time.Second)
	o.trim(afterHistory, func() bool { return len(o.acts()) < old+2 })
	require.NotEmpty(s, o.acts()[2:], "a little at a time")
	o.trim(afterHistory, func() bool { return len(o.history()) <= 2 && len(o.acts()) <= 2 })
	assert.Equal(s, log.Acts[old:], o.acts())
	assert.Equal(s, history[old:], o.history())
	_, err := s.store.Ended(s.Context(), o.rangeEpoch(), history[0].Session.ID)
	require.ErrorIs(s, err, store.ErrNotFound)
	found, err := s.store.Ended(s.Context(), o.rangeEpoch(), history[old].Session.ID)
	require.NoError(s, err)
	assert.Equal(s, history[old], found)
}

func trimsExcess(s *fixture) {
	r := generous
	r.Cap = 10
	s.setRetention(r)
	o := s.claim(uuid.New())
	var events []lanes.Logged
	var history []lanes.Ended
	var acts []lanes.Act
	for cursor := uint64(1); cursor <= 25; cursor++ {
		batch := o.batch()
		batch.Events = []lanes.Logged{delivered(pending(cursor * 2))} // cursors with gaps
		batch.Ended = []lanes.Ended{ended(cursor*2, "Jo Smith")}
		batch.Acts = []lanes.Act{act(cursor*2, "sam")}
		o.flush(batch)
		events, history = append(events, batch.Events...), append(history, batch.Ended...)
		acts = append(acts, batch.Acts...)
		if cursor == 12 {
			s.reopen()
		}
	}
	o.trim(opening, func() bool { return len(o.events()) <= 10 && len(o.history()) <= 10 && len(o.acts()) <= 10 })
	assert.Equal(s, events[15:], o.events())
	assert.Equal(s, history[15:], o.history())
	assert.Equal(s, acts[15:], o.acts())

	batch := o.batch()
	batch.Events, batch.Acts = events[20:], acts[20:] // replaced: their number does not rise
	o.flush(batch)
	o.flush(o.batch())
	assert.Equal(s, events[15:], o.events())
	assert.Equal(s, acts[15:], o.acts())
}

func pendingRemains(s *fixture) {
	s.setRetention(store.Retention{Events: day, History: day, Names: day, Cap: 3})
	o := s.claim(uuid.New())
	batch := o.batch()
	for cursor := uint64(1); cursor <= 20; cursor++ {
		event := pending(cursor)
		if cursor != 8 {
			event = delivered(event)
		}
		batch.Events = append(batch.Events, event)
	}
	o.flush(batch)
	later := opening.Add(50 * day)
	o.trim(later, func() bool { return o.events()[0].Cursor == 8 })
	for range 5 {
		next := o.batch()
		next.Now = later
		o.flush(next)
	}
	assert.Equal(s, batch.Events[7:], o.events())
	assert.Equal(s, batch.Events[7:8], o.load().Pending)

	next := o.batch()
	next.Now = later
	next.Events = []lanes.Logged{delivered(batch.Events[7])}
	o.flush(next)
	o.trim(later, func() bool { return len(o.events()) == 0 })
	assert.Empty(s, o.load().Pending)
}

func namesAreTrimmed(s *fixture) {
	s.setRetention(store.Retention{Events: 90 * day, History: 90 * day, Names: 30 * day, Cap: 1000})
	o := s.claim(uuid.New())
	history := o.fillLogs(opening, opening.Add(day), opening.Add(2*day)).Ended
	o.flush(o.batch())
	require.Equal(s, history, o.history())

	named := func(all []lanes.Ended) (count int) {
		for _, ended := range all {
			if ended.Session.Customer != "" {
				count++
			}
		}
		return count
	}
	o.trim(opening.Add(31*day), func() bool { return named(o.history()) == 2 })
	s.reopen()
	history[0].Session.Customer = ""
	assert.Equal(s, history, o.history())
	for _, want := range history {
		found, err := s.store.Ended(s.Context(), o.rangeEpoch(), want.Session.ID)
		require.NoError(s, err)
		assert.Equal(s, want, found)
	}

	o.trim(opening.Add(33*day), func() bool { return named(o.history()) == 0 })
	batch := o.batch()
	batch.Now = opening.Add(33 * day)
	batch.Ended = []lanes.Ended{ended(4, "Ann Lee")}
	batch.Ended[0].At = batch.Now
	o.flush(batch)
	got := o.history()
	require.Len(s, got, 4)
	assert.Equal(s, batch.Ended[0], got[3], "one that ended meanwhile keeps its name")
}

// A refill has the names again that were removed. They are removed once more.
func namesOfARefillAreTrimmed(s *fixture) {
	s.setRetention(store.Retention{Events: 90 * day, History: 90 * day, Names: 30 * day, Cap: 1000})
	o := s.claim(uuid.New())
	log := o.fillLogs(opening, opening, opening)
	later := opening.Add(31 * day)
	nameless := func() bool {
		return !slices.ContainsFunc(o.history(), func(e lanes.Ended) bool { return e.Session.Customer != "" })
	}
	o.trim(later, nameless)
	for first := range log.Ended {
		batch := o.batch()
		batch.Refill, batch.Ended = true, log.Ended[first:]
		o.flush(batch) // at a time when their term is not over
		require.Equal(s, log.Ended[first:], o.history()[first:])
		for range 3 {
			batch := o.batch()
			batch.Now = later
			o.flush(batch)
		}
		require.True(s, nameless(), "from cursor %d", log.Ended[first].Cursor)
	}
	require.Len(s, o.history(), len(log.Ended))
}

func cursorsNeverFall(s *fixture) {
	s.setRetention(store.Retention{Events: day, History: day, Names: day, Cap: 1000})
	o := s.claim(uuid.New())
	o.fillLogs(opening, opening, opening)
	o.trim(opening.Add(2*day), func() bool { return len(o.events())+len(o.history())+len(o.acts()) == 0 })
	for range 2 {
		r := o.load()
		assert.Equal(s, uint64(3), r.LastEvent)
		assert.Equal(s, uint64(3), r.LastEnded)
		assert.Equal(s, uint64(3), r.LastAct)
		s.reopen()
	}
	next := s.claim(o.rangeID)
	batch := next.batch()
	batch.Events = []lanes.Logged{pending(4)}
	next.flush(batch)
	assert.Equal(s, uint64(4), next.load().LastEvent)
	assert.Equal(s, uint64(3), next.load().LastEnded)
	assert.Equal(s, uint64(3), next.load().LastAct)
	assert.Equal(s, batch.Events, next.events())
}
