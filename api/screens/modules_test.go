package screens

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// scriptTimeout ends a script that hangs, so that its output is shown.
const scriptTimeout = 2 * time.Minute

// The modules that need no page are tested without one, by scripts in the folder testdata of each page and of
// this package. As in browsers, the shared modules are under /screens/: here in a folder beside the page's
// own.
func TestModulesWithoutAPage(t *testing.T) {
	node := support.Program(t, "node")
	site := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(site, "package.json"), []byte(`{"type": "module"}`), 0o600))
	var scripts []string
	for _, folder := range append(pageFolders(t), sharedFolder) {
		name := filepath.Base(filepath.Dir(folder))
		for _, pattern := range []string{"*.js", "testdata/*.test.js"} {
			paths, err := filepath.Glob(filepath.Join(folder, pattern))
			require.NoError(t, err)
			for _, path := range paths {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				text = bytes.ReplaceAll(text, []byte(`"/screens/`), []byte(`"../screens/`))
				to := filepath.Join(site, name, filepath.Base(path))
				require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
				require.NoError(t, os.WriteFile(to, text, 0o600))
				if pattern != "*.js" {
					scripts = append(scripts, to)
				}
			}
		}
	}
	require.NotEmpty(t, scripts)
	ctx, cancel := context.WithTimeout(t.Context(), scriptTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, node, append([]string{"--test"}, scripts...)...).CombinedOutput()
	require.NoError(t, err, string(out))
}
