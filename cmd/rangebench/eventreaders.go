package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// eventReaders are clients that wait for events, in a process of their own. They do as little as possible,
// because they share the machine with the server.
type eventReaders struct{}

// eventReaderState is what they have got.
type eventReaderState struct {
	mu       sync.Mutex
	all      []net.Conn
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
	// readersWanted opens that many connections, sends a request on each, awaits the event with that number
	// on all streams, or, with none of these, asks whether no poll was answered.
	readersWanted struct {
		Address string // host:port
		Header  map[string]string
		Open    int
		Stream  string // the path of a stream
		Quick   string // or of a request that is answered at once
		Poll    string // or of one that is not
		Event   int
	}
	// readersHave is the answer: when the last stream had the event, in nanoseconds since 1970.
	readersHave struct{ At int64 }
)

// Run answers until its input ends.
func (eventReaders) Run() error {
	e := &eventReaderState{arrivals: map[int]*arrival{}}
	return answerAll(func(q readersWanted) (readersHave, error) {
		err := e.open(q)
		switch {
		case err != nil:
		case q.Stream != "":
			err = e.begin(q)
		case q.Quick != "":
			err = e.send(q, q.Quick, readAnswer)
		case q.Poll != "":
			err = e.send(q, q.Poll, e.expectNothing)
		}
		if err != nil {
			return readersHave{}, err
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

// open opens the connections.
func (e *eventReaderState) open(q readersWanted) error {
	files(q.Open + 100)
	for range q.Open {
		connection, err := net.Dial("tcp", q.Address)
		if err != nil {
			return err
		}
		e.all = append(e.all, connection)
	}
	return nil
}

// send sends a request on each connection, and does something with it.
func (e *eventReaderState) send(q readersWanted, path string, do func(net.Conn) error) error {
	var request bytes.Buffer
	fmt.Fprintf(&request, "GET %s HTTP/1.1\r\nHost: %s\r\n", path, q.Address)
	for name, value := range q.Header {
		fmt.Fprintf(&request, "%s: %s\r\n", name, value)
	}
	request.WriteString("\r\n")
	for _, connection := range e.all {
		if _, err := connection.Write(request.Bytes()); err != nil {
			return err
		}
		if err := do(connection); err != nil {
			return err
		}
	}
	return nil
}

// readAnswer reads the answer to a request.
func readAnswer(connection net.Conn) error {
	var body bytes.Buffer
	status, err := answer(bufio.NewReader(connection), &body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("answered %d: %s", status, body.String())
	}
	return err
}

// expectNothing takes an answer as a fault.
func (e *eventReaderState) expectNothing(connection net.Conn) error {
	go func() {
		if _, err := connection.Read(make([]byte, 1)); err == nil {
			e.broken.Store(new("a request did not wait"))
		}
	}()
	return nil
}

// begin opens the streams, and waits until they have begun.
func (e *eventReaderState) begin(q readersWanted) error {
	begun := make(chan error, len(e.all))
	err := e.send(q, q.Stream, func(connection net.Conn) error {
		go e.read(connection, func(err error) { begun <- err })
		return nil
	})
	for range e.all {
		if err == nil {
			err = <-begun
		}
	}
	return err
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
		a.left.Store(int64(len(e.all)))
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
