package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// prefix begins the name of every variable: RANGEGATE_HTTP_ADDRESS, RANGEGATE_RANGES_0_LANES_1_LINK_KEY.
const prefix = "RANGEGATE_"

// override applies the variables of the environment. A variable with our prefix that names no setting is a fault, as a
// mistyped override would go unnoticed otherwise. An empty value empties a text.
func (c *Config) override(environ []string, files *secretFiles, found *faults) {
	name := func(entry string) string {
		name, _, _ := strings.Cut(entry, "=")
		return name
	}
	ours := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		return !strings.HasPrefix(entry, prefix)
	})
	// Short names come first: TOKENS_2 precedes TOKENS_10, so a list grows in order.
	slices.SortStableFunc(ours, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(name(a)), len(name(b))), cmp.Compare(name(a), name(b)))
	})
	var applied []string
	for _, entry := range ours {
		name, value, _ := strings.Cut(entry, "=")
		problem := c.set(name[len(prefix):], value, files, &found.source)
		if problem == "" {
			problem = besideFile(name, applied)
		}
		if problem != "" {
			found.add(path(name), "%s", problem)
		}
		applied = append(applied, name)
	}
}

// besideFile returns the problem of a variable for a file beside one of these for the secret itself. The shorter name
// comes first: TOKEN precedes TOKEN_FILE, and TOKENS_0 precedes TOKENS_FILE.
func besideFile(name string, applied []string) (problem string) {
	secret, isFile := strings.CutSuffix(name, strings.ToUpper(fileEnding))
	for _, other := range applied {
		if isFile && (other == secret || strings.HasPrefix(other, secret+"_")) {
			return "given beside " + other + "; choose one"
		}
	}
	return ""
}

func (c *Config) set(name, value string, files *secretFiles, from *source) (problem string) {
	variable := prefix + name
	pattern, indexes := generalize(name)
	steps, ok := variables[pattern]
	if !ok {
		if steps, isFile := fileVariables[pattern]; isFile {
			target, problem := locate(reflect.ValueOf(c).Elem(), steps, indexes, from, variable)
			if problem != "" {
				return problem
			}
			return files.set(target, value)
		}
	}
	switch {
	case name == "STORE_BOLT":
		return boltRemoved
	case !ok:
		return "no such setting" + hint(pattern, indexes)
	}
	target, problem := locate(reflect.ValueOf(c).Elem(), steps, indexes, from, variable)
	if problem != "" {
		return problem
	}
	return setScalar(target, value)
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

// locate walks to the value that a variable names, and creates an optional section on the way. An index names an
// existing item; a list of plain values, and that of tokens, also takes the next index. It notes what the variable
// sets.
func locate(
	v reflect.Value, steps []step, indexes []string, from *source, variable string,
) (target reflect.Value, problem string) {
	p := path("")
	for _, s := range steps {
		if s != eachItem {
			if v.Type() != tokenKind || s != tokenText { // a token is named as its item
				p = p.key(sections[v.Type()][s].key)
			}
			v = v.Field(int(s))
			if v.Kind() == reflect.Pointer {
				if v.IsNil() {
					v.Set(reflect.New(v.Type().Elem()))
					from.setBy(variable, p, v.Type().Elem().Kind() == reflect.Struct)
				}
				v = v.Elem()
			}
			continue
		}
		i, err := strconv.Atoi(indexes[0])
		indexes = indexes[1:]
		plain := v.Type().Elem().Kind() != reflect.Struct || v.Type().Elem() == tokenKind
		switch {
		case err == nil && i == v.Len() && plain:
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		case err != nil || i >= v.Len():
			return v, "no item with this index, there are " + strconv.Itoa(v.Len()) + ", counted from 0"
		}
		v, p = v.Index(i), p.item(i)
	}
	from.setBy(variable, p, v.Kind() == reflect.Slice)
	return v, ""
}

// hint suggests the variable with the nearest name, with the given indexes.
func hint(pattern string, indexes []string) string {
	meant := nearest(pattern, slices.Concat(slices.Sorted(maps.Keys(variables)),
		slices.Sorted(maps.Keys(fileVariables))))
	if meant == "" || strings.Count(meant, "#") != len(indexes) {
		return ""
	}
	for _, index := range indexes {
		meant = strings.Replace(meant, "#", index, 1)
	}
	return ", did you mean " + prefix + meant + "?"
}

// nearest returns the candidate with the smallest distance to the word, or "" when none is near.
func nearest(word string, candidates []string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	best, least := "", min(1+len(word)/4, 2)+1
	for _, candidate := range candidates {
		if d := distance(word, strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the edits from a to b: letters to add, drop, change, or swap with the next one.
func distance(a, b string) int {
	var before []int // the row of i-2
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := row[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			next[j] = min(row[j]+1, next[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
