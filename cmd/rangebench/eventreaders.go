package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// eventReaders are clients that wait for events, in a process of their own. They do as little as possible, because they share the machine
// with the server.
type eventReaders struct{}

// eventReaderState is what they have got.
type eventReaderState struct {
	mu       sync.Mutex
	streams  int
	arrivals map[int]*arrival // by the number of the event
	broken   atomic.Pointer[string]
}

// arrival counts the streams that have an event.
type arrival struct {
	left atomic.Int64
	at   time.Time // when the last of them had it
	all  chan struct{}
}

type (
	// readersWanted opens that many requests, or awaits the event with that number on all streams, or asks whether all still wait.
	readersWanted struct {
		Address, Path string // host:port
		Header        map[string]string
		Open          int
		Polls         bool // the requests get no answer yet
		Event         int
	}
	// readersHave is the answer: when the last stream had the event, in nanoseconds since 1970.
	readersHave struct{ At int64 }
)

// Run answers until its input ends.
func (eventReaders) Run() error {
	e := &eventReaderState{arrivals: map[int]*arrival{}}
	return answerAll(func(q readersWanted) (readersHave, error) {
		if q.Open > 0 {
			return readersHave{}, e.open(q)
		}
		if broken := e.broken.Load(); broken != nil {
			return readersHave{}, errors.New(*broken)
		}
		if q.Event == 0 {
			return readersHave{}, nil
		}
		return e.await(q.Event)
	})
}

// open opens the requests, each on a connection, and waits until the streams have begun.
func (e *eventReaderState) open(q readersWanted) error {
	files(q.Open + 100)
	var request bytes.Buffer
	fmt.Fprintf(&request, "GET %s HTTP/1.1\r\nHost: %s\r\n", q.Path, q.Address)
	for name, value := range q.Header {
		fmt.Fprintf(&request, "%s: %s\r\n", name, value)
	}
	request.WriteString("\r\n")
	e.streams = q.Open
	begun := make(chan error, q.Open)
	for range q.Open {
		connection, err := net.Dial("tcp", q.Address)
		if err != nil {
			return err
		}
		if _, err := connection.Write(request.Bytes()); err != nil {
			return err
		}
		if q.Polls {
			go func() {
				if _, err := connection.Read(make([]byte, 1)); err == nil {
					e.broken.Store(new("a request did not wait"))
				}
			}()
			continue
		}
		go e.read(connection, func(err error) { begun <- err })
	}
	if q.Polls {
		return nil
	}
	for range q.Open {
		if err := <-begun; err != nil {
			return err
		}
	}
	return nil
}

// read reads one stream.
func (e *eventReaderState) read(connection net.Conn, begun func(error)) {
	lines := bufio.NewReader(connection)
	status, err := lines.ReadString('\n')
	if err == nil && !bytes.Contains([]byte(status), []byte(" 200 ")) {
		err = errors.New(status)
	}
	if err != nil {
		begun(err)
		return
	}
	for event, first := 0, true; ; {
		line, err := lines.ReadSlice('\n')
		switch {
		case err != nil:
			e.broken.Store(new(err.Error()))
			return
		case bytes.HasPrefix(line, []byte("retry: ")) && first:
			first = false
			begun(nil)
		case bytes.HasPrefix(line, []byte("data: ")):
			event++
			e.arrivalOf(event).count()
		}
	}
}

func (e *eventReaderState) arrivalOf(event int) *arrival {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.arrivals[event]
	if a == nil {
		a = &arrival{all: make(chan struct{})}
		a.left.Store(int64(e.streams))
		e.arrivals[event] = a
	}
	return a
}

func (a *arrival) count() {
	if a.left.Add(-1) == 0 {
		a.at = time.Now()
		close(a.all)
	}
}

// await waits until all streams have the event.
func (e *eventReaderState) await(event int) (readersHave, error) {
	a := e.arrivalOf(event)
	select {
	case <-a.all:
		return readersHave{a.at.UnixNano()}, nil
	case <-time.After(patience):
	}
	return readersHave{}, fmt.Errorf("%d streams have not got event %d", a.left.Load(), event)
}
