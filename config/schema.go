package config

import (
	"reflect"
	"strings"
)

// setting is one key of a section, as the struct's yaml tag names it.
type setting struct {
	key    string
	field  int
	kind   reflect.Type // a pointer's element: an optional section is a section
	preset bool         // a flag that is true when it is left out
}

// sections holds the settings of every struct of the tree, in the struct's order.
var sections = map[reflect.Type][]setting{}

// variables holds every scalar by the name the environment has for it, without the prefix and with # for each index of
// a list: RANGES_#_LANES_#_LINK_KEY. Whole names are looked up, so keys that contain underscores need no guessing.
var variables = map[string][]step{}

// step leads from a value to one inside it: a field of a section, or, at eachItem, an item of a list.
type step int

const eachItem step = -1

func init() { survey(reflect.TypeFor[Config](), nil, nil) }

// survey walks the types once and fills sections and variables.
func survey(t reflect.Type, name []string, steps []step) {
	switch t.Kind() {
	case reflect.Pointer:
		survey(t.Elem(), name, steps)
	case reflect.Slice:
		survey(t.Elem(), with(name, "#"), with(steps, eachItem))
	case reflect.Struct:
		sections[t] = settings(t)
		for _, s := range sections[t] {
			survey(s.kind, with(name, strings.ToUpper(s.key)), with(steps, step(s.field)))
		}
	default:
		variables[strings.Join(name, "_")] = steps
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
		s.preset = field.Tag.Get("default") == "true"
		list = append(list, s)
	}
	return list
}

// with is append that never shares memory with the list it was given.
func with[T any](list []T, item T) []T {
	return append(list[:len(list):len(list)], item)
}
