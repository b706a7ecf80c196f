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

	"rangegate/test/support"
)

// A session that was over stayed on its lane, as nobody had heard of its end. The next customer could not be sold the
// lane before somebody had cleaned up by hand.
func TestAStaleSessionBlocksTheNextCreate(t *testing.T) {
	f := newFixture(t, 3)
	_, pos := f.serveLinked()
	var stale []string
	for n := range 3 {
		stale = append(stale, pos.Sell(n, 1))
		f.WaitOpen(n, stale[n])
	}
	// On the first two lanes the controller cannot hear of the end.
	f.Silence(0)
	pos.command(stale[0], "/stop")
	f.Silence(1)
	pos.advance(stale[1], 0)
	f.endsDuringAKill(2, stale[2], pos)

	_, pos = f.serve()
	next := []string{pos.Sell(0, 30), pos.Sell(1, 30), pos.Sell(2, 30)}
	for n := range 2 {
		require.Equal(t, stale[n], f.Controller(n).Shown().Session.String(),
			"the controller still has the session that is over")
		f.Restore(n)
	}
	for n := range 3 {
		f.WaitOpen(n, next[n])
		require.Equal(t, next[n], *pos.LaneStatuses()[n].Session)
		require.Contains(t, []string{"pos", "simulated", "expired"}, pos.Ended(stale[n]).Reason)
	}
}

// POS sent a create twice. The second one failed, and its failure took the session off the lane that the first one had
// sold.
func TestADuplicateCreateEndsTheValidSession(t *testing.T) {
	f := newFixture(t, 1)
	_, pos := f.serveLinked()
	first := pos.Send("POST", "/sessions", support.Order(0, 30), "Idempotency-Key", "receipt-1")
	require.Equal(t, 201, first.Status)
	var sold support.Session
	require.NoError(t, json.Unmarshal([]byte(first.Body), &sold))
	f.WaitOpen(0, sold.ID)
	revision := f.Controller(0).Shown().Revision

	var duplicates sync.WaitGroup
	for i := range 20 {
		duplicates.Go(func() {
			headers, status := []string{}, 409
			if i%2 == 0 {
				headers, status = []string{"Idempotency-Key", "receipt-1"}, 201
			}
			answer, err := pos.Do("POST", "/sessions", support.Order(0, 30), headers...)
			if err != nil || answer.Status != status || status == 201 && answer.Body != first.Body {
				t.Errorf("a duplicate: %v %d %s", err, answer.Status, answer.Body)
			}
		})
	}
	duplicates.Wait()
	shown := pos.Session(sold.ID)
	require.Equal(t, sold.Began, shown.Began)
	require.Equal(t, 30, shown.Minutes)
	require.True(t, f.Controller(0).Shown().Open)
	require.Equal(t, revision, f.Controller(0).Shown().Revision, "the controller was told nothing")
	require.Equal(t, []string{"sessionCreated", "sessionStarted"}, pos.EventsOf(sold.ID))
	require.Len(t, pos.AttemptedEvents(), 2, "and nothing else has happened")
}

// A stop was written to the record, and the lane's device never heard of it: the customer went on shooting for nothing.
func TestStopMarksTheRecordOnlyAndTheDeviceRunsOn(t *testing.T) {
	f := newFixture(t, 4)
	_, pos := f.serveLinked()
	var sessions []string
	for n := range 4 {
		sessions = append(sessions, pos.Sell(n, 30))
		f.WaitOpen(n, sessions[n])
	}
	pos.command(sessions[0], "/stop")
	pos.advance(sessions[1], 50*time.Millisecond) // its end stops it
	f.WaitLocked(0)
	f.WaitLocked(1)

	f.Silence(2)
	pos.command(sessions[2], "/stop")
	require.Equal(t, "free", pos.LaneStatuses()[2].Phase)
	require.True(t, f.Controller(2).Shown().Open, "it was not told")
	f.Restore(2)
	f.WaitLocked(2)

	f.Controller(3).PowerCut(false) // in the middle of it
	pos.command(sessions[3], "/stop")
	pos.WaitLinked()
	f.WaitLocked(3)
	for n := range 4 {
		require.Equal(t, "free", pos.LaneStatuses()[n].Phase)
	}
}

// Two starts came in the same millisecond. Both took effect: two sessions got one id, a session began twice, or the
// second start's event came before the first one's.
func TestTwoStartsAtTheSameMillisecond(t *testing.T) {
	const many = 10
	f := newFixture(t, many)
	_, pos := f.serveLinked()
	var counting sync.Mutex
	sold, sales := make([]string, many), 0
	simultaneously(2*many, func(i int) { // each lane twice
		answer, err := pos.Do("POST", "/sessions", support.Order(i%many, 30, `,"auto_start":false`))
		var v support.Session
		if err == nil && answer.Status == http.StatusCreated && json.Unmarshal([]byte(answer.Body), &v) == nil {
			counting.Lock()
			defer counting.Unlock()
			sold[i%many], sales = v.ID, sales+1
		}
	})
	require.Equal(t, many, sales, "each lane is sold once")
	require.Len(t, distinct(sold), many)

	for n := range many {
		f.Controller(n).Duplicate(true)
		support.Eventually(t, "the session is on the lane", func() bool {
			return f.Controller(n).Shown().Session != uuid.Nil
		})
	}
	simultaneously(2*many, func(i int) { _ = f.Controller(i % many).Enter() }) // two entries, each of them told twice
	for n, session := range sold {
		f.WaitAcked(n)
		f.WaitOpen(n, session)
		require.Equal(t, []string{"sessionCreated", "sessionStarted"}, pos.EventsOf(session))
		began := pos.Session(session).Began

		pos.command(session, "/pause")
		answers := make([]support.Answer, 4)
		simultaneously(len(answers), func(i int) { answers[i], _ = pos.Do("POST", "/sessions/"+session+"/resume", "") })
		slices.SortFunc(answers, func(a, b support.Answer) int { return a.Status - b.Status })
		require.Equal(t, []int{204, 409, 409, 409}, []int{
			answers[0].Status, answers[1].Status, answers[2].Status,
			answers[3].Status,
		})
		require.Equal(t, began, pos.Session(session).Began)
		f.receiver.WaitEvents(session, "sessionCreated", "sessionStarted", "sessionPaused", "sessionResumed")
	}
	var ids []string
	for _, event := range pos.AttemptedEvents() {
		ids = append(ids, event.ID)
	}
	require.Len(t, distinct(ids), len(ids), "no two events have one id")
}

// simultaneously does something that many times at once.
func simultaneously(many int, do func(int)) {
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
