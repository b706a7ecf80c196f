package support

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Defect is a text in a file of this module, named from its root, and what stands there instead in a build that is to
// fail.
type Defect struct{ File, Sound, Broken string }

// Overlay writes what go build -overlay reads to plant the defect into dir, and returns its path. It fails if the file
// does not have the text once.
func (d Defect) Overlay(dir string) (path string, err error) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("the root of the module: %w", err)
	}
	file := filepath.Join(strings.TrimSpace(string(module)), d.File)
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if strings.Count(string(text), d.Sound) != 1 {
		return "", fmt.Errorf("%s does not have this once: %q", d.File, d.Sound)
	}
	planted := filepath.Join(dir, "planted.go")
	if err := os.WriteFile(planted, []byte(strings.Replace(string(text), d.Sound, d.Broken, 1)), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: planted}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}

// BuildWith builds the binary with a defect, and returns its path.
func BuildWith(t testing.TB, d Defect) (path string) {
	t.Helper()
	dir := t.TempDir()
	overlay, err := d.Overlay(dir)
	require.NoError(t, err)
	path = filepath.Join(dir, "rangegate")
	output, err := Build(path, "rangegate/cmd/rangegate", "-overlay", overlay)
	require.NoError(t, err, "%s", output)
	return path
}
