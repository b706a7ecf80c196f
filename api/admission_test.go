package api

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	v2 "rangegate/api/v2"
)

// fakeAdmission is an admission whose requests take as long as the test says, and fail if it says so.
type fakeAdmission struct {
	*admission
	at    time.Time
	takes time.Duration
	fail  bool
}

var north, south = uuid.New(), uuid.New()

func newFakeAdmission() *fakeAdmission {
	c := &fakeAdmission{admission: newAdmission(), at: time.Unix(1_800_000_000, 0), takes: time.Millisecond}
	c.now = func() time.Time { return c.at }
	return c
}

// come has so many requests of a range come at once, and returns how many are carried out, and the waits of the
// others.
func (c *fakeAdmission) come(id uuid.UUID, requests int) (admitted int, waits []time.Duration) {
	for range requests {
		if wait, ok := c.admit(id, false); ok {
			admitted++
		} else {
			waits = append(waits, wait)
		}
	}
	return admitted, waits
}

// leave ends so many requests of a range.
func (c *fakeAdmission) leave(id uuid.UUID, requests int) {
	for range requests {
		c.release(id, c.takes, !c.fail)
	}
}

// serve has as many requests of a range come every tenth of a second, and end by the next one.
func (c *fakeAdmission) serve(id uuid.UUID, requests, tenths int) {
	for range tenths {
		admitted, _ := c.come(id, requests)
		c.at = c.at.Add(adjustEvery)
		c.leave(id, admitted)
	}
	c.adjust(c.at)
}

// Requests that take long have more come than can be carried out: what is beyond it is refused at once. Once
// they are quick again there is room for all.
func TestInAnOverloadLessIsCarriedOutAtATime(t *testing.T) {
	c := newFakeAdmission()
	c.serve(north, 300, 20)
	admitted, _ := c.come(north, mostRoom/2)
	require.Equal(t, mostRoom/2, admitted, "a burst is no overload")
	c.leave(north, mostRoom/2)

	c.takes = longTime + time.Millisecond
	c.serve(north, mostRoom/2, 50)
	require.Equal(t, leastRoom, c.room)
	admitted, _ = c.come(north, mostRoom)
	require.Equal(t, leastRoom/2, admitted)
	admitted, _ = c.come(south, mostRoom)
	require.Equal(t, leastRoom/2, admitted, "no range takes the room of all")
	c.leave(north, leastRoom/2)
	c.leave(south, leastRoom/2)

	c.takes = (shortTime + longTime) / 2
	c.serve(north, 1, 50)
	require.Equal(t, leastRoom, c.room, "it stays as it is in between")
	c.takes = shortTime - time.Millisecond
	c.serve(north, 1, 50)
	require.Equal(t, mostRoom, c.room)
}

// Those who are refused in an overload come back one after the other, so that there is room for them, and for
// those who come for the first time.
func TestWhoIsRefusedComesBackWhenThereIsRoom(t *testing.T) {
	c := newFakeAdmission()
	c.takes = longTime + time.Millisecond
	c.serve(north, leastRoom/2, 100)
	carried := c.perSecond
	require.InDelta(t, leastRoom/2*10, carried, 10)

	admitted, refused := c.come(north, 50_000)
	require.Equal(t, leastRoom/2, admitted)
	comeBack := map[time.Duration]int{}
	for i, wait := range refused {
		require.GreaterOrEqual(t, wait, minReturn)
		require.Less(t, wait, maxReturn+time.Second)
		if i > 0 {
			require.GreaterOrEqual(t, wait, refused[i-1])
		}
		comeBack[wait.Truncate(time.Second)]++
	}
	require.Greater(t, len(comeBack), 30)
	for second, clients := range comeBack {
		require.LessOrEqual(t, float64(clients), carried/2+1, "in second %s", second)
	}

	c.leave(north, admitted)
	c.at = c.at.Add(maxReturn)
	c.serve(north, leastRoom/2, 100)
	_, refused = c.come(north, leastRoom)
	require.InDelta(t, minReturn, refused[0], float64(50*time.Millisecond), "nobody is expected any more")
}

// A store that does not answer is no overload: there is room for what needs no store, and clients come back soon.
func TestAStoreThatDoesNotAnswerTakesNoRoom(t *testing.T) {
	c := newFakeAdmission()
	c.takes, c.fail = 5*time.Second, true
	c.serve(north, mostRoom/4, 100)
	require.Equal(t, mostRoom, c.room)
	c.come(north, mostRoom/2)
	_, refused := c.come(north, 1)
	require.Equal(t, []time.Duration{minReturn}, refused)
}

// In an overload a stop and a pause are carried out: what closes a fire line does not wait for what sells time.
func TestAStopIsCarriedOutInAnOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := &fakeRange{gate: make(chan struct{})}
		s := settings(blocked)
		h := New(s)
		s.Limiters.admission.room, s.Limiters.admission.adjusted = leastRoom, time.Now()
		sale := `{"customer_name":"Jo","lane_id":"` + theLane + `","group_id":"` + theGroup + `","duration":30}`
		for range leastRoom / 2 {
			go sendAuthorized(h, http.MethodPost, prefix2+"/sessions", sale)
		}
		synctest.Wait()
		require.Equal(t, 503, sendAuthorized(h, http.MethodGet, prefix2+"/sessions", "").Code)

		command := func(name string) int {
			return sendAuthorized(h, http.MethodPost, prefix2+"/sessions/"+theSession+"/"+name, "").Code
		}
		require.Equal(t, 503, command("resume"))
		require.Equal(t, 503, command("start"))
		require.Equal(t, 204, command("stop"))
		require.Equal(t, 204, command("pause"))
		patch := func(minutes string) int {
			body := `{"id":"` + theSession + `","duration":` + minutes + `}`
			return sendAuthorized(h, http.MethodPatch, prefix1+"/sessions", body).Code
		}
		require.Equal(t, 503, patch("60"))
		require.Equal(t, 200, patch("0"))
		close(blocked.gate)
	})
}

// What an endpoint answers decides whether the time of a request counts.
func TestAnAdmissionIsToldWhatCameOfARequest(t *testing.T) {
	failed := errors.New("the store does not answer")
	s := settings(&fakeRange{})
	s.Range = func(uuid.UUID) (v2.Range, error) { return nil, failed }
	require.Equal(t, 500, sendAuthorized(New(s), http.MethodGet, prefix2+"/sessions", "").Code)
	require.Zero(t, s.Limiters.admission.done)
	s = settings(&fakeRange{})
	require.Equal(t, 200, sendAuthorized(New(s), http.MethodGet, prefix2+"/sessions", "").Code)
	require.Equal(t, 1, s.Limiters.admission.done)
	require.Zero(t, s.Limiters.admission.carried)
}
