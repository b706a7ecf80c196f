package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"rangegate/test/support"
)

// client is one POS: a part of the load, and the record that the gateway is compared with. It commands only its own
// sessions, one request at a time, so it knows the state of each.
type client struct {
	fixture  *fixture
	number   int
	rng      *rand.Rand
	requests int // sent so far

	sessions map[string]*session // all that it sold, by id
	current  *session            // the one that it commands; nil: none
	quiet    *session            // one of one minute that gets no command and expires; nil: none
	lost     []*request          // without a definite answer: it is unknown whether they happened
	settled  []*request          // of lost: it is known now whether they happened
	kept     *kept               // the last request with a key, and its answer
	seen     map[string]bool     // ids of all sessions that were listed, also of other clients
	free     []string            // lanes, in the last list
}

// kept is a request that has to be answered with the same answer whenever it is repeated.
type kept struct {
	request *request
	answer  support.Answer
}

const (
	quietClients = 6                     // the number of clients that keep a quiet session
	longestRest  = 10 * time.Millisecond // between a client's requests
	mostRequests = 250                   // of a client, while something lasts a time and no number of requests
)

func newClient(x *fixture, number int) *client {
	return &client{
		fixture: x, number: number, rng: rand.New(rand.NewPCG(x.seed, uint64(number)+1)),
		sessions: map[string]*session{}, seen: map[string]bool{},
	}
}

func (c *client) group() string { return groupID(c.number) }

// work makes one request after the other, at most that many, until ctx ends or the gateway has ended.
func (c *client) work(ctx context.Context, gateway posClient, most int) {
	for range most {
		if !support.Wait(ctx, time.Duration(c.rng.Int64N(int64(longestRest)))) || gateway.process.Ended() ||
			!c.act(gateway) {
			return
		}
		c.fixture.made.Add(1)
	}
}

// act makes one request. It returns false when the gateway has ended.
func (c *client) act(gateway posClient) bool {
	c.fixture.counters.count("requests")
	command := c.choose()
	switch {
	case command != nil:
		return c.command(gateway, command)
	case c.current != nil && c.chance(50):
		return c.look(gateway, c.current)
	default:
		return c.list(gateway)
	}
}

// command makes the request and records its answer. It returns false when there was none.
func (c *client) command(gateway posClient, r *request) bool {
	answer, err := r.send(gateway)
	switch {
	case err != nil:
		c.fixture.counters.count("lost answers")
		c.lost = append(c.lost, r)
		return false
	case succeeded(answer):
		if replayed(answer) {
			c.fixture.fault("%s had not happened before, and was answered as a repeat", r)
		}
		c.acknowledged(r, answer)
	case answer.Code() == "not_saved", answer.Code() == "timeout":
		r.inForce = answer.Code() == "not_saved"
		c.fixture.counters.count("answered " + answer.Code())
		c.lost = append(c.lost, r)
	default:
		c.refused(r, answer)
	}
	return true
}

// acknowledged records what the answer promises.
func (c *client) acknowledged(r *request, answer support.Answer) {
	c.fixture.counters.count("acknowledged " + string(r.kind))
	if r.key != "" {
		c.kept = &kept{r, answer}
	}
	if r.kind != create {
		*r.session = r.session.after(r)
		c.forgetEnded()
		return
	}
	var view sessionView
	if err := json.Unmarshal([]byte(answer.Body), &view); err != nil {
		c.fixture.fault("%s was answered %s", r, answer.Body)
		return
	}
	c.enter(r, sold(r, view.ID))
	c.compare(r.session, view, r.at)
}

// enter records the session that the request has created.
func (c *client) enter(r *request, s session) {
	r.session = &s
	c.sessions[s.id] = r.session
	if r.quiet {
		c.quiet = r.session
	} else {
		c.current = r.session
	}
	if s.phase == waiting && wired(s.lane) && (r.quiet || c.chance(50)) {
		c.fixture.hardware.admit(s.id)
	}
	c.forgetEnded()
}

// refused checks the reason of a refusal. Every request was valid when it was sent, so few reasons are right.
func (c *client) refused(r *request, answer support.Answer) {
	c.fixture.counters.count("refused " + answer.Code())
	switch answer.Code() {
	case "lane_occupied":
		if r.kind == create || r.kind == move {
			return
		}
	case "store_unavailable", "overloaded", "not_owner":
		return
	case "session_ended":
		if r.session != nil && r.session.phase == ended {
			return // while the request waited to be repeated
		}
		if r.session != nil {
			c.missing(r.session, r.at)
			return
		}
	case "no_time_left":
		if r.kind == modify && r.session.timeLeft(r.at).lo+time.Duration(r.minutes)*time.Minute <= tolerance {
			return // time ran while the request waited to be repeated
		}
	}
	c.fixture.fault("%s was refused: %d %s", r, answer.Status, answer.Body)
}

// forgetEnded lets the client sell again when its session has ended.
func (c *client) forgetEnded() {
	if c.current != nil && c.current.phase == ended {
		c.current = nil
	}
	if c.quiet != nil && c.quiet.phase == ended {
		c.quiet = nil
	}
}

// unanswered is the lost request of the session. nil: its state is known.
func (c *client) unanswered(s *session) *request {
	for _, r := range c.lost {
		if r.session == s {
			return r
		}
	}
	return nil
}

// forgetForce takes in a new gateway: what was in force and not saved may be lost with the old one.
func (c *client) forgetForce() {
	for _, r := range c.lost {
		r.inForce = false
	}
}

func (c *client) chance(percent int) bool { return c.rng.IntN(100) < percent }

// name is a new name for a request: a customer or an idempotency key.
func (c *client) name(prefix string) string {
	c.requests++
	return fmt.Sprintf("%s-%d-%d-%d", prefix, c.fixture.seed, c.number, c.requests)
}
