package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxValues bounds the values of a file with its aliases unfolded. 100,000 lanes with every key set are 1.3 million.
const maxValues = 2_000_000

// document reads YAML nodes into the structs. A value that does not fit is a fault and is left out, so one reading
// finds all faults. It walks the nodes itself: yaml's own decoder compares every key of a mapping with every other,
// which takes hours for a hostile 16 MiB.
type document struct {
	found  *faults
	files  *secretFiles
	values int        // read so far, aliases counted each time
	alias  *yaml.Node // the outermost one through which it reads; nil: none
}

// decode reads the whole file. Its error, a [Fault], says that the text is not YAML or has too many values.
func (d *document) decode(data []byte) (cfg Config, err error) {
	root, err := parse(data)
	if fault := (Fault{}); errors.As(err, &fault) {
		fault.At.File = d.found.source.file
		return Config{}, fault
	}
	d.found.source.root = root
	d.value(root, reflect.ValueOf(&cfg).Elem(), "")
	if d.values > maxValues {
		return Config{}, Fault{Problem: fmt.Sprintf("holds more than %d values", maxValues)}
	}
	return cfg, nil
}

// value reads a node into the target, and reports whether it did: not a null, nor what does not fit.
func (d *document) value(n *yaml.Node, target reflect.Value, p path) bool {
	if n.Kind == yaml.AliasNode {
		if d.alias == nil {
			d.alias = n
			defer func() { d.alias = nil }()
		}
		n = n.Alias
	}
	if d.values++; d.done() || n.IsZero() || n.ShortTag() == "!!null" {
		return false
	}
	if target.Kind() == reflect.Pointer {
		element := reflect.New(target.Type().Elem())
		if !d.value(n, element.Elem(), p) {
			return false
		}
		target.Set(element)
		return true
	}
	switch target.Kind() {
	case reflect.Struct:
		if target.Type() == tokenKind && n.Kind == yaml.ScalarNode {
			return d.leaf(n, target.Field(tokenText), p)
		}
		if n.Kind != yaml.MappingNode {
			d.found.unread(p, "wants keys and values, such as {%s: …}",
				sections[target.Type()][0].key)
			return false
		}
		d.section(n, target, p)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			d.found.unread(p, "wants a list")
			return false
		}
		d.list(n, target, p)
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			d.found.unread(p, "wants dates and openings, such as {\"2026-12-24\": [\"10:00-14:00\"]}")
			return false
		}
		d.dates(n, target, p)
	default:
		return d.leaf(n, target, p)
	}
	return true
}

// at is the position of a key.
func (d *document) at(key *yaml.Node) Position { return d.found.source.at(key, d.alias) }

func (d *document) section(n *yaml.Node, target reflect.Value, p path) {
	settings := sections[target.Type()]
	switch section := target.Addr().Interface().(type) { // complete cannot tell false from left out
	case *Range:
		section.SellBeforeClear = true
	case *Lane:
		section.Accessible = true
	}
	first := map[string]int{} // the line of each key
	for i := 0; i+1 < len(n.Content) && !d.done(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		at := slices.IndexFunc(settings, func(s setting) bool { return s.key == key.Value })
		inFile := slices.IndexFunc(settings, func(s setting) bool { return s.fileKey() == key.Value })
		line, duplicate := first[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "" || at < 0 && inFile < 0:
			d.unknown(key, settings, p, target.Type() == tokenKind)
		case duplicate:
			d.found.addAt(d.at(key), p.key(key.Value), "given twice (lines %d and %d)", line, key.Line)
		case at < 0:
			first[key.Value] = key.Line
			d.file(value, target.Field(settings[inFile].field), p, settings[inFile])
		default:
			first[key.Value] = key.Line
			d.value(value, target.Field(settings[at].field), p.key(key.Value))
		}
	}
	for _, s := range settings {
		if line := first[s.fileKey()]; line > 0 && first[s.key] > 0 {
			d.found.add(p.key(s.fileKey()), "given beside %s (lines %d and %d); choose one", s.key, first[s.key], line)
		}
	}
}

// file reads the secrets of a setting from the file that the node names.
func (d *document) file(n *yaml.Node, target reflect.Value, section path, s setting) {
	at := section.key(s.fileKey())
	var name string
	if d.value(n, reflect.ValueOf(&name).Elem(), at) {
		if problem := d.files.set(target, name); problem != "" {
			d.found.unread(at, "%s", problem)
		}
	}
	if d.found.paths[at] {
		d.found.suppress(section.key(s.key))
	}
}

// list keeps a place for an item that it cannot read, so that later faults name the right index.
func (d *document) list(n *yaml.Node, target reflect.Value, p path) {
	target.Set(reflect.MakeSlice(target.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		if d.done() {
			return
		}
		d.value(item, target.Index(i), p.item(i))
	}
}

// dates reads what is given for each of several dates. A key that is no date is not shown: a secret may stand in its
// place.
func (d *document) dates(n *yaml.Node, target reflect.Value, p path) {
	target.Set(reflect.MakeMap(target.Type()))
	first := map[Date]int{} // the line of each
	for i := 0; i+1 < len(n.Content) && !d.done(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		date := Date(key.Value)
		line, duplicate := first[date]
		switch {
		case key.Kind != yaml.ScalarNode || !date.exists():
			d.found.addAt(d.at(key), p.key(fmt.Sprintf("(line %d)", key.Line)), "wants a date such as 2026-12-24")
			continue
		case duplicate:
			d.found.addAt(d.at(key), p.key(key.Value), "given twice (lines %d and %d)", line, key.Line)
			continue
		}
		first[date] = key.Line
		element := reflect.New(target.Type().Elem()).Elem()
		if d.value(value, element, p.key(key.Value)) {
			target.SetMapIndex(reflect.ValueOf(date), element)
		} else {
			d.found.add(p.key(key.Value), "wants a list, [] for a day without an opening")
		}
	}
}

// leaf reads a scalar. YAML decides about a plain value's type, so "true" in quotes is text and no flag. Text takes a
// number as it is written, so a lane may be named 12.
func (d *document) leaf(n *yaml.Node, target reflect.Value, p path) bool {
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
		case shareKind:
			want = wantsShare
		}
	}
	if !fits {
		d.found.unread(p, "%s", want)
		return false
	}
	if problem := setScalar(target, n.Value); problem != "" {
		d.found.unread(p, "%s", problem)
		return false
	}
	return true
}

// done ends the walk early: the file has too many values or too many faults.
func (d *document) done() bool { return d.values > maxValues || d.found.full() }

// showable matches a key that a fault may show: a secret may stand in a key's place, as in {token:2222…}.
var showable = regexp.MustCompile(`^[A-Za-z_-]{1,24}$`)

// unknown adds the fault of a key that a section does not have. A key that may well be a secret, as in
// [2222…: x], is shown only if it is nearly a known one.
func (d *document) unknown(key *yaml.Node, among []setting, p path, mayBeSecret bool) {
	var keys []string
	for _, s := range among {
		keys = append(keys, s.key)
		if hasFile(s.kind) {
			keys = append(keys, s.fileKey())
		}
	}
	meant := nearest(key.Value, keys)
	if key.Kind != yaml.ScalarNode || !showable.MatchString(key.Value) || mayBeSecret && meant == "" {
		p = p.key(fmt.Sprintf("(line %d)", key.Line))
		d.found.addAt(d.at(key), p, "unknown key; known are %s", strings.Join(keys, ", "))
		return
	}
	p = p.key(key.Value)
	if problem := removed[p]; problem != "" {
		d.found.addAt(d.at(key), p, "%s", problem)
		return
	}
	if meant != "" {
		d.found.addAt(d.at(key), p, "unknown key, did you mean %q?", meant)
		return
	}
	d.found.addAt(d.at(key), p, "unknown key; known are %s", strings.Join(keys, ", "))
}

// removed are the settings of older releases, with what to do instead.
var removed = map[path]string{"store.bolt": boltRemoved}

const boltRemoved = "the embedded store is SQLite now: with the release that wrote the bolt file run rangegate " +
	"store export, set store.sqlite to a new file in place of store.bolt, then run rangegate store import"

// parse reads one YAML document. An empty file is an empty document.
func parse(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, malformed(err, data)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, Fault{
			Problem: "holds a second YAML document; one file is one configuration",
			At:      Position{Line: more.Line, Column: more.Column},
		}
	case !errors.Is(err, io.EOF):
		return nil, malformed(err, data)
	}
	if len(doc.Content) == 0 {
		return &doc, nil
	}
	return doc.Content[0], nil
}

var (
	atLine = regexp.MustCompile(`^yaml: line (\d+): `)
	// ofParser matches the problems whose lines yaml counts from 0 by mistake: those of its parser, not of its scanner.
	ofParser = regexp.MustCompile(`^(did not find expected (<|node content|'-' indicator|key$|',' or)|` +
		`found (undefined tag|duplicate|incompatible))`)
	unknownAnchor = regexp.MustCompile(`^yaml: unknown anchor '(.*)' referenced$`)
)

// malformed returns yaml's error as a fault with its line. It replaces the one message that quotes the file:
// *name is an alias in YAML, and may be a secret without its quotes.
func malformed(err error, data []byte) error {
	text := err.Error()
	if m := unknownAnchor.FindStringSubmatch(text); m != nil {
		at := offsetPosition(max(bytes.Index(data, []byte("*"+m[1])), 0), data)
		return Fault{
			Path: fmt.Sprintf("line %d", at.Line),
			Problem: "malformed YAML: refers to an anchor that the file does not have; a value that begins " +
				"with * needs quotes",
			At: at,
		}
	}
	if m := atLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[1]) // the pattern has digits only
		problem := text[len(m[0]):]
		if ofParser.MatchString(problem) {
			line++
		}
		return Fault{Path: fmt.Sprintf("line %d", line), Problem: "malformed YAML: " + problem, At: startOf(line, data)}
	}
	at := unreadableAt(data)
	if at == (Position{}) {
		at = startOf(1, data) // yaml names every line but the first
	}
	return Fault{Problem: "malformed YAML: " + strings.TrimPrefix(text, "yaml: "), At: at}
}
