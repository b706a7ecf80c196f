package stories

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

// A session that was over stayed on its lane, as nobody had heard of its end. The next customer could not be sold the
// lane before somebody had cleaned up by hand.
func TestAStaleSessionBlocksTheNextCreate(t *testing.T) {
	s := build(t, 3)
	_, pos := s.serveLinked()
	var stale []string
	for n := range 3 {
		stale = append(stale, pos.sell(n, 1))
		s.opens(n, stale[n])
	}
	// On the first two lanes the controller cannot hear of the end.
	s.outOfReach(0)
	pos.does(stale[0], "/stop")
	s.outOfReach(1)
	pos.advance(stale[1], 0)
	s.endsDuringAKill(2, stale[2], pos)

	_, pos = s.serve()
	next := []string{pos.sell(0, 30), pos.sell(1, 30), pos.sell(2, 30)}
	for n := range 2 {
		require.Equal(t, stale[n], s.controller(n).Shown().Session.String(), "the controller still has the session that is over")
		s.withinReach(n)
	}
	for n := range 3 {
		s.opens(n, next[n])
		require.Equal(t, next[n], *pos.stand()[n].Session)
		require.Contains(t, []string{"pos", "simulated", "expired"}, pos.ended(stale[n]).Reason)
	}
}

// POS sent a create twice. The second one failed, and its failure took the session off the lane that the first one had
// sold.
func TestADuplicateCreateEndsTheValidSession(t *testing.T) {
	s := build(t, 1)
	_, pos := s.serveLinked()
	first := pos.try("POST", "/sessions", sale(0, 30, ""), "Idempotency-Key", "receipt-1")
	require.Equal(t, 201, first.Status)
	var sold view
	require.NoError(t, json.Unmarshal([]byte(first.Body), &sold))
	s.opens(0, sold.ID)
	revision := s.controller(0).Shown().Revision

	var duplicates sync.WaitGroup
	for i := range 20 {
		duplicates.Go(func() {
			headers, status := []string{}, 409
			if i%2 == 0 {
				headers, status = []string{"Idempotency-Key", "receipt-1"}, 201
			}
			answer, err := pos.Do("POST", v2+"/sessions", sale(0, 30, ""), headers...)
			if err != nil || answer.Status != status || status == 201 && answer.Body != first.Body {
				t.Errorf("a duplicate: %v %d %s", err, answer.Status, answer.Body)
			}
		})
	}
	duplicates.Wait()
	now := pos.shows(sold.ID)
	require.Equal(t, sold.Began, now.Began)
	require.Equal(t, 30, now.Minutes)
	require.True(t, s.controller(0).Shown().Open)
	require.Equal(t, revision, s.controller(0).Shown().Revision, "the controller was told nothing")
	require.Equal(t, []string{"sessionCreated", "sessionStarted"}, pos.happened(sold.ID))
	require.Len(t, pos.events(), 2, "and nothing else has happened")
}

// A stop was written to the record, and the lane's device never heard of it: the customer went on shooting for nothing.
func TestStopMarksTheRecordOnlyAndTheDeviceRunsOn(t *testing.T) {
	s := build(t, 4)
	_, pos := s.serveLinked()
	var sessions []string
	for n := range 4 {
		sessions = append(sessions, pos.sell(n, 30))
		s.opens(n, sessions[n])
	}
	pos.does(sessions[0], "/stop")
	pos.advance(sessions[1], 50*time.Millisecond) // its end stops it
	s.locks(0)
	s.locks(1)

	s.outOfReach(2)
	pos.does(sessions[2], "/stop")
	require.Equal(t, "free", pos.stand()[2].Phase)
	require.True(t, s.controller(2).Shown().Open, "it was not told")
	s.withinReach(2)
	s.locks(2)

	s.controller(3).PowerCut(false) // in the middle of it
	pos.does(sessions[3], "/stop")
	pos.linked()
	s.locks(3)
	for n := range 4 {
		require.Equal(t, "free", pos.stand()[n].Phase)
	}
}

// Two starts came in the same millisecond. Both took effect: two sessions got one id, a session began twice, or the
// second start's event came before the first one's.
func TestTwoStartsAtTheSameMillisecond(t *testing.T) {
	const many = 10
	s := build(t, many)
	_, pos := s.serveLinked()
	var counting sync.Mutex
	sold, sales := make([]string, many), 0
	inOneMoment(2*many, func(i int) { // each lane twice
		answer, err := pos.Do("POST", v2+"/sessions", sale(i%many, 30, `,"auto_start":false`))
		var v view
		if err == nil && answer.Status == http.StatusCreated && json.Unmarshal([]byte(answer.Body), &v) == nil {
			counting.Lock()
			defer counting.Unlock()
			sold[i%many], sales = v.ID, sales+1
		}
	})
	require.Equal(t, many, sales, "each lane is sold once")
	require.Len(t, distinct(sold), many)

	for n := range many {
		s.controller(n).Duplicate(true)
		require.Eventually(t, func() bool { return s.controller(n).Shown().Session != uuid.Nil }, patience, often)
	}
	inOneMoment(2*many, func(i int) { _ = s.controller(i % many).Enter() }) // two entries, each of them told twice
	for n, session := range sold {
		s.heard(n)
		s.opens(n, session)
		require.Equal(t, []string{"sessionCreated", "sessionStarted"}, pos.happened(session))
		began := pos.shows(session).Began

		pos.does(session, "/pause")
		answers := make([]process.Answer, 4)
		inOneMoment(len(answers), func(i int) { answers[i], _ = pos.Do("POST", v2+"/sessions/"+session+"/resume", "") })
		slices.SortFunc(answers, func(a, b process.Answer) int { return a.Status - b.Status })
		require.Equal(t, []int{204, 409, 409, 409}, []int{answers[0].Status, answers[1].Status, answers[2].Status, answers[3].Status})
		require.Equal(t, began, pos.shows(session).Began)
		s.receiver.gets(session, "sessionCreated", "sessionStarted", "sessionPaused", "sessionResumed")
	}
	var ids []string
	for _, event := range pos.events() {
		ids = append(ids, event.ID)
	}
	require.Len(t, distinct(ids), len(ids), "no two events have one id")
}

// inOneMoment does something so many times at once.
func inOneMoment(many int, do func(int)) {
	var ready, doing sync.WaitGroup
	ready.Add(many)
	for i := range many {
		doing.Go(func() {
			ready.Done()
			ready.Wait()
			do(i)
		})
	}
	doing.Wait()
}

func distinct(all []string) []string {
	sorted := slices.Sorted(slices.Values(all))
	return slices.Compact(sorted)
}
