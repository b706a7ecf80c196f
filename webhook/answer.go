package webhook

import (
	"encoding/json"
	"strings"
	"unicode"

	"rangegate/lanes"
)

// longestText bounds a text of the integrator, in characters.
const longestText = 500

// parseAnswer reads the texts of an answer to a purchaseRequest. The status decides about the purchase, not the body.
func parseAnswer(body []byte) lanes.Answer {
	var shape struct {
		Error       string `json:"error"`
		UserMessage string `json:"user_message"`
		Trace       string `json:"trace_id"`
	}
	if json.Unmarshal(body, &shape) != nil {
		return lanes.Answer{}
	}
	return lanes.Answer{UserMessage: cleanText(shape.UserMessage), Error: cleanText(shape.Error), Trace: cleanText(shape.Trace)}
}

// cleanText makes a text of the integrator fit for a lane's screen and a line of a log: short, without control characters.
func cleanText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case !unicode.IsControl(r):
			return r
		case unicode.IsSpace(r): // a line break separates words
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
