package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rangegate/cmd/rangebench/figures"
)

// callers are HTTP clients in a process of their own: each has a connection and sends one request after the
// other. They do as little as possible, because they share the machine with the server.
type callers struct{}

// calls are requests, each sent once, with one method and the same headers.
type calls struct {
	Address string // host:port
	Clients int
	Method  string
	Header  map[string]string
	Paths   []string
	Bodies  []string // of the same length, or none
	Status  int      // expected
}

// callResult is the result of the calls.
type callResult struct {
	PerSecond float64
	P99       float64 // milliseconds
	Wrong     string  // an unexpected response; empty: none
	Body      string  // of the first client's last response
}

// Run answers until its input ends.
func (callers) Run() error { return answerAll(calls.send) }

func (c calls) send() (callResult, error) {
	connections := make([]net.Conn, c.Clients)
	for i := range connections {
		connection, err := net.Dial("tcp", c.Address)
		if err != nil {
			return callResult{}, err
		}
		defer func() { _ = connection.Close() }()
		connections[i] = connection
	}
	requests := c.requests()
	took := make([]float64, len(requests))
	var next, failed atomic.Int64
	var mu sync.Mutex
	var all callResult
	var working sync.WaitGroup
	begun := time.Now()
	for i, connection := range connections {
		working.Go(func() {
			answers := bufio.NewReaderSize(connection, 16<<10)
			var body bytes.Buffer
			for n := next.Add(1) - 1; n < int64(len(requests)); n = next.Add(1) - 1 {
				sent := time.Now()
				_, err := connection.Write(requests[n])
				status := 0
				if err == nil {
					status, err = answer(answers, &body)
				}
				took[n] = milliseconds(time.Since(sent))
				if err == nil && status == c.Status {
					continue
				}
				failed.Add(1)
				mu.Lock()
				all.Wrong = fmt.Sprintf("%s %s: %d %v %.200s", c.Method, c.Paths[n], status, err, body.String())
				mu.Unlock()
				if err != nil {
					return
				}
			}
			if i == 0 {
				all.Body = body.String()
			}
		})
	}
	working.Wait()
	all.PerSecond = float64(len(requests)-int(failed.Load())) / time.Since(begun).Seconds()
	all.P99 = figures.Percentile(took, 99)
	return all, nil
}

// requests returns the bytes to send.
func (c calls) requests() [][]byte {
	all := make([][]byte, len(c.Paths))
	for i, path := range c.Paths {
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", c.Method, path, c.Address)
		for name, value := range c.Header {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
		body := ""
		if len(c.Bodies) > 0 {
			body = c.Bodies[i]
			b.WriteString("Content-Type: application/json\r\n")
		}
		if c.Method != "GET" {
			fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
		}
		b.WriteString("\r\n" + body)
		all[i] = b.Bytes()
	}
	return all
}

// answer reads one response with a Content-Length, or without a body.
func answer(from *bufio.Reader, body *bytes.Buffer) (status int, err error) {
	line, err := from.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("no status line: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length := int64(0)
	for {
		if line, err = from.ReadSlice('\n'); err != nil {
			return status, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return status, err
			}
		}
	}
	body.Reset()
	_, err = io.CopyN(body, from, length)
	return status, err
}
