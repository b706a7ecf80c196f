package linkconformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	coder "github.com/coder/websocket"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

const (
	// redialTimeout is the time for a controller to dial again: its longest pause is 15 s, and one that was
	// refused may take another one.
	redialTimeout = 40 * time.Second
	silentFor     = 20 * time.Second // a controller gives a gateway up that is silent for 15 s
	retryAfter    = 5 * time.Second
)

// Incoming is the address that a controller dials, in place of a gateway's. As a driver it waits for the controller.
type Incoming struct {
	driver   *websocket.Driver
	acceptor *websocket.Acceptor
	refused  chan failure // why the last attempts failed

	mu   sync.Mutex
	next http.HandlerFunc // answers the next dial in place of the acceptor; nil: nobody else does
}

// failure is why an attempt failed.
type failure struct{ cause error }

// NewIncoming makes the address of that one lane's controller.
func NewIncoming(now func() lanes.Instant, lane uuid.UUID, key string) *Incoming {
	i := &Incoming{refused: make(chan failure, 1)}
	i.acceptor = websocket.NewAcceptor(websocket.AcceptorSettings{
		Now: now, Admit: func() int { return 100 },
		Here: func(dialled uuid.UUID) error {
			if dialled != lane {
				return websocket.ErrUnknownLane
			}
			return nil
		},
		Attempted: func(_ websocket.Attempt, _ string, err error) {
			if errors.Is(err, link.ErrFaulty) {
				select {
				case i.refused <- failure{err}:
				default:
				}
			}
		},
	})
	i.driver = websocket.New(websocket.Settings{
		Now: now, Acceptor: i.acceptor, Lanes: map[uuid.UUID]websocket.Target{lane: {Key: key, Incoming: true}},
	})
	return i
}

// ServeHTTP answers a dial.
func (i *Incoming) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	next := i.next
	i.next = nil
	i.mu.Unlock()
	if next != nil {
		next(w, r)
		return
	}
	i.acceptor.ServeHTTP(w, r)
}

func (i *Incoming) answerNext(next http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next = next
}

// arrival is what Await tells of a controller.
type arrival struct {
	connection link.Connection
	hello      link.Hello
	err        error
}

type waiter struct {
	link.Receiver
	arrived chan arrival
}

// Arrived implements link.Waiter.
func (w waiter) Arrived(connection link.Connection, hello link.Hello, err error) {
	w.arrived <- arrival{connection, hello, err}
}

// Contested implements link.Waiter.
func (waiter) Contested(string, string) {}

// Dial implements link.Driver: it waits until the controller has dialled. A controller that is connected does
// not dial: its connection is to be closed before.
func (i *Incoming) Dial(
	ctx context.Context, lane link.Lane, received link.Receiver,
) (link.Connection, link.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, redialTimeout)
	defer cancel()
	select {
	case <-i.refused: // of an attempt before
	default:
	}
	w := waiter{received, make(chan arrival, 1)}
	stop := i.driver.Await(lane, w)
	defer stop()
	select {
	case a := <-w.arrived:
		return a.connection, a.hello, a.err
	case refused := <-i.refused:
		return nil, link.Hello{}, refused.cause
	case <-ctx.Done():
		return nil, link.Hello{}, fmt.Errorf("the controller has not dialled within %s", redialTimeout)
	}
}

// meet waits until the controller dials, and takes its connection in place of the gateway.
func (i *Incoming) meet(ctx context.Context) (*coder.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, redialTimeout)
	defer cancel()
	met := make(chan *coder.Conn, 1)
	i.answerNext(func(w http.ResponseWriter, r *http.Request) {
		conn, err := coder.Accept(w, r, &coder.AcceptOptions{
			Subprotocols:       []string{frame.Subprotocol},
			InsecureSkipVerify: true,
		})
		if err == nil {
			met <- conn
		}
	})
	defer i.answerNext(nil)
	select {
	case conn := <-met:
		return conn, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("the controller has not dialled within %s", redialTimeout)
	}
}

// incomingRules are those of a controller that dials. They begin without a session, and end with a connection.
var incomingRules = []rule{
	{"gives a gateway up that is silent for 15 s, and dials again", func(c *Check, ctx context.Context) error {
		c.disconnect()
		conn, err := c.Incoming.meet(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.CloseNow() }()
		ctx, cancel := context.WithTimeout(ctx, silentFor)
		defer cancel()
		if _, _, err = conn.Read(ctx); ctx.Err() != nil {
			return fmt.Errorf("it is still connected after %s", silentFor)
		} else if err == nil {
			return errors.New("it speaks before the gateway's hello")
		}
		return nil
	}},
	{"waits as long as a busy gateway says (503, Retry-After)", func(c *Check, ctx context.Context) error {
		busy := make(chan time.Time, 1)
		c.Incoming.answerNext(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
			http.Error(w, "busy", http.StatusServiceUnavailable)
			busy <- time.Now()
		})
		if _, err := c.dial(ctx); err != nil {
			return err
		}
		select {
		case at := <-busy:
			if waited := time.Since(at); waited < retryAfter {
				return fmt.Errorf("it dialled again after %s, not %s", waited.Round(time.Millisecond), retryAfter)
			}
			return c.apply(ctx, link.State{Revision: 1})
		default:
			return errors.New("it was not told to wait")
		}
	}},
}
