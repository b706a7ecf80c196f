// Package clients has the kits of docs/clients play their story against the playground, with the command
// lines of their page: a POS in four languages, and a collection of requests.
//
//	story_test.go    the stories
//	front_test.go    what stands between a kit and the gateway, and fails requests
//	shooter_test.go  who buys at the lane, and who forges requests to the webhook
//	bruno_test.go    the collection
package clients

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

const kits = "../../docs/clients"

// patience bounds how long a story may take, so that one that hangs ends with its output shown.
const patience = 5 * time.Minute

// transcript is what a story says, in every language. The front lets the second sale fail for good, answers
// the third one as the sign-in page of a network would, sends the fourth one to another host, which would sell
// it, answers a stop as such a page would, and says of a cursor that its log is gone.
var transcript = []string{
	"sold: 60 minutes",
	"sold again: internal",
	"sold a third time: not_the_gateway",
	"sold a fourth time: status_302",
	"stopped in passing: not_the_gateway",
	"resumed while it runs: not_paused",
	"paused",
	"down: extended, resumed",
	"caught up: sessionModified, sessionResumed",
	"waiting: buy time on lane 1",
	"refused at the lane: 1 x 9mm-box-50",
	"bought at the lane: 30 minutes",
	"stopped",
}

// Every kit sells once whatever becomes of its requests, repeats what the table of docs/integrators.md says
// and nothing else, catches up on the events that it has missed, and lets nobody but the gateway buy.
func TestTheStoryInEveryLanguage(t *testing.T) {
	for _, language := range []struct {
		name, folder string
		programs     []string
	}{
		{"Python", "python", []string{"python3"}},
		{"C#", "csharp", []string{"mcs", "mono"}},
		{"TypeScript", "typescript", []string{"node", "npx"}},
		{"Go", "go", []string{"go", "curl"}},
	} {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			for _, program := range language.programs {
				support.Program(t, program)
			}
			folder := copied(t, language.folder)
			webhook := support.FreeAddress(t)
			playground := newPlayground(t, webhook)
			front := newFront(t, playground.API)
			shooter := newShooter(t, playground)

			lines := run(t, folder, strings.ReplaceAll(commands(t, language.name), "http://127.0.0.1:8080", front.URL),
				"API="+front.URL+support.V2, "LISTEN="+webhook)
			var said []string
			for line := range lines {
				said = append(said, line)
				switch {
				case strings.HasPrefix(line, "waiting:"):
					requireVerified(t, webhook)
					shooter.buy("9mm-box-50", 1)
				case strings.HasPrefix(line, "refused at the lane:"):
					shooter.buy("time", 30)
				}
			}
			require.Equal(t, transcript, slices.DeleteFunc(said, func(line string) bool { return !isSaid(line) }),
				strings.Join(said, "\n"))
			front.requireRepeats()
			ended := playground.POS().History()
			require.Len(t, ended, 1, "sold once")
			require.Equal(t, 60+15+30, ended[0].Minutes)
		})
	}
}

// isSaid tells a line of a story from those of npm and the compilers.
func isSaid(line string) bool {
	head, _, _ := strings.Cut(line, ":")
	return slices.ContainsFunc(transcript, func(said string) bool { return strings.HasPrefix(said, head) })
}

// newPlayground starts a playground that sends its events to the address. Lane 1 has a controller of its own,
// because the shooters of the playground buy on simulated lanes when they like.
func newPlayground(t *testing.T, webhook string) *support.Gateway {
	cmd := support.Command("playground", "--address", "127.0.0.1:0", "--integrator", "127.0.0.1:0",
		"--data", t.TempDir())
	lane := "RANGEGATE_RANGES_0_LANES_0_LINK_"
	cmd.Env = append(cmd.Env, "RANGEGATE_OPERATIONS_ADDRESS=127.0.0.1:0", "RANGEGATE_RANGES_0_WEBHOOK_URL=http://"+
		webhook+"/webhook",
		lane+"DRIVER=websocket", lane+"KEY="+support.LinkKey(1), lane+"ADDRESS="+support.NewControllers(t, 1, 1).
			Controller(1).Address())
	playground := support.Start(t, cmd).Ready()
	playground.POS().WaitLinked()
	return playground
}

// copied is the folder of a kit in a new place, because compilers and generators write beside it.
func copied(t *testing.T, folder string) string {
	source, err := filepath.Abs(filepath.Join(kits, folder))
	require.NoError(t, err)
	target := t.TempDir()
	entries, err := os.ReadDir(source)
	require.NoError(t, err)
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(source, entry.Name()))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(target, entry.Name()), text, 0o600))
	}
	if _, err := os.Stat(filepath.Join(source, "package.json")); err == nil {
		if _, err := os.Stat(filepath.Join(source, "node_modules")); err != nil {
			support.Missing(t, "the npm packages of docs/clients/"+folder+" are not installed (make tools)")
		}
		require.NoError(t, os.Symlink(filepath.Join(source, "node_modules"), filepath.Join(target, "node_modules")))
	}
	return target
}

// commands are the command lines of the language in README.md, but for the one that installs what make tools
// has installed.
func commands(t *testing.T, language string) string {
	page, err := os.ReadFile(filepath.Join(kits, "README.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)\n## " + regexp.QuoteMeta(language) + "\n.*?\n```sh\n(.*?)```\n").
		FindSubmatch(page)
	require.NotNil(t, block, "README.md has no command lines for %s", language)
	return strings.ReplaceAll(string(block[1]), "npm ci\n", "")
}

// run gives the lines that the command lines print as they come. They have to succeed.
func run(t *testing.T, folder, script string, environment ...string) func(yield func(line string) bool) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "bash", "-euc", script)
	cmd.Dir = folder
	// The Go kit is compiled as the gateway is, so that both share what the compiler has cached.
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath"), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what it has started too
	cmd.WaitDelay = 5 * time.Second
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return func(yield func(string) bool) {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			t.Log(lines.Text())
			if !yield(lines.Text()) {
				return
			}
		}
		require.NoError(t, cmd.Wait(), problems.String())
	}
}

// requireVerified waits until somebody listens at the address of the webhook, and has it judge requests that
// are forged and right.
func requireVerified(t *testing.T, webhook string) {
	support.Eventually(t, "the webhook is open", func() bool {
		connection, err := net.Dial("tcp", webhook)
		return err == nil && connection.Close() == nil
	})
	for _, request := range forgeries(t) {
		require.Equal(t, request.status, request.send(t, webhook), request.name)
	}
}
