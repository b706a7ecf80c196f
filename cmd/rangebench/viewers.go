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

// viewers is many open control screens, in a process of their own. Each is signed in for itself, counts what it is told,
// and looks in it for nothing but which lanes are closed: the gateway is measured, and a browser would take more of the
// machine than it.
type viewers struct {
	Address string `help:"Where the gateway answers."`
	Range   string `help:"The range."`
	Lanes   int    `help:"How many lanes it has."`
	Screens int    `help:"How many screens."`
}

// told is how much all of them were told.
type told struct{ bytes, messages atomic.Int64 }

// Run says so when every screen has its picture, and goes on until its input ends. A screen that is cut off is an error:
// what the others cost would look cheap.
func (v viewers) Run() error {
	ctx := context.Background()
	all, sum := &tally{lanes: v.Screens * v.Lanes}, &told{}
	ended, pictured := make(chan error, v.Screens+1), make(chan struct{}, v.Screens)
	for range v.Screens {
		stream, err := openStream(ctx, v.Address, v.Range)
		if err != nil {
			return err
		}
		s := &viewer{all: all, told: sum, closed: map[string]bool{}, pictured: func() { pictured <- struct{}{} }}
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

// openStream signs somebody in, as a browser does it, and opens their stream.
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
	all      *tally
	told     *told
	closed   map[string]bool // as it shows it, by lane
	pictured func()
}

func (v *viewer) watch(stream io.ReadCloser) error {
	defer func() { _ = stream.Close() }()
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 64<<10), 8<<20)
	for first := true; lines.Scan(); {
		v.told.bytes.Add(int64(len(lines.Bytes()) + len("\n")))
		message, is := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !is {
			continue
		}
		v.told.messages.Add(1)
		v.read(message)
		if first {
			v.pictured()
			first = false
		}
	}
	return errors.Join(errors.New("a screen was cut off"), lines.Err())
}

// read looks which of a message's lanes are shown closed, the order and its confirmation, and which open. It does not
// decode: that would take more than the gateway does.
func (v *viewer) read(message []byte) {
	for {
		_, lane, another := bytes.Cut(message, []byte(`"lane_id":"`))
		id, rest, whole := bytes.Cut(lane, []byte(`"`))
		_, rest, known := bytes.Cut(rest, []byte(`"held":`))
		if !another || !whole || !known {
			return
		}
		closed := bytes.HasPrefix(rest, []byte(`true,"locked":true`))
		open := bytes.HasPrefix(rest, []byte(`false,"locked":false`))
		if closed && !v.closed[string(id)] || open && v.closed[string(id)] {
			v.closed[string(id)] = closed
			v.all.turned(closed)
		}
		message = rest
	}
}

// newAudience is a process of screens, as seen from here.
func newAudience(address string, rangeID uuid.UUID, lanes, screens int) (*child, error) {
	c, _, err := newChild("viewers", "--address", address, "--range", rangeID.String(),
		"--lanes", fmt.Sprint(lanes), "--screens", fmt.Sprint(screens))
	return c, err
}
