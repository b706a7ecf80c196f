package integrator

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// Answer is how an event is answered.
type Answer string

// The answers.
const (
	Accept   Answer = "accept"   // 200 for a purchaseRequest, 204 for every other event
	Refuse   Answer = "refuse"   // 409 with a message for the customer
	Hang     Answer = "hang"     // none: the connection is held until somebody gives up
	Error    Answer = "error"    // 500
	Rejected Answer = "rejected" // 401 or 400, which nobody chooses: it is not signed, or no event
)

// Next is how the next event is answered, of whatever kind it is.
type Next struct {
	Answer      Answer `json:"answer"`
	UserMessage string `json:"user_message"` // for the customer, with Refuse only
	Once        bool   `json:"once"`         // after one event everything is accepted again
}

var byDefault = Next{Answer: Accept}

func (n Next) status(event string) int {
	switch {
	case n.Answer == Refuse:
		return http.StatusConflict
	case n.Answer == Error:
		return http.StatusInternalServerError
	case n.Answer == Hang:
		return 0
	case event == purchaseRequest:
		return http.StatusOK
	}
	return http.StatusNoContent
}

const (
	maxChoice  = 8 << 10 // bytes of a body
	maxMessage = 500     // characters
)

// choose takes a Next.
func (in *Integrator) choose(w http.ResponseWriter, r *http.Request) {
	var next Next
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxChoice)).Decode(&next); err != nil {
		fault(w, http.StatusBadRequest, `the body must be {"answer": …, "user_message": …, "once": …}`)
		return
	}
	switch next.Answer {
	case Accept:
		next = byDefault // once or until changed is the same
	case Hang, Error:
		next.UserMessage = ""
	case Refuse:
		if utf8.RuneCountInString(next.UserMessage) > maxMessage {
			fault(w, http.StatusBadRequest, "user_message must have at most 500 characters")
			return
		}
	default:
		fault(w, http.StatusBadRequest, "answer must be accept, refuse, hang or error")
		return
	}
	in.desk.choose(next)
	answer(w, http.StatusOK, next)
}
