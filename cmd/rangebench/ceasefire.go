package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/actors/delivery"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
	driver "rangegate/lanes/link/websocket"
)

var (
	ceasefireSmall = ceasefire{
		"ceasefire/1k", 1000,
		5,
	}.experiment("a hold over 1,000 lanes, until the last controller has it")
	ceasefireLarge = ceasefire{
		"ceasefire/10k", 10_000,
		2,
	}.experiment("a hold over 10,000 lanes, until the last controller has it")
)

// ceasefire measures the time from a hold's request until the last controller has it. The limit writes the
// same frames, one after the other, to as many bare connections.
type ceasefire struct {
	name   string
	lanes  int
	rounds int
}

const (
	holdsARound = 5 // the median counts
	patience    = 30 * time.Second
)

// circumstances are the loads during a ceasefire.
var circumstances = []struct {
	name, what string
	with       func(*held) (end func())
}{
	{"", "in a quiet range", func(*held) func() { return func() {} }},
	{"selling", "while 8 clients sell and stop sessions", (*held).busy},
	{"store hanging", "while every flush of the store hangs", (*held).storeHangs},
}

func (c ceasefire) experiment(what string) experiment { return experiment{c.name, what, c.measure} }

func (c ceasefire) measure(ctx context.Context, t *trial) error {
	const spare = 1000
	n := t.lanes(c.lanes)
	if have := files(n + spare); have < n+spare {
		return &notMeasured{fmt.Sprintf("it takes %d files, and this process may open %d", n+spare, have)}
	}
	var into []figures.Figure
	for _, circumstance := range circumstances {
		into = append(into, figures.Figure{
			Name: circumstance.name, Unit: "ms", Goal: figures.AtMost(2),
			What:  "from the hold's being asked for to the last controller's having it, " + circumstance.what,
			Limit: "the same frames, written one after the other to as many bare connections",
		})
	}
	return t.compare(ctx, c.rounds,
		func(ctx context.Context) ([]float64, error) { return holdAll(ctx, n) },
		func(ctx context.Context) ([]float64, error) { return writeAll(ctx, n) }, into...)
}

// holdAll holds a range under each load.
func holdAll(ctx context.Context, n int) (had []float64, err error) {
	r, err := newHeld(ctx, layoutOf(n), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, circumstance := range circumstances {
		end := circumstance.with(r)
		took, err := measureHolds(ctx, r.controllers, r.turn)
		end()
		if err != nil {
			return nil, err
		}
		had = append(had, took)
	}
	return had, nil
}

// writeAll writes to bare connections: the limit is the same under every load.
func writeAll(ctx context.Context, n int) (had []float64, err error) {
	b, err := newBare(ctx, n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	took, err := measureHolds(ctx, b.controllers, b.write)
	return slices.Repeat([]float64{took}, len(circumstances)), err
}

// measureHolds closes and opens all lanes repeatedly, and returns the median time of closing, in milliseconds.
func measureHolds(ctx context.Context, at *controllerProcess, turn func(context.Context, bool) error) (float64, error) {
	var took []float64
	for range holdsARound {
		for _, closed := range []bool{true, false} {
			within, cancel := context.WithTimeout(ctx, patience)
			begun := time.Now()
			err := turn(within, closed)
			var done time.Time
			if err == nil {
				done, err = at.wait(within, closed)
			}
			cancel()
			if err != nil {
				return 0, err
			}
			if closed {
				took = append(took, milliseconds(done.Sub(begun)))
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return figures.Median(took), nil
}

// bare is a set of connections without a gateway.
type bare struct {
	controllers *controllerProcess
	all         []*websocket.Conn
	next        atomic.Uint64
}

func newBare(ctx context.Context, n int) (*bare, error) {
	h, err := newControllerProcess(n)
	if err != nil {
		return nil, err
	}
	b := &bare{controllers: h}
	for range n {
		//nolint:bodyclose // the library closes the body of the handshake
		conn, _, err := websocket.Dial(ctx, h.address,
			&websocket.DialOptions{Subprotocols: []string{"rangegate.lane.v1"}})
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.all = append(b.all, conn)
		go func() { // discard the confirmations
			for {
				if _, _, err := conn.Read(ctx); err != nil {
					return
				}
			}
		}()
	}
	return b, nil
}

func (b *bare) write(ctx context.Context, closed bool) error {
	frame := fmt.Appendf(nil, `{"type":"state","revision":%d,"hold":%v,"session":null,"purchase":null}`,
		b.next.Add(1), closed)
	for _, conn := range b.all {
		if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
			return err
		}
	}
	return nil
}

func (b *bare) disconnect() {
	for _, conn := range b.all {
		_ = conn.CloseNow()
	}
	b.all = nil
}

func (b *bare) close() error {
	b.disconnect()
	return b.controllers.close()
}

// held is a range with real connections.
type held struct {
	controllers *controllerProcess
	gateway     *gateway
	r           *actors.Range
}

func newHeld(ctx context.Context, layout lanes.Layout, webhook delivery.Webhook) (*held, error) {
	h, err := newControllerProcess(len(layout.Lanes))
	if err != nil {
		return nil, err
	}
	g, err := newGateway()
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	targets := map[uuid.UUID]driver.Target{}
	for _, place := range layout.Lanes {
		targets[place.ID] = driver.Target{Address: h.address}
	}
	r, err := g.startOn(ctx, layout, driver.New(driver.Settings{Lanes: targets, Now: g.clock.Now}), webhook)
	if err != nil {
		return nil, errors.Join(err, g.close(), h.close())
	}
	all := &held{h, g, r}
	if err := linksUp(ctx, r); err != nil {
		return nil, errors.Join(err, all.close())
	}
	return all, nil
}

// turn sets or lifts the hold. The controllers report when they have it.
func (h *held) turn(ctx context.Context, closed bool) error {
	over := lanes.Scope{Kind: lanes.OverRange}
	if closed {
		go func() { _, _ = h.r.Hold(ctx, over, "bench") }()
		return nil
	}
	h.gateway.file.resume() // a lift is saved before the lanes open
	defer h.gateway.file.hangIfWanted()
	for {
		_, err := h.r.Lift(ctx, over, uuid.Nil, "bench")
		if !errors.Is(err, lanes.ErrStoreUnavailable) || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond) // the flush that hangs has not returned yet
	}
}

// busy sells and stops sessions until end is called.
func (h *held) busy() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var selling sync.WaitGroup
	all := h.r.Layout().Lanes
	for i := range 8 {
		selling.Go(func() {
			for n := i; ctx.Err() == nil; n += 8 {
				session, err := sell(ctx, h.r, all[n%len(all)].ID)
				if err == nil {
					_, _ = h.r.On(ctx, session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
				}
			}
		})
	}
	return func() {
		cancel()
		selling.Wait()
	}
}

// storeHangs makes every flush hang, except those that a lift waits for.
func (h *held) storeHangs() (end func()) {
	h.gateway.file.hang()
	return h.gateway.file.release
}

func (h *held) close() error { return errors.Join(h.gateway.close(), h.controllers.close()) }
