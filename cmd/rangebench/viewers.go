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

// viewers are open control screens in a process of their own. Each signs in, counts what it receives, and reads only which
// lanes are closed: a browser would use more of the machine than the gateway.
type viewers struct {
	Address string `help:"Where the gateway answers."`
	Range   string `help:"The range."`
	Lanes   int    `help:"How many lanes it has."`
	Screens int    `help:"How many screens."`
}

// received is what all screens have received.
type received struct{ bytes, messages atomic.Int64 }

// Run prints a line when every screen has its first message, and runs until its input ends. A screen that loses its connection
// is an error: the cost of the others would look too low.
func (v viewers) Run() error {
	ctx := context.Background()
	all, sum := &closedLanes{lanes: v.Screens * v.Lanes}, &received{}
	ended, pictured := make(chan error, v.Screens+1), make(chan struct{}, v.Screens)
	for range v.Screens {
		stream, err := openStream(ctx, v.Address, v.Range)
		if err != nil {
			return err
		}
		s := &viewer{all: all, received: sum, closed: map[string]bool{}, pictured: func() { pictured <- struct{}{} }}
		go func() { ended <- s.watch(stream) }()
	}
	late := time.After(patience)
	for range v.Screens {
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
			fmt.Println("counted", sum.bytes.Load(), sum.messages.Load())
		}
		ended <- nil
	}()
	return <-ended
}

const (
	viewerName = "bench"
	viewerPIN  = "2468"
)

// openStream signs in as a browser does, and opens the stream.
func openStream(ctx context.Context, address, rangeID string) (io.ReadCloser, error) {
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
}

func (v *viewer) watch(stream io.ReadCloser) error {
	defer func() { _ = stream.Close() }()
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 64<<10), 8<<20)
	for first := true; lines.Scan(); {
		v.received.bytes.Add(int64(len(lines.Bytes()) + len("\n")))
		message, found := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !found {
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

// read finds which lanes a message shows closed, both ordered and confirmed, and which open. It does not decode JSON, which
// would cost more than the gateway's work.
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

// newAudience starts the process with the screens.
func newAudience(address string, rangeID uuid.UUID, lanes, screens int) (*child, error) {
	c, _, err := newChild("viewers", "--address", address, "--range", rangeID.String(),
		"--lanes", fmt.Sprint(lanes), "--screens", fmt.Sprint(screens))
	return c, err
}
