// Package damage takes from the real gateway what it keeps its ranges in: the file is cut, its bits are flipped, the
// disk is full, somebody else has it. The gateway says so and ends, or goes on as far as it can; what it cannot use, it
// leaves as it is.
//
//	start_test.go   starts that fail       full_linux_test.go      a disk that fills up under a running gateway
//	carry_test.go   from one store         answers_linux_test.go   a start with little memory, and the most answers
//	                to the other and back
package damage

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// configured writes a configuration of six lanes with that store, and returns its path.
func configured(t *testing.T, store string) string {
	t.Helper()
	config := support.NewConfig(t, support.Lanes(0, 5))
	config.HTTP, config.Store = support.NoLimit, store
	return config.Write(t)
}

// newPath is that of an SQLite file which does not exist yet.
func newPath(t *testing.T) string { return filepath.Join(t.TempDir(), "rangegate.db") }

// gateway is a process of the binary with a POS at its range.
type gateway struct {
	*support.Gateway
	support.POS
}

// serve starts a gateway that has to get ready.
func serve(t *testing.T, config string) gateway {
	t.Helper()
	g, ready := support.Launch(t, support.ServeCommand(config))
	require.True(t, ready, g.Log())
	return gateway{g, g.POS()}
}

// terminate asks the gateway to end, which it has to do with success.
func (g gateway) terminate(t *testing.T) {
	t.Helper()
	require.Zero(t, g.Terminate(), g.Log())
}
