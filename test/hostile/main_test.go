// Package hostile attacks the real binary from where an attacker of a range would: its own network, the
// internet, a lost backup of the configuration, a lane controller in somebody's bag. docs/SECURITY.md has the
// threats; each file has one subject.
package hostile

import (
	"testing"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }
