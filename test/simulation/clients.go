package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/test/linear"
	"rangegate/test/support"
)

// client is a POS: it makes one request at a time, each attempt at a machine of its choice.
type client struct {
	*world
	number int
	keys   int
}

// ask makes a request about a range to a machine.
func (c *client) ask(r *rangeOf, method, path, body string, headers ...string) (got linear.Answer, err error) {
	newest := r.known()
	m := c.machines[c.draw(len(c.machines))]
	at := support.Client{
		API: "http://" + m.host + ":8080" + support.V2, Range: r.id.String(),
		Token: r.token, HTTP: c.http,
	}
	if got.Answer, err = at.Do(method, path, body, headers...); err != nil {
		return got, err
	}
	if got.Epoch, err = linear.OwnerEpoch(got.Answer); err != nil {
		c.fail("%s %s: %v", method, path, err)
	}
	r.see(got.Epoch)
	got.Outdated = got.Epoch < newest
	return got, nil
}

// known is the highest epoch that an answer has shown.
func (r *rangeOf) known() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}

func (r *rangeOf) see(epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = max(r.newest, epoch)
}

// Where a request has no history, it is anybody's: the client gives up soon. Or the client is alone on the lane, and
// wants to know.
const (
	anybodys = -1
	alone    = -2
)

// command makes a request until its outcome is definite. Those of no history are made once.
func (c *client) command(ctx context.Context, r *rangeOf, history int, asked linear.Call) linear.Reply {
	key := c.newKey()
	laneID := func(n int) string { return r.lanes[n].String() }
	path, body := asked.Request(laneID, r.group)
	if c.draw(4) == 0 {
		path, body = asked.Batch(laneID, r.group)
	}
	send := func() (linear.Answer, error) {
		got, err := c.ask(r, http.MethodPost, path, body, "Idempotency-Key", key)
		got.Answer = linear.Unbatched(got.Answer)
		c.trace("client %d: range %d: %+v: %d %s %v", c.number, r.number, asked, got.Status, got.Code(), err)
		return got, err
	}
	h := new(linear.History)
	if history >= 0 {
		h = &r.histories[history]
	}
	if history == anybodys {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 3*time.Second) // then it gives up, or has been answered
		defer cancel()
	}
	began := time.Now()
	got := c.linear(r).Command(ctx, h, asked, send)
	if got.Code == "lane_reserved" {
		c.judge.keptFor(r.id, r.lanes[asked.Lane], began)
	}
	if asked.Kind == "create" && got.Outcome == linear.Done {
		r.setSold(history, asked.Lane, got.State.Session)
	}
	return got
}

// insist makes a request that is about no one lane until its outcome is definite, and returns the last answer.
func (c *client) insist(ctx context.Context, r *rangeOf, method, path, body string) (got linear.Answer,
	reply linear.Reply,
) {
	key := c.newKey()
	reply = c.linear(r).Command(ctx, new(linear.History), linear.Call{Kind: method + " " + path},
		func() (linear.Answer, error) {
			var err error
			got, err = c.ask(r, method, path, body, "Idempotency-Key", key)
			c.trace("client %d: range %d: %s %s %s: %d %s %v", c.number, r.number, method, path, body,
				got.Status, got.Body, err)
			return got, err
		})
	return got, reply
}

func (c *client) newKey() string {
	c.keys++
	return fmt.Sprintf("key-%d-%d", c.number, c.keys)
}

// linear makes requests of a range until their outcome is definite.
func (c *client) linear(r *rangeOf) linear.Client {
	return linear.Client{
		Number: c.number, Now: func() time.Duration { return time.Since(c.begun) },
		Pause: func() time.Duration { return 20*time.Millisecond + c.upTo(200*time.Millisecond) },
		Fault: func(format string, about ...any) {
			c.fail("range %d: "+format, append([]any{r.number}, about...)...)
		},
	}
}

func nameOf(history, lane int) string {
	if history >= 0 {
		return fmt.Sprint("history ", history)
	}
	return fmt.Sprint("lane ", lane)
}

func (r *rangeOf) setSold(history, lane int, session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sold[nameOf(history, lane)] = session
}

func (r *rangeOf) soldOn(history, lane int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sold[nameOf(history, lane)]
}

// work makes requests until ctx ends.
func (c *client) work(ctx context.Context) {
	for sleep(ctx, 50*time.Millisecond+c.upTo(400*time.Millisecond)) == nil {
		r := c.ranges[c.draw(len(c.ranges))]
		history, lane := anybodys, wildFrom+c.draw(relayFrom-wildFrom)
		if c.draw(3) > 0 {
			history = c.draw(len(r.histories))
			lane = history
		}
		session, minutes := r.soldOn(history, lane), 60+c.draw(60)
		if history < 0 {
			minutes = 1 + c.draw(2) // it ends by itself
		}
		switch dice := c.draw(100); {
		case dice < 30 && session != "":
			c.read(r, history)
		case history == 1 && (dice < 45 || dice >= 93): // its session moves between two lanes, and stays to the end
			c.read(r, history)
		case session == "" || dice < 45:
			c.command(ctx, r, history, linear.Call{
				Kind: "create", Lane: lane, Minutes: minutes,
				Waiting: c.draw(4) == 0, Grace: c.draw(2) == 0,
			})
		case dice < 62:
			c.command(ctx, r, history, linear.Call{Kind: "modify", Session: session, Minutes: 1 + c.draw(3)})
		case dice < 66:
			c.command(ctx, r, history, linear.Call{Kind: "start", Session: session})
		case dice < 76:
			c.command(ctx, r, history, linear.Call{Kind: "pause", Session: session})
		case dice < 86:
			c.command(ctx, r, history, linear.Call{Kind: "resume", Session: session})
		case dice < 93 && history != 0:
			from := moveFrom
			if history < 0 {
				from = wildFrom
			}
			c.command(ctx, r, history, linear.Call{Kind: "move", Session: session, Lane: from + c.draw(2)})
		case history < 0 && dice < 97:
			c.changePlaces(r, session, r.soldOn(history, wildFrom+c.draw(relayFrom-wildFrom)))
		default:
			c.command(ctx, r, history, linear.Call{Kind: "stop", Session: session})
		}
	}
}

// changePlaces has two sessions change their lanes, if they are on the lanes where they were sold, and minutes go from
// one to the other: as a whole or not at all. It asks once.
func (c *client) changePlaces(r *rangeOf, first, second string) {
	at := map[string]uuid.UUID{}
	for lane := wildFrom; lane < relayFrom; lane++ {
		at[r.soldOn(anybodys, lane)] = r.lanes[lane]
	}
	if first == second || first == "" || second == "" {
		return
	}
	body := fmt.Sprintf(
		`{"atomic":%t,"operations":[{"op":"move","session_id":%q,"lane_id":%q},{"op":"move","session_id":%q,"lane_id":%q},`+
			`{"op":"modify","session_id":%q,"time":1},{"op":"modify","session_id":%q,"time":1}]}`,
		c.draw(2) == 0, first, at[second], second, at[first], first, second)
	got, err := c.ask(r, http.MethodPost, "/sessions/batch", body)
	c.trace("client %d: range %d: %s and %s change places: %d %s %v", c.number, r.number, first, second,
		got.Status, got.Body, err)
	var batch struct {
		Results []struct{ Status int }
	}
	if err == nil && got.Status == http.StatusOK && json.Unmarshal([]byte(got.Body), &batch) == nil &&
		len(batch.Results) != 4 {
		c.fail("a batch of four has %d results", len(batch.Results))
	}
}

// read reads what is on the lanes of a history, and records it unless it is outdated.
func (c *client) read(r *rangeOf, history int) {
	if history < 0 {
		return
	}
	sent := time.Since(c.begun)
	var sessions []support.Session
	got, err := c.ask(r, http.MethodGet, "/sessions", "")
	if err != nil || got.Outdated || got.Status != http.StatusOK || json.Unmarshal([]byte(got.Body), &sessions) != nil {
		return
	}
	seen := linear.State{}
	for _, s := range sessions {
		for lane, id := range r.lanes[:wildFrom] {
			if s.Lane == id.String() && (lane >= moveFrom) == (history == 1) {
				seen = linear.State{Session: s.ID, Minutes: s.Minutes, Lane: lane}
			}
		}
	}
	r.histories[history].Record(c.number, linear.Call{Kind: "read"}, linear.Reply{Outcome: linear.Done, State: seen},
		linear.Span{Lo: sent, Hi: time.Since(c.begun)})
}

// staff set and lift holds over the last lanes of a range, one after the other, until ctx ends. Each is asked
// for until it is answered.
func (w *world) staff(ctx context.Context, r *rangeOf) {
	c := &client{world: w, number: 100 + r.number}
	on := map[lanes.Scope]bool{}
	scopes := []lanes.Scope{
		{Kind: lanes.OverBay, ID: r.bay},
		{Kind: lanes.OverLane, ID: r.lanes[wildFrom]},
		{Kind: lanes.OverLane, ID: r.lanes[wildFrom+1]},
	}
	for sleep(ctx, time.Second+w.upTo(8*time.Second)) == nil {
		scope := scopes[w.draw(len(scopes))]
		on[scope] = !on[scope]
		if !c.setHold(ctx, r, scope, on[scope]) {
			return
		}
	}
}

// releaseAll lifts every hold over a range.
func (w *world) releaseAll(ctx context.Context, r *rangeOf) {
	c := &client{world: w, number: 100 + r.number}
	for _, lane := range r.lanes[wildFrom:relayFrom] {
		c.setHold(ctx, r, lanes.Scope{Kind: lanes.OverLane, ID: lane}, false)
	}
	c.setHold(ctx, r, lanes.Scope{Kind: lanes.OverBay, ID: r.bay}, false)
}

// setHold asks until it is answered that the change is saved; false: ctx has ended. What is in force and not
// saved would be lost with its gateway. A release names the press that staff have seen. One that was pressed since,
// by a request of before that came late, is looked at again.
func (c *client) setHold(ctx context.Context, r *rangeOf, scope lanes.Scope, on bool) bool {
	if on {
		c.judge.wished(r, scope, askedFor)
	} else {
		c.judge.wished(r, scope, 0)
	}
	path, press := "/ranges/"+r.id.String()+"/holds", "null"
	for {
		m := c.machines[c.draw(len(c.machines))]
		at := support.Client{API: "http://" + m.host + ":9090", HTTP: c.http}
		if !on {
			if shown, err := at.Do(http.MethodGet, path, "", "Authorization", "Bearer operator"); err == nil &&
				shown.Status == http.StatusOK {
				press = pressShown(shown, scope)
			}
		}
		body := fmt.Sprintf(`{"scope":%q,"id":%q,"on":%v,"press":%s}`, scope.Kind, scope.ID, on, press)
		answer, err := at.Do(http.MethodPut, path, body, "Authorization", "Bearer operator", "Content-Type",
			"application/json")
		c.trace("staff of range %d: hold over %s %s %v: %d %s %v", r.number, scope.Kind, suffix(scope.ID), on,
			answer.Status, answer.Body, err)
		switch {
		case err == nil && answer.Status == http.StatusOK && c.isSaved(answer, scope, on):
			if on {
				c.judge.wished(r, scope, granted)
			}
			return true
		case err == nil && answer.Status/100 == 4 && answer.Status != http.StatusTooManyRequests &&
			answer.Code() != "ceasefire":
			c.fail("a hold was refused: %d %s", answer.Status, answer.Body)
			return false
		case sleep(ctx, 100*time.Millisecond+c.upTo(200*time.Millisecond)) != nil:
			c.judge.wished(r, scope, 0)
			return false
		}
	}
}

// pressShown is the newest press of the hold over the scope in JSON; null if there is none.
func pressShown(shown support.Answer, scope lanes.Scope) string {
	var holds []struct {
		lanes.Scope
		Press *uuid.UUID
	}
	if json.Unmarshal([]byte(shown.Body), &holds) == nil {
		for _, hold := range holds {
			if hold.Scope == scope && hold.Press != nil {
				return strconv.Quote(hold.Press.String())
			}
		}
	}
	return "null"
}

// isSaved checks that a lane that has confirmed a hold is locked, and reports whether the hold outlives its
// gateway. A node that does not know yet that the range is another's may say what was (docs/ownership.md).
func (c *client) isSaved(answer support.Answer, scope lanes.Scope, on bool) bool {
	var reached struct {
		Confirmed []uuid.UUID
		Saved     bool
	}
	if err := json.Unmarshal([]byte(answer.Body), &reached); err != nil {
		c.fail("the answer to a hold: %v: %s", err, answer.Body)
	}
	epoch, err := linear.OwnerEpoch(answer)
	if err != nil {
		c.fail("the answer to a hold: %v", err)
	}
	for _, lane := range reached.Confirmed {
		if on {
			c.judge.holdConfirmed(lane, scope, epoch)
		}
		// without a state since its power was cut it is locked
		if shown := c.controller(lane).Shown(); on && !shown.Hold && shown.Revision > 0 &&
			!c.judge.isOfBefore(epoch, lane) {
			c.fail("lane %s has confirmed a hold over %s, and is not locked: %+v", suffix(lane), scope.Kind, shown)
		}
	}
	return reached.Saved
}

// customers enter the lanes, call for help and buy, until ctx ends.
func (w *world) customers(ctx context.Context) {
	for sleep(ctx, 100*time.Millisecond+w.upTo(time.Second)) == nil {
		r := w.ranges[w.draw(len(w.ranges))]
		at := w.controller(r.lanes[wildFrom+w.draw(relayFrom-wildFrom)])
		switch w.draw(4) {
		case 0, 1:
			_ = at.Enter() // there may be none who waits
		case 2:
			_ = at.Help()
		default:
			_ = at.Buy(uuid.New(), lanes.Item{ID: lanes.TimeItem, Qty: 1})
		}
	}
}
