package webhook

import (
	"bytes"
	"errors"
	"sync"
)

// letter is the body of a request. A transport opens it, by its first Read, after it has written the headers. It can be
// read once: a transport that wants to send the request again finds nothing to start over with.
type letter struct {
	mu     sync.Mutex
	text   *bytes.Reader
	opened bool
	closed bool
}

var errTakenBack = errors.New("webhook: the event was taken back")

func seal(text []byte) *letter { return &letter{text: bytes.NewReader(text)} }

func (l *letter) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, errTakenBack
	}
	l.opened = true
	return l.text.Read(p)
}

func (l *letter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}

// takeBack ends the sending. It tells whether the letter was opened; one that was not never will be, although the
// transport's own goroutines may go on for a while after they gave up on the request.
func (l *letter) takeBack() (opened bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.opened
}
