package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"sync"
	"time"
)

// recording is the stream of one screen, byte by byte.
type recording struct {
	stream io.ReadCloser
	mu     sync.Mutex
	heard  bytes.Buffer
}

// record records the stream of an open screen.
func record(stream io.ReadCloser) *recording {
	r := &recording{stream: stream}
	go func() {
		piece := make([]byte, 64<<10)
		for {
			n, err := stream.Read(piece)
			r.mu.Lock()
			r.heard.Write(piece[:n])
			r.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return r
}

// cut returns the bytes since the last cut, with those that are still coming.
func (r *recording) cut() []byte {
	time.Sleep(10 * restOfScreens)
	r.mu.Lock()
	defer r.mu.Unlock()
	text := bytes.Clone(r.heard.Bytes())
	r.heard.Reset()
	return text
}

// bareStreams serves screens with recorded bytes.
type bareStreams struct {
	picture, closing, opening []byte
	// apart has each message of a text written for itself, as a stream writes them.
	apart bool

	mu  sync.Mutex
	all []chan []byte
}

func (b *bareStreams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusNoContent) // no sign-in is needed
		return
	}
	if r.URL.RawQuery != "" {
		w.WriteHeader(http.StatusSeeOther) // no key is
		return
	}
	said := make(chan []byte, 1)
	said <- b.picture
	b.mu.Lock()
	b.all = append(b.all, said)
	b.mu.Unlock()
	connection := http.NewResponseController(w)
	for {
		select {
		case text := <-said:
			for part := range b.parts(text) {
				if _, err := w.Write(part); err != nil || connection.Flush() != nil {
					return
				}
			}
		case <-r.Context().Done():
			return
		}
	}
}

// parts returns what is written at once.
func (b *bareStreams) parts(text []byte) iter.Seq[[]byte] {
	if !b.apart {
		return slices.Values([][]byte{text})
	}
	return func(yield func([]byte) bool) {
		for rest := text; len(rest) > 0; {
			_, after, _ := bytes.Cut(rest, []byte("\n\n"))
			if !yield(rest[:len(rest)-len(after)]) {
				return
			}
			rest = after
		}
	}
}

// turn sends the recorded bytes of a ceasefire, or of its end, to all screens.
func (b *bareStreams) turn(_ context.Context, closed bool) (begun time.Time, err error) {
	text := b.opening
	if closed {
		text = b.closing
	}
	return time.Now(), b.send(text)
}

// send sends a text to all screens.
func (b *bareStreams) send(text []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, said := range b.all {
		select {
		case said <- text:
		default:
			return errors.New("a bare connection does not keep up")
		}
	}
	return nil
}
