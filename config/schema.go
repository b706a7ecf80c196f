package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// setting is one key of a section, named by the yaml tag of its struct field.
type setting struct {
	key   string
	field int
	kind  reflect.Type // of a pointer its element
}

// sections holds the settings of every struct of the configuration, in the struct's order.
var sections = map[reflect.Type][]setting{}

// fileKey returns the key that names a file with the setting's secret, or "" for a setting that holds none.
func (s setting) fileKey() string {
	if !hasFile(s.kind) {
		return ""
	}
	return s.key + fileEnding
}

// variables holds the way to every scalar by the name of its environment variable, without the prefix and
// with # for each index of a list: RANGES_#_LANES_#_LINK_KEY. Whole names are looked up, as keys contain
// underscores too.
var variables = map[string][]step{}

// fileVariables holds the way to every secret, and to every list of secrets, by the name of the variable that
// names its file: RANGES_#_TOKENS_FILE.
var fileVariables = map[string][]step{}

// step leads from a value to one inside it: the index of a struct's field, or eachItem for an item of a list.
type step int

const eachItem step = -1

func init() { register(reflect.TypeFor[Config](), "", nil) }

// register walks the types and fills sections, variables and fileVariables.
func register(t reflect.Type, name string, steps []step) {
	if hasFile(t) && !strings.HasSuffix(name, "_#") {
		fileVariables[name[len("_"):]+strings.ToUpper(fileEnding)] = steps
	}
	switch t.Kind() {
	case reflect.Pointer:
		register(t.Elem(), name, steps)
	case reflect.Slice:
		register(t.Elem(), name+"_#", append(slices.Clip(steps), eachItem))
	case reflect.Struct:
		if t == tokenKind {
			variables[name[len("_"):]] = append(slices.Clip(steps), tokenText)
		}
		sections[t] = settings(t)
		for _, s := range sections[t] {
			register(s.kind, name+"_"+strings.ToUpper(s.key), append(slices.Clip(steps), step(s.field)))
		}
	case reflect.Map: // a date is no part of a variable's name: only the file has these
	default:
		variables[name[len("_"):]] = steps
	}
}

func settings(t reflect.Type) []setting {
	var list []setting
	for i := range t.NumField() {
		field := t.Field(i)
		s := setting{field: i, kind: field.Type}
		s.key, _, _ = strings.Cut(field.Tag.Get("yaml"), ",")
		if s.kind.Kind() == reflect.Pointer {
			s.kind = s.kind.Elem()
		}
		list = append(list, s)
	}
	return list
}

var (
	idKind       = reflect.TypeFor[uuid.UUID]()
	durationKind = reflect.TypeFor[time.Duration]()
	limitKind    = reflect.TypeFor[Limit]()
	shareKind    = reflect.TypeFor[Share]()
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
	wantsShare    = "wants a number from 0 to 1, such as 0.01"
)

// setScalar parses the text of a setting into the target: a string, a bool, an int, a time.Duration, a Share
// or a uuid.UUID. Durations and numbers must be more than 0, as a 0 in the structs means that the setting was left
// out. Only a Limit and a Share may be 0.
func setScalar(target reflect.Value, text string) (problem string) {
	switch target.Type() {
	case idKind:
		id, ok := canonical(text)
		if !ok {
			return wantsID
		}
		target.Set(reflect.ValueOf(id))
		return ""
	case durationKind:
		d, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return wantsDuration
		case d <= 0:
			return wantsPositive
		}
		target.SetInt(int64(d))
		return ""
	case shareKind:
		share, err := strconv.ParseFloat(text, 64)
		if err != nil || !(share >= 0 && share <= 1) { // which is no number either
			return wantsShare
		}
		target.SetFloat(share)
		return ""
	}
	switch target.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(text)
		limit := target.Type() == limitKind
		switch {
		case err != nil:
			return wantsNumber
		case limit && n < 0:
			return wantsLimit
		case !limit && n <= 0:
			return wantsPositive
		}
		target.SetInt(int64(n))
	case reflect.Bool:
		switch text {
		case "true", "True", "TRUE":
			target.SetBool(true)
		case "false", "False", "FALSE":
			target.SetBool(false)
		default:
			return wantsFlag
		}
	default:
		if !utf8.ValidString(text) {
			return wantsText + " in UTF-8"
		}
		target.SetString(text)
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
