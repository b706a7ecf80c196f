package simulation

import (
	"context"
	"errors"
	"sync"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// links connects the gateway on one machine to the controllers, over a network with lag. A connection breaks
// with its machine, and stands still while that is frozen.
type links struct {
	world   *world
	machine *machine
	life    *life
}

var (
	errLinkLost   = errors.New("the connection to the controller broke")
	errNoResponse = errors.New("the controller does not respond")
)

// silentAfter is when a link fails over which nothing comes, as LINK.md has it.
const silentAfter = 15 * time.Second

// Dial implements link.Driver.
func (d *links) Dial(ctx context.Context, lane link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
	if err := sleep(ctx, d.world.lag()); err != nil {
		return nil, link.Hello{}, err
	}
	if err := d.life.io(ctx, d.machine); err != nil {
		return nil, link.Hello{}, err
	}
	if d.world.cutOff(lane.ID) {
		<-ctx.Done()
		return nil, link.Hello{}, errNoResponse
	}
	w := &wire{links: d, lane: lane, receiver: receiver, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	connection, hello, err := d.world.controllers[lane.ID].Dial(ctx, lane, w)
	if err != nil {
		return nil, hello, err
	}
	w.mu.Lock()
	w.far = connection
	w.mu.Unlock()
	d.world.judge.dialled(lane)
	d.machine.onDeath(func() { w.Close() })
	go w.carry()
	return w, hello, nil
}

// wire is a connection whose messages take the lag of the network, in both directions and in their order.
type wire struct {
	links    *links
	lane     link.Lane
	receiver link.Receiver

	calling sync.Mutex // held during every call of the receiver

	mu     sync.Mutex
	far    link.Connection
	queue  []message
	over   bool // closed, or its failure was happened
	wake   chan struct{}
	closed chan struct{}
}

// message is on its way. down is to the controller.
type message struct {
	arrives time.Time
	down    bool
	deliver func()
}

func (w *wire) put(down bool, deliver func()) {
	arrives := time.Now().Add(w.links.world.lag())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	for _, m := range w.queue { // none overtakes another
		if m.down == down && m.arrives.After(arrives) {
			arrives = m.arrives
		}
	}
	w.queue = append(w.queue, message{arrives, down, deliver})
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// carry delivers the messages until the connection ends.
func (w *wire) carry() {
	for {
		next, wait, found := w.next()
		if !found || wait > 0 {
			var due <-chan time.Time
			if found {
				due = time.After(wait)
			}
			select {
			case <-w.wake:
			case <-due:
			case <-w.closed:
				return
			}
			continue
		}
		if w.links.life.io(context.Background(), w.links.machine) != nil {
			return
		}
		silent := time.Now()
		for w.links.world.cutOff(w.lane.ID) {
			if time.Since(silent) >= silentAfter {
				w.fail(link.ErrSilent)
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		next()
	}
}

// next takes the message that arrives first, once it has.
func (w *wire) next() (deliver func(), wait time.Duration, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := -1
	for i, m := range w.queue {
		if first < 0 || m.arrives.Before(w.queue[first].arrives) {
			first = i
		}
	}
	if first < 0 {
		return nil, 0, false
	}
	if wait = time.Until(w.queue[first].arrives); wait > 0 {
		return nil, wait, true
	}
	deliver = w.queue[first].deliver
	w.queue = append(w.queue[:first:first], w.queue[first+1:]...)
	return deliver, 0, true
}

// tell calls the receiver, unless the connection is over.
func (w *wire) tell(call func(link.Receiver)) {
	w.calling.Lock()
	defer w.calling.Unlock()
	w.mu.Lock()
	over := w.over
	w.mu.Unlock()
	if !over {
		call(w.receiver)
	}
}

// fail ends the connection at both ends.
func (w *wire) fail(err error) {
	w.tell(func(r link.Receiver) {
		w.end()
		r.Down(err)
	})
}

// end ends the connection without a word to the receiver.
func (w *wire) end() {
	w.mu.Lock()
	over, far := w.over, w.far
	w.over, w.queue = true, nil
	w.mu.Unlock()
	if !over {
		close(w.closed)
		if far != nil {
			go far.Close() // it waits for a call of this wire, which may be under way
		}
	}
}

// Send implements link.Connection.
func (w *wire) Send(s link.State) {
	if !w.links.alive() {
		return
	}
	if w.links.world.defective(w.lane.ID) {
		panic("a defect of the driver")
	}
	w.links.world.judge.sent(w.links.machine, w.lane, s)
	// as on the wire: clocks need not agree, and the countdown begins as the state arrives
	var left, starts time.Duration
	if s.Session != nil {
		now := w.links.machine.clk.Now()
		left = s.Session.Remaining(now)
		if s.Session.Start != nil {
			starts = s.Session.Start.At.Since(now)
		}
	}
	w.put(true, func() {
		if s.Session != nil {
			arrived := *s.Session
			arrived.Left, arrived.Since = left, w.links.world.now()
			if arrived.Start != nil {
				arrived.Start = &lanes.Start{ID: arrived.Start.ID, At: arrived.Since.Add(starts)}
			}
			s.Session = &arrived
		}
		w.far.Send(s)
	})
}

// alive is false once the process is dead: what its goroutines still do reaches nobody.
func (d *links) alive() bool {
	select {
	case <-d.life.ended:
		return false
	default:
		return true
	}
}

// Ack implements link.Connection.
func (w *wire) Ack(log lanes.Log) { w.put(true, func() { w.far.Ack(log) }) }

// Close implements link.Connection.
func (w *wire) Close() {
	w.end()
	w.calling.Lock() // waits for a call of the receiver
	defer w.calling.Unlock()
}

// Applied implements link.Receiver, for the controller's end.
func (w *wire) Applied(revision uint64) {
	w.put(false, func() { w.tell(func(r link.Receiver) { r.Applied(revision) }) })
}

// Reported implements link.Receiver, for the controller's end.
func (w *wire) Reported(report lanes.Report) {
	made := time.Now().Add(-report.Age)
	w.put(false, func() {
		report.Age = time.Since(made)
		w.tell(func(r link.Receiver) { r.Reported(report) })
	})
}

// Down implements link.Receiver, for the controller's end.
func (w *wire) Down(err error) { w.put(false, func() { w.fail(err) }) }
