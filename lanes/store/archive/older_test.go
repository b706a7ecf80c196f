package archive_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// A file that the gateway of any version has exported is there as a whole behind an import: what is exported then are the
// same records, in the format of now.
func TestAnExportOfEachVersion(t *testing.T) {
	t.Parallel()
	for version := 1; version <= store.Version; version++ {
		exported, err := os.ReadFile(fmt.Sprintf("testdata/version-%d.jsonl", version))
		require.NoError(t, err)
		want := records(t, string(exported))
		for i := range want {
			want[i] = strings.Replace(want[i], fmt.Sprintf(`"record":{"v":%d,`, version), fmt.Sprintf(`"record":{"v":%d,`, store.Version), 1)
		}
		was := storetest.Written(version)
		for _, to := range []place{file(t), server(t)} {
			require.NoError(t, to.bring(t, string(exported), opening), to.name)
			require.Equal(t, want, records(t, to.export(t)), "version %d, %s", version, to.name)
			got := to.read(t, was.Range)[0]
			require.Equal(t, was.LastEvent, got.LastEvent)
			require.Equal(t, was.LastEnded, got.LastEnded)
			require.Equal(t, was.LastAct, got.LastAct)
		}
	}
}
