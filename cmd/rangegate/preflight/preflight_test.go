package preflight

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/config"
)

// A check that ignores its context does not hold up the findings of the others.
func TestAHangingCheckIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, release := time.Now(), make(chan struct{})
		hangs := func(context.Context) []Finding {
			<-release
			return nil
		}
		all := run(t.Context(), 30*time.Second, []check{
			{"first", hangs},
			{"second", func(context.Context) []Finding {
				return []Finding{
					ok("second", "is there"),
					ok("second", "is well"),
				}
			}},
			{"third", hangs},
			{"fourth", func(ctx context.Context) []Finding {
				<-ctx.Done()
				return []Finding{ok("fourth", "knows when to stop")}
			}},
		})
		require.Equal(t, 31*time.Second, time.Since(started))
		require.Equal(t, "FAIL: no result after 30s\nok: is there\nok: is well\nFAIL: no result after 30s\nok: "+
			"knows when to stop\n", text(all))
		close(release)
		synctest.Wait()
	})
}

func TestTheTableShowsTheRemedies(t *testing.T) {
	var table strings.Builder
	require.NoError(t, Write(&table, []Finding{
		ok("clock", "synchronised"),
		{Warn, "http.tls", "3 days left", "renew it"},
		{Fail, "store", "is not there", "start it"},
	}))
	require.Equal(t, `ok    clock     synchronised
warn  http.tls  3 days left
                -> renew it
FAIL  store     is not there
                -> start it
pre-flight: 1 failed, 1 to look at, 1 ok
`, table.String())
}

// A configuration of production that every user of the machine can read is one to look at.
func TestAConfigurationThatEverybodyCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rangegate.yaml")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	production := config.Config{Environment: config.InProduction}
	for mode, open := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true, 0o602: true} {
		require.NoError(t, os.Chmod(path, mode))
		require.Equal(t, open, len(Exposures(path, production)) > 0, mode)
		require.Empty(t, Exposures(path, config.Config{Environment: "development"}))
	}
	require.NoError(t, os.Chmod(path, 0o644))
	found := requireOne(t, Settings{File: path, Config: production}.configuration(t.Context()), Warn)
	require.Equal(t, "chmod o= "+path, found.Do)
	require.Empty(t, Exposures(path+"x", production))
}
