package config

import (
	"encoding/json"
	"fmt"
	"io"
)

// mask stands for a secret wherever one would be printed.
const mask = "***"

// Secret is a value that prints as *** however it is printed: by fmt with any verb, as JSON, as YAML, as text.
// An empty one prints as nothing, so that a reader sees that none is set.
type Secret string

// Reveal gives the value, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String is what is safe to show.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString keeps %#v from showing the value.
func (s Secret) GoString() string { return s.String() }

// Format keeps the verbs that go round String, such as %x, from showing the value.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// MarshalText is for encoders that know nothing better, such as slog's.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON is the mask as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML is the mask as a YAML string.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }
