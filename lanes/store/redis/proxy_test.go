package redis_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy connects a store with its server, and simulates failures of the network.
type proxy struct {
	listener net.Listener
	server   string
	arrived  chan struct{} // one for each request that is held

	mu   sync.Mutex
	mode mode
	held sync.Cond // signals a change of mode
}

type mode int

const (
	forward   mode = iota
	hold           // requests are held until the mode changes
	mute           // the request reaches the server, and the connection breaks when it replies; once
	swallow        // what is sent is dropped, and connections stay open
	halfClose      // requests reach the server, and its side of the connection is closed instead of a reply
)

func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return startProxyOn(t, listener, server)
}

func startProxyOn(t *testing.T, listener net.Listener, server string) *proxy {
	p := &proxy{listener: listener, server: server, arrived: make(chan struct{}, 100)}
	p.held.L = &p.mu
	t.Cleanup(func() {
		_ = listener.Close()
		p.set(forward)
	})
	go p.accept()
	return p
}

func (p *proxy) url() string { return "redis://" + p.listener.Addr().String() + "/0" }

func (p *proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	p.held.Broadcast()
}

func (p *proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = from.Close()
			continue
		}
		go p.pass(from, to, p.request)
		go p.pass(to, from, func() verdict { return p.reply(from) })
	}
}

// verdict says what happens to a part of the data.
type verdict int

const (
	passed verdict = iota
	dropped
	broken // and the connection with it
)

// pass copies from one side to the other, as decide says.
func (p *proxy) pass(from, to net.Conn, decide func() verdict) {
	defer func() { _, _ = from.Close(), to.Close() }() // either may be closed already
	part := make([]byte, 64<<10)
	for {
		size, err := from.Read(part)
		if err != nil {
			return
		}
		switch decide() {
		case broken:
			return
		case dropped:
			continue
		}
		if _, err := to.Write(part[:size]); err != nil && !errors.Is(err, io.EOF) {
			return
		}
	}
}

func (p *proxy) request() verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == hold {
		p.arrived <- struct{}{}
		for p.mode == hold {
			p.held.Wait()
		}
	}
	if p.mode == swallow {
		return dropped
	}
	return passed
}

func (p *proxy) reply(to net.Conn) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.mode {
	case mute:
		p.mode = forward
		return broken
	case swallow:
		return dropped
	case halfClose:
		if tcp, isTCP := to.(*net.TCPConn); isTCP {
			_ = tcp.CloseWrite()
		}
		return dropped
	}
	return passed
}
