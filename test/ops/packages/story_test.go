package packages

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/test/support"
)

const (
	configuration = "/etc/rangegate/rangegate.yaml"
	state         = "/var/lib/rangegate/rangegate.db"
)

// filled is what the operator fills in.
var filled = map[string]string{
	"RANGE_ID": support.RangeID, "NAME OF THE RANGE": "The range at the mill",
	"TOKEN": support.Token, "GROUP_ID": support.Group,
	"BAY_ID": support.Bay, "LANE_ID": support.LaneID(1), "LINK_KEY": "W3V5aB0nq7oXr2kTQmJx9eLcYd4sHf6uPZgA1iEwN8M",
}

// From installing to purging. A session that was sold before an upgrade goes on after it, and after a removal.
func TestTheLifeOfAnInstalledGateway(t *testing.T) {
	m := newMachine(t)
	clean := m.files()

	output := m.install(deb(before, runtime.GOARCH))
	require.Contains(t, output, "starts once /etc/rangegate/rangegate.yaml names a range")
	require.Equal(t, "rangegate "+before+"\n", m.runs(0, "/usr/bin/rangegate", "version"))
	require.Subset(t, m.files(), []string{
		configuration + " -rw-r----- root:rangegate",
		"/var/lib/rangegate drwxr-x--- rangegate:rangegate",
		"/etc/systemd/system/multi-user.target.wants/rangegate.service Lrwxrwxrwx root:root",
		"/etc/systemd/system/timers.target.wants/rangegate-verify.timer Lrwxrwxrwx root:root",
	})
	holds, output := m.condition()
	require.False(t, holds)
	require.Contains(t, output, "names no range yet")
	require.Contains(t, m.runs(2, "/usr/bin/rangegate", "check", "--config", configuration),
		"ranges: wants at least one range")

	m.configure()
	holds, output = m.condition()
	require.True(t, holds, output)
	gateway := m.start()
	var sold support.Session
	gateway.POS().Expect(201, "POST", "/sessions", support.Order(1, 60)).Decode(t, &sold)
	require.Subset(t, m.files(), []string{state + " -rw------- rangegate:rangegate"})

	// It serves while the new one is put in its place, by which the operator's configuration stays.
	m.install(deb(after, runtime.GOARCH))
	requireRunning(t, gateway, sold)
	require.Zero(t, gateway.Terminate())
	gateway = m.start()
	gateway.WaitLogged(`"version":"` + after + `"`)
	requireRunning(t, gateway, sold)
	m.verify(gateway)
	require.Zero(t, gateway.Terminate())

	stored, err := os.ReadFile(m.at(state))
	require.NoError(t, err)
	m.runs(0, "/usr/bin/dpkg", "--remove", "rangegate")
	require.NoFileExists(t, m.at("usr/bin/rangegate"))
	require.NoFileExists(t, m.at("lib/systemd/system/rangegate.service"))
	kept, err := os.ReadFile(m.at(state))
	require.NoError(t, err)
	require.True(t, string(stored) == string(kept), "removing has changed the data")
	require.Subset(t, m.files(), []string{
		configuration + " -rw-r----- root:rangegate",
		state + " -rw------- rangegate:rangegate",
	})

	m.install(deb(after, runtime.GOARCH))
	gateway = m.start()
	requireRunning(t, gateway, sold)
	gateway.Kill()

	// A backup that was left behind stays of a user that nobody else becomes.
	user := m.id("passwd", "rangegate")
	output = m.runs(0, "/usr/bin/dpkg", "--purge", "rangegate")
	require.Equal(t, clean, m.files())
	require.Contains(t, output, fmt.Sprintf("The user rangegate (uid %d) stays", user))
	m.runs(0, "/usr/sbin/useradd", "--system", "another")
	require.NotEqual(t, user, m.id("passwd", "another"))
	require.Equal(t, user, m.id("passwd", "rangegate"))
	m.install(deb(after, runtime.GOARCH))
	require.Equal(t, user, m.id("passwd", "rangegate"))
}

// A release that cannot read the bolt file of the one before is not put in its place. It says how to carry
// the ranges over.
func TestAnUpgradeFromBoltIsNotMadeUnasked(t *testing.T) {
	m := newMachine(t)
	m.install(deb(before, runtime.GOARCH))
	text, err := os.ReadFile(m.at(configuration))
	require.NoError(t, err)
	write := func(text string) { require.NoError(t, os.WriteFile(m.at(configuration), []byte(text), 0)) }
	write(strings.Replace(string(text), "  sqlite: "+state, "  bolt: "+state, 1))
	file, err := os.ReadFile(deb(after, runtime.GOARCH))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(m.at("tmp/after.deb"), file, 0o644))
	output := m.runs(1, "/usr/bin/dpkg", "--install", "/tmp/after.deb")
	for _, words := range []string{
		"nothing was installed", "rangegate store export", "rangegate store import",
		"store.sqlite",
	} {
		require.Contains(t, output, words)
	}
	require.Equal(t, "rangegate "+before+"\n", m.runs(0, "/usr/bin/rangegate", "version"))

	write(string(text))
	m.install(deb(after, runtime.GOARCH))
	require.Equal(t, "rangegate "+after+"\n", m.runs(0, "/usr/bin/rangegate", "version"))
}

// configure is what an operator does with the configuration that was installed: every setting of the example is made
// that needs no neighbour, and what is in capitals filled in.
func (m *machine) configure() {
	m.t.Helper()
	text, err := os.ReadFile(m.at(configuration))
	require.NoError(m.t, err)
	made := regexp.MustCompile(`(?m)^#(ranges:| {2})`).ReplaceAllString(string(text), "$1")
	write := func() { require.NoError(m.t, os.WriteFile(m.at(configuration), []byte(made), 0)) } // with the mode it has
	write()
	output := m.runs(2, "/usr/bin/rangegate", "check", "--config", configuration)
	for _, missing := range []string{
		"ranges[0].id", "ranges[0].tokens[0]", "groups[0].id", "bays[0].id", "lanes[0].id",
		"lanes[0].bay", "link.address", "link.key",
	} {
		require.Contains(m.t, output, missing)
	}
	pair := certificatetest.Issue(m.t, time.Hour)
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(m.t, err)
	controllers, err := lanesim.New(lanesim.Settings{Now: support.Now}, lanesim.Lane{
		ID: uuid.MustParse(filled["LANE_ID"]), Listen: "127.0.0.1:0", Key: filled["LINK_KEY"],
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
	})
	require.NoError(m.t, err)
	m.t.Cleanup(controllers.Close)
	filled := strings.NewReplacer(
		"CONTROLLER", controllers.Controller(uuid.MustParse(filled["LANE_ID"])).Address(),
		"ca: /etc/rangegate/controllers.crt",
		fmt.Sprintf(`fingerprint: "sha256:%x"`, sha256.Sum256(certificatetest.Block(pair.Certificate))),
	)
	made = filled.Replace(replaced(made))
	write()
	m.runs(0, "/usr/bin/rangegate", "check", "--config", configuration)
}

func replaced(text string) string {
	for capitals, value := range filled {
		text = regexp.MustCompile(`\b`+capitals+`\b`).ReplaceAllString(text, value)
	}
	return text
}

// requireRunning requires that the session is active, and that it has used exactly the time since it began.
func requireRunning(t *testing.T, gateway *support.Gateway, sold support.Session) {
	t.Helper()
	const steps = time.Second // of the wall clock, which the gateway does not go by
	asked := time.Now()
	shown := gateway.POS().Session(sold.ID)
	answered := time.Now()
	require.Equal(t, sold.Began, shown.Began)
	require.Equal(t, 60, shown.Minutes)
	used := time.Hour - shown.Left.Duration
	require.WithinRange(t, shown.Began.Add(used), asked.Add(-steps), answered.Add(steps))
}
