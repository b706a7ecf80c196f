package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// stormClients are the clients of all ranges, in a process of their own. As those of the kits in docs/clients do, each
// sends a request with an Idempotency-Key, gives it up after some time, and repeats it with the same key until it is
// answered. Those of a range have an address of their own, as those of other houses have.
type stormClients struct{}

// What clients do.
const (
	sellAllLanes    = "sell"     // a session on every lane
	atCapacity      = "capacity" // change sessions one after the other, for Calm
	throughTheStorm = "storm"    // change sessions at a rate, whatever becomes of those before
)

// stormCalls is what they are asked for.
type stormCalls struct {
	What               string
	Address            string // of the API
	Ranges, Lanes      int
	Rate, Times        int
	Calm, Storm, After time.Duration
	Patience           time.Duration
	Rude               bool
}

// stormCalled is what came of it. The lists have a number for each second.
type stormCalled struct {
	Wrong     string // what may not be; empty: nothing
	PerSecond float64
	Changed   int            // requests that were answered 2xx
	Repeated  map[string]int // attempts after which a client repeats, by what they came to

	Begun     []float64 // requests that began
	Good      []float64 // of those of the load that is always there: answered 2xx in time, at the first attempt
	Attempts  []float64 // of requests that began in that second, however long they took
	Completed []float64 // requests that were answered 2xx in that second
}

const (
	stormMinutes    = 240 // that are sold
	capacityClients = 256
	givesUpAfter    = 2 * time.Minute // then the cashier is told that nobody knows
	rudePause       = 100 * time.Millisecond
)

// Run answers until the input ends.
func (stormClients) Run() error {
	var all *posClients
	return answerAll(func(q stormCalls) (stormCalled, error) {
		if all == nil {
			all = newPOSClients(q)
		}
		switch q.What {
		case sellAllLanes:
			return all.sell()
		case atCapacity:
			return all.capacity(q.Calm), nil
		default:
			return all.through(q)
		}
	})
}

// clients are all clients, and what they know.
type posClients struct {
	stormCalls
	begun    time.Time
	ranges   []*rangeConnections
	keys     atomic.Int64
	sessions [][]soldSession // by range and lane

	mu     sync.Mutex
	called stormCalled
}

// soldSession is a session with what its changes add up to.
type soldSession struct {
	id      string
	minutes atomic.Int64 // sold, and added by changes that were answered 2xx
	unknown atomic.Int64 // changes that nobody knows the end of
}

func newPOSClients(q stormCalls) *posClients {
	t := &posClients{stormCalls: q, sessions: make([][]soldSession, q.Ranges)}
	t.called.Repeated = map[string]int{}
	for n := range q.Ranges {
		t.ranges = append(t.ranges, &rangeConnections{
			address: strings.TrimPrefix(q.Address, "http://"),
			from:    &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+n%250))},
			header:  fmt.Sprintf("Host: rangebench\r\nrange-id: %s\r\ntoken: %s\r\n", stormRange(n), stormToken(n)),
		})
		t.sessions[n] = make([]soldSession, q.Lanes)
	}
	return t
}

// rangeConnections is the connections of one range's clients.
type rangeConnections struct {
	address string
	from    net.Addr
	header  string

	mu   sync.Mutex
	idle []*stormConnection
}

type stormConnection struct {
	net.Conn
	answers *bufio.Reader
}

// stormAnswer is what an attempt was answered.
type stormAnswer struct {
	status     int
	retryAfter time.Duration
	body       []byte
	last       bool // the gateway closes the connection
}

// code is the word of a refusal.
func (a stormAnswer) code() string {
	var refusal struct{ Code string }
	_ = json.Unmarshal(a.body, &refusal)
	return refusal.Code
}

// attempt sends a request and waits for the answer until the deadline. As HTTP clients do, it takes another connection
// where the gateway has closed one that was idle.
func (p *rangeConnections) attempt(deadline time.Time, method, path, key, body string) (a stormAnswer, err error) {
	request := p.request(method, path, key, body)
	for {
		c, reused, err := p.connect(deadline)
		if err != nil {
			return a, err
		}
		if a, err = c.exchange(deadline, request); err == nil && !a.last {
			p.mu.Lock()
			p.idle = append(p.idle, c)
			p.mu.Unlock()
		} else {
			_ = c.Close()
		}
		if reused && err != nil && time.Now().Before(deadline) {
			continue
		}
		return a, err
	}
}

func (p *rangeConnections) request(method, path, key, body string) string {
	request := method + " " + prefix + path + " HTTP/1.1\r\n" + p.header
	if key != "" {
		request += "Idempotency-Key: " + key + "\r\n"
	}
	if body != "" {
		request += "Content-Type: application/json\r\n"
	}
	if method != http.MethodGet {
		request += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return request + "\r\n" + body
}

// exchange sends a request and reads the answer.
func (c *stormConnection) exchange(deadline time.Time, request string) (a stormAnswer, err error) {
	if err := c.SetDeadline(deadline); err != nil {
		return a, err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return a, err
	}
	response, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return a, err
	}
	defer func() { _ = response.Body.Close() }()
	if a.body, err = io.ReadAll(response.Body); err != nil {
		return a, err
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		a.retryAfter = time.Duration(seconds) * time.Second
	}
	a.status, a.last = response.StatusCode, response.Close
	return a, nil
}

func (p *rangeConnections) connect(deadline time.Time) (c *stormConnection, reused bool, err error) {
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		c, p.idle = p.idle[last], p.idle[:last]
	}
	p.mu.Unlock()
	if c != nil {
		return c, true, nil
	}
	conn, err := (&net.Dialer{LocalAddr: p.from, Deadline: deadline}).Dial("tcp", p.address)
	if err != nil {
		return nil, false, err
	}
	return &stormConnection{conn, bufio.NewReader(conn)}, false, nil
}

// call is one request until it is answered.
type call struct {
	began     time.Time
	attempts  int
	completed time.Time // zero: it was given up
	answer    stormAnswer
}

// until sends the request until it is answered for good.
func (t *posClients) until(p *rangeConnections, method, path, body string) (c call) {
	c.began = time.Now()
	key := ""
	if method != http.MethodGet {
		key = fmt.Sprint("receipt-", t.keys.Add(1))
	}
	for {
		c.attempts++
		answer, err := p.attempt(time.Now().Add(t.Patience), method, path, key, body)
		wait, came := t.pauseAfter(c.attempts), "no answer"
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			came = "connection failed"
			if text := err.Error(); strings.Contains(text, "dial") {
				came = text[strings.LastIndex(text, ":"):]
			}
		}
		if err == nil {
			came = fmt.Sprint(answer.status, " ", answer.code())
			switch answer.status {
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				if answer.retryAfter > 0 && !t.Rude {
					wait = answer.retryAfter + rand.N(time.Second)
				}
			case http.StatusGatewayTimeout, http.StatusRequestTimeout:
			default:
				c.completed, c.answer = time.Now(), answer
				return c
			}
		}
		t.mu.Lock()
		t.called.Repeated[came]++
		t.mu.Unlock()
		if time.Since(c.began)+wait > givesUpAfter {
			return c
		}
		time.Sleep(wait)
	}
}

// pauseAfter is how long a client waits after so many attempts, as those of the kits do.
func (t *posClients) pauseAfter(attempts int) time.Duration {
	if t.Rude {
		return rudePause
	}
	backoff := min(time.Second<<min(attempts-1, 5), 30*time.Second)
	return backoff + rand.N(backoff/2)
}

// sell sells a session on every lane.
func (t *posClients) sell() (stormCalled, error) {
	slots := make(chan struct{}, 64)
	var selling sync.WaitGroup
	for n, p := range t.ranges {
		for lane := range t.Lanes {
			slots <- struct{}{}
			selling.Go(func() {
				defer func() { <-slots }()
				body := fmt.Sprintf(`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":%d}`,
					stormLane(n, lane), stormGroup(n), stormMinutes)
				sold := t.until(p, http.MethodPost, "/sessions", body)
				var view struct {
					ID string `json:"session_id"`
				}
				if sold.answer.status != http.StatusCreated || json.Unmarshal(sold.answer.body, &view) != nil {
					t.wrong("a sale was answered %d: %s", sold.answer.status, sold.answer.body)
				}
				t.sessions[n][lane].id = view.ID
				t.sessions[n][lane].minutes.Store(stormMinutes)
			})
		}
	}
	selling.Wait()
	return t.result(), nil
}

// wrong notes what may not be, the first of it.
func (t *posClients) wrong(format string, about ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.called.Wrong == "" {
		t.called.Wrong = fmt.Sprintf(format, about...)
	}
}

// result is what came of a question, and begins the next one.
func (t *posClients) result() stormCalled {
	t.mu.Lock()
	defer t.mu.Unlock()
	had := t.called
	t.called = stormCalled{Repeated: map[string]int{}}
	return had
}

// change adds a minute to a session, or takes one away.
func (t *posClients) change() call {
	n, lane, minutes := rand.IntN(t.Ranges), rand.IntN(t.Lanes), int64(1)
	if rand.IntN(2) == 0 {
		minutes = -1
	}
	session := &t.sessions[n][lane]
	done := t.until(t.ranges[n], http.MethodPost, fmt.Sprintf("/sessions/%s/modify?time=%d", session.id, minutes), "")
	switch {
	case done.completed.IsZero():
		session.unknown.Add(1)
	case done.answer.status == http.StatusNoContent:
		session.minutes.Add(minutes)
		t.mu.Lock()
		t.called.Changed++
		t.mu.Unlock()
	default:
		t.wrong("a change was answered %d: %s", done.answer.status, done.answer.body)
	}
	return done
}

// capacity has clients change sessions one after the other, as fast as they are answered.
func (t *posClients) capacity(span time.Duration) stormCalled {
	var changing sync.WaitGroup
	begun := time.Now()
	for range capacityClients {
		changing.Go(func() {
			for time.Since(begun) < span {
				t.change()
			}
		})
	}
	changing.Wait()
	had := t.result()
	had.PerSecond = float64(had.Changed) / time.Since(begun).Seconds()
	return had
}

// through has requests begin at the rate, and at so many times the rate while there is a storm.
func (t *posClients) through(q stormCalls) (stormCalled, error) {
	t.begun = time.Now()
	ends := q.Calm + q.Storm + q.After
	seconds := int(ends / time.Second)
	t.mu.Lock()
	for _, list := range []*[]float64{&t.called.Begun, &t.called.Good, &t.called.Attempts, &t.called.Completed} {
		*list = make([]float64, seconds)
	}
	t.mu.Unlock()
	var calls sync.WaitGroup
	sent := [2]int{} // of the load that is always there, and of the storm's
	for now := time.Duration(0); now < ends; now = time.Since(t.begun) {
		inStorm := min(max(now-q.Calm, 0), q.Storm)
		due := [2]int{int(now.Seconds() * float64(q.Rate)), int(inStorm.Seconds() * float64(q.Rate*(q.Times-1)))}
		for i := range due {
			for ; sent[i] < due[i]; sent[i]++ {
				calls.Go(func() { t.count(t.change(), i == 0) })
			}
		}
		time.Sleep(time.Millisecond)
	}
	calls.Wait()
	t.verify()
	return t.result(), nil
}

// count notes when a request began, and what came of it.
func (t *posClients) count(c call, always bool) {
	second := func(at time.Time) int { return int(at.Sub(t.begun) / time.Second) }
	t.mu.Lock()
	defer t.mu.Unlock()
	add := func(list []float64, at, n int) {
		if at < len(list) {
			list[at] += float64(n)
		}
	}
	began := second(c.began)
	add(t.called.Begun, began, 1)
	add(t.called.Attempts, began, c.attempts)
	if c.completed.IsZero() {
		return
	}
	add(t.called.Completed, second(c.completed), 1)
	if always && c.attempts == 1 {
		add(t.called.Good, began, 1)
	}
}

// verify compares the sessions with what was answered: each change once, whatever was repeated.
func (t *posClients) verify() {
	for n, p := range t.ranges {
		listed := t.until(p, http.MethodGet, "/sessions", "")
		var sessions []struct {
			ID      string `json:"session_id"`
			Minutes int64  `json:"duration"`
		}
		if err := json.Unmarshal(listed.answer.body, &sessions); err != nil || len(sessions) != t.Lanes {
			t.wrong("range %d has %d sessions of %d: %d %v", n, len(sessions), t.Lanes, listed.answer.status, err)
			continue
		}
		minutes := map[string]int64{}
		for _, s := range sessions {
			minutes[s.ID] = s.Minutes
		}
		for lane := range t.sessions[n] {
			s := &t.sessions[n][lane]
			off := minutes[s.id] - s.minutes.Load()
			if unknown := s.unknown.Load(); max(off, -off) > unknown {
				t.wrong("session %s has %d minutes, and %d were answered for; %d changes are unknown",
					s.id, minutes[s.id], s.minutes.Load(), unknown)
			}
		}
	}
}
