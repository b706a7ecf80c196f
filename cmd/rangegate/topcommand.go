package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"rangegate/cmd/rangegate/gateway"
)

// top shows the actors of the gateway of this machine in a terminal.
type top struct {
	operator
	Once    bool   `help:"Print one table and end; so it does where standard input or output is no terminal."`
	Sort    string `default:"trouble" enum:"trouble,backlog,age,restarts,lateness" help:"What comes first: ${enum}."`
	Range   string `placeholder:"ID" help:"Only the actors of that range."`
	Trouble bool   `help:"Only the actors that something holds up."`
}

// Help is shown below the flags.
func (top) Help() string {
	return `Shows each second how the gateway is doing, and below it its actors, those that something holds up first, each with the reason in a sentence. Keys: q ends it, p pauses, t b a r l sort by trouble, backlog, age, restarts, lateness.`
}

const (
	topInterval = time.Second
	// topTimeout is how long the gateway is waited for before it counts as lost: a person watches.
	topTimeout = 3 * time.Second
	// topOnce is how many actors one table has, and maxTop how many the gateway returns.
	topOnce = 100
	maxTop  = 500
)

// Run prints one table, or follows the gateway until q, or a signal.
func (c top) Run(t *terminal) error {
	if _, err := uuid.Parse(c.Range); c.Range != "" && err != nil {
		return gateway.Misconfigured{Err: errors.New("--range: the id of a range is a UUID")}
	}
	client, err := c.connect(t.environ)
	if err != nil {
		return err
	}
	defer client.Close()
	ask := func(ctx context.Context, order string, limit int) (topPicture, error) {
		return c.ask(ctx, client, order, limit)
	}
	if c.Once || !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return c.once(t, ask)
	}
	return followTop(t.ctx, screen{os.Stdin, os.Stdout}, c.Sort, ask)
}

// askTop asks the gateway for a picture in that order, with at most that many actors.
type askTop func(ctx context.Context, order string, limit int) (topPicture, error)

func (c top) ask(ctx context.Context, client *operationsClient, order string, limit int) (topPicture, error) {
	query := url.Values{"sort": {order}, "limit": {strconv.Itoa(min(limit, maxTop))}}
	path := "/actors"
	if c.Range != "" {
		query.Set("range", c.Range)
		path += "?range=" + c.Range
	}
	if c.Trouble {
		query.Set("trouble", "true")
	}
	picture := topPicture{order: order}
	err := client.ask(ctx, http.MethodGet, path, nil, &picture.overview)
	if err == nil {
		err = client.ask(ctx, http.MethodGet, "/observer/actors?"+query.Encode(), nil, &picture.table)
	}
	var refused refusal
	if errors.As(err, &refused) && refused.code == "not_found" {
		err = gateway.Misconfigured{Err: errors.New("--range: the gateway has no range with that id")}
	}
	return picture, err
}

// once prints one table.
func (c top) once(t *terminal, ask askTop) error {
	picture, err := ask(t.ctx, c.Sort, topOnce)
	if err != nil {
		return err
	}
	view := topView{picture: &picture, order: c.Sort}
	head, rows := topRows(picture, uncut)
	for _, line := range append(append(view.head(uncut), head), rows...) {
		t.printf("%s\n", line)
	}
	return nil
}

// screen is a terminal that is drawn on, and whose keys are read.
type screen struct{ in, out *os.File }

// The sequences of ECMA-48 and xterm.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the alternate one, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	endLine     = "\x1b[K"
	endScreen   = "\x1b[J"
)

// open takes each key as it is pressed, and returns how the terminal becomes what it was.
func (s screen) open() (leave func(), err error) {
	before, err := unix.IoctlGetTermios(int(s.in.Fd()), unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("the terminal: %w", err)
	}
	keys := *before
	keys.Lflag &^= unix.ICANON | unix.ECHO // signals are sent as before
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(s.in.Fd()), unix.TCSETS, &keys); err != nil {
		return nil, fmt.Errorf("the terminal: %w", err)
	}
	_, _ = s.out.WriteString(enterScreen)
	return func() {
		_, _ = s.out.WriteString(leaveScreen)
		_ = unix.IoctlSetTermios(int(s.in.Fd()), unix.TCSETS, before)
	}, nil
}

// size returns columns and lines; 80 and 24 where the terminal does not say.
func (s screen) size() (width, height int) {
	size, err := unix.IoctlGetWinsize(int(s.out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

// draw writes the lines over what is there: nothing is cleared before, so that nothing flickers.
func (s screen) draw(lines []string) {
	_, _ = s.out.WriteString(toTop + strings.Join(lines, endLine+"\r\n") + endLine + endScreen)
}

// keysOf sends each key. It ends with the process: a read of a terminal cannot be given up.
func (s screen) keysOf() <-chan byte {
	keys := make(chan byte)
	go func() {
		for key := make([]byte, 1); ; {
			if n, err := s.in.Read(key); n == 0 || err != nil {
				return
			}
			keys <- key[0]
		}
	}()
	return keys
}

// followTop shows what the gateway answers, each second, until the key q or the end of ctx. A gateway that does not
// answer is asked again, and what it said last stays.
func followTop(ctx context.Context, s screen, order string, ask askTop) error {
	leave, err := s.open()
	if err != nil {
		return err
	}
	defer leave() // also on a panic
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	defer signal.Stop(resized)
	type answer struct {
		picture topPicture
		err     error
	}
	answers := make(chan answer, 1)
	ctx, end := context.WithCancel(ctx)
	defer end()
	asking, again := false, false // a request is under way; another one follows it at once
	request := func(view topView) {
		if again = asking; asking {
			return
		}
		asking = true
		_, height := s.size()
		go func() {
			ctx, cancel := context.WithTimeout(ctx, topTimeout)
			defer cancel()
			picture, err := ask(ctx, view.order, topFits(height))
			answers <- answer{picture, err}
		}()
	}
	ticker := time.NewTicker(topInterval)
	defer ticker.Stop()
	keys, answered, view := s.keysOf(), time.Now(), topView{order: order}
	for request(view); ; s.draw(view.frame(s.size())) {
		select {
		case <-ctx.Done():
			return nil
		case <-resized:
		case <-ticker.C:
			if !view.paused {
				request(view)
			}
		case a := <-answers:
			asking = false
			var wrong gateway.Misconfigured
			switch {
			case errors.As(a.err, &wrong):
				return a.err
			case a.err != nil:
				view.lostAt, view.reason = answered, a.err.Error()
			default:
				answered, view.lostAt, view.reason = time.Now(), time.Time{}, ""
				view.picture = &a.picture
			}
			if again {
				request(view)
			}
		case key := <-keys:
			if key == 'q' {
				return nil
			}
			if view.press(key) {
				request(view)
			}
		}
	}
}

// press does what the key says, and reports whether the gateway is to be asked at once.
func (v *topView) press(key byte) (ask bool) {
	if key == 'p' {
		v.paused = !v.paused
		return !v.paused
	}
	for _, o := range topOrders {
		if o.key == key {
			v.order = o.order
			return true
		}
	}
	return false
}
