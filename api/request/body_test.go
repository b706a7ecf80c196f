package request

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// pipeListener accepts one connection: the other end of a pipe.
type pipeListener struct{ connections chan net.Conn }

func (l pipeListener) Accept() (net.Conn, error) {
	c, ok := <-l.connections
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// serveBounded serves the handler behind BoundBody, as the gateway does, and returns a connection to it.
func serveBounded(t *testing.T, handler http.HandlerFunc) net.Conn {
	client, served := net.Pipe()
	listener := pipeListener{make(chan net.Conn, 1)}
	listener.connections <- served
	close(listener.connections)
	track := Track(zerolog.Nop(), nil)
	server := &http.Server{
		ReadTimeout: BodyTime,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			BoundBody(handler).ServeHTTP(w, r.WithContext(track(r.Context(), "", "")))
		}),
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// The time for a body ends with the body: a request that is carried out for longer is not given up by it.
func TestTheTimeForABodyEndsWithIt(t *testing.T) {
	for name, authenticateFirst := range map[string]bool{"a POS": true, "a sign-in": false} {
		synctest.Test(t, func(t *testing.T) {
			client := serveBounded(t, func(w http.ResponseWriter, r *http.Request) {
				if authenticateFirst {
					Authenticated(r.Context())
				}
				_, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				Authenticated(r.Context())
				select {
				case <-time.After(time.Minute):
				case <-r.Context().Done():
					w.WriteHeader(http.StatusTeapot)
				}
			})
			_, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{}")
			require.NoError(t, err)
			response, err := http.ReadResponse(bufio.NewReader(client), nil)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, 200, response.StatusCode, name)
		})
	}
}

// A body has 2 seconds and 1 KiB until the credentials are known to be valid, and 15 seconds then.
func TestTheBoundsOfABody(t *testing.T) {
	for name, c := range map[string]struct {
		authenticated bool
		sent          string
		takes         time.Duration
		tooLarge      bool
	}{
		"held":                         {false, "{", UnauthenticatedBodyTime, false},
		"held, with valid credentials": {true, "{", BodyTime, false},
		"large":                        {false, strings.Repeat("a", MaxUnauthenticatedBody+1), 0, true},
		"the largest": {
			false, strings.Repeat("a", MaxUnauthenticatedBody),
			UnauthenticatedBodyTime, false,
		},
		"large, with valid credentials": {true, strings.Repeat("a", MaxUnauthenticatedBody+1), BodyTime, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			read := make(chan error, 1)
			client := serveBounded(t, func(_ http.ResponseWriter, r *http.Request) {
				if c.authenticated {
					Authenticated(r.Context())
				}
				_, err := io.ReadAll(r.Body)
				read <- err
			})
			began := time.Now()
			_, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 5000\r\n\r\n"+c.sent)
			require.NoError(t, err)
			err = <-read
			var tooLarge *http.MaxBytesError
			require.Equal(t, c.tooLarge, errors.As(err, &tooLarge), name)
			require.Equal(t, !c.tooLarge, errors.Is(err, os.ErrDeadlineExceeded), name)
			require.Equal(t, c.takes, time.Since(began), name)
			go func() { _, _ = io.Copy(io.Discard, client) }()
			time.Sleep(time.Minute) // the server reads the rest, and waits for the client to read its response
		})
	}
}
