package catalog

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// keys is an object of JSON. Its keys are exact in case; of one given twice it has the last. null is as good as missing.
type keys map[string]json.RawMessage

// keysOf takes one element of the integrator's array apart: on its own, so that a broken one costs no other.
func keysOf(element json.RawMessage) (keys, string) {
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

// text is a string that says something. As of all that follow, the second answer is the problem with it.
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

// integer is an integer of at least 1. 8.0 is not one, nor is "8".
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

// price is a number, as it is written.
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

// picture is an address, or "" where there is none that could be shown.
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
