package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
)

// recording is the stream of one screen, byte by byte.
type recording struct {
	stream io.ReadCloser
	mu     sync.Mutex
	heard  bytes.Buffer
}

// record opens a screen and records its stream.
func record(ctx context.Context, address string, rangeID uuid.UUID) (*recording, error) {
	stream, err := openStream(ctx, address, rangeID.String())
	if err != nil {
		return nil, err
	}
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
	return r, nil
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

	mu  sync.Mutex
	all []chan []byte
}

func (b *bareStreams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusNoContent) // no sign-in is needed
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
			if _, err := w.Write(text); err != nil || connection.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// turn sends the recorded bytes of a ceasefire, or of its end, to all screens.
func (b *bareStreams) turn(_ context.Context, closed bool) (begun time.Time, err error) {
	text := b.opening
	if closed {
		text = b.closing
	}
	begun = time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, said := range b.all {
		select {
		case said <- text:
		default:
			return begun, errors.New("a bare connection does not keep up")
		}
	}
	return begun, nil
}
