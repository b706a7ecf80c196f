package config

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// prefix marks a variable as ours: RANGEGATE_HTTP_ADDRESS, RANGEGATE_RANGES_0_LANES_1_LINK_KEY.
const prefix = "RANGEGATE_"

// lay puts the variables of the environment over the configuration. One of ours that names no setting is a fault: a
// mistyped override would otherwise go unnoticed. An empty value empties a text.
func (c *Config) lay(environ []string, found *faults) {
	for _, v := range ours(environ) {
		at := path(prefix + v.name)
		pattern, indexes := generalize(v.name)
		steps, known := variables[pattern]
		if v.name == "STORE_BOLT" {
			found.add(at, "%s", boltGone)
			continue
		}
		if !known {
			found.add(at, "no such setting%s", hint(pattern, indexes))
			continue
		}
		target, problem := locate(reflect.ValueOf(c).Elem(), steps, indexes)
		if problem != "" {
			found.add(at, "%s", problem)
			continue
		}
		value, problem := scalar(target.Type(), v.value)
		if problem != "" {
			found.add(at, "%s", problem)
			continue
		}
		target.Set(reflect.ValueOf(value).Convert(target.Type()))
	}
}

type assignment struct{ name, value string }

// ours sorts short names first, so that TOKENS_2 comes before TOKENS_10 and a list grows in order.
func ours(environ []string) []assignment {
	var list []assignment
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if name, mine := strings.CutPrefix(name, prefix); mine {
			list = append(list, assignment{name, value})
		}
	}
	slices.SortStableFunc(list, func(a, b assignment) int {
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	return list
}

// generalize turns RANGES_0_LANES_12_NAME into RANGES_#_LANES_#_NAME and its indexes. A # that was in the name counts
// as an index too, so that there is one for each.
func generalize(name string) (pattern string, indexes []string) {
	parts := strings.Split(name, "_")
	for i, part := range parts {
		if part == "#" || part != "" && strings.Trim(part, "0123456789") == "" {
			indexes = append(indexes, part)
			parts[i] = "#"
		}
	}
	return strings.Join(parts, "_"), indexes
}

// locate walks to the value that a variable names. A section that may be left out comes to be on the way. An index is
// of an item that is there; a list of plain values, such as tokens, also takes the next one.
func locate(v reflect.Value, steps []step, indexes []string) (target reflect.Value, problem string) {
	for _, s := range steps {
		if s != eachItem {
			v = v.Field(int(s))
			if v.Kind() == reflect.Pointer {
				if v.IsNil() {
					v.Set(reflect.New(v.Type().Elem()))
				}
				v = v.Elem()
			}
			continue
		}
		i, err := strconv.Atoi(indexes[0])
		indexes = indexes[1:]
		plain := v.Type().Elem().Kind() != reflect.Struct
		switch {
		case err == nil && i == v.Len() && plain:
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		case err != nil || i >= v.Len():
			return v, "no item with this index, there are " + strconv.Itoa(v.Len()) + ", counted from 0"
		}
		v = v.Index(i)
	}
	return v, ""
}

// hint names the setting that was probably meant, with the indexes as they were given.
func hint(pattern string, indexes []string) string {
	names := make([]string, 0, len(variables))
	for name := range variables {
		names = append(names, name)
	}
	slices.Sort(names)
	meant := nearest(pattern, names)
	if meant == "" || strings.Count(meant, "#") != len(indexes) {
		return ""
	}
	for _, index := range indexes {
		meant = strings.Replace(meant, "#", index, 1)
	}
	return ", did you mean " + prefix + meant + "?"
}
