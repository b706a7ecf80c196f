package lanesim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/link/websocket/frame"
)

// How long a controller waits (LINK.md).
const (
	heardWithin = 15 * time.Second // without a message or ping: the gateway is lost
	helloWithin = 5 * time.Second
	writeWithin = time.Second
)

// talk is one connection of a gateway. It is the receiver of the simulated controller's reports, and carries them over
// the wire.
type talk struct {
	with   *Controller
	frames *websocket.Conn
	wire   net.Conn

	speaking sync.Mutex // held during every write, and until the hello is said
	held     []byte     // a report that is kept back so that the next one overtakes it; guarded by speaking

	mu   sync.Mutex
	line *sim.WireConnection // nil before the gateway's hello
}

// run is the conversation, from the gateway's hello until one of the two is gone. The error is the rule that the
// gateway broke, or of the wire.
func (t *talk) run() error {
	_ = t.wire.SetReadDeadline(time.Now().Add(helloWithin))
	gateway, err := t.hello()
	if err != nil {
		return err
	}
	if t.with.is().poses {
		return t.pose()
	}
	line, err := t.answer(gateway)
	if err != nil {
		return err
	}
	defer line.Close()
	for {
		t.heard()
		message, err := t.read()
		if err != nil {
			return err
		}
		t.take(line, message)
	}
}

// hello is the gateway's.
func (t *talk) hello() (link.Lane, error) {
	for {
		message, err := t.read()
		if err != nil {
			return link.Lane{}, err
		}
		switch m := message.(type) {
		case nil:
		case link.Lane:
			if m.ID != t.with.lane.ID && !t.with.is().poses {
				return m, rule{fmt.Errorf("this is the controller of lane %s", t.with.lane.ID)}
			}
			return m, nil
		default:
			return link.Lane{}, rule{errors.New("the first message is the hello")}
		}
	}
}

// answer says the controller's hello, before anything that it reports.
func (t *talk) answer(gateway link.Lane) (sim.WireConnection, error) {
	t.speaking.Lock()
	defer t.speaking.Unlock()
	line, hello, err := t.with.driver.Accept(gateway, t)
	if err != nil {
		return line, rule{err}
	}
	t.mu.Lock()
	t.line = &line
	t.mu.Unlock()
	if err := t.write(frame.ControllerHello(frame.Hello{Lane: t.with.lane.ID, Hello: hello})); err != nil {
		line.Close()
		return line, err
	}
	return line, nil
}

func (t *talk) take(line sim.WireConnection, message any) {
	switch m := message.(type) {
	case link.State:
		if m.Session != nil {
			m.Session.Since = t.with.clock.Now()
		}
		line.Send(m)
	case lanes.Log:
		if !t.with.is().losesAcks {
			line.Ack(m)
		}
	}
}

// heard is a sign of life of the gateway.
func (t *talk) heard() {
	if t.with.is().halfOpen {
		return
	}
	_ = t.wire.SetReadDeadline(time.Now().Add(heardWithin))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line != nil {
		t.line.Heard()
	}
}

// pinged tells whether to answer with a pong.
func (t *talk) pinged() bool {
	t.heard()
	return !t.with.is().halfOpen
}

// read is the next message, nil for one of an unknown type or that gets lost on the way.
func (t *talk) read() (any, error) {
	t.with.dawdle()
	kind, from, err := t.frames.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(from, frame.Longest+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > frame.Longest:
		return nil, rule{websocket.ErrMessageTooBig}
	case kind != websocket.MessageText:
		return nil, rule{errors.New("a message that is not text")}
	case t.with.is().halfOpen:
		return nil, nil
	}
	message, err := frame.FromGateway(text)
	if err != nil {
		return nil, rule{err}
	}
	return message, nil
}

// write is a message on its way. speaking is held.
func (t *talk) write(text []byte) error {
	if t.with.is().halfOpen {
		return nil
	}
	return t.frames.Write(context.Background(), websocket.MessageText, text)
}

// say is a message after the hello. Where it cannot be written the conversation is over.
func (t *talk) say(texts ...[]byte) {
	t.speaking.Lock()
	defer t.speaking.Unlock()
	for _, text := range texts {
		if t.write(text) != nil {
			_ = t.wire.Close()
		}
	}
}

// Applied is the simulated controller's, as are Reported and Down.
func (t *talk) Applied(revision uint64) { t.say(frame.AppliedRevision(revision)) }

func (t *talk) Reported(r lanes.Report) { t.report(frame.Report(r)) }

func (t *talk) Down(error) { _ = t.wire.Close() }
