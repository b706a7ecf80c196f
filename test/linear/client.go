package linear

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"rangegate/test/support"
)

// Client makes requests until their outcome is definite, and records what it was answered.
type Client struct {
	Number int
	Now    func() time.Duration // on the clock of the histories
	Pause  func() time.Duration // before the next attempt
	// Fault is called with what may not be.
	Fault func(format string, about ...any)
}

// Answer is what one attempt was answered.
type Answer struct {
	support.Answer
	Epoch uint64 // of the owner that has answered; 0 if none has
	// Outdated: the owner is not the newest one that was known before the request began. Since then the range
	// has had another owner, and what this one shows may be of before.
	Outdated bool
}

// ErrNotSent means that an attempt reached nobody.
var ErrNotSent = errors.New("no node answers")

// Command makes a request until its outcome is definite, with the same key in each attempt, and records it.
// It gives up when ctx ends. Its reply is that of the last attempt.
func (c Client) Command(ctx context.Context, h *History, asked Call, send func() (Answer, error)) Reply {
	began, uncertain := c.Now(), attempts{}
	for {
		sent := c.Now()
		got, err := send()
		reply := interpret(got.Answer, err)
		switch {
		case reply.Code == "not_sent":
		case reply.Outcome == InForce, reply.Outcome == Maybe:
			uncertain.add(got.Epoch, sent)
		case reply.Outcome == Done:
			if got.Outdated && got.Header.Get("idempotency-replayed") == "" {
				c.Fault("%+v was acknowledged in epoch %d, after a newer one was known", asked, got.Epoch)
			}
			uncertain.record(c, h, asked, c.Now())
			h.Record(c.Number, asked, reply, Span{began, c.Now()})
			return reply
		case reply.Outcome == Refused && transient[reply.Code]:
		default:
			if got.Outdated {
				c.Fault("%+v was refused in epoch %d, after a newer one was known: %+v", asked, got.Epoch, reply)
			}
			if len(uncertain) == 0 {
				h.Record(c.Number, asked, reply, Span{sent, c.Now()})
				return reply
			}
			reply.Outcome = Maybe // an earlier attempt may have happened, or be under way
			uncertain.record(c, h, asked, Forever)
			h.Record(c.Number, asked, reply, Span{began, Forever})
			return reply
		}
		if !support.Wait(ctx, c.Pause()) {
			if len(uncertain) > 0 {
				reply.Outcome = Maybe
				uncertain.record(c, h, asked, Forever)
				h.Record(c.Number, asked, reply, Span{began, Forever})
			}
			return reply
		}
	}
}

// attempts are those of a request whose answer was lost, or which was in force and not saved when it was
// answered: the first one for each epoch that was answered, 0 where no owner has.
type attempts map[uint64]time.Duration

func (a attempts) add(epoch uint64, sent time.Duration) {
	if _, found := a[epoch]; !found {
		a[epoch] = sent
	}
}

// record records that each of them may have been in force on the lane for a while, until end at the latest,
// and may have been lost with its owner. What closes nothing is in force once it is saved, and not before.
func (a attempts) record(c Client, h *History, asked Call, end time.Duration) {
	if asked.Kind != "pause" && asked.Kind != "stop" {
		return
	}
	for _, sent := range a {
		h.Record(c.Number, asked, Reply{Outcome: InForce}, Span{sent, end})
	}
}

// transient are the refusals that end by themselves. Nothing was changed, and the request is made again.
var transient = map[string]bool{
	"store_unavailable": true, "starting": true, "overloaded": true, "not_owner": true,
	"lane_not_usable": true,
}

// Request returns how a POST asks for it, but its Idempotency-Key.
func (asked Call) Request(laneID func(number int) string, group string) (path, body string) {
	switch asked.Kind {
	case "create":
		body = fmt.Sprintf(
			`"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":%d,"enable_purchasing":true,"grace":%t,"auto_start":%t`,
			laneID(asked.Lane), group, asked.Minutes, asked.Grace, !asked.Waiting)
		if asked.OpenEnd > 0 {
			body += fmt.Sprintf(`,"open_end":{"up_to":%d}`, asked.OpenEnd)
		}
		if asked.Reservation != "" {
			body += fmt.Sprintf(`,"reservation":%q`, asked.Reservation)
		}
		return "/sessions", "{" + body + "}"
	case "modify":
		return fmt.Sprintf("/sessions/%s/modify?time=%d", asked.Session, asked.Minutes), ""
	case "move":
		return "/sessions/" + asked.Session + "/move?lane_id=" + laneID(asked.Lane), ""
	}
	return "/sessions/" + asked.Session + "/" + asked.Kind, ""
}

// Batch returns how a POST asks for it alone in an atomic batch, but its Idempotency-Key. Its answer is to be read by
// Unbatched.
func (asked Call) Batch(laneID func(number int) string, group string) (path, body string) {
	fields := fmt.Sprintf(`"session_id":%q`, asked.Session)
	switch asked.Kind {
	case "create":
		_, sale := asked.Request(laneID, group)
		fields = sale[1 : len(sale)-1] // without its braces
	case "modify":
		fields += fmt.Sprintf(`,"time":%d`, asked.Minutes)
	case "move":
		fields += fmt.Sprintf(`,"lane_id":%q`, laneID(asked.Lane))
	}
	return "/sessions/batch", fmt.Sprintf(`{"atomic":true,"operations":[{"op":%q,%s}]}`, asked.Kind, fields)
}

// Unbatched returns the answer to the operation that a batch has alone, as its own request would have been answered.
func Unbatched(answer support.Answer) support.Answer {
	var batch struct {
		Results []struct {
			Status  int             `json:"status"`
			Code    string          `json:"code"`
			Session json.RawMessage `json:"session"`
		} `json:"results"`
	}
	if json.Unmarshal([]byte(answer.Body), &batch) != nil || len(batch.Results) != 1 {
		return answer
	}
	result := batch.Results[0]
	answer.Status, answer.Body = result.Status, string(result.Session)
	if result.Code != "" {
		answer.Body = fmt.Sprintf(`{"code":%q}`, result.Code)
	}
	return answer
}

// OwnerEpoch is the epoch of the owner that has answered, 0 if none has.
func OwnerEpoch(answer support.Answer) (epoch uint64, err error) {
	text := answer.Header.Get("range-epoch")
	if text == "" {
		if answer.Status/100 == 2 {
			return 0, fmt.Errorf("%d, without the header range-epoch", answer.Status)
		}
		return 0, nil
	}
	if epoch, err = strconv.ParseUint(text, 10, 64); err != nil {
		return 0, fmt.Errorf("the header range-epoch is no number: %q", text)
	}
	return epoch, nil
}

// interpret says what an answer tells of the outcome.
func interpret(answer support.Answer, err error) Reply {
	switch code := answer.Code(); {
	case errors.Is(err, ErrNotSent):
		return Reply{Outcome: Maybe, Code: "not_sent"}
	case err != nil:
		return Reply{Outcome: Maybe, Code: "no_answer"}
	case answer.Status/100 == 2:
		var created struct {
			ID string `json:"session_id"`
		}
		_ = json.Unmarshal([]byte(answer.Body), &created) // only a create has a body
		return Reply{Outcome: Done, State: State{Session: created.ID}}
	case code == "timeout" || answer.Status == http.StatusGatewayTimeout || code == "internal" || code == "":
		return Reply{Outcome: Maybe, Code: fmt.Sprint(answer.Status, " ", code)}
	case code == "not_saved":
		return Reply{Outcome: InForce, Code: code}
	default: // WIRE.md: nothing was changed
		return Reply{Outcome: Refused, Code: code}
	}
}
