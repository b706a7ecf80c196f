package incoming

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/test/support"
)

// proxy is a proxy in front of the gateway, with the configuration that docs/operators.md gives.
type proxy struct {
	name    string
	heading string // of the configuration in docs/operators.md
	command func(config, dir string) []string
	prefix  string // what a whole configuration has before it
	passes  bool   // TLS passes through it
}

var proxies = []proxy{
	{"haproxy", "haproxy, which ends TLS", func(config, _ string) []string {
		return []string{
			"haproxy", "-db", "-f",
			config,
		}
	}, "global\n  maxconn 200\n", false},
	{
		"haproxy", "haproxy, which passes TLS through",
		func(config, _ string) []string { return []string{"haproxy", "-db", "-f", config} },
		"global\n  maxconn 200\n", true,
	},
	{"nginx", "nginx, which ends TLS", runNginx, nginxPrefix, false},
}

const nginxPrefix = "daemon off;\nmaster_process off;\npid DIR/nginx.pid;\nerror_log stderr;\nevents {}\n"

func runNginx(config, dir string) []string { return []string{"nginx", "-p", dir, "-c", config} }

// nginxFolders keeps nginx out of the folders of the machine, which are its package's.
func nginxFolders(dir string) (settings string) {
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		settings += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	return settings + "access_log off;\n"
}

// documented is the configuration under that heading in docs/operators.md.
func documented(t testing.TB, heading string) string {
	text, err := os.ReadFile("../../../docs/operators.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)" + regexp.QuoteMeta("**"+heading+"**") + ".*?```[a-z]*\n(.*?)```").
		FindSubmatch(text)
	require.NotNil(t, found, heading)
	return string(found[1])
}

// Controllers dial through the proxies that docs/operators.md describes. The gateway learns their addresses,
// and a link outlives what a proxy takes for silence.
func TestControllersDialThroughAProxy(t *testing.T) {
	for _, p := range proxies {
		t.Run(p.heading, func(t *testing.T) {
			t.Parallel()
			support.Program(t, p.name)
			dir := t.TempDir()
			pair := certificatetest.Issue(t, time.Hour)
			certificate, key := pair.Files(t)
			both := support.WriteFile(t, "both.pem", string(pair.Certificate)+string(pair.Key))
			front := support.FreeAddress(t)
			config, dialled := configure(t, support.IncomingLanes(1, 2))
			gateway := strings.TrimPrefix(dialled, "http://")
			config.Sections[0] = fmt.Sprintf("controllers: {address: %s, behind_proxy: true, trusted_proxies: "+
				"[127.0.0.1]}", gateway)
			if p.passes {
				config.Sections[0] = fmt.Sprintf("controllers: {address: %s, tls: {certificate: %q, key: %q}}", gateway,
					certificate, key)
			}
			text := p.prefix + documented(t, p.heading)
			for from, to := range map[string]string{
				"0.0.0.0:8443": front, "10.0.0.2:9443": gateway, "/etc/ssl/gateway.pem": both,
				"/etc/ssl/gateway.crt": certificate,
				"/etc/ssl/gateway.key": key, "DIR": dir, "http {": "http {\n" + nginxFolders(dir),
			} {
				text = strings.ReplaceAll(text, from, to)
			}
			file := filepath.Join(dir, "proxy.conf")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			arguments := p.command(file, dir)
			command := exec.Command(arguments[0], arguments[1:]...)
			command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			command.Stderr = os.Stderr
			require.NoError(t, command.Start())
			t.Cleanup(func() {
				_ = command.Process.Kill()
				_ = command.Wait()
			})

			g := config.Serve(t)
			trust := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
			require.True(t, trust.RootCAs.AppendCertsFromPEM(pair.Certificate))
			hardware := support.NewDialling(t, "https://"+front, 1, 2, trust)
			waitLinked(t, g, 2)
			session := g.POS().Sell(1, 30)
			hardware.WaitOpen(1, session)
			support.Eventually(t, "both confirm", func() bool { return len(g.HoldRange(true).Confirmed) == 2 })
			require.False(t, hardware.Controller(1).Shown().Open)
			g.HoldRange(false)
			hardware.WaitOpen(1, session)
			// A gateway that is started anew is dialled again, and a hardware fault of the network is noticed
			// on both sides.
			hardware.Controller(2).Drop()
			waitLinked(t, g, 3)
			g.POS().Command(session, "/stop")
			hardware.WaitLocked(1)
			require.Zero(t, attempts(g, "refused"))
		})
	}
}
