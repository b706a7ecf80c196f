package catalog

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// keys is a JSON object. Its keys are case-sensitive; the last one of two equal keys counts; null counts as missing. The
// methods named after a type return the value and the problem with it, or "".
type keys map[string]json.RawMessage

// parseKeys parses one element of the array, so that an invalid one does not affect the others.
func parseKeys(element json.RawMessage) (keys, string) {
	if !utf8.Valid(element) {
		return nil, "is not UTF-8"
	}
	var found keys
	if err := json.Unmarshal(element, &found); err != nil || found == nil {
		return nil, "is not an object"
	}
	return found, ""
}

func (k keys) has(name string) bool { return k[name] != nil && string(k[name]) != "null" }

// text returns a string that is not blank.
func (k keys) text(name string) (string, string) {
	if !k.has(name) {
		return "", name + " is missing"
	}
	var text string
	if err := json.Unmarshal(k[name], &text); err != nil {
		return "", name + " must be a string"
	}
	if blank(text) {
		return "", name + " is empty"
	}
	return text, ""
}

// integer returns an integer of at least 1. 8.0 and "8" are none.
func (k keys) integer(name string) (int, string) {
	if !k.has(name) {
		return 0, name + " is missing"
	}
	n, err := strconv.Atoi(string(k[name]))
	if err != nil || n < 1 {
		return 0, name + " must be an integer of at least 1"
	}
	return n, ""
}

// price returns a number as it is written.
func (k keys) price(name string) (string, string) {
	if !k.has(name) {
		return "", name + " is missing"
	}
	written := string(k[name])
	if first := written[0]; first != '-' && (first < '0' || first > '9') {
		return "", name + " must be a number"
	}
	if problem := priceProblem(written); problem != "" {
		return "", problem
	}
	return written, ""
}

// picture returns an address, or "" without one that can be shown.
func (k keys) picture(name string) (string, string) {
	if !k.has(name) {
		return "", ""
	}
	var address string
	if err := json.Unmarshal(k[name], &address); err != nil {
		return "", name + " must be a string"
	}
	if blank(address) {
		return "", ""
	}
	if problem := pictureProblem(address); problem != "" {
		return "", problem
	}
	return address, ""
}
