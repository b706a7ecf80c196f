package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// viewers are open screens in a process of their own. Each counts what it receives, and reads only which
// lanes are closed: a browser would use more of the machine than the gateway.
type viewers struct {
	Address string   `help:"Where the gateway answers."`
	Range   string   `help:"The range."`
	Lanes   int      `help:"How many lanes it has."`
	Screens int      `help:"How many control screens."`
	Boards  int      `help:"How many wall boards."`
	At      []string `help:"The lanes whose lane screens are open."`
}

// received is what all screens have received.
type received struct{ bytes, messages atomic.Int64 }

// open opens all streams.
func (v viewers) open(ctx context.Context) (streams []io.ReadCloser, err error) {
	add := func(stream io.ReadCloser, err error) error {
		streams = append(streams, stream)
		return err
	}
	for range v.Screens {
		if err := add(openControl(ctx, v.Address, v.Range)); err != nil {
			return nil, err
		}
	}
	for range v.Boards {
		if err := add(openKeyed(ctx, v.Address, "/board/"+v.Range)); err != nil {
			return nil, err
		}
	}
	for _, lane := range v.At {
		if err := add(openKeyed(ctx, v.Address, "/lane/"+lane)); err != nil {
			return nil, err
		}
	}
	return streams, nil
}

// Run prints a line when every screen has its first message, and runs until its input ends. A screen that
// loses its connection is an error: the cost of the others would look too low.
func (v viewers) Run() error {
	ctx := context.Background()
	streams, err := v.open(ctx)
	if err != nil {
		return err
	}
	all, sum := &closedLanes{lanes: (v.Screens + v.Boards) * v.Lanes}, &received{}
	ended, pictured := make(chan error, len(streams)+1), make(chan struct{}, len(streams))
	var open []*viewer
	for _, stream := range streams {
		s := &viewer{all: all, received: sum, closed: map[string]bool{}, pictured: func() { pictured <- struct{}{} }}
		open = append(open, s)
		go func() { ended <- s.watch(stream) }()
	}
	late := time.After(patience)
	for range streams {
		select {
		case <-pictured:
		case err := <-ended:
			return err
		case <-late:
			return errors.New("not every screen has its picture")
		}
	}
	fmt.Println("open")
	go func() {
		for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
			reached := 0
			for _, s := range open {
				if s.reached.Swap(false) {
					reached++
				}
			}
			fmt.Println("counted", sum.bytes.Load(), sum.messages.Load(), reached)
		}
		ended <- nil
	}()
	return <-ended
}

const (
	viewerName = "bench"
	viewerPIN  = "2468"
	viewerKey  = "the-key-of-every-screen"
)

// openKeyed opens the stream of a lane screen or a wall board, whose address has its key.
func openKeyed(ctx context.Context, address, path string) (io.ReadCloser, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{
		Jar: jar, Transport: &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ask := func(path string, status int) (io.ReadCloser, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		answer, err := browser.Do(request)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode != status {
			_ = answer.Body.Close()
			return nil, fmt.Errorf("%s: %s", request.URL.Path, answer.Status)
		}
		return answer.Body, nil
	}
	page, err := ask(path+"?key="+viewerKey, http.StatusSeeOther)
	if err != nil {
		return nil, err
	}
	_ = page.Close()
	return ask(path+"/stream", http.StatusOK)
}

// openControl signs in as a browser does, and opens the stream of a control screen.
func openControl(ctx context.Context, address, rangeID string) (io.ReadCloser, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DisableCompression: true}}
	ask := func(method, path, body string, status int) (io.ReadCloser, error) {
		request, err := http.NewRequestWithContext(ctx, method, address+"/control/"+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := browser.Do(request)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode != status {
			_ = answer.Body.Close()
			return nil, fmt.Errorf("%s: %s", path, answer.Status)
		}
		return answer.Body, nil
	}
	in, err := ask(http.MethodPost, "sign-in",
		fmt.Sprintf(`{"range_id":%q,"name":%q,"pin":%q}`, rangeID, viewerName, viewerPIN), http.StatusNoContent)
	if err != nil {
		return nil, err
	}
	_ = in.Close()
	return ask(http.MethodGet, "stream", "", http.StatusOK)
}

// viewer is one screen.
type viewer struct {
	all      *closedLanes
	received *received
	closed   map[string]bool // as shown, by lane
	pictured func()
	reached  atomic.Bool // by a change, since that was last asked
}

func (v *viewer) watch(stream io.ReadCloser) error {
	defer func() { _ = stream.Close() }()
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 64<<10), 8<<20)
	for first := true; lines.Scan(); {
		v.received.bytes.Add(int64(len(lines.Bytes()) + len("\n")))
		message, found := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !found {
			if bytes.Equal(lines.Bytes(), []byte("event: change")) {
				v.reached.Store(true)
			}
			continue
		}
		v.received.messages.Add(1)
		v.read(message)
		if first {
			v.pictured()
			first = false
		}
	}
	return errors.Join(errors.New("a screen was cut off"), lines.Err())
}

// read finds which lanes a message shows closed, both ordered and confirmed, and which open. It does not
// decode JSON, which would cost more than the gateway's work.
func (v *viewer) read(message []byte) {
	for {
		_, lane, another := bytes.Cut(message, []byte(`"lane_id":"`))
		id, rest, whole := bytes.Cut(lane, []byte(`"`))
		_, rest, found := bytes.Cut(rest, []byte(`"held":`))
		if !another || !whole || !found {
			return
		}
		closed := bytes.HasPrefix(rest, []byte(`true,"locked":true`))
		open := bytes.HasPrefix(rest, []byte(`false,"locked":false`))
		if closed && !v.closed[string(id)] || open && v.closed[string(id)] {
			v.closed[string(id)] = closed
			v.all.setHeld(closed)
		}
		message = rest
	}
}

// start starts the process with the screens.
func (v viewers) start() (*child, error) {
	args := []string{
		"viewers", "--address", v.Address, "--range", v.Range, "--lanes", fmt.Sprint(v.Lanes), "--screens",
		fmt.Sprint(v.Screens), "--boards", fmt.Sprint(v.Boards),
	}
	if len(v.At) > 0 {
		args = append(args, "--at", strings.Join(v.At, ","))
	}
	c, _, err := newChild(args...)
	return c, err
}

// newAudience starts the process with control screens.
func newAudience(address string, rangeID uuid.UUID, lanes, screens int) (*child, error) {
	return viewers{Address: address, Range: rangeID.String(), Lanes: lanes, Screens: screens}.start()
}
