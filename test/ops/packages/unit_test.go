package packages

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// systemd reads the unit without a word, and judges how much of a machine the service can reach: 0 nothing, 10 all.
func TestTheUnitIsOneThatSystemdTakes(t *testing.T) {
	analyze := support.Program(t, "systemd-analyze")
	m := newMachine(t, "systemd")
	m.install(deb(after, runtime.GOARCH))
	ask := func(args ...string) string {
		out, err := exec.Command(analyze, append(args, "--root="+m.root, "rangegate.service")...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	require.Empty(t, ask("verify"))
	ask("security", "--offline=true", "--threshold=20", "--no-pager") // 2.0 at most
	require.Regexp(t, `^\d+%$`, m.unit("MemoryMax"), "of whatever the machine has")
	require.Regexp(t, `^\d+$`, m.unit("TasksMax"))

	// What is offered as a comment is taken too.
	path := m.at("lib/systemd/system/rangegate.service")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	offered := regexp.MustCompile(`(?m)^#([A-Z][A-Za-z]+=)`)
	require.Len(t, offered.FindAll(text, -1), 3, "LoadCredential, IPAddressDeny, IPAddressAllow")
	require.NoError(t, os.WriteFile(path, offered.ReplaceAll(text, []byte("$1")), 0o644))
	require.Empty(t, ask("verify"))
	require.Equal(t, "any", m.unit("IPAddressDeny"))
}

// The same of what runs each night.
func TestTheUnitsOfTheNightAreThoseThatSystemdTakes(t *testing.T) {
	analyze := support.Program(t, "systemd-analyze")
	m := newMachine(t, "systemd")
	m.install(deb(after, runtime.GOARCH))
	for _, args := range [][]string{
		{"verify", "rangegate-verify.timer"},
		{"verify", "rangegate-verify.service"},
		{"security", "--offline=true", "--threshold=20", "--no-pager", "rangegate-verify.service"},
	} {
		out, err := exec.Command(analyze, append(args, "--root="+m.root)...).CombinedOutput()
		require.NoError(t, err, string(out))
		if args[0] == "verify" {
			require.Empty(t, string(out))
		}
	}
}

// verify runs what runs each night, beside the gateway, which shows its figures in its metrics.
func (m *machine) verify(gateway *support.Gateway) {
	m.t.Helper()
	require.Zero(m.t, gateway.Metrics().Series["rangegate_verified_timestamp_seconds"])
	cmd := m.asUnitOf("rangegate-verify.service", "ExecStart")
	out, err := cmd.CombinedOutput()
	require.NoError(m.t, err, string(out))
	require.Contains(m.t, string(out), ", differences: 0, in ")
	metrics := gateway.Metrics()
	require.Positive(m.t, metrics.Series["rangegate_verified_timestamp_seconds"])
	require.Zero(m.t, metrics.Series["rangegate_verify_differences"])
}

// unit is a setting of the installed unit.
func (m *machine) unit(key string) string { return m.unitOf("rangegate.service", key) }

func (m *machine) unitOf(name, key string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.at("lib/systemd/system/" + name))
	require.NoError(m.t, err)
	for _, line := range strings.Split(string(text), "\n") {
		if value, found := strings.CutPrefix(line, key+"="); found {
			return value
		}
	}
	require.Fail(m.t, "the unit has no "+key)
	return ""
}

// asUnit is one of the unit's command lines, as the user of the unit and with its umask.
func (m *machine) asUnit(key string) *exec.Cmd { return m.asUnitOf("rangegate.service", key) }

func (m *machine) asUnitOf(name, key string) *exec.Cmd {
	// Words and single quotes are to a shell what they are to systemd, which names the folder for the data.
	unit := func(key string) string { return m.unitOf(name, key) }
	cmd := m.command("/bin/sh", "-c", "umask "+unit("UMask")+"; exec "+unit(key))
	cmd.Env = append(cmd.Env, "STATE_DIRECTORY=/var/lib/"+unit("StateDirectory"))
	cmd.SysProcAttr.Credential = &syscall.Credential{
		Uid: m.id("passwd", unit("User")),
		Gid: m.id("group", unit("Group")),
	}
	return cmd
}

// condition runs what has to hold before a start, and tells whether it does.
func (m *machine) condition() (holds bool, output string) {
	m.t.Helper()
	out, err := m.asUnit("ExecCondition").CombinedOutput()
	return err == nil, string(out)
}

// start starts the service by its own command line, on free ports.
func (m *machine) start() *support.Gateway {
	m.t.Helper()
	cmd := m.asUnit("ExecStart")
	cmd.Env = append(cmd.Env, "RANGEGATE_HTTP_ADDRESS=127.0.0.1:0", "RANGEGATE_OPERATIONS_ADDRESS=127.0.0.1:0")
	return support.Start(m.t, cmd).Ready()
}

// accounts are the lines of /etc/passwd or /etc/group, as fields.
func (m *machine) accounts(file string) (all [][]string) {
	text, err := os.ReadFile(m.at("etc/" + file))
	require.NoError(m.t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		all = append(all, strings.Split(line, ":"))
	}
	return all
}

func (m *machine) id(file, name string) uint32 {
	m.t.Helper()
	for _, account := range m.accounts(file) {
		if account[0] == name {
			id, err := strconv.ParseUint(account[2], 10, 32)
			require.NoError(m.t, err)
			return uint32(id)
		}
	}
	require.Fail(m.t, name+" is not in /etc/"+file)
	return 0
}

func (m *machine) name(file string, id uint32) string {
	for _, account := range m.accounts(file) {
		if account[2] == fmt.Sprint(id) {
			return account[0]
		}
	}
	return fmt.Sprint(id)
}

// describe is how a file is listed.
func describe(path string, mode fs.FileMode, owner, group string) string {
	return fmt.Sprintf("%s %s %s:%s", path, mode, owner, group)
}
