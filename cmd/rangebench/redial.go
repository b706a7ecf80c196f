package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/cmd/rangebench/figures"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link"
	driver "rangegate/lanes/link/websocket"
)

// redial measures how long controllers that dial take to be linked again after a restart of the gateway, with
// the default of new links a second, while sales go on. The limit is the acceptor alone: the same controllers
// and as many links a second, and nothing behind them.
var redial = experiment{
	"links/redial", "10,000 controllers dial again after a restart, while 8 clients sell",
	measureRedial,
}

const (
	admitted     = 500  // new links a second: the default
	admittedOnce = 1000 // before what is measured
	redialKey    = "a key of all controllers of the benchmark"
	redialLimit  = 30.0 // seconds
)

func measureRedial(ctx context.Context, t *trial) error {
	const spare = 1000
	n := t.lanes(10_000)
	if have := files(n + spare); have < n+spare {
		return &notMeasured{fmt.Sprintf("it takes %d files, and this process may open %d", n+spare, have)}
	}
	return t.compare(ctx, 1,
		func(ctx context.Context) ([]float64, error) { return redialGateway(ctx, n) },
		func(ctx context.Context) ([]float64, error) { return redialAcceptor(ctx, n) },
		figures.Figure{
			Unit: "s", Goal: figures.Below(redialLimit), What: "from listening again to the last link's being up",
			Limit: "the acceptor alone, which lets in as many a second and has no lanes behind it",
		})
}

// dialling are the controllers of many lanes that dial, in a process of their own.
type dialling struct {
	Lanes   int    `default:"1000" help:"How many lanes."`
	Address string `help:"host:port that they dial."`
}

// Run dials until its input ends.
func (d dialling) Run() error {
	machine, err := clock.NewSystem()
	if err != nil {
		return err
	}
	served := make([]lanesim.Lane, d.Lanes)
	for n := range served {
		lane := redialLane(n)
		served[n] = lanesim.Lane{ID: lane, Key: redialKey, Dial: "ws://" + d.Address + driver.LanePath + lane.String()}
	}
	controllers, err := lanesim.New(lanesim.Settings{Now: machine.Now}, served...)
	if err != nil {
		return err
	}
	fmt.Println("dialling")
	_, _ = io.Copy(io.Discard, os.Stdin)
	controllers.Close()
	return nil
}

func redialLane(n int) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, "lane ", n)) }

// redialLayout is a range of those lanes, and one more that is simulated and sold meanwhile.
func redialLayout(n int) lanes.Layout {
	layout := layoutOf(n + 8)
	for i := range n {
		layout.Lanes[i].ID = redialLane(i)
	}
	return layout
}

// listenAt serves the acceptor at the address; with port 0 at any.
func listenAt(address string, acceptor http.Handler) (server *http.Server, at string, err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, "", err
	}
	server = &http.Server{Handler: acceptor, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return server, listener.Addr().String(), nil
}

func newAcceptor(now func() lanes.Instant, admit int) *driver.Acceptor {
	return driver.NewAcceptor(driver.AcceptorSettings{
		Now: now, Admit: func() int { return admit }, Here: func(uuid.UUID) error { return nil },
	})
}

// mixed are lanes whose controllers dial, and simulated ones.
type mixed struct {
	*driver.Driver
	simulated link.Driver
}

// Dial connects to a simulated lane.
func (m mixed) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	return m.simulated.Dial(ctx, lane, to)
}

// linkedGateway is a gateway at the address that its controllers dial.
type linkedGateway struct {
	*held
	server *http.Server
	at     string
}

func openLinkedGateway(ctx context.Context, address string, n, admit int) (*linkedGateway, error) {
	g, err := newGateway()
	if err != nil {
		return nil, err
	}
	acceptor, targets := newAcceptor(g.clock.Now, admit), map[uuid.UUID]driver.Target{}
	for i := range n {
		targets[redialLane(i)] = driver.Target{Key: redialKey, Incoming: true}
	}
	overNetwork := driver.New(driver.Settings{Now: g.clock.Now, Acceptor: acceptor, Lanes: targets})
	r, err := g.startOn(ctx, redialLayout(n), mixed{overNetwork, g.hardware}, nil)
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	server, at, err := listenAt(address, acceptor)
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return &linkedGateway{&held{nil, g, r}, server, at}, nil
}

func (l *linkedGateway) close() error { return errors.Join(l.server.Close(), l.gateway.close()) }

func redialGateway(ctx context.Context, n int) (took []float64, err error) {
	first, err := openLinkedGateway(ctx, "127.0.0.1:0", n, admittedOnce)
	if err != nil {
		return nil, err
	}
	controllers, _, err := newChild("dialling", "--lanes", fmt.Sprint(n), "--address", first.at)
	if err != nil {
		return nil, errors.Join(err, first.close())
	}
	defer func() { err = errors.Join(err, controllers.close()) }()
	err = errors.Join(linksUp(ctx, first.r), first.close())
	if err != nil {
		return nil, err
	}
	second, err := openLinkedGateway(ctx, first.at, n, admitted)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, second.close()) }()
	begun := time.Now()
	end := sellOn(second, n)
	err = linksUp(ctx, second.r)
	took = []float64{time.Since(begun).Seconds()}
	if sold := end(); sold == 0 && err == nil {
		err = errors.New("nothing was sold meanwhile")
	}
	return took, err
}

// sellOn sells and stops sessions on the lanes behind the first n until end is called, which returns how many.
func sellOn(g *linkedGateway, n int) (end func() int64) {
	ctx, cancel := context.WithCancel(context.Background())
	var selling sync.WaitGroup
	var sold atomic.Int64
	for _, place := range g.r.Layout().Lanes[n:] {
		selling.Go(func() {
			for ctx.Err() == nil {
				session, err := sell(ctx, g.r, place.ID)
				if err == nil {
					sold.Add(1)
					_, _ = g.r.On(ctx, session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
				}
			}
		})
	}
	return func() int64 {
		cancel()
		selling.Wait()
		return sold.Load()
	}
}

// redialAcceptor is the same without a gateway.
func redialAcceptor(ctx context.Context, n int) (took []float64, err error) {
	first, err := openBareAcceptor("127.0.0.1:0", n, admittedOnce)
	if err != nil {
		return nil, err
	}
	controllers, _, err := newChild("dialling", "--lanes", fmt.Sprint(n), "--address", first.at)
	if err != nil {
		return nil, errors.Join(err, first.close())
	}
	defer func() { err = errors.Join(err, controllers.close()) }()
	err = errors.Join(first.wait(ctx), first.close())
	if err != nil {
		return nil, err
	}
	second, err := openBareAcceptor(first.at, n, admitted)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, second.close()) }()
	begun := time.Now()
	err = second.wait(ctx)
	return []float64{time.Since(begun).Seconds()}, err
}

// bareAcceptor is an acceptor whose links nobody uses. Each gets one state, as a controller with a key
// believes no gateway before.
type bareAcceptor struct {
	server  *http.Server
	at      string
	missing atomic.Int64
	linked  chan struct{} // closed when none is missing

	mu  sync.Mutex
	all []link.Connection
}

func openBareAcceptor(address string, n, admit int) (*bareAcceptor, error) {
	machine, err := clock.NewSystem()
	if err != nil {
		return nil, err
	}
	b, acceptor, targets := &bareAcceptor{linked: make(chan struct{})}, newAcceptor(machine.Now, admit),
		map[uuid.UUID]driver.Target{}
	b.missing.Store(int64(n))
	for i := range n {
		targets[redialLane(i)] = driver.Target{Key: redialKey, Incoming: true}
	}
	overNetwork := driver.New(driver.Settings{Now: machine.Now, Acceptor: acceptor, Lanes: targets})
	epoch := uint64(time.Now().UnixMilli())
	for lane := range targets {
		overNetwork.Await(link.Lane{Range: uuid.Max, ID: lane, Epoch: epoch}, &bareWaiter{b})
	}
	b.server, b.at, err = listenAt(address, acceptor)
	return b, err
}

func (b *bareAcceptor) wait(ctx context.Context) error {
	select {
	case <-b.linked:
		return nil
	case <-time.After(4 * patience):
		return fmt.Errorf("%d links did not come up", b.missing.Load())
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bareAcceptor) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, connection := range b.all {
		connection.Close()
	}
	return b.server.Close()
}

type bareWaiter struct{ b *bareAcceptor }

// Arrived implements link.Waiter.
func (w *bareWaiter) Arrived(connection link.Connection, _ link.Hello, err error) {
	if err != nil {
		return
	}
	connection.Send(link.State{Revision: 1})
	w.b.mu.Lock()
	w.b.all = append(w.b.all, connection)
	w.b.mu.Unlock()
	if w.b.missing.Add(-1) == 0 {
		close(w.b.linked)
	}
}

// Contested implements link.Waiter.
func (*bareWaiter) Contested(string, string) {}

// Applied implements link.Receiver.
func (*bareWaiter) Applied(uint64) {}

// Reported implements link.Receiver.
func (*bareWaiter) Reported(lanes.Report) {}

// Down implements link.Receiver.
func (*bareWaiter) Down(error) {}
