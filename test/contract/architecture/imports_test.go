// Package architecture holds the directions in which the packages may depend on each other.
package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// may lists, for each part of the tree, which other parts of it the code (not its tests) may import. The first entry
// that a package falls under counts.
var rules = []struct {
	part    string
	imports []string
}{
	{"lanes/link", []string{"lanes"}},
	{"lanes/replay", []string{"lanes"}},
	{"lanes/store", []string{"lanes"}},
	{"lanes/tracing", []string{"lanes"}},
	{"lanes", nil},
	{"webhook/egress", nil},
	{"webhook", []string{"lanes", "lanes/tracing", "webhook/egress"}},
	{"catalog", []string{"lanes", "lanes/tracing", "webhook/egress"}},
	{"config", nil},
	{"actors/board", []string{"lanes"}},
	{"actors/clock", []string{"lanes"}},
	{
		"actors/commit",
		[]string{
			"actors/clock", "actors/idempotency", "actors/logline", "actors/loglevel", "actors/metrics", "lanes",
			"lanes/store", "lanes/tracing",
		},
	},
	{
		"actors/delivery",
		[]string{"actors/clock", "actors/commit", "actors/idempotency", "actors/logline", "actors/metrics", "lanes"},
	},
	{"actors/hardware", []string{"lanes", "lanes/link"}},
	{"actors/history", []string{"actors/commit", "actors/logline", "lanes", "lanes/store"}},
	{"actors/holds", []string{"actors/commit", "lanes"}},
	{"actors/idempotency", []string{"lanes", "lanes/store"}},
	{"actors/loglevel", nil},
	{"actors/logline", nil},
	{"actors/metrics", []string{"lanes", "lanes/tracing"}},
	{"actors/nodes", []string{"lanes", "lanes/store"}},
	{"actors/purchases", []string{"actors/clock", "actors/logline", "lanes", "lanes/tracing"}},
	{"actors/simulation", []string{"actors/clock", "actors/commit", "actors/logline", "lanes"}},
	{"actors/supervised", []string{"actors/clock", "actors/logline", "actors/metrics", "lanes"}},
	{"actors", []string{
		"actors/board", "actors/clock", "actors/commit", "actors/delivery", "actors/hardware",
		"actors/history", "actors/holds", "actors/idempotency", "actors/loglevel", "actors/logline", "actors/metrics",
		"actors/nodes", "actors/purchases", "actors/simulation", "actors/supervised", "lanes",
		"lanes/link", "lanes/store",
		"lanes/tracing", "webhook",
	}},
	{"docs", nil},
	{"api/endpoint", nil},
	{"api", []string{"api/endpoint", "lanes", "catalog", "lanes/tracing", "webhook", "docs"}},
	{
		"cmd",
		[]string{
			"actors",
			"actors/clock",
			"actors/delivery",
			"actors/loglevel",
			"actors/metrics",
			"actors/nodes",
			"actors/simulation",
			"api",
			"catalog",
			"config",
			"lanes",
			"lanes/link",
			"lanes/replay",
			"lanes/store",
			"lanes/tracing",
			"webhook",
			"webhook/egress",
		},
	},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestDependenciesRunOneWay(t *testing.T) {
	for _, p := range packages(t) {
		part, allowed, found := rule(p.ImportPath)
		if strings.HasPrefix(p.ImportPath, "test/") {
			continue
		}
		require.True(t, found, "%s stands in no part of the tree that this test knows", p.ImportPath)
		for _, imported := range p.Imports {
			own, found := strings.CutPrefix(imported, "rangegate/")
			if !found {
				continue
			}
			to, _, _ := rule(own)
			require.True(t, to == part || slices.Contains(allowed, to), "%s imports %s", p.ImportPath, own)
		}
	}
}

// simpleCore is what is used of the actor library: actors, and what may be kept in an actor's context.
var simpleCore = []string{"github.com/asynkron/protoactor-go/actor", "github.com/asynkron/protoactor-go/ctxext"}

// What a lane's memory is held against is an actor of the library with nothing in it.
func TestTheActorLibraryStaysInActors(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, "github.com/asynkron/protoactor-go") {
				require.Contains(t, []string{"actors", "actors/supervised", "actors/delivery", "actors/bareactors"},
					p.ImportPath)
				require.Contains(t, simpleCore, imported)
			}
		}
	}
}

// The code records spans by package tracing; where they go is known to package gateway alone.
func TestTheExporterOfTracesStaysInTheGateway(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			sdk := strings.HasPrefix(imported, "go.opentelemetry.io/otel/sdk") ||
				strings.HasPrefix(imported, "go.opentelemetry.io/otel/exporters")
			require.True(t, !sdk || p.ImportPath == "cmd/rangegate/gateway", "%s imports %s", p.ImportPath, imported)
		}
	}
}

// The rules are pure: no clock, no I/O, no goroutines, no library but uuid.
func TestLanesIsPure(t *testing.T) {
	allowed := []string{
		"crypto/sha1", "crypto/sha256", "crypto/subtle", "encoding/binary", "encoding/hex", "errors",
		"slices", "strconv", "strings", "time", "unicode/utf8", "github.com/google/uuid",
	}
	for _, p := range packages(t) {
		if p.ImportPath == "lanes" {
			for _, imported := range p.Imports {
				require.Contains(t, allowed, imported)
			}
		}
	}
}

func rule(path string) (part string, imports []string, found bool) {
	for _, r := range rules {
		if path == r.part || strings.HasPrefix(path, r.part+"/") {
			return r.part, r.imports, true
		}
	}
	return "", nil, false
}

func packages(t *testing.T) []listed {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "rangegate/...").Output()
	require.NoError(t, err)
	var all []listed
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		p.ImportPath = strings.TrimPrefix(p.ImportPath, "rangegate/")
		all = append(all, p)
	}
	require.NotEmpty(t, all)
	return all
}
