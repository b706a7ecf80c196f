package screens

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// runNginx starts nginx with the location that docs/integrators.md describes, the API as it is below /api/,
// and a page that follows the events with the script of that page.
func runNginx(f *fixture) (front string) {
	nginx := support.Program(f.t, "nginx")
	location, script := documented(f, "nginx"), documented(f, "js\nfunction follow")
	location = strings.ReplaceAll(location, "http://127.0.0.1:8080", f.gateway.API)
	require.Contains(f.t, location, f.gateway.API)
	dir, address := f.t.TempDir(), support.FreeAddress(f.t)
	page := fmt.Sprintf("<!DOCTYPE html><title>A till</title><script>\n%s\nwindow.seen = [];\nfollow('0', (event) "+
		"=> seen.push(event));\n</script>", script)
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, "index.html"), []byte(page), 0o600))
	folders := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		folders += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	config := filepath.Join(dir, "nginx.conf")
	require.NoError(f.t, os.WriteFile(config, fmt.Appendf(nil, `
daemon off; master_process off; pid %s/nginx.pid; error_log stderr crit;
events {}
http {
  access_log off; default_type text/html;
  %s
  server {
    listen %s; root %s;
    %s
    location /api/ { proxy_pass %s; }
  }
}`, dir, folders, address, dir, location, f.gateway.API), 0o600))
	command := exec.Command(nginx, "-p", dir, "-c", config)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Stderr = os.Stderr
	require.NoError(f.t, command.Start())
	f.t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return "http://" + address
}

// documented is the block of docs/integrators.md that begins with that language, and its first words.
func documented(f *fixture, begins string) string {
	text, err := os.ReadFile("../../docs/integrators.md")
	require.NoError(f.t, err)
	found := regexp.MustCompile("(?s)```(" + regexp.QuoteMeta(begins) + ".*?)```").FindSubmatch(text)
	require.NotNil(f.t, found, begins)
	_, block, _ := strings.Cut(string(found[1]), "\n")
	return block
}
