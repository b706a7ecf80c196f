package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Position is where a value of the configuration comes from: a place in its file, or a variable of the environment.
type Position struct {
	File         string // as it was given to Load
	Line, Column int    // from 1, in characters; a tab is one. 0: no place in the file
	Alias        *Position
	Variable     string
}

// String is FILE:LINE:COLUMN or the name of the variable, or "" for no position.
func (p Position) String() string {
	switch {
	case p.Variable != "":
		return p.Variable
	case p.Line == 0:
		return ""
	}
	text := fmt.Sprintf("line %d, column %d", p.Line, p.Column)
	if p.File != "" {
		text = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	if p.Alias != nil {
		text += ", through the alias at " + p.Alias.String()
	}
	return text
}

// source is what a configuration was read from. It is kept until the faults have their positions.
type source struct {
	file      string
	root      *yaml.Node // nil without a file
	variables map[path]origin
	moved     map[path]path // from where complete puts a value to where it was given
}

// origin is the variable that has set a value.
type origin struct {
	variable string
	whole    bool // everything below the path is from it too: a list from a file, or a section that it has created
}

func (s *source) setBy(variable string, p path, whole bool) {
	if s.variables == nil {
		s.variables = map[path]origin{}
	}
	s.variables[p] = origin{variable, whole}
}

// remember notes the single tokens of ranges, before complete moves them into the lists.
func (s *source) remember(c *Config) {
	s.moved = map[path]path{}
	for i, r := range c.Ranges {
		if r.Token != "" {
			p := path("ranges").item(i)
			s.moved[p.key("tokens").item(len(r.Tokens))] = p.key("token")
		}
	}
}

// position returns where the value at the path is from. A value that is missing has the position of what it is missing
// in. A variable of the environment in place of a path has none.
func (s *source) position(p path) Position {
	if p == "" || strings.HasPrefix(string(p), prefix) || strings.HasPrefix(string(p), "OTEL_") {
		return Position{}
	}
	prefixes := p.prefixes()
	for _, above := range prefixes {
		if given, ok := s.moved[above]; ok {
			prefixes = (given + p[len(above):]).prefixes()
			break
		}
	}
	for i, above := range slices.Backward(prefixes) {
		if o, ok := s.variables[above]; ok && (o.whole || i == len(prefixes)-1) {
			return Position{Variable: o.variable}
		}
	}
	if s.root == nil {
		return Position{}
	}
	w := walk{source: s, node: s.root, at: s.at(s.root, nil)}
	for i, next := range prefixes {
		above := path("")
		if i > 0 {
			above = prefixes[i-1]
		}
		if !w.step(strings.TrimPrefix(string(next[len(above):]), ".")) {
			if o, ok := s.variables[above]; ok {
				return Position{Variable: o.variable}
			}
			break
		}
	}
	return w.at
}

// at is the position of a node that is reached through an alias, which may be nil.
func (s *source) at(n, alias *yaml.Node) Position {
	at := Position{File: s.file, Line: max(n.Line, 1), Column: max(n.Column, 1)} // an empty file has a node at 0:0
	if alias != nil {
		at.Alias = &Position{File: s.file, Line: alias.Line, Column: alias.Column}
	}
	return at
}

// walk follows a path through the nodes of a file.
type walk struct {
	source *source
	node   *yaml.Node
	alias  *yaml.Node // the first on the way
	at     Position
}

// step goes to the value of a key, or to the item of an index such as [3]. It reports whether there is one.
func (w *walk) step(name string) bool {
	index, isItem := strings.CutPrefix(name, "[")
	if !isItem {
		return w.toKey(name) || w.toKey(name+fileEnding)
	}
	i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
	if err != nil || w.node.Kind != yaml.SequenceNode || i >= len(w.node.Content) {
		return false
	}
	w.enter(w.node.Content[i], w.node.Content[i])
	return true
}

// toKey takes the first of several equal keys, as the reading does.
func (w *walk) toKey(name string) bool {
	if w.node.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(w.node.Content); i += 2 {
		key, value := w.node.Content[i], w.node.Content[i+1]
		named := key
		if named.Kind == yaml.AliasNode {
			named = named.Alias
		}
		if named.Kind != yaml.ScalarNode || named.Value != name {
			continue
		}
		if value.Kind == yaml.ScalarNode && value.ShortTag() != "!!null" {
			key = value
		}
		w.enter(value, key)
		return true
	}
	return false
}

// enter goes to the node, whose position is that of shown, or for an alias that of what it stands for.
func (w *walk) enter(n, shown *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		if w.alias == nil {
			w.alias = n
		}
		n = n.Alias
		shown = n
	}
	w.node, w.at = n, w.source.at(shown, w.alias)
}

// prefixes are the paths from the first step to the whole: ranges, ranges[0], ranges[0].name.
func (p path) prefixes() (all []path) {
	for i, c := range p {
		if i > 0 && (c == '.' || c == '[') {
			all = append(all, p[:i])
		}
	}
	return append(all, p)
}

// startOf is the position of the first character of a line that is no space. Of malformed YAML no more is known.
func startOf(line int, data []byte) Position {
	rest := data
	for range line - 1 {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	spaces := len(rest) - len(bytes.TrimLeft(rest, " "))
	return Position{Line: line, Column: 1 + spaces}
}

// offsetPosition is the position of the byte at the offset.
func offsetPosition(offset int, data []byte) Position {
	before := data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Position{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(bytes.TrimPrefix(before[start:], []byte("\ufeff"))),
	}
}

// unreadableAt is the position of the first byte that is neither UTF-8 nor a character that YAML allows; none if all
// are.
func unreadableAt(data []byte) Position {
	for i := 0; i < len(data); {
		c, width := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && width == 1 || unicode.IsControl(c) && !strings.ContainsRune("\t\n\r\u0085", c) {
			return offsetPosition(i, data)
		}
		i += width
	}
	return Position{}
}
