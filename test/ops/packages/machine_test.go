package packages

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rangegate/test/support"
)

// machine is a freshly installed Debian in a folder: packages of this machine, and what they need. No systemd
// runs there. Nothing is mounted, and nothing outside the folder is written to.
type machine struct {
	t    *testing.T
	root string
}

// newMachine has the essential packages, what the gateway's package depends on, and some more.
func newMachine(t *testing.T, more ...string) *machine {
	t.Helper()
	support.Program(t, "dpkg-query")
	if os.Geteuid() != 0 {
		support.Missing(t, "a package is installed by root")
	}
	m := &machine{t, t.TempDir()}
	require.NoError(t, os.Chmod(m.root, 0o755))
	installed := closed(t, append(more, "init-system-helpers", "passwd"))
	m.copy(installed)
	m.register(installed)

	// What an installer adds to the packages' own files.
	for _, folder := range []string{"dev", "tmp", "proc/sys/kernel/random"} {
		require.NoError(t, os.MkdirAll(m.at(folder), 0o755))
	}
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "urandom": 9} {
		require.NoError(t, unix.Mknod(m.at("dev/"+name), unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))))
		require.NoError(t, os.Chmod(m.at("dev/"+name), 0o666))
	}
	for from, to := range map[string]string{
		"/usr/share/base-passwd/passwd.master": "etc/passwd", "/usr/share/base-passwd/group.master": "etc/group",
		"/proc/sys/kernel/random/boot_id": "proc/sys/kernel/random/boot_id",
	} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(m.at(to), text, 0o644))
	}
	return m
}

// at is where something of the machine is.
func (m *machine) at(path string) string { return filepath.Join(m.root, path) }

var clause = regexp.MustCompile(`[a-z0-9][a-z0-9+.-]+(\s*\([^)]*\))?`)

// closed are these packages, the essential ones, and what they need.
func closed(t *testing.T, open []string) (names []string) {
	out, err := exec.Command("dpkg-query", "-W", "-f", "${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\n").
		Output()
	require.NoError(t, err)
	needed := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Split(line, "\t")
		needed[fields[0]] = fields[2]
		if fields[1] == "yes" {
			open = append(open, fields[0])
		}
	}
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		depends, installed := needed[name]
		if !installed || slices.Contains(names, name) { // of two alternatives one need not be there
			continue
		}
		names = append(names, name)
		for _, each := range clause.FindAllString(depends, -1) {
			open = append(open, strings.Fields(strings.ReplaceAll(each, "(", " "))[0])
		}
	}
	return names
}

// copy brings the packages' files here, but not their documentation.
func (m *machine) copy(packages []string) {
	out, err := exec.Command("dpkg-query", append([]string{"-L"}, packages...)...).Output()
	require.NoError(m.t, err)
	files := map[string]bool{}
	for _, path := range strings.Split(string(out), "\n") {
		if !strings.HasPrefix(path, "/") || path == "/." || strings.HasPrefix(path, "/usr/share/doc/") ||
			strings.HasPrefix(path, "/usr/share/man/") || strings.HasPrefix(path, "/usr/share/locale/") ||
			strings.HasPrefix(path, "/usr/share/zoneinfo/") {
			continue
		}
		folder, err := filepath.EvalSymlinks(filepath.Dir(path)) // /bin is /usr/bin
		if err == nil {
			path = filepath.Join(folder, filepath.Base(path))
		}
		if _, err := os.Lstat(path); err == nil {
			files["."+path] = true
		}
	}
	for _, top := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if info, err := os.Lstat(top); err == nil && info.Mode().Type() == fs.ModeSymlink {
			files["."+top] = true
		}
	}
	var list strings.Builder
	for path := range files {
		list.WriteString(path + "\n")
	}
	pack := exec.Command("sh", "-c", `tar -C / --no-recursion -c -T - | tar -C "$0" -xp`, m.root)
	pack.Stdin = strings.NewReader(list.String())
	output, err := pack.CombinedOutput()
	require.NoError(m.t, err, string(output))
}

// register tells the machine's dpkg what is installed there.
func (m *machine) register(packages []string) {
	status, err := exec.Command("dpkg-query", append([]string{"-s"}, packages...)...).Output()
	require.NoError(m.t, err)
	require.NoError(m.t, os.WriteFile(m.at("var/lib/dpkg/status"), status, 0o644))
	for _, name := range packages {
		lists, err := filepath.Glob("/var/lib/dpkg/info/" + name + "*.list")
		require.NoError(m.t, err)
		for _, list := range lists {
			text, err := os.ReadFile(list)
			require.NoError(m.t, err)
			require.NoError(m.t, os.WriteFile(m.at(list), text, 0o644))
		}
	}
}

// command is a command line on the machine, as root. It sees none of the environment of the tests.
func (m *machine) command(args ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: args[0], Args: args, Dir: "/",
		Env:         []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"},
		SysProcAttr: &syscall.SysProcAttr{Chroot: m.root, Pdeathsig: syscall.SIGKILL},
	}
}

// runs runs a command line there, which has to end with that exit code, and returns its output.
func (m *machine) runs(code int, args ...string) string {
	m.t.Helper()
	var output bytes.Buffer
	cmd := m.command(args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	require.NotNil(m.t, cmd.ProcessState, "%v", err)
	require.Equal(m.t, code, cmd.ProcessState.ExitCode(), "%v: %s", args, output.String())
	return output.String()
}

// install installs a package file.
func (m *machine) install(path string) (output string) {
	m.t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(m.t, err)
	require.NoError(m.t, os.WriteFile(m.at("tmp/rangegate.deb"), file, 0o644))
	defer func() { _ = os.Remove(m.at("tmp/rangegate.deb")) }()
	return m.runs(0, "/usr/bin/dpkg", "--install", "/tmp/rangegate.deb")
}

// files lists everything there is, with mode and owner, but for what dpkg and the tools for users keep for themselves.
func (m *machine) files() (all []string) {
	own := regexp.MustCompile(`^/(var/(lib/dpkg|log)/|etc/(passwd-|group-|g?shadow-?|sub[ug]id-?|\.pwd\.lock)$)`)
	require.NoError(m.t, filepath.WalkDir(m.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		path = strings.TrimPrefix(path, m.root)
		if path != "" && !own.MatchString(path) {
			owner := info.Sys().(*syscall.Stat_t)
			all = append(all, describe(path, info.Mode(), m.name("passwd", owner.Uid), m.name("group", owner.Gid)))
		}
		return nil
	}))
	return all
}
