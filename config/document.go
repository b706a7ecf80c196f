package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/uuid"
	koanfyaml "github.com/knadh/koanf/parsers/yaml"
	"go.yaml.in/yaml/v3"
)

// mostValues bounds what a file may unfold to through aliases. 100,000 lanes with every key set are 1.3 million.
const mostValues = 2_000_000

// document is koanf's parser for our file: YAML in, out a tree that holds nothing but keys of the schema, each with a
// value of its kind. What does not fit is a fault and is left out, so one reading finds all of them. It walks YAML nodes:
// koanf's own parser, which it extends, compares every key of a mapping with every other, hours for a hostile 16 MiB.
type document struct {
	koanfyaml.YAML
	found  *faults
	values int // read so far, aliases counted each time
}

// Unmarshal gives the tree. Its error, a [Fault], is for text that is not YAML or unfolds beyond all measure.
func (d *document) Unmarshal(data []byte) (map[string]any, error) {
	root, err := parse(data)
	if err != nil {
		return nil, err
	}
	tree, _ := d.value(root, reflect.TypeFor[Config](), "").(map[string]any)
	if d.values > mostValues {
		return nil, Fault{Problem: fmt.Sprintf("holds more than %d values", mostValues)}
	}
	return tree, nil
}

// value reads a node as the kind that the schema wants at this place; nil is a value not given or not readable.
func (d *document) value(n *yaml.Node, kind reflect.Type, at path) any {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if d.values++; d.done() || n.IsZero() || n.ShortTag() == "!!null" {
		return nil
	}
	switch kind.Kind() {
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			d.found.unread(at, "wants keys and values, such as {%s: …} (line %d)", sections[kind][0].key, n.Line)
			return nil
		}
		return d.section(n, kind, at)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			d.found.unread(at, "wants a list (line %d)", n.Line)
			return nil
		}
		return d.list(n, kind.Elem(), at)
	default:
		return d.leaf(n, kind, at)
	}
}

func (d *document) section(n *yaml.Node, kind reflect.Type, at path) map[string]any {
	tree := map[string]any{}
	first := map[string]int{} // the line of each key
	for i := 0; i+1 < len(n.Content) && !d.done(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		s, known := find(sections[kind], key.Value)
		line, twice := first[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !known:
			d.unknown(key, sections[kind], at)
		case twice:
			d.found.add(at.key(s.key), "given twice (lines %d and %d)", line, key.Line)
		default:
			first[s.key] = key.Line
			if v := d.value(value, s.kind, at.key(s.key)); v != nil {
				tree[s.key] = v
			}
		}
	}
	for _, s := range sections[kind] {
		if _, given := tree[s.key]; !given && s.preset != nil {
			tree[s.key] = s.preset
		}
	}
	return tree
}

// list keeps a place for an item it could not read, so that later faults name the right index.
func (d *document) list(n *yaml.Node, kind reflect.Type, at path) []any {
	items := make([]any, 0, len(n.Content))
	for i, item := range n.Content {
		if d.done() {
			break
		}
		items = append(items, d.value(item, kind, at.item(i)))
	}
	return items
}

// leaf takes YAML's word for what a plain value is: "true" in quotes is text, no flag. Where text is wanted, a number
// is taken as it was written, so a lane may be named 12.
func (d *document) leaf(n *yaml.Node, kind reflect.Type, at path) any {
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
		return nil
	}
	value, problem := scalar(kind, n.Value)
	if problem != "" {
		d.found.unread(at, "%s (line %d)", problem, n.Line)
		return nil
	}
	if id, ok := value.(uuid.UUID); ok {
		return id.String() // koanf fills an array byte by byte, but takes the text of one whole
	}
	return value
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
