package support

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The ids and credentials of the range. They are those of the playground.
const (
	RangeID  = "11111111-1111-4111-8111-111111111111"
	Token    = "22222222-2222-4222-8222-222222222222"
	Group    = "33333333-3333-4333-8333-000000000001"
	Bay      = "55555555-5555-4555-8555-000000000001"
	Operator = "operator" // the operations token
)

// LaneID is the id of the lane with that number, which is named "Lane" and the number. The playground's lanes
// begin at 1.
func LaneID(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

// Config is the configuration of a gateway.
type Config struct {
	API      string   // its address; empty: any free port
	HTTP     string   // more keys of http, as "limits: {requests: 0}"
	Store    string   // the one key of store, as SQLite or Redis give it
	Sections []string // more sections, as "log: {level: debug}"
	Operator string   // the operations token; empty: Operator
	Binary   string   // that serves it, as BuildWith gives it; empty: the one that all tests share
	Ranges   []Range
}

// Range is a range of a configuration. Empty fields stand for the range of this package.
type Range struct {
	ID, Name            string
	Tokens              []string
	Settings            []string // more keys, as "purchasing: true"
	Groups, Bays, Lanes []string // one YAML mapping each
}

// NewConfig is a gateway with the one range of this package, on a new SQLite file.
func NewConfig(t testing.TB, lanes []string, settings ...string) Config {
	return Config{Store: NewSQLite(t), Ranges: []Range{{Lanes: lanes, Settings: settings}}}
}

// NoLimit is what Config.HTTP says for a test that asks for more than a POS may.
const NoLimit = "limits: {requests: 0}"

// NewSQLite is a store in a new file.
func NewSQLite(t testing.TB) string { return SQLite(filepath.Join(t.TempDir(), "rangegate.db")) }

// SQLite is a store in that file.
func SQLite(path string) string { return fmt.Sprintf("sqlite: %q", path) }

// Redis is a store on that server.
func Redis(url string) string { return fmt.Sprintf("redis: %q", url) }

// Lane is a lane of a configuration with further keys. Without a link it is simulated.
func Lane(n int, more ...string) string {
	return Entry(LaneID(n), fmt.Sprintf("Lane %d", n), append([]string{"bay: " + Bay}, more...)...)
}

// LinkKey is the key of the lane with that number: always the same, and each lane's own.
func LinkKey(n int) string {
	key := sha256.Sum256([]byte(LaneID(n)))
	return hex.EncodeToString(key[:16])
}

// Link is the link of a lane whose controller answers at the address. On a lane with a key both sides prove
// that they have it.
func Link(address, key string) string {
	if key == "" {
		return fmt.Sprintf("link: {driver: websocket, address: %q}", address)
	}
	return fmt.Sprintf("link: {driver: websocket, address: %q, key: %q}", address, key)
}

// Lanes are simulated lanes with those numbers.
func Lanes(first, last int) (lanes []string) {
	for n := first; n <= last; n++ {
		lanes = append(lanes, Lane(n))
	}
	return lanes
}

// Entry is something with an id and a name: a lane, a group, a bay.
func Entry(id, name string, more ...string) string {
	return "{" + strings.Join(append([]string{"id: " + id, "name: " + name}, more...), ", ") + "}"
}

// String is the configuration as YAML.
func (c Config) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "environment: playground\nhttp: {address: %q%s}\noperations: {address: 127.0.0.1:0, token: "+
		"%q}\nstore: {%s}\n",
		either(c.API, "127.0.0.1:0"), before(", ", c.HTTP), either(c.Operator, Operator), c.Store)
	for _, section := range c.Sections {
		fmt.Fprintln(&text, section)
	}
	fmt.Fprintln(&text, "ranges:")
	for _, r := range c.Ranges {
		r.write(&text)
	}
	return text.String()
}

func (r Range) write(text *strings.Builder) {
	fmt.Fprintf(text, "  - id: %s\n    name: %s\n    tokens: [%s]\n",
		either(r.ID, RangeID), either(r.Name, "Range"), either(strings.Join(r.Tokens, ", "), Token))
	for _, setting := range r.Settings {
		fmt.Fprintf(text, "    %s\n", setting)
	}
	for _, list := range []struct {
		key     string
		entries []string
		absent  string
	}{
		{"groups", r.Groups, Entry(Group, "Public")},
		{"bays", r.Bays, Entry(Bay, "Bay A")},
		{"lanes", r.Lanes, ""},
	} {
		fmt.Fprintf(text, "    %s:\n", list.key)
		for _, entry := range strings.Split(either(strings.Join(list.entries, "\n"), list.absent), "\n") {
			fmt.Fprintf(text, "      - %s\n", entry)
		}
	}
}

// Write writes the configuration to a new file and returns its path.
func (c Config) Write(t testing.TB) (path string) {
	t.Helper()
	return WriteFile(t, "rangegate.yaml", c.String())
}

// Serve starts a gateway and waits until it is ready. The test's end kills it.
func (c Config) Serve(t testing.TB) *Gateway {
	t.Helper()
	g := serveBy(t, either(c.Binary, binary), c.String()).Ready()
	g.Token = either(c.Operator, Operator)
	return g
}

func either(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func before(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}
