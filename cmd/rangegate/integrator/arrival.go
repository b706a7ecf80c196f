package integrator

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Arrival is a request to the webhook, and how it was answered. What came from outside is cut to a length that lets the
// desk keep many.
type Arrival struct {
	Number    int       `json:"number"` // from 1, in order of arrival
	At        time.Time `json:"at"`
	Event     string    `json:"event"` // empty when the body is no event
	Session   string    `json:"session_id"`
	Lane      string    `json:"lane_id"`
	Items     []Item    `json:"items"` // of a purchaseRequest, else []
	Range     string    `json:"range_id"`
	WebhookID string    `json:"webhook_id"`
	Signature Signature `json:"signature"`
	Answer    Answer    `json:"answer"`
	Status    int       `json:"status"` // 0 when it is not answered at all
	Reason    string    `json:"reason"` // why it was rejected, else empty
}

// Item is what a customer asks to buy, and how many of it.
type Item struct {
	ID  string `json:"id"`
	Qty int    `json:"qty"`
}

// Signature is what became of checking it.
type Signature string

// The outcomes of checking a signature.
const (
	Right     Signature = "right"
	Wrong     Signature = "wrong"
	Missing   Signature = "missing"
	Untimely  Signature = "untimely"  // its timestamp is more than five minutes off: it may be a replay
	Unchecked Signature = "unchecked" // there are no secrets to check it with
)

const (
	longest   = 255 // bytes of a text that is kept
	mostItems = 50
)

// read makes an arrival of a request. It is rejected when it is not signed as it should be, or is no event.
func (in *Integrator) read(body []byte, header http.Header) Arrival {
	a := Arrival{
		At: in.settings.Now().UTC(), Items: []Item{}, Range: cut(header.Get("range-id")),
		WebhookID: cut(header.Get("webhook-id")), Signature: in.check(body, header),
	}
	var event struct {
		Event   string `json:"event"`
		Session string `json:"session_id"`
		Lane    string `json:"lane_id"`
		Items   []Item `json:"items"`
	}
	err := json.Unmarshal(body, &event)
	if err == nil {
		a.Event, a.Session, a.Lane = cut(event.Event), cut(event.Session), cut(event.Lane)
		for _, item := range event.Items[:min(len(event.Items), mostItems)] {
			a.Items = append(a.Items, Item{cut(item.ID), item.Qty})
		}
	}
	switch {
	case a.Signature != Right && a.Signature != Unchecked:
		a.Answer, a.Status, a.Reason = Rejected, http.StatusUnauthorized, reasons[a.Signature]
	case err != nil || a.Event == "":
		a.Answer, a.Status, a.Reason = Rejected, http.StatusBadRequest, "the body is not an event in JSON"
	}
	return a
}

var reasons = map[Signature]string{
	Wrong:    "the signature is not of any secret that is known here",
	Missing:  "a header is missing: webhook-id, webhook-timestamp or webhook-signature",
	Untimely: "the timestamp is more than five minutes off",
}

func (in *Integrator) check(body []byte, header http.Header) Signature {
	if len(in.keys) == 0 {
		return Unchecked
	}
	outcome := Wrong
	for _, key := range in.keys {
		switch err := key.Verify(body, header); {
		case err == nil:
			return Right
		case errors.Is(err, standardwebhooks.ErrRequiredHeaders):
			outcome = Missing
		case errors.Is(err, standardwebhooks.ErrMessageTooOld), errors.Is(err, standardwebhooks.ErrMessageTooNew):
			outcome = Untimely
		}
	}
	return outcome
}

// cut keeps the beginning, as whole characters.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}
