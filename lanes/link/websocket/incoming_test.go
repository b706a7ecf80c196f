package websocket_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	coder "github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/linktest"
	"rangegate/lanes/link/websocket"
)

// The suite runs over both directions: here the controller dials.
func TestIncomingLink(t *testing.T) {
	for name, key := range map[string]string{"with a key": laneKey, "without a key": ""} {
		t.Run(name, func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) linktest.Bench { return incomingBench(t, key) })
		})
	}
}

// address is where a gateway's acceptor listens in a test.
type address struct {
	*websocket.Acceptor
	url string // that controllers dial, without the lane

	mu       sync.Mutex
	outcomes []string
}

// listenForControllers serves an acceptor on plain HTTP, or with TLS. here is that of its settings, nil for a
// gateway that serves all lanes.
func listenForControllers(
	t *testing.T, now func() lanes.Instant, here func(uuid.UUID) error, change ...func(*websocket.AcceptorSettings),
) *address {
	if here == nil {
		here = func(uuid.UUID) error { return nil }
	}
	a := &address{}
	settings := websocket.AcceptorSettings{
		Now: now, Here: here, Admit: func() int { return 10_000 },
		Attempted: func(_ websocket.Attempt, outcome string, _ error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.outcomes = append(a.outcomes, outcome)
		},
	}
	for _, change := range change {
		change(&settings)
	}
	a.Acceptor = websocket.NewAcceptor(settings)
	server := httptest.NewServer(a.Acceptor)
	t.Cleanup(server.Close)
	a.url = "ws" + strings.TrimPrefix(server.URL, "http") + websocket.LanePath
	return a
}

func (a *address) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.outcomes...)
}

func incomingBench(t *testing.T, key string) linktest.Bench {
	now := clock()
	lane := link.Lane{Range: uuid.New(), ID: uuid.New(), Epoch: 7}
	at := listenForControllers(t, now, nil)
	hardware, err := lanesim.New(lanesim.Settings{Now: now, DialOnRequest: true},
		lanesim.Lane{ID: lane.ID, Dial: at.url + lane.ID.String(), Key: key})
	require.NoError(t, err)
	t.Cleanup(hardware.Close)
	controller := controller{hardware.Controller(lane.ID)}
	driver := websocket.New(websocket.Settings{
		Now: now, Acceptor: at.Acceptor, Lanes: map[uuid.UUID]websocket.Target{lane.ID: {Key: key, Incoming: true}},
	})
	require.True(t, driver.Awaits(lane.ID))
	require.False(t, driver.Awaits(uuid.New()))
	return linktest.Bench{
		Driver: expecting{driver, controller.Controller}, Lane: lane, Now: now,
		Controller: controller,
	}
}

// expecting is a driver whose Dial waits for the controller, and has it dial once.
type expecting struct {
	*websocket.Driver
	controller *lanesim.Controller
}

func (e expecting) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	if err := ctx.Err(); err != nil {
		return nil, link.Hello{}, err
	}
	waiter := newWaiter(receiver)
	cancel := e.Await(lane, waiter)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.controller.Dial(ctx) }()
	select {
	case a := <-waiter.arrived:
		return a.connection, a.hello, a.err
	case err := <-ended:
		select {
		case a := <-waiter.arrived:
			return a.connection, a.hello, a.err
		default:
		}
		if coder.CloseStatus(err) == coder.StatusPolicyViolation || lanesim.HasRefused(err) {
			err = errors.Join(link.ErrFaulty, err)
		}
		return nil, link.Hello{}, err
	}
}

// waiter notes what a waiting lane is told.
type waiter struct {
	link.Receiver
	arrived   chan arrival
	contested chan [2]string
}

type arrival struct {
	connection link.Connection
	hello      link.Hello
	err        error
}

func newWaiter(r link.Receiver) *waiter {
	return &waiter{r, make(chan arrival, 1), make(chan [2]string, 10)}
}

func (w *waiter) Arrived(connection link.Connection, hello link.Hello, err error) {
	w.arrived <- arrival{connection, hello, err}
}
func (w *waiter) Contested(refused, linked string) { w.contested <- [2]string{refused, linked} }
