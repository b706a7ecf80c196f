package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/storetest"
)

func TestAMonthStaysUnderTheRetention(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rangegate.db")
	storetest.Growth(t, benchAt(file), func() int64 {
		found, err := os.Stat(file)
		require.NoError(t, err)
		return found.Size()
	})
}
