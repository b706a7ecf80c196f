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
	"rangegate/lanes"
	driver "rangegate/lanes/link/websocket"
)

// ceasefire measures how long it takes from a hold's being asked for to the last controller's having it, beside the
// floor: the same frames written, one after the other, to as many bare connections.
type ceasefire struct {
	Lanes  []int `default:"1000,10000" help:"How many lanes. Each takes a file descriptor here and one in the controllers' process."`
	Rounds int   `default:"9" help:"How often each is measured."`
}

// Run measures a quiet range, one in which sessions are being sold, and one whose store hangs.
func (c ceasefire) Run() error {
	var errs []error
	for _, lanes := range c.Lanes {
		errs = append(errs, c.measure(lanes))
	}
	return errors.Join(errs...)
}

const patience = 30 * time.Second

func (c ceasefire) measure(n int) (err error) {
	ctx := context.Background()
	bare, err := newBare(ctx, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	floor, err := rounds(ctx, c.Rounds, bare.hall, bare.write)
	if err != nil {
		return err
	}
	bare.hangUp()

	r, err := newHeld(ctx, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	fmt.Printf("%d lanes, from the request to the last controller's having the hold\n", n)
	fmt.Printf("  the same frames to bare connections    %8s\n", floor)
	var errs []error
	for _, circumstance := range []struct {
		name string
		with func() (end func())
	}{
		{"quiet", func() func() { return func() {} }}, {"while sessions are sold", r.busy}, {"while the store hangs", r.storeHangs},
	} {
		end := circumstance.with()
		took, err := rounds(ctx, c.Rounds, r.hall, r.turn)
		end()
		if err != nil {
			return err
		}
		fmt.Printf("  %-38s %8s\n", circumstance.name, took)
		errs = append(errs, bound(circumstance.name+" / bare connections", float64(took)/float64(floor), 2))
	}
	return errors.Join(errs...)
}

// rounds closes and opens all lanes so often, and answers the median of how long closing takes.
func rounds(ctx context.Context, n int, at *hall, turn func(context.Context, bool) error) (time.Duration, error) {
	var took []time.Duration
	for range n {
		for _, closed := range []bool{true, false} {
			within, cancel := context.WithTimeout(ctx, patience)
			begun := time.Now()
			if err := turn(within, closed); err != nil {
				cancel()
				return 0, err
			}
			done, err := at.wait(within, closed)
			cancel()
			if err != nil {
				return 0, err
			}
			if closed {
				took = append(took, done.Sub(begun))
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	slices.Sort(took)
	return took[len(took)/2].Round(10 * time.Microsecond), nil
}

// bare is connections with nothing behind them.
type bare struct {
	hall *hall
	all  []*websocket.Conn
	next atomic.Uint64
}

func newBare(ctx context.Context, n int) (*bare, error) {
	h, err := newHall(n)
	if err != nil {
		return nil, err
	}
	b := &bare{hall: h}
	for range n {
		conn, _, err := websocket.Dial(ctx, h.address, &websocket.DialOptions{Subprotocols: []string{"rangegate.lane.v1"}})
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.all = append(b.all, conn)
		go func() { // read the confirmations away
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
	frame := fmt.Appendf(nil, `{"type":"state","revision":%d,"hold":%v,"session":null,"purchase":null}`, b.next.Add(1), closed)
	for _, conn := range b.all {
		if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
			return err
		}
	}
	return nil
}

func (b *bare) hangUp() {
	for _, conn := range b.all {
		_ = conn.CloseNow()
	}
	b.all = nil
}

func (b *bare) close() error {
	b.hangUp()
	return b.hall.close()
}

// held is a range on real connections.
type held struct {
	hall    *hall
	gateway *gateway
	r       *actors.Range
}

func newHeld(ctx context.Context, n int) (*held, error) {
	h, err := newHall(n)
	if err != nil {
		return nil, err
	}
	g, err := newGateway()
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	layout := layoutOf(n)
	targets := map[uuid.UUID]driver.Target{}
	for _, place := range layout.Lanes {
		targets[place.ID] = driver.Target{Address: h.address}
	}
	r, err := g.startOn(ctx, layout, driver.New(driver.Settings{Lanes: targets, Now: g.clock.Now}), nil)
	if err != nil {
		return nil, errors.Join(err, g.close(), h.close())
	}
	all := &held{h, g, r}
	for deadline := time.Now().Add(2 * time.Minute); !all.up(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return nil, errors.Join(errors.New("not every link came up"), all.close())
		}
	}
	return all, nil
}

func (h *held) up() bool {
	return !slices.ContainsFunc(h.r.Lanes(), func(l lanes.LaneStatus) bool { return l.Link != lanes.LinkUp })
}

// turn sets the hold, or lifts it. How far it came is the controllers' to say.
func (h *held) turn(ctx context.Context, closed bool) error {
	over := lanes.Scope{Kind: lanes.OverRange}
	if closed {
		go func() { _, _ = h.r.Hold(ctx, over, "bench") }()
		return nil
	}
	h.gateway.file.unhang() // what is opened is saved first
	_, err := h.r.Lift(ctx, over, "bench")
	h.gateway.file.hangAgain()
	return err
}

// busy sells and stops sessions all the while.
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

// storeHangs keeps every flush from returning, but for those that a lift waits for.
func (h *held) storeHangs() (end func()) {
	h.gateway.file.hang()
	return h.gateway.file.mend
}

func (h *held) close() error { return errors.Join(h.gateway.close(), h.hall.close()) }
