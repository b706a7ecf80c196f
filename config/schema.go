package config

import (
	"reflect"
	"strings"
)

// setting is one key of a section, named by the yaml tag of its struct field.
type setting struct {
	key    string
	field  int
	kind   reflect.Type // of a pointer its element
	preset bool         // the value is true when it is left out
}

// sections holds the settings of every struct of the configuration, in the struct's order.
var sections = map[reflect.Type][]setting{}

// variables holds the way to every scalar by the name of its environment variable, without the prefix and with # for each
// index of a list: RANGES_#_LANES_#_LINK_KEY. Whole names are looked up, as keys contain underscores too.
var variables = map[string][]step{}

// step leads from a value to one inside it: the index of a struct's field, or eachItem for an item of a list.
type step int

const eachItem step = -1

func init() { register(reflect.TypeFor[Config](), nil, nil) }

// register walks the types and fills sections and variables.
func register(t reflect.Type, name []string, steps []step) {
	switch t.Kind() {
	case reflect.Pointer:
		register(t.Elem(), name, steps)
	case reflect.Slice:
		register(t.Elem(), appendCopy(name, "#"), appendCopy(steps, eachItem))
	case reflect.Struct:
		sections[t] = settings(t)
		for _, s := range sections[t] {
			register(s.kind, appendCopy(name, strings.ToUpper(s.key)), appendCopy(steps, step(s.field)))
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

// appendCopy returns a copy of the list with one more item.
func appendCopy[T any](list []T, item T) []T {
	return append(list[:len(list):len(list)], item)
}
