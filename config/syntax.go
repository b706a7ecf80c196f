package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parse reads one YAML document. An empty file is an empty document.
func parse(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, malformed(err, data)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, Fault{Problem: "holds a second YAML document; one file is one configuration"}
	case !errors.Is(err, io.EOF):
		return nil, malformed(err, data)
	}
	if len(doc.Content) == 0 {
		return &doc, nil
	}
	return doc.Content[0], nil
}

var (
	atLine        = regexp.MustCompile(`^yaml: line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^yaml: unknown anchor '(.*)' referenced$`)
)

// malformed keeps go yaml's line and words. The one message of it that quotes the file is replaced: *name is an alias
// to YAML and may be a secret to whoever forgot the quotes.
func malformed(err error, data []byte) error {
	text := err.Error()
	if m := unknownAnchor.FindStringSubmatch(text); m != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+m[1]))
		return Fault{
			Path:    fmt.Sprintf("line %d", 1+bytes.Count(before, []byte("\n"))),
			Problem: "malformed YAML: refers to an anchor that the file does not have; a value that begins with * needs quotes",
		}
	}
	if m := atLine.FindStringSubmatch(text); m != nil {
		return Fault{Path: "line " + m[1], Problem: "malformed YAML: " + text[len(m[0]):]}
	}
	return Fault{Problem: "malformed YAML: " + strings.TrimPrefix(text, "yaml: ")}
}
