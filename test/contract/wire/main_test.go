package wire

import (
	"testing"

	"rangegate/test/process"
)

func TestMain(m *testing.M) { process.Run(m) }
