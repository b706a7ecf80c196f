package delivery

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// maxRetries is how many events may await their retry by a webhook: 16 bytes each. One more is given up.
const maxRetries = 50_000

// retrySchedule is the events of a range that await their retry. Of each it has the cursor and when it is
// due: the record is in the store. It outlives the events actor. Its methods may be called from any
// goroutine, and do not block.
type retrySchedule struct {
	mu   sync.Mutex
	due  dueEvents
	held map[uint64]heldBack // by the cursor of the event that later ones wait for
	// underWay are the events whose attempt has begun and has no outcome yet: nothing passes them meanwhile, as
	// they may be on their way without the mark that later ones have passed.
	underWay map[uint64]struct{}
	misses   map[uint64]int // by cursor, how often the log did not have the event
}

// heldBack is what waits for an event that failed less than lanes.OrderKeptFor ago.
type heldBack struct {
	lane, session uuid.UUID
	until         time.Time
}

// newRetrySchedule begins with the events that were loaded.
func newRetrySchedule(pending []lanes.Logged, now time.Time) *retrySchedule {
	s := &retrySchedule{
		held: map[uint64]heldBack{}, underWay: map[uint64]struct{}{}, misses: map[uint64]int{},
	}
	for _, event := range pending {
		if event.AwaitsRetry() {
			s.add(event, now)
		}
	}
	return s
}

// add schedules a saved event that awaits its retry. One that is further away than when it failed is so because
// the wall clock was set back meanwhile: it is due as long after now as it was to be after its attempt.
func (s *retrySchedule) add(event lanes.Logged, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(event.Cursor)
	at := event.Attempt.RetryAt
	if latest := now.Add(at.Sub(event.Attempt.At)); at.After(latest) {
		at = latest
	}
	heap.Push(&s.due, dueEvent{dueSecond(at), event.Cursor})
	until := event.HoldsUntil()
	switch {
	case until.IsZero(): // nothing waits for it, or not any more
		delete(s.held, event.Cursor)
	// after its first attempt it holds others, however late that is saved
	case lanes.OrderKept(until, now), len(event.Earlier) == 0:
		s.held[event.Cursor] = heldBack{event.Event.Lane, event.Event.Session, until}
	}
}

// addAgain schedules events that were taken and could not be tried.
func (s *retrySchedule) addAgain(cursors []uint64, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cursor := range cursors {
		delete(s.underWay, cursor)
		heap.Push(&s.due, dueEvent{dueSecond(at), cursor})
	}
}

// missed schedules an event once more that the log does not have. The last time it settles the event instead,
// and returns false.
func (s *retrySchedule) missed(cursor uint64, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.misses[cursor]++; s.misses[cursor] < maxMissed {
		heap.Push(&s.due, dueEvent{dueSecond(at), cursor})
		return true
	}
	delete(s.held, cursor)
	s.forget(cursor)
	return false
}

// take takes out at most n events that are due, in the order of the log. add, addAgain or settle has to follow
// for each.
func (s *retrySchedule) take(now time.Time, n int) (cursors []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(cursors) < n && len(s.due) > 0 && s.due[0].at <= now.Unix() {
		cursors = append(cursors, heap.Pop(&s.due).(dueEvent).cursor)
	}
	slices.Sort(cursors)
	return cursors
}

// begin is called when the attempt of an event begins that was taken: it is under way until add, addAgain or
// settle.
func (s *retrySchedule) begin(cursor uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay[cursor] = struct{}{}
}

// makeDue makes those of the events due now that wait.
func (s *retrySchedule) makeDue(cursors []uint64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(cursors)
	for i := range s.due {
		if _, found := slices.BinarySearch(cursors, s.due[i].cursor); found {
			s.due[i].at = min(s.due[i].at, now.Unix())
		}
	}
	heap.Init(&s.due)
}

// makeAllDue makes all of the events due now.
func (s *retrySchedule) makeAllDue(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.due {
		s.due[i].at = min(s.due[i].at, now.Unix())
	}
	heap.Init(&s.due)
}

// clockSet keeps the events due in as long as before, though the wall clock was set by so much. One that was set
// ahead has made them due earlier, which does no harm.
func (s *retrySchedule) clockSet(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.due {
		s.due[i].at += min(0, int64(by/time.Second))
	}
}

// holding returns the events that later ones wait for.
func (s *retrySchedule) holding() map[uint64]heldBack {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.held)
}

// settle ends the waiting for an event that is final, and reports whether later ones may have waited for it.
func (s *retrySchedule) settle(cursor uint64) (isAwaited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, isAwaited = s.held[cursor]
	delete(s.held, cursor)
	s.forget(cursor)
	return isAwaited
}

// isAwaited reports whether later events may wait for the event.
func (s *retrySchedule) isAwaited(cursor uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := s.held[cursor]
	return found
}

// failed has later events wait for one whose first attempt has failed, until add says what follows from it once that is
// saved.
func (s *retrySchedule) failed(event lanes.Logged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[event.Cursor] = heldBack{event.Event.Lane, event.Event.Session, event.HoldsUntil()}
	s.underWay[event.Cursor] = struct{}{}
}

// forget forgets that an attempt of the event is under way, and that the log did not have it. mu is held.
func (s *retrySchedule) forget(cursor uint64) {
	delete(s.underWay, cursor)
	delete(s.misses, cursor)
}

// release returns the events that others have waited for long enough, and that are not under way.
func (s *retrySchedule) release(now time.Time) (cursors []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for cursor, h := range s.held {
		if _, underWay := s.underWay[cursor]; !underWay && !lanes.OrderKept(h.until, now) {
			cursors = append(cursors, cursor)
			delete(s.held, cursor)
		}
	}
	return cursors
}

// nextDue returns when the next event is due, and nextRelease when release has something to return; zero for
// never.
func (s *retrySchedule) nextDue() (at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.due) > 0 {
		at = time.Unix(s.due[0].at, 0)
	}
	return at
}

func (s *retrySchedule) nextRelease() (at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for cursor, h := range s.held {
		if _, underWay := s.underWay[cursor]; !underWay && (at.IsZero() || h.until.Before(at)) {
			at = h.until
		}
	}
	return at
}

// count returns how many events await their retry, those under way not included.
func (s *retrySchedule) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.due)
}

// levelAt returns when the last of the events will have been sent again, if the receiver takes each from now
// on: zero when none awaits its retry. They go at ResendSize in ResendInterval, and none before it is due.
func (s *retrySchedule) levelAt(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.due) == 0 {
		return time.Time{}
	}
	level := now
	const each = ResendInterval / ResendSize
	for _, event := range slices.SortedFunc(slices.Values(s.due),
		func(a, b dueEvent) int { return cmp.Compare(a.at, b.at) }) {
		if due := time.Unix(event.at, 0); due.After(level) {
			level = due
		}
		level = level.Add(each)
	}
	return level.UTC()
}

// dueEvent is an event that awaits its retry, due at that time in Unix seconds.
type dueEvent struct {
	at     int64
	cursor uint64
}

// dueSecond rounds up to a second: what the ranges of a gateway try at a time shares a flush of the store.
func dueSecond(at time.Time) int64 { return at.Add(time.Second - 1).Unix() }

// dueEvents is a heap.Interface: the first is due first.
type dueEvents []dueEvent

func (d dueEvents) Len() int { return len(d) }
func (d dueEvents) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(d[i].at, d[j].at), cmp.Compare(d[i].cursor, d[j].cursor)) < 0
}
func (d dueEvents) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *dueEvents) Push(e any) { *d = append(*d, e.(dueEvent)) }

// Pop implements heap.Interface.
func (d *dueEvents) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
