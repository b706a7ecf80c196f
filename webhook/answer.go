package webhook

import (
	"encoding/json"
	"strings"
	"unicode"

	"rangegate/lanes"
)

// longestText is how much is kept of a text of the integrator, in characters.
const longestText = 500

// answerOf reads what the integrator said to a purchaseRequest. What cannot be read, or has another shape, says
// nothing: whether it succeeded the status tells, not the body's success.
func answerOf(said []byte) lanes.Answer {
	var shape struct {
		Error       string `json:"error"`
		UserMessage string `json:"user_message"`
		Trace       string `json:"trace_id"`
	}
	if json.Unmarshal(said, &shape) != nil {
		return lanes.Answer{}
	}
	return lanes.Answer{UserMessage: legible(shape.UserMessage), Error: legible(shape.Error), Trace: legible(shape.Trace)}
}

// legible is a text of the integrator, fit for a lane's screen and a line of a log.
func legible(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case !unicode.IsControl(r):
			return r
		case unicode.IsSpace(r): // a line break parts words
			return ' '
		}
		return -1
	}, text)
	text = strings.TrimSpace(text)
	if runes := []rune(text); len(runes) > longestText {
		text = strings.TrimSpace(string(runes[:longestText]))
	}
	return text
}
