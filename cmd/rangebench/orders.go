package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// orders is simulated hardware that notes when each lane's link gets the stop.
type orders struct {
	link.Driver
	now     func() lanes.Instant
	of      map[uuid.UUID]int // lane → its number
	stopped []atomic.Int64    // by number, the boot clock's reading; 0: not yet
	left    atomic.Int64      // lanes that have not stopped
	all     chan struct{}     // closed when all have
}

func newOrders(hardware link.Driver, now func() lanes.Instant, of []lanes.Place) *orders {
	o := &orders{
		Driver: hardware, now: now, of: make(map[uuid.UUID]int, len(of)),
		stopped: make([]atomic.Int64, len(of)), all: make(chan struct{}),
	}
	for i, place := range of {
		o.of[place.ID] = i
	}
	o.left.Store(int64(len(of)))
	return o
}

// Dial connects to the simulated lane, and observes its states.
func (o *orders) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	connection, hello, err := o.Driver.Dial(ctx, lane, to)
	if number, found := o.of[lane.ID]; found && err == nil {
		connection = &observedConnection{Connection: connection, by: o, number: number}
	}
	return connection, hello, err
}

// observedConnection is a connection to a lane with a session.
type observedConnection struct {
	link.Connection
	by     *orders
	number int
}

func (c *observedConnection) Send(s link.State) {
	if s.Session == nil {
		c.by.stops(c.number)
	}
	c.Connection.Send(s)
}

func (o *orders) stops(number int) {
	if o.stopped[number].CompareAndSwap(0, int64(o.now().Mono)) && o.left.Add(-1) == 0 {
		close(o.all)
	}
}

// late returns how long after its deadline each stop came, in milliseconds.
func (o *orders) late(deadline func(i int) lanes.Instant) []float64 {
	late := make([]float64, len(o.stopped))
	for i := range o.stopped {
		late[i] = milliseconds(time.Duration(o.stopped[i].Load()) - deadline(i).Mono)
	}
	return late
}
