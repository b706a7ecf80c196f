package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// A hostile or broken file costs an error and a bounded time.
func TestHostileFilesAreOnlyFaults(t *testing.T) {
	laughs := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'j'; c++ {
		laughs += fmt.Sprintf("%c: &%c [*%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c]\n",
			c, c, c-1)
	}
	wide := strings.Builder{}
	for i := range 200_000 {
		fmt.Fprintf(&wide, "k%d: 1\n", i)
	}
	for name, text := range map[string]string{
		"a billion laughs":            laughs + "ranges: [{tokens: *i}]",
		"an anchor that holds itself": "ranges: &r [{lanes: *r, staff: [*r]}]",
		"a section that holds itself": "http: &h {tls: *h}",
		"brackets, ever deeper":       strings.Repeat("[", 1_000_000),
		"keys, ever deeper":           "http: " + strings.Repeat("{tls: ", 9_000) + strings.Repeat("}", 9_000),
		"200,000 keys in one mapping": wide.String(),
		"200,000 comments":            strings.Repeat("#x\n", 200_000),
		"numbers that are none":       "store: {retention: {cap: .nan, events: .inf, names: -.inf, history: 1e999}}",
		"nothing but null":            "~",
		"null everywhere": "http: ~\nstore: {retention: ~}\nranges: [~, {lanes: [~], tokens: [~], " +
			"webhook: ~, staff: ~}]",
		"keys that are lists and nulls": "? [a, {b: c}]\n: d\n~: e\n? &x {y: z}\n: *x",
		"merge keys":                    "http: &h {address: ':1'}\noperations: {<<: *h}",
		"tags": "http: !!map {address: !!int x}\nranges: !!seq [!!null x]\nstore: " +
			"!<tag:yaml.org,2002:str> {}",
		"bytes":  "\x00\x01\xff\xfe",
		"UTF-16": "\xff\xfeh\x00",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse([]byte(text), nil)
			assert.Error(t, err)
			assert.Less(t, time.Since(start), time.Minute, "a second or two on a core of its own")
		})
	}
}

func TestUnfoldedAliasesAreBounded(t *testing.T) {
	repeated := "ranges:\n  - &r {lanes: [" + strings.Repeat("{}, ", 5000) + "]}\n" + strings.Repeat("  - *r\n", 5000)
	_, err := Parse([]byte(repeated), nil)
	assert.EqualError(t, err, "holds more than 2000000 values")
}

// pieces are fragments of configurations. The test joins them at random.
var pieces = []string{
	"environment", "http", "address", "ranges", "lanes", "tokens", "token", "token_file", "secrets_file", "webhook",
	"secrets", "id", "name", "link", "accessible", "store", "retention", "cap",
	"playground", "127.0.0.1:0", "11111111-1111-4111-8111-111111111111", "true", "10s", "5", ".nan", "~", "''", "\"",
	"*a", "&a ", "!!str ", "<<",
	": ", ":\n  ", ":\n    ", "\n", "\n  ", "\n    ", "\n  - ", "\n    - ", ", ", "{", "}", "[", "]", "? ", "|\n",
	"#", "---\n", "\t", "\xff",
}

func TestNoInputPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")
		if rapid.Bool().Draw(t, "broken") {
			at := rapid.IntRange(0, len(smallest)).Draw(t, "at")
			text = smallest[:at] + text + smallest[at:]
		}
		names := rapid.SliceOf(rapid.SampledFrom([]string{
			"_", "#", "0", "1", "RANGES", "LANES", "TOKENS", "LINK",
			"KEY", "HTTP", "ADDRESS", "NAME", "=",
		}))
		var environ []string
		for range rapid.IntRange(0, 3).Draw(t, "variables") {
			environ = append(environ, prefix+strings.Join(names.Draw(t, "name"), "")+"=x")
		}
		if cfg, err := Parse([]byte(text), environ); err == nil {
			assert.NoError(t, Override(&cfg, nil))
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(smallest), "RANGEGATE_HTTP_ADDRESS=:0")
	f.Add([]byte("ranges: &r [{lanes: *r}]"), "RANGEGATE_RANGES_0_TOKENS_0=x")
	f.Add([]byte(smallest), "RANGEGATE_RANGES_#_NAME=x")
	f.Add([]byte(smallest+"operations: {token_file: /dev/null}"), "RANGEGATE_RANGES_0_TOKENS_FILE=/proc/self/mem")
	f.Fuzz(func(t *testing.T, data []byte, entry string) {
		if cfg, err := Parse(data, []string{entry}); err == nil {
			_, err = YAML(cfg)
			assert.NoError(t, err)
		}
	})
}
