package config

import (
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

var (
	idKind       = reflect.TypeFor[uuid.UUID]()
	durationKind = reflect.TypeFor[time.Duration]()
	limitKind    = reflect.TypeFor[Limit]()
)

// The problems of unreadable values. They never quote the value, which may be a secret.
const (
	wantsText     = "wants text"
	wantsFlag     = "wants true or false"
	wantsNumber   = "wants a whole number"
	wantsDuration = "wants a duration with its unit, such as 10s or 720h"
	wantsID       = "wants a UUID such as 11111111-1111-4111-8111-111111111111"
	wantsPositive = "must be more than 0"
	wantsLimit    = "must be 0 (no limit) or more"
)

// scalar parses the text of a setting: a string, a bool, an int, a time.Duration or a uuid.UUID. Durations and numbers
// must be more than 0, as a 0 in the structs means that the setting was left out. Only a Limit may be 0.
func scalar(kind reflect.Type, text string) (value any, problem string) {
	switch {
	case kind == idKind:
		id, ok := canonical(text)
		if !ok {
			return nil, wantsID
		}
		return id, ""
	case kind == durationKind:
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, wantsDuration
		}
		return d, positive(d)
	case kind.Kind() == reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, wantsNumber
		}
		if kind == limitKind {
			if n < 0 {
				return n, wantsLimit
			}
			return n, ""
		}
		return n, positive(n)
	case kind.Kind() == reflect.Bool:
		switch text {
		case "true", "True", "TRUE":
			return true, ""
		case "false", "False", "FALSE":
			return false, ""
		}
		return nil, wantsFlag
	default:
		if !utf8.ValidString(text) {
			return nil, wantsText + " in UTF-8"
		}
		return text, ""
	}
}

func positive[T int | time.Duration](n T) (problem string) {
	if n <= 0 {
		return wantsPositive
	}
	return ""
}

// canonical parses a UUID of 36 characters. uuid.Parse accepts four more spellings.
func canonical(text string) (id uuid.UUID, ok bool) {
	if len(text) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}
