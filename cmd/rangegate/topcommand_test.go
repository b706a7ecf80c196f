package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
)

// configurationAt is the file of a gateway with that operations address.
func configurationAt(t *testing.T, operations string) (file string) {
	file = filepath.Join(t.TempDir(), "rangegate.yaml")
	text := fmt.Sprintf(networkRange, "1") + "operations: {address: '" + strings.TrimPrefix(operations, "http://") +
		"', token: operator}\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// fakeOperations answers as the operations address of a gateway, and remembers what it was asked.
type fakeOperations struct {
	mu         sync.Mutex
	queries    []string
	advisories string        // the answer; empty: it is of a version that has none
	refuses    string        // the code with which it refuses; empty: it answers
	answersOn  chan struct{} // it answers once this is closed; nil: at once
}

func (f *fakeOperations) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	refuses, answersOn, advisories := f.refuses, f.answersOn, f.advisories
	f.queries = append(f.queries, r.Header.Get("Authorization")+" "+r.URL.String())
	f.mu.Unlock()
	if answersOn != nil {
		select {
		case <-answersOn:
		case <-r.Context().Done():
		}
	}
	switch {
	case refuses != "":
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":"no","code":%q}`, refuses)
	case r.URL.Path == "/actors":
		_, _ = io.WriteString(w, overviewAnswer)
	case r.URL.Path == "/advisories" && advisories == "":
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":"there is nothing here","code":"not_found"}`)
	case r.URL.Path == "/advisories":
		_, _ = io.WriteString(w, advisories)
	case r.URL.Path == "/observer/actors":
		text := strings.ReplaceAll(tableAnswer, "It has been", "Sorted by "+r.URL.Query().Get("sort")+", it has been")
		var answer map[string]any
		_ = json.Unmarshal([]byte(text), &answer)
		actors, _ := answer["actors"].([]any)
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		answer["actors"] = actors[:min(limit, len(actors))]
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// set changes how it answers.
func (f *fakeOperations) set(change func(*fakeOperations)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeOperations) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.queries...)
}

// An operator's script takes one table, whole, and learns of a failure by an error.
func TestTopPrintsOneTableWhereItIsNoTerminal(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("east", 5*3600)
	defer func() { time.Local = local }()
	fake := &fakeOperations{}
	server := httptest.NewServer(fake)
	file := configurationAt(t, server.URL)
	run := func(c top) (string, error) {
		var out strings.Builder
		c.operator = operator{Config: file}
		err := c.Run(&terminal{ctx: t.Context(), out: &out})
		return out.String(), err
	}
	printed, err := run(top{Sort: "trouble"})
	require.NoError(t, err)
	lines := strings.Split(printed, "\n")
	require.Regexp(t, `^rangegate top   15:00:30   1 of 1 range running   12 lanes   2 of 27 actors in trouble$`,
		lines[0])
	require.Equal(t, []string{
		"links 10 up, 1 down, 1 faulty   timers late p99 0.41 ms",
		"changes unsaved 2, of 1 lane   store takes writes   events waiting 4",
		"KIND        NAME         STATE    SINCE  WAITING  RESTARTS  WHY",
	}, lines[1:4])
	require.Regexp(t,
		`^lane +Lane 7 +saving +14 s +3, 11 s +0 +Sorted by trouble, it has been saving for 14 s: the store does not answer\.$`, lines[5])
	require.Equal(t, []string{"and 23 more", ""}, lines[8:])
	require.NotContains(t, printed, "\x1b")

	_, err = run(top{Sort: "backlog", Once: true, Troubled: true, Range: uuid.MustParse(gatewaytest.DemoRange)})
	require.NoError(t, err)
	require.Equal(t, []string{
		"Bearer operator /actors",
		"Bearer operator /observer/actors?limit=100&sort=trouble",
		"Bearer operator /advisories?open=true",
		"Bearer operator /actors?range=" + gatewaytest.DemoRange,
		"Bearer operator /observer/actors?limit=100&range=" + gatewaytest.DemoRange + "&sort=backlog&trouble=true",
		"Bearer operator /advisories?open=true&range=" + gatewaytest.DemoRange,
	}, fake.asked())

	fake.set(func(f *fakeOperations) { f.advisories = advisoriesAnswer })
	printed, err = run(top{Sort: "trouble"})
	require.NoError(t, err)
	require.Equal(t, "2 advisories, 1 critical   newest hold_unconfirmed, Lane 7, North range, 12 s: Look at the lane.",
		strings.Split(printed, "\n")[3])

	fake.set(func(f *fakeOperations) { f.refuses = "unauthorized" })
	_, err = run(top{Sort: "trouble"})
	require.EqualError(t, err, "no (unauthorized)")
	fake.set(func(f *fakeOperations) { f.refuses = "not_found" })
	_, err = run(top{Sort: "trouble"})
	require.ErrorContains(t, err, "is of a version that shows no table of its actors")
	require.NotErrorAs(t, err, &gateway.Misconfigured{})
	_, err = run(top{Sort: "trouble", Range: uuid.MustParse(gatewaytest.DemoLane)})
	require.EqualError(t, err, "--range: the gateway has no range with that id")
	require.ErrorAs(t, err, &gateway.Misconfigured{})
	server.Close()
	_, err = run(top{Sort: "trouble"})
	require.ErrorContains(t, err, "the gateway of this machine does not answer")
}

// The table of a gateway that runs: a lane's controller cannot be reached.
func TestTopOfAGateway(t *testing.T) {
	g := gatewaytest.Start(t, t.TempDir(), func(c *config.Config) {
		c.Ranges[0].Lanes[1].Link = config.Link{Driver: config.DriverWebSocket, Address: "ws://127.0.0.1:1/lane"}
	})
	require.Eventually(t, func() bool {
		printed, err := asOperator(t, g, func(term *terminal, o operator) error {
			return top{Sort: "trouble", Troubled: true, operator: o}.Run(term)
		})
		require.NoError(t, err)
		return regexp.MustCompile(`(?m)^rangegate top .*   1 of 1 range running   2 lanes   1 of 1 actor in trouble
links 1 up, 1 down, 0 faulty   timers late .*
changes unsaved 0   store takes writes   events waiting 0
(?:1 advisory .*
)?KIND .*
connection  Lane 2  down   .* s    0        0         It dials .*connection refused\.
$`).MatchString(printed)
	}, longTimeout, 100*time.Millisecond)
	printed, err := asOperator(t, g,
		func(term *terminal, o operator) error { return top{Sort: "age", operator: o}.Run(term) })
	require.NoError(t, err)
	require.Regexp(t, `1 of 6 actors in trouble`, printed)
	require.Regexp(t, `(?m)^range       Demo range  running `, printed)
	require.Regexp(t, `(?m)^lane        Lane 1      ready `, printed)
	require.Len(t, strings.Split(strings.TrimSpace(printed), "\n"), 4+6,
		"range, events, and two lanes with their connections")
	_, err = asOperator(t, g, func(term *terminal, o operator) error {
		return top{Sort: "age", Range: uuid.MustParse(gatewaytest.DemoLane), operator: o}.Run(term)
	})
	require.EqualError(t, err, "--range: the gateway has no range with that id")
	g.Stop()
	_, err = asOperator(t, g, func(term *terminal, o operator) error { return top{Sort: "age", operator: o}.Run(term) })
	require.ErrorContains(t, err, "does not answer")
}

// terminalOf is a pseudo terminal in which a command runs.
type terminalOf struct {
	t       *testing.T
	master  *os.File
	device  *os.File // that the command has
	shown   strings.Builder
	command *exec.Cmd
}

// openTerminal opens a pseudo terminal of that size.
func openTerminal(t *testing.T, width, height uint16) *terminalOf {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	raw, err := master.SyscallConn() // Fd would make it blocking, so that a read has no deadline
	require.NoError(t, err)
	var number int
	var locked error
	require.NoError(t, raw.Control(func(fd uintptr) {
		if locked = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); locked == nil {
			number, locked = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}))
	require.NoError(t, locked)
	device, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = device.Close() })
	term := &terminalOf{t: t, master: master, device: device}
	term.resize(width, height)
	return term
}

func (p *terminalOf) resize(width, height uint16) {
	require.NoError(p.t, unix.IoctlSetWinsize(int(p.device.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Col: width, Row: height}))
}

// settings are those of the terminal.
func (p *terminalOf) settings() unix.Termios {
	settings, err := unix.IoctlGetTermios(int(p.device.Fd()), unix.TCGETS)
	require.NoError(p.t, err)
	return *settings
}

// withoutSettings is the environment without settings of rangegate, which are of the tests or of whoever runs them.
func withoutSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(setting string) bool {
		return strings.HasPrefix(setting, "RANGEGATE_")
	})
}

// run starts rangegate as a shell does, in the foreground of the terminal.
func (p *terminalOf) run(args ...string) {
	path, err := exec.LookPath("rangegate") // testscript.Main has put it in the path
	require.NoError(p.t, err)
	p.command = exec.CommandContext(p.t.Context(), path, args...)
	p.command.Stdin, p.command.Stdout, p.command.Stderr = p.device, p.device, p.device
	p.command.Env = withoutSettings()
	p.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	require.NoError(p.t, p.command.Start())
}

func (p *terminalOf) press(keys string) {
	_, err := p.master.WriteString(keys)
	require.NoError(p.t, err)
}

// waitFor waits until a whole screen, its lines without their attributes, is as wanted.
func (p *terminalOf) waitFor(what string, wanted func(lines []string) bool) {
	p.t.Helper()
	require.NoError(p.t, p.master.SetReadDeadline(time.Now().Add(longTimeout)))
	buffer, last := make([]byte, 64<<10), ""
	for {
		for {
			frame, rest, whole := strings.Cut(p.shown.String(), endFrame)
			if !whole {
				break
			}
			p.shown.Reset()
			p.shown.WriteString(rest)
			_, frame, _ = strings.Cut(frame, beginFrame)
			last = strings.NewReplacer(clearLine, "", reverseVideo, "", plainText, "", "\r", "").Replace(frame)
			if wanted(strings.Split(last, "\n")) {
				return
			}
		}
		n, err := p.master.Read(buffer)
		require.NoError(p.t, err, "%s; the last screen:\n%s", what, last)
		p.shown.Write(buffer[:n])
	}
}

// endsWith waits until the last that is shown is that, and returns the exit code of the command.
func (p *terminalOf) endsWith(text string) (code int) {
	p.t.Helper()
	require.NoError(p.t, p.master.SetReadDeadline(time.Now().Add(longTimeout)))
	for buffer := make([]byte, 4096); !strings.HasSuffix(p.shown.String(), text); {
		n, err := p.master.Read(buffer)
		require.NoError(p.t, err, "%q", p.shown.String())
		p.shown.Write(buffer[:n])
	}
	if p.command == nil {
		return 0
	}
	_ = p.command.Wait() // its error is the exit code
	return p.command.ProcessState.ExitCode()
}

// line returns a function that is true where that line matches the pattern.
func line(n int, pattern string) func([]string) bool {
	return func(lines []string) bool { return len(lines) > n && regexp.MustCompile(pattern).MatchString(lines[n]) }
}

// An operator watches in a terminal: sorts, makes it larger, pauses, loses the gateway and has it again, and quits.
func TestTopInATerminal(t *testing.T) {
	fake := &fakeOperations{}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close) // after the command
	term := openTerminal(t, 70, 8)
	before := term.settings()
	term.run("top", "--config", configurationAt(t, server.URL))
	term.waitFor("the table, of which three actors have room", func(lines []string) bool {
		return len(lines) == 8 && strings.HasPrefix(lines[0], "rangegate top   ") &&
			strings.HasPrefix(lines[6], "events ") &&
			lines[7] == "q quit   p pause   sort by [t trouble] b backlog a age r restarts l l…"
	})
	require.Contains(t, fake.asked(), "Bearer operator /observer/actors?limit=3&sort=trouble")
	require.Zero(t, term.settings().Lflag&(unix.ICANON|unix.ECHO), "keys are read at once and not shown")

	term.resize(120, 20)
	term.waitFor("a larger table", func(lines []string) bool {
		return len(lines) == 20 && strings.HasPrefix(lines[7], "range ") && lines[8] == "" &&
			strings.HasPrefix(lines[19], "q quit")
	})
	term.press("\x1bOal") // an arrow of some terminals is not the a of age
	term.waitFor("sorted by lateness", func(lines []string) bool {
		return line(3, `RESTARTS  LATE +WHY`)(lines) && line(5, `0\.31 ms +Sorted by lateness`)(lines) &&
			line(19, `\[l lateness\]`)(lines)
	})
	require.NotContains(t, strings.Join(fake.asked(), "\n"), "sort=age")
	require.Contains(t, fake.asked(), "Bearer operator /observer/actors?limit=15&sort=lateness")

	term.press("p")
	term.waitFor("paused", line(19, `PAUSED`))
	term.press("b")
	term.waitFor("another order of what is paused", func(lines []string) bool {
		return line(19, `PAUSED.*\[b backlog\]`)(lines) && line(5, `Sorted by backlog`)(lines)
	})
	asked, frames := len(fake.asked()), 0
	term.waitFor("two seconds", func([]string) bool { frames++; return frames == 2 }) // each draws once
	require.Len(t, fake.asked(), asked, "nothing is asked meanwhile")
	term.press("p")
	term.waitFor("going on", line(19, `p pause`))

	fake.set(func(f *fakeOperations) { f.refuses = "unauthorized" })
	term.waitFor("a refusal, and what is known", func(lines []string) bool {
		return line(0, `^REFUSED since \d\d:\d\d:\d\d: no \(unauthorized\)   1 of 1 range`)(lines) &&
			line(5, `Sorted by backlog`)(lines)
	})
	silent := make(chan struct{})
	fake.set(func(f *fakeOperations) { f.refuses, f.answersOn = "", silent })
	term.waitFor("no answer", line(0, `^NO CONTACT since \d\d:\d\d:\d\d: .* has not answered yet`))
	fake.set(func(f *fakeOperations) { f.answersOn = nil })
	close(silent)
	term.waitFor("contact again", line(0, `^rangegate top   \d`))

	term.press("q")
	require.Zero(t, term.endsWith(leaveScreen))
	require.Equal(t, before, term.settings())
}

// A gateway that does not run is waited for, and Ctrl-C ends the command with the terminal as it was.
func TestTopWaitsForAGateway(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	term := openTerminal(t, 100, 24)
	before := term.settings()
	term.run("top", "--config", configurationAt(t, address))
	term.waitFor("no contact", line(0, `^NO CONTACT since \d\d:\d\d:\d\d: dial tcp .*: connect: connection refused$`))
	later := httptest.NewUnstartedServer(&fakeOperations{})
	require.NoError(t, later.Listener.Close())
	listener, err := net.Listen("tcp", strings.TrimPrefix(address, "http://"))
	require.NoError(t, err)
	later.Listener = listener
	later.Start()
	t.Cleanup(later.Close) // after the command
	term.waitFor("the table", line(5, `^lane +Lane 7 `))
	term.press("\x1a") // no shell could let it go on: it stays
	term.waitFor("the table again", line(5, `^lane +Lane 7 `))
	term.press("\x03")
	require.Zero(t, term.endsWith(leaveScreen))
	require.Equal(t, before, term.settings())
}

// What the gateway refuses at first, such as the token, ends the command with a message on the terminal as it was.
func TestTopEndsWithTheRefusal(t *testing.T) {
	server := httptest.NewServer(&fakeOperations{refuses: "unauthorized"})
	t.Cleanup(server.Close) // after the command
	term := openTerminal(t, 100, 24)
	term.run("top", "--config", configurationAt(t, server.URL))
	require.Equal(t, exitFailed, term.endsWith(leaveScreen+"rangegate: no (unauthorized)\r\n"))
}

// A defect of the command leaves the terminal as it was.
func TestTopRestoresTheTerminalAfterAPanic(t *testing.T) {
	term := openTerminal(t, 100, 24)
	before := term.settings()
	o := operator{Config: configurationAt(t, "127.0.0.1:1")}
	client, err := o.connect(nil)
	require.NoError(t, err)
	client.transport.Proxy = func(*http.Request) (*url.URL, error) { panic("a defect") }
	w := &topWatch{top: top{operator: o}, screen: &screen{in: term.device, out: term.device}, client: client}
	func() {
		defer func() { require.Contains(t, recover(), "a defect") }()
		_ = w.run(t.Context())
	}()
	require.Equal(t, before, term.settings())
	term.endsWith(leaveScreen)
}

// A line as wide as the terminal keeps its last character: the cursor is still on it, and what clears the rest of a
// line would clear it too.
func TestTheScreenOfTopClearsBehindItsLines(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	entered := &screen{out: write, former: &unix.Termios{}}
	require.NoError(t, entered.draw([]string{"short", "as wide", "", "so"}, 7, 0, 2))
	require.NoError(t, write.Close())
	drawn, err := io.ReadAll(read)
	require.NoError(t, err)
	require.Equal(t, beginFrame+reverseVideo+"short"+plainText+clearLine+"\r\nas wide\r\n"+clearLine+"\r\nso"+
		clearLine+endFrame, string(drawn))
	require.NoError(t, (&screen{out: write}).draw([]string{"nothing"}, 7), "before the screen is entered")
}

func TestKeysThatHaveNoCharacterAreIgnored(t *testing.T) {
	for typed, want := range map[string]string{
		"bq": "bq", "\x1b[Al": "l", "\x1bOb": "", "\x1b[1;5Cq": "q", "\x1b": "", "\x1bt": "", "p\x1b[3~p": "pp",
		"\x1b[": "", "\x1b[1;": "",
	} {
		require.Equal(t, want, string(characters([]byte(typed))), "%q", typed)
	}
}
