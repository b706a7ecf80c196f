package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mostValues bounds what a file may unfold to through aliases. 100,000 lanes with every key set are 1.3 million.
const mostValues = 2_000_000

// document reads YAML nodes into the structs. A value that does not fit is a fault and is left out, so one reading
// finds all faults. It walks the nodes itself: yaml's own decoder compares every key of a mapping with every other,
// which takes hours for a hostile 16 MiB.
type document struct {
	found  *faults
	values int // read so far, aliases counted each time
}

// decode reads the whole file. Its error, a [Fault], says that the text is not YAML or has too many values.
func (d *document) decode(data []byte) (cfg Config, err error) {
	root, err := parse(data)
	if err != nil {
		return Config{}, err
	}
	d.value(root, reflect.ValueOf(&cfg).Elem(), "")
	if d.values > mostValues {
		return Config{}, Fault{Problem: fmt.Sprintf("holds more than %d values", mostValues)}
	}
	return cfg, nil
}

// value reads a node into the target, and reports whether it did: not a null, nor what does not fit.
func (d *document) value(n *yaml.Node, target reflect.Value, at path) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if d.values++; d.done() || n.IsZero() || n.ShortTag() == "!!null" {
		return false
	}
	if target.Kind() == reflect.Pointer {
		element := reflect.New(target.Type().Elem())
		if !d.value(n, element.Elem(), at) {
			return false
		}
		target.Set(element)
		return true
	}
	switch target.Kind() {
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			d.found.unread(at, "wants keys and values, such as {%s: …} (line %d)", sections[target.Type()][0].key, n.Line)
			return false
		}
		d.section(n, target, at)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			d.found.unread(at, "wants a list (line %d)", n.Line)
			return false
		}
		d.list(n, target, at)
	default:
		return d.leaf(n, target, at)
	}
	return true
}

func (d *document) section(n *yaml.Node, target reflect.Value, at path) {
	settings := sections[target.Type()]
	for _, s := range settings {
		if s.preset {
			target.Field(s.field).SetBool(true)
		}
	}
	first := map[string]int{} // the line of each key
	for i := 0; i+1 < len(n.Content) && !d.done(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		s, ok := find(settings, key.Value)
		line, twice := first[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !ok:
			d.unknown(key, settings, at)
		case twice:
			d.found.add(at.key(s.key), "given twice (lines %d and %d)", line, key.Line)
		default:
			first[s.key] = key.Line
			d.value(value, target.Field(s.field), at.key(s.key))
		}
	}
}

// list keeps a place for an item that it cannot read, so that later faults name the right index.
func (d *document) list(n *yaml.Node, target reflect.Value, at path) {
	target.Set(reflect.MakeSlice(target.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		if d.done() {
			return
		}
		d.value(item, target.Index(i), at.item(i))
	}
}

// leaf takes YAML's word for what a plain value is: "true" in quotes is text, no flag. Where text is wanted, a number
// is taken as it was written, so a lane may be named 12.
func (d *document) leaf(n *yaml.Node, target reflect.Value, at path) bool {
	kind := target.Type()
	fits := n.Kind == yaml.ScalarNode
	want := wantsText
	switch kind.Kind() {
	case reflect.Bool:
		fits, want = fits && n.ShortTag() == "!!bool", wantsFlag
	case reflect.Int:
		fits, want = fits && n.ShortTag() == "!!int", wantsNumber
	default:
		fits = fits && (n.Style&yaml.TaggedStyle == 0 || n.ShortTag() == "!!str")
		switch kind {
		case idKind:
			want = wantsID
		case durationKind:
			want = wantsDuration
		}
	}
	if !fits {
		d.found.unread(at, "%s (line %d)", want, n.Line)
		return false
	}
	value, problem := scalar(kind, n.Value)
	if problem != "" {
		d.found.unread(at, "%s (line %d)", problem, n.Line)
		return false
	}
	target.Set(reflect.ValueOf(value).Convert(kind))
	return true
}

// done ends the reading early: there is nothing more to tell.
func (d *document) done() bool { return d.values > mostValues || d.found.full() }

// word is a key that may be shown: a secret that slipped into a key's place, as in {token:2222…}, is not one.
var word = regexp.MustCompile(`^[A-Za-z_-]{1,24}$`)

func (d *document) unknown(key *yaml.Node, among []setting, at path) {
	var known []string
	for _, s := range among {
		known = append(known, s.key)
	}
	if key.Kind != yaml.ScalarNode || !word.MatchString(key.Value) {
		at = at.key(fmt.Sprintf("(line %d)", key.Line))
		d.found.add(at, "unknown key; known are %s", strings.Join(known, ", "))
		return
	}
	at = at.key(key.Value)
	if instead := gone[at]; instead != "" {
		d.found.add(at, "%s (line %d)", instead, key.Line)
		return
	}
	if meant := nearest(key.Value, known); meant != "" {
		d.found.add(at, "unknown key (line %d), did you mean %q?", key.Line, meant)
		return
	}
	d.found.add(at, "unknown key (line %d); known are %s", key.Line, strings.Join(known, ", "))
}

// gone are the settings of older releases, and what to do instead.
var gone = map[path]string{"store.bolt": boltGone}

const boltGone = "the embedded store is SQLite now: with the release that wrote the bolt file run rangegate store export, set " +
	"store.sqlite to a new file in place of store.bolt, then run rangegate store import"

func find(among []setting, key string) (setting, bool) {
	for _, s := range among {
		if s.key == key {
			return s, true
		}
	}
	return setting{}, false
}
