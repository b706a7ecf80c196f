package crash

import (
	"net/http"
	"sync"
	"time"

	"rangegate/test/support"
)

// ownership is whether a gateway has the range, as far as its clients can tell.
type ownership struct {
	fixture *fixture

	mu        sync.Mutex
	succeeded time.Duration // when the next gateway was ready; 0: there is none
	lostAt    time.Duration // when this one answered first that it has lost the range; 0: never
	late      int           // other answers although the next one was ready
}

// end records that another gateway has the range now.
func (t *ownership) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.succeeded = now()
}

// answeredLate is how many answers the gateway gave too late, before it said that it lost the range.
func (t *ownership) answeredLate() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}

// check checks an answer. A gateway acknowledges no request that was made after the next one was ready, and
// after it has answered not_owner once it answers nothing else.
func (t *ownership) check(sent time.Duration, method, path string, answer support.Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lost := answer.Status == http.StatusServiceUnavailable && answer.Code() == "not_owner"
	succeeded := t.succeeded > 0 && sent > t.succeeded
	switch {
	case lost && !t.fixture.contested:
		t.fixture.fault("%s %s was answered as another gateway's, and there is none", method, path)
	case lost && t.lostAt == 0:
		t.lostAt = now()
	case lost:
	case t.lostAt > 0 && sent > t.lostAt:
		t.fixture.fault("%s %s was answered %d, after the range was said to be another's: %s", method, path,
			answer.Status, answer.Body)
	case succeeded && method == http.MethodPost && answer.Status < 300:
		t.fixture.fault("%s %s was acknowledged by a gateway whose range is another's", method, path)
	case succeeded:
		t.late++
	}
}
