package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
)

// somePicture is a range whose lane 7 is saving, and whose lane 8 cannot be reached.
func somePicture() topPicture {
	at := time.Date(2026, time.May, 1, 19, 42, 10, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { return new(at.Add(-d)) }
	p := topPicture{order: "trouble"}
	p.overview.All.Ranges, p.overview.All.Running, p.overview.All.Lanes = 1, 1, 12
	p.overview.All.Links = map[string]int{"up": 11, "down": 1, "faulty": 0}
	p.overview.All.NotSaved, p.overview.All.Unsaved, p.overview.All.StoreDown, p.overview.All.Events = 1, 2, 1, 3
	p.table = topTable{At: at, Total: 26, Troubled: 2, Actors: []topActor{
		{
			Range: "North", Lane: "Lane 7", Kind: "lane", State: "saving", Since: ago(14 * time.Second), Messages: 1, Requests: 2, Restarts: 1,
			Oldest: &struct{ Since time.Time }{*ago(5 * time.Second)}, Why: &struct{ Sentence string }{"It has been saving modify for 14 s: i/o timeout."},
		},
		{
			Range: "North", Lane: "Lane 8", Kind: "connection", State: "down", Since: ago(2 * time.Hour),
			Why: &struct{ Sentence string }{"It dials again in 8 s:\x1b[2J no route."},
		},
		{Range: "North", Webhook: "pos", Kind: "events", State: "ready"},
	}}
	return p
}

func TestATopOfTrouble(t *testing.T) {
	picture := somePicture()
	view := topView{picture: &picture, order: "trouble"}
	require.Equal(t, []string{
		"rangegate top   19:42:10   1 of 1 range running   12 lanes   2 of 26 actors in trouble",
		"links 11 up, 1 down, 0 faulty",
		"changes unsaved 2, of 1 lane   STORE DOWN   events waiting 3",
	}, view.head(uncut))
	head, rows := topRows(picture, uncut)
	require.Equal(t, "KIND        NAME    STATE   SINCE  WAITING  RESTARTS  WHY", head)
	require.Equal(t, []string{
		"lane        Lane 7  saving  14 s   3, 5 s   1         It has been saving modify for 14 s: i/o timeout.",
		"connection  Lane 8  down    2 h    0        0         It dials again in 8 s:\uFFFD[2J no route.",
		"events      pos     ready   -      0        0",
	}, rows, "what a controller says does not control the terminal")
}

// Nothing is wider or higher than the terminal, and the keys stand in its last line.
func TestATopFitsItsTerminal(t *testing.T) {
	picture := somePicture()
	for _, size := range [][2]int{{40, 10}, {80, 24}, {20, 6}, {1, 2}} {
		lines := topView{picture: &picture, order: "trouble"}.frame(size[0], size[1])
		require.Len(t, lines, size[1])
		for _, line := range lines {
			require.LessOrEqual(t, len([]rune(line)), size[0], line)
		}
		require.Regexp(t, "^(q quit|…)", lines[size[1]-1])
	}
}

// A gateway that does not answer is told with since when, and what it said last stays.
func TestATopWithoutContact(t *testing.T) {
	picture := somePicture()
	lost := topView{picture: &picture, order: "age", lostAt: picture.table.At, reason: "refused", paused: true}
	require.Contains(t, lost.head(uncut)[0], "NO CONTACT since 19:42:10: refused")
	require.Contains(t, lost.frame(200, 10)[4], "Lane 7")
	require.Contains(t, lost.keys(uncut), "PAUSED, p goes on   sort by t trouble b backlog [a age]")
}

// One table of a running gateway, for scripts and mails.
func TestATopOfARunningGateway(t *testing.T) {
	g := gatewaytest.Start(t, t.TempDir())
	run := func(c top) (string, error) {
		return asOperator(t, g, func(term *terminal, o operator) error {
			c.operator, c.Once, c.Sort = o, true, "backlog"
			return c.Run(term)
		})
	}
	printed, err := run(top{})
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	require.Contains(t, lines[0], "1 of 1 range running   2 lanes   ")
	require.Len(t, lines, 4+6, "range, events, and two lanes with their connections")
	printed, err = run(top{Trouble: true, Range: gatewaytest.DemoRange})
	require.NoError(t, err)
	require.NotContains(t, printed, "connection", "nothing holds it up")
	_, err = run(top{Range: gatewaytest.DemoLane})
	require.True(t, errors.As(err, &gateway.Misconfigured{}), err)
	_, err = run(top{Range: "north"})
	require.ErrorContains(t, err, "--range: the id of a range is a UUID")
	g.Stop()
	_, err = run(top{})
	require.ErrorContains(t, err, "does not answer")
}

// openTerminal returns a terminal of that size, and whoever sits at it.
func openTerminal(t *testing.T, width, height uint16) (person, tty *os.File) {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = person.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}))
	return person, tty
}

// seen is what a person has seen on a terminal.
type seen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *seen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *seen) has(text string) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.text.String(), text)
	}
}

// A person follows a gateway, sorts, loses it, gets it back, and leaves the terminal as it was.
func TestATopInATerminal(t *testing.T) {
	person, tty := openTerminal(t, 100, 12)
	before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	require.NoError(t, err)
	var lost sync.Map
	ask := func(_ context.Context, order string, limit int) (topPicture, error) {
		if _, found := lost.Load("it is"); found {
			return topPicture{}, errors.New("it does not answer")
		}
		picture := somePicture()
		picture.order, picture.overview.All.Lanes = order, limit
		return picture, nil
	}
	ended := make(chan error, 1)
	go func() { ended <- followTop(t.Context(), screen{tty, tty}, "trouble", ask) }()
	var shown seen
	go func() {
		for chunk := make([]byte, 4096); ; {
			n, err := person.Read(chunk)
			if err != nil {
				return
			}
			_, _ = shown.Write(chunk[:n])
		}
	}()
	comes := func(text string) {
		t.Helper()
		require.Eventually(t, shown.has(text), 30*time.Second, 10*time.Millisecond, text)
	}
	comes("\x1b[?1049h")
	comes("7 lanes") // it asks for as many actors as fit
	_, err = person.WriteString("b")
	require.NoError(t, err)
	comes("[b backlog]")
	lost.Store("it is", true)
	comes("NO CONTACT since ")
	lost.Delete("it is")
	_, err = person.WriteString("p")
	require.NoError(t, err)
	comes("PAUSED")
	_, err = person.WriteString("q")
	require.NoError(t, err)
	require.NoError(t, <-ended)
	comes("\x1b[?1049l")
	after, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	require.NoError(t, err)
	require.Equal(t, before, after)
}
